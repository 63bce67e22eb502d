"""Profiles are paid once, kept with the session and its ledger, and free afterwards; bad input costs nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.errors import BadParameter, OverBudget

RNG = np.random.default_rng(2)
PEOPLE = np.repeat(np.arange(500), RNG.integers(1, 9, 500))
VISITS = dp.table({"patient": PEOPLE, "cost": RNG.integers(0, 100, len(PEOPLE))}, unit="patient")


def test_a_profile_is_paid_once_and_then_free() -> None:
    session = dp.Session(visits=VISITS, budget=dp.Pure(1))
    profile = session.profile("visits", epsilon="0.25")
    assert session.profile("visits") is profile
    assert session.remaining == dp.Pure("0.75")
    assert session.with_columns(visits={"cost": dp.bounds(0, 9)}).profile("visits") is profile


def test_a_profile_outlives_the_process_in_a_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "budget.db"
    first = dp.Session(visits=VISITS, budget=dp.Pure(1), ledger=ledger).profile("visits", epsilon="0.25")
    again = dp.Session(visits=VISITS, ledger=ledger)
    second = again.profile("visits")
    assert second == first, "to the last digit: whatever is chosen from it is the same"
    assert again.remaining == dp.Pure("0.75")


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        ("must say what a profile", {}),
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


GROUPS = "SELECT g, COUNT(*) AS n FROM visits GROUP BY g"


def declared(ledger: Path, keys: Any, cap: Any) -> dp.Session:
    rows = {"patient": PEOPLE, "g": ["a" if i % 3 else "b" for i in range(len(PEOPLE))]}
    return dp.Session(
        visits=dp.table(rows, unit="patient", max_rows=cap, columns={"g": keys}), budget=dp.Approx(9, 0), ledger=ledger
    )


@pytest.mark.parametrize("cap", [3, "auto"])
@pytest.mark.parametrize("keys", [dp.keys(["a"]), dp.keys(["a", "b", "c"])])
def test_a_stored_profile_of_a_table_that_is_declared_otherwise_now_is_as_if_it_were_not_there(
    tmp_path: Path, keys: Any, cap: Any
) -> None:
    """It was an error after the payment: the answer was lost."""
    declared(tmp_path / "budget.db", dp.keys(["a", "b"]), cap).profile("visits", epsilon=1)
    own = declared(tmp_path / "budget.db", keys, cap)
    answer = own.sql(GROUPS).release(epsilon=1)
    assert len(answer) == len(keys.keys)
    assert own.remaining.epsilon == 7  # type: ignore[union-attr]
