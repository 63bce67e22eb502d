"""``discreet serve``, before it listens."""

from __future__ import annotations

import io
import socket
from pathlib import Path

import pytest
from rich.console import Console

from discreet.commands.operate.serve import first_token
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.errors import BadParameter
from tests.helpers.commands import run

pytestmark = pytest.mark.slow


def test_a_taken_address_is_refused_before_a_token_is_made(config: Path) -> None:
    before = run("ledger", "export", config).stdout
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", config, "--port", taken.getsockname()[1])
    assert done.exit_code == 1
    assert "must be free to listen at" in done.stderr
    assert done.stdout == ""
    assert run("ledger", "export", config).stdout == before


def test_the_owners_token_goes_to_a_terminal_or_into_a_file_of_mode_0600(config: Path, tmp_path: Path) -> None:
    """Fails where it is printed to whatever standard output is."""
    curator = open_curator(read_config(config))
    said, file = io.StringIO(), tmp_path / "owner.token"
    first_token(curator, file, Console(file=said, force_terminal=False))
    assert "discreet_" not in said.getvalue()
    assert file.stat().st_mode & 0o777 == 0o600
    assert curator.access.who(f"Bearer {file.read_text().strip()}").owner
    first_token(curator, file, Console(file=said))  # there is one already
    curator.close()


def test_on_a_terminal_it_is_shown(config: Path, tmp_path: Path) -> None:
    curator = open_curator(read_config(config))
    said, file = io.StringIO(), tmp_path / "owner.token"
    file.write_text("an older one")
    with pytest.raises(BadParameter):
        first_token(curator, file, Console(file=said, force_terminal=False))
    assert curator.access.tokens() == {}
    first_token(curator, file, Console(file=said, force_terminal=True))
    assert "discreet_" in said.getvalue()
    curator.close()
