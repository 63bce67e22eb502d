"""Rotating the signing key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.errors import BadParameter, LedgerUnsafe
from discreet.ledger import open_ledger, replace_key, verify_ledger
from tests.helpers.commands import run

pytestmark = pytest.mark.slow


def test_a_new_key_signs_and_the_old_one_is_kept(config: Path) -> None:
    ledger = config.parent / "curator.ledger"
    key = Path(f"{ledger}.key")
    before = key.read_bytes()
    done = run("key", "rotate", config, "--reason", "an administrator left", "--json")
    assert done.exit_code == 0, done.stderr
    said = json.loads(done.stdout)
    assert key.read_bytes() != before
    assert Path(said["kept"]).read_bytes() == before
    assert key.stat().st_mode & 0o077 == 0
    with open_ledger(ledger) as opened:
        assert opened.public_key == said["public_key"]
        assert opened.look().public_keys == [said["before"], said["public_key"]]
    assert verify_ledger(ledger).good


def test_servers_that_run_sign_with_the_new_key(config: Path) -> None:
    """Fails where a rotation does nothing until somebody remembers to restart the service."""
    ledger = config.parent / "curator.ledger"
    with open_ledger(ledger) as serving, open_ledger(ledger) as looking:
        said = json.loads(run("key", "rotate", config, "--reason", "it was seen", "--json").stdout)
        looking.look()
        assert looking.public_key == said["public_key"]
        serving.owner.add_analyst("new")
        assert serving.public_key == said["public_key"]
        again = json.loads(run("key", "rotate", config, "--reason", "it was seen again", "--json").stdout)
        key, entries = Path(f"{ledger}.key"), looking.look().sequence
        key.rename(f"{key}.elsewhere")  # another machine, where the new file has not come yet
        Path(again["kept"]).rename(key)
        with pytest.raises(LedgerUnsafe, match="put the new key file"):
            serving.owner.add_analyst("newer")
        assert looking.look().sequence == entries  # looking goes on


def test_the_same_key_is_refused(config: Path) -> None:
    """Fails where rotation silently does nothing."""
    ledger = config.parent / "curator.ledger"
    entries = verify_ledger(ledger).entries
    with pytest.raises(BadParameter, match="must be a new key"):
        replace_key(ledger, key=f"{ledger}.key", reason="nothing")
    assert verify_ledger(ledger).entries == entries


def test_a_reason_is_needed(config: Path) -> None:
    assert run("key", "rotate", config).exit_code == 2
