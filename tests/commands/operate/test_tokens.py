"""Tokens by command line: issued, replaced, revoked, listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from tests.helpers.commands import run

pytestmark = pytest.mark.slow


def said(*arguments: object) -> Any:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def valid(config: Path, token: str) -> bool:
    curator = open_curator(read_config(config))
    try:
        return curator.access.who(f"Bearer {token}") is not None
    except Exception:
        return False
    finally:
        curator.close()


def test_a_new_token_says_that_older_ones_stay_valid(config: Path) -> None:
    """Fails on a command that says nothing of them."""
    first = said("token", config)["token"]
    again = run("token", config, "owner")
    assert "still valid" in again.stderr
    assert valid(config, first)
    assert valid(config, again.stdout.strip())
    assert len(said("token", "issue", config)["still_valid"]) == 2


def test_rotating_revokes_all_older_ones_of_the_same_name(config: Path) -> None:
    run("analyst", "add", config, "ann")
    owner, first, second = (said("token", config, name)["token"] for name in ("owner", "ann", "ann"))
    third = said("token", "rotate", config, "ann")
    assert valid(config, third["token"])
    assert valid(config, owner)
    assert not valid(config, first)
    assert not valid(config, second)
    assert len(third["revoked"]) == 3


def test_revoking_one_and_all(config: Path) -> None:
    one, two, three = (said("token", config)["token"] for _ in range(3))
    assert said("token", "revoke", config, one)["revoked"] == [one.split("_", 2)[1]]
    assert [valid(config, token) for token in (one, two, three)] == [False, True, True]
    assert len(said("token", "revoke", config, "owner", "--all")["revoked"]) == 2
    assert not valid(config, three)
    assert run("token", "revoke", config, "nothing").exit_code == 1
    listed = said("token", "list", config)
    assert [row["revoked"] for row in listed] == [True] * 3
    assert one not in json.dumps(listed)
    assert "revoked" in run("token", "list", config).stdout


def test_a_token_in_a_file_is_for_its_owner_alone(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert "token" not in said("token", config, "monitor", "--output", path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert valid(config, path.read_text().strip())
    assert run("token", config, "--output", path).exit_code == 1
