"""Random questions against made-up neighbours: whatever the SQL door accepts, one unit moves no more than it may."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.checking import check_query
from discreet.engines.memory import memory
from discreet.errors import BadQuestion
from discreet.session import Query
from discreet.table.work import AnyWork, Engine, Work
from tests.checking.test_queries import CAPS, Faulty
from tests.table.test_fuzz_sql import Grammar

VISITS = pa.table(
    {
        "patient_id": [1],
        "clinic": ["a"],
        "cost": [1.0],
        "day": [date(2024, 1, 1)],
        "year": [2020],
        "note": ["x"],
        "paid": [True],
        "at": [datetime(2024, 1, 1)],
    }
)
PATIENTS = pa.table({"id": [1], "age": [3], "city": ["c"]})
BUDGETS: list[tuple[Any, dict[str, Any]]] = [
    (dp.Approx(100, "1e-5"), {"epsilon": 1}),
    (dp.ZCDP(1, "1e-6"), {"rho": 1}),
    (dp.Pure(9), {"epsilon": 1}),
]


def session(engine: Engine, caps: dict[str, Any], budget: Any) -> dp.Session:
    visits = {
        "cost": dp.bounds(0, 500),
        "clinic": dp.keys(["a", "b"]),
        "year": dp.bounds(2000, 2030),
        "note": dp.unknown_keys(),
    }
    return dp.Session(
        visits=dp.table(VISITS, unit="patient_id", columns=visits, **caps),
        patients=dp.table(
            PATIENTS,
            unit="id",
            columns={"age": dp.bounds(0, 120), "city": dp.unknown_keys()},
            **caps,
        ),
        engine=engine,
        budget=budget,
    )


def accepted(engine: Engine, seed: int, number: int) -> Iterator[tuple[str, Query, dict[str, Any]]]:
    """So many random questions that have a price, each with random caps and a random kind of budget."""
    dice = random.Random(seed)
    while number:
        text, caps, (budget, price) = Grammar(dice, wild=0.0).query(), dice.choice(CAPS), dice.choice(BUDGETS)
        try:
            query = session(engine, caps, budget).sql(text)
            query.preview(**price)
        except (BadQuestion, dp.errors.NotATheorem):
            continue
        number -= 1
        yield text, query, price


@pytest.mark.parametrize("seed", range(8))
def test_no_unit_reaches_too_far_in_memory(seed: int) -> None:
    for text, query, price in accepted(memory(), seed, 30):
        report = check_query(query, tables=4, seed=seed, **price)
        assert report.ok, (text, report)


@pytest.mark.parametrize("seed", range(2))
def test_no_unit_reaches_too_far_on_duckdb(seed: int) -> None:
    for text, query, price in accepted(dp.engines.duckdb(threads=1), 100 + seed, 12):
        report = check_query(query, tables=2, seed=seed, **price)
        assert report.ok, (text, report)


def test_random_questions_find_a_planted_fault() -> None:
    """A cap that is one too large; so the tests above can fail."""

    def larger(work: AnyWork) -> AnyWork:
        if isinstance(work, Work):
            return replace(work, weights=replace(work.weights, cap=work.weights.cap + 1))
        return replace(work, cap=work.cap + 1)

    found = [
        not check_query(query, tables=4, seed=1, **price).ok for _, query, price in accepted(Faulty(larger), 0, 12)
    ]
    assert sum(found) >= 2
