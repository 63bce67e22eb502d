"""``discreet ledger`` on the ledger of ``discreet ask``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.commands import run


@pytest.mark.slow
def test_a_ledger_of_ask_can_be_looked_at_and_checked(visits: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.ledger"
    count = ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.5")
    assert run("ask", visits, *count, "--ledger", kept, "--budget", "2").exit_code == 0
    assert "COUNT(*)" in run("ledger", "show", kept).output
    assert "the chain is whole" in run("ledger", "verify", kept).output
    (one,) = json.loads(run("budget", kept, "--household", "3", "--json").stdout)
    assert one["remaining"]["epsilon"] == "3/2"
    assert one["household"] == {
        "people": 3,
        "charged": {"kind": "Pure", "epsilon": "3/2", "text": "epsilon 1.5"},
        "promised": {"kind": "Pure", "epsilon": "6", "text": "epsilon 6"},
    }


def test_what_was_spent_elsewhere_is_charged_with_its_reason(visits: Path, tmp_path: Path) -> None:
    """Only Python could do it, and the owner of a curator has a command line."""
    kept = tmp_path / "kept.ledger"
    count = ("SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "0.5")
    assert run("ask", visits, *count, "--ledger", kept, "--budget", "2").exit_code == 0
    (before,) = json.loads(run("budget", kept, "--json").stdout)
    name, reason = before["population"], ("--reason", "a table was published in 2024")
    done = run("ledger", "write-off", kept, name, "--epsilon", "0.25", *reason)
    assert done.exit_code == 0, done.output
    assert "epsilon 1.25" in done.output
    (after,) = json.loads(run("budget", kept, "--json").stdout)
    assert (before["remaining"]["epsilon"], after["remaining"]["epsilon"]) == ("3/2", "5/4")
    assert "the chain is whole" in run("ledger", "verify", kept).output
    for bad, words in ((("nobody", "--epsilon", "1"), "must be one of"), ((name,), "must say what was spent")):
        refused = run("ledger", "write-off", kept, *bad, *reason)
        assert refused.exit_code != 0
        assert words in refused.output
    assert json.loads(run("budget", kept, "--json").stdout) == [after]
