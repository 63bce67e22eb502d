"""Profiles are paid once, kept with the session and its ledger, and free afterwards; bad input costs nothing."""

import json
from pathlib import Path

import numpy as np
import pytest

import discreet as dp
from discreet.errors import BadParameter, OverBudget
from discreet.ledger import open_ledger

RNG = np.random.default_rng(2)
PEOPLE = np.repeat(np.arange(500), RNG.integers(1, 9, 500))
VISITS = dp.table({"patient": PEOPLE, "cost": RNG.integers(0, 100, len(PEOPLE))}, unit="patient")


def test_a_profile_is_paid_like_any_query_and_kept_in_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "budget.db"
    session = dp.Session(visits=VISITS, budget=dp.Pure(1), ledger=ledger)
    profile = session.profile("visits", epsilon="0.25")
    assert session.remaining == dp.Pure("0.75")
    with open_ledger(ledger) as opened:
        (line,) = opened.entries(kind="charge")
        charge = opened.charge(line.entry.sequence)
    assert charge.record.query.startswith("profile(visits: rows per unit")
    assert len(json.loads(charge.answer or b"")["answers"]) == len(profile.histograms)


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        ("must say what the answer may cost", {}),
        ("must be columns of visits", {"epsilon": 1, "columns": ["nothing"]}),
        ("must be", {"epsilon": -1}),
    ],
)
def test_what_cannot_be_asked_costs_nothing(problem: str, options: dict[str, object]) -> None:
    session = dp.Session(visits=VISITS, budget=dp.Pure(1))
    with pytest.raises(BadParameter, match=problem):
        session.profile("visits", **options)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="must be one of visits"):
        session.profile("nothing")
    with pytest.raises(OverBudget):
        session.profile("visits", epsilon=2)
    assert session.remaining == dp.Pure(1)
