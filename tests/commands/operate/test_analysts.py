"""``discreet analyst`` and what it changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from tests.helpers.commands import run

pytestmark = pytest.mark.slow


def test_analysts_tokens_budgets_and_the_ledger(config: Path, tmp_path: Path) -> None:
    added = run("analyst", "add", config, "zoe", "--population", "town", "--epsilon", "1", "--delta", "1e-20", "--json")
    assert added.exit_code == 0, added.output
    token = json.loads(added.stdout)["token"]
    curator = open_curator(read_config(config))
    assert curator.access.who(f"Bearer {token}").name == "zoe"
    curator.close()
    assert run("analyst", "add", config, "zoe").exit_code == 1
    other = run("analyst", "add", config, "yan", "--epsilon", "1")  # another kind than the budget of town
    assert other.exit_code == 1
    assert "give --epsilon and --delta" in other.stderr
    assert run("token", config).stdout.startswith("discreet_")
    assert "zoe" in run("budget", config).output
    household = run("budget", config, "--household", "4")
    assert "a household of 4" in household.output
    standing = json.loads(run("budget", config, "--json").stdout)
    assert {one["population"] for one in standing} == {"town", "other"}
    changed = run("budget", config, "other", "--epsilon", "2", "--reason", "a wider study")
    assert changed.exit_code == 0, changed.output
    assert run("budget", config, "other", "--epsilon", "3").exit_code == 1  # no reason
    assert "zoe" in run("ledger", "show", config).output
    assert json.loads(run("ledger", "verify", config, "--json").stdout)["ok"]
    copy = tmp_path / "copy"
    assert run("ledger", "export", config, copy).exit_code == 0
    assert len(copy.read_text().splitlines()) == len(run("ledger", "export", config).stdout.splitlines())
    assert run("analyst", "revoke", config, "zoe", "--reason", "left").exit_code == 0
    before = run("ledger", "export", config).stdout
    refused = run("token", config, "zoe")
    assert refused.exit_code == 1
    assert "must not be revoked" in refused.output
    assert run("ledger", "export", config).stdout == before
    assert run("ledger", "acknowledge", config, "--reason", "nothing").exit_code == 1
    assert run("budget", tmp_path / "nowhere.toml").exit_code == 1


def test_acts_say_their_number_in_json(config: Path) -> None:
    assert run("analyst", "add", config, "yan", "--population", "other").exit_code == 0
    assert json.loads(run("token", config, "yan", "--json").stdout)["name"] == "yan"
    assert json.loads(run("analyst", "revoke", config, "yan", "--json").stdout)["sequence"] > 1
