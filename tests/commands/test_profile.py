"""``discreet profile``: paid, kept in a ledger, and no question is answered with it; refusals cost nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.commands import run

pytestmark = pytest.mark.slow


def test_a_profile_is_printed_with_what_was_spent(visits: Path) -> None:
    done = run("profile", visits, "--unit", "person", "--epsilon", "5", "--keys", "clinic=North,South")
    assert done.exit_code == 0, done.output
    assert "rows per unit" in done.output
    assert "groups per unit of clinic" in done.output
    assert "spent epsilon 5" in done.output


def test_a_ledger_keeps_it_and_no_question_is_answered_with_it(visits: Path, tmp_path: Path) -> None:
    kept = ("--unit", "person", "--ledger", tmp_path / "kept.ledger")
    first = run("profile", visits, *kept, "--budget", "3", "--epsilon", "1", "--json")
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["remaining"] == "epsilon 2"
    answer = run("ask", visits, "SELECT COUNT(*) AS n FROM visits", *kept, "--epsilon", "1", "--json")
    found = json.loads(answer.stdout)
    assert found["remaining"] == "epsilon 1"
    assert "were scaled down to that" in str(found["notes"])


def test_what_is_refused_costs_nothing(visits: Path, tmp_path: Path) -> None:
    assert run("profile", visits, "--unit", "person").exit_code == 1
    kept = ("--unit", "person", "--ledger", tmp_path / "kept.ledger", "--budget", "1")
    assert "what the profile may cost" in run("profile", visits, *kept).output
    assert "must be columns of visits" in run("profile", visits, *kept, "--epsilon", "1", "--column", "x").output
    assert "left: epsilon 0" in run("profile", visits, *kept, "--epsilon", "1").output
    bad = run(
        "ask", visits, "SELECT COUNT(*) AS n FROM visits", "--unit", "person", "--epsilon", "1", "--max-rows", "x"
    )
    assert bad.exit_code == 1
    assert "must be an integer, or auto" in bad.output
