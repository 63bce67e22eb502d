"""Which works share a pass: those of a profile, each with its form; a work that differs in anything has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import discreet as dp
from discreet.engines.duckdb.shared_rows import fact_of, shared_rows
from discreet.query.plan.expressions import Literal
from discreet.query.plan.work import DistinctWork, RowSum, Work
from discreet.query.profile.questions import table_questions
from discreet.query.run import works_of
from discreet.session.price import Price


def works(keys: int = 3) -> list[Any]:
    columns = {"r": dp.keys([f"k{i}" for i in range(keys)]), "p": dp.unknown_keys(), "x": dp.bounds(0, 9)}
    table = dp.table({"u": [1], "r": ["k0"], "p": ["q"], "x": [2.0]}, unit="u", columns=columns, max_rows="auto")
    session = dp.Session(t=table, budget=dp.Approx(9, "1e-6"))
    asked = table_questions("t", session.schemas)
    return list(works_of(session._backend.quote([one.prepared for one in asked], Price(1)), "salt"))


def test_every_work_of_a_profile_has_its_form() -> None:
    kinds = [fact.kind for work in works() if (fact := fact_of(work)) is not None]
    assert sorted(kinds) == ["groups", "groups", "named", "sizes", "spread", "spread"]


@pytest.mark.parametrize(
    "change",
    [
        lambda w: replace(w, weights=replace(w.weights, cap=2)),
        lambda w: replace(w, cells=(RowSum(Literal(2)),)),
        lambda w: replace(w, keys=()),
        lambda w: replace(w, most_keys=3),
    ],
)
def test_a_work_that_differs_in_anything_has_none(change: Any) -> None:
    for work in works():
        if isinstance(work, Work):
            assert fact_of(change(work)) is None
        elif isinstance(work, DistinctWork):
            assert fact_of(replace(work, cap=2)) is None


def test_rows_by_keys_that_nobody_listed_have_none() -> None:
    """What a unit weighs in them depends on which of its keys are kept."""
    spread = [w for w in works() if (fact := fact_of(w)) is not None and fact.kind == "spread"]
    assert spread
    for work in spread:
        assert fact_of(replace(work, keys=(replace(work.keys[0], allowed=None),))) is None


def test_works_that_do_not_agree_about_the_unit_have_no_rows_together() -> None:
    spread = [fact for work in works() if (fact := fact_of(work)) is not None and fact.kind == "spread"]
    assert len(spread) == 2
    other = replace(spread[0], work=replace(spread[0].work, unit="someone"))
    assert shared_rows([other, spread[1]], {}) is None
