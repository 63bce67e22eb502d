"""``discreet serve``, before it listens."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.helpers.commands import run


def test_a_taken_address_is_refused_before_a_token_is_made(config: Path) -> None:
    before = run("ledger", "export", config).stdout
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", config, "--port", taken.getsockname()[1])
    assert done.exit_code == 1
    assert "must be free to listen at" in done.stderr
    assert done.stdout == ""
    assert run("ledger", "export", config).stdout == before
