"""``discreet ledger`` on the ledger of ``discreet ask``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.commands import run


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
        "charged": {"kind": "Pure", "epsilon": "3/2", "text": "epsilon 3/2"},
        "promised": {"kind": "Pure", "epsilon": "6", "text": "epsilon 6"},
    }
