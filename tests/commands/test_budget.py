"""``discreet budget``: where budgets stand, and changing one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dp
from discreet.ledger import open_ledger
from tests.helpers.commands import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("rule", [dp.Rule.ZCDP, dp.Rule.ADVANCED, dp.Rule.BASIC])
def test_what_an_analyst_spent_is_told_against_their_own_cap(
    tmp_path: Path, rule: dp.Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget of all leaves less than a cap: that is not what the analyst spent."""
    place = tmp_path / "kept.ledger"
    with open_ledger(place, create=True) as ledger:
        ledger.owner.protect("town", dp.Approx(100, "1e-4"), unit="one person", rule=rule)
        ledger.owner.register("town", "town", marks=())
        for name, cap in (("ann", dp.Approx(100, "1e-4")), ("bob", None)):
            ledger.owner.add_analyst(name)
            ledger.owner.grant(name, "town", cap)
        ledger.owner.set_budget("town", dp.Approx(1, "1e-6"), reason="less")
        ledger.spend("town", "bob", dp.Pure("1/16"), key="k", query="q")
    (whole,) = json.loads(run("budget", place, "--json").stdout)
    ann, bob = whole["analysts"]
    assert ann["share"] == 0
    assert ann["gone"] > 0.5
    assert ann["remaining"] == bob["remaining"] == whole["remaining"]
    assert 0 < whole["share"] == bob["share"] == whole["gone"] < 0.5
    monkeypatch.setenv("COLUMNS", "200")
    lines = [line.split() for line in run("budget", place).output.splitlines()]
    shown = {line[1]: line for line in lines if line[:1] == ["town"]}
    assert "0.0%" in shown["ann"]
    assert f"{bob['share']:.1%}" in shown["bob"]


def test_budgets_are_told_in_epsilon_and_changed_by_name(config: Path) -> None:
    assert "epsilon 10" in run("budget", config).output
    only = run("budget", config, "other").output
    assert "other" in only
    assert "town" not in only
    unnamed = run("budget", config, "--epsilon", "3", "--reason", "more")
    assert unnamed.exit_code == 1
    assert "must be named" in unnamed.output
    assert "must be one of" in run("budget", config, "nobody").output
