"""Weights in SQL, held against those of the oracle."""

from __future__ import annotations

import math

import duckdb as driver
import pytest

from discreet.engines.memory import engine as oracle
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.weights import (
    beyond,
    may_weigh_nothing,
    row_weight,
    size_of_group,
    size_of_unit,
    unit_weight,
)
from discreet.query.plan.work import Form, Weights
from tests.helpers.works import ONE, STORED, work


def test_a_root_that_a_double_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="exact"):
        emit(work(Form.L2, 1 << 20, 1, ONE, scale=1 << 16), DUCKDB, {"t": Origin("t", STORED)})


def evaluated(sql: str, **columns: int) -> int:
    listed = ", ".join(f"CAST({value} AS BIGINT) AS {name}" for name, value in columns.items())
    ((found,),) = driver.execute(f"SELECT {sql} FROM (SELECT {listed}) AS t").fetchall()
    return int(found)


BOUNDS = [Weights(form=Form.ROWS, cap=3, scale=7)] + [
    Weights(form=form, cap=cap, scale=60, per_group=each)
    for form in (Form.L1, Form.L2)
    for cap, each in ((1, 1), (5, 2), (9, 3))
]


@pytest.mark.parametrize("weights", BOUNDS, ids=str)
def test_a_unit_weighs_what_the_definition_says(weights: Weights) -> None:
    for size in (1, 2, 3, 4, 5, 6, 9, 10, 59, 60, 61, 4000):
        s, cap = weights.scale, weights.cap
        less = math.isqrt(s * s * cap // size) if weights.form is Form.L2 else s * cap // size
        assert evaluated(unit_weight(weights, DUCKDB, "q"), q=size) == (s if size <= cap else less)


@pytest.mark.parametrize("weights", BOUNDS, ids=str)
def test_rows_and_groups_are_those_of_the_oracle(weights: Weights) -> None:
    for n in range(1, 9):
        for w in (0, 1, 7, 60):
            assert evaluated(row_weight(weights, DUCKDB), w=w, n=n) == oracle.row_weight(weights, w, n)
        each = n if weights.per_group is None else min(n, weights.per_group)
        assert evaluated(size_of_group(weights, DUCKDB), n=n) == (each**2 if weights.form is Form.L2 else each)


@pytest.mark.parametrize("weights", BOUNDS, ids=str)
def test_the_size_of_a_unit_adds_up_its_groups(weights: Weights) -> None:
    sizes = (1, 2, 4, 7)
    groups = " UNION ALL ".join(f"SELECT CAST({n} AS BIGINT) AS n" for n in sizes)
    ((q,),) = driver.execute(f"SELECT {size_of_unit(weights, DUCKDB)} FROM ({groups}) AS t").fetchall()
    assert evaluated(unit_weight(weights, DUCKDB, "q"), q=q) == oracle.unit_weight(weights, sizes)


@pytest.mark.parametrize("weights", [*BOUNDS, Weights(form=Form.ROWS, cap=1 << 16, scale=1 << 20)], ids=str)
def test_rows_that_weigh_nothing_alone_are_scaled_down_together(weights: Weights) -> None:
    for x in (0, 1, -1, 59, -3600, 1 << 90, -(1 << 100) + 7):
        for w, n, q in ((1, 61, 4000), (7, 1 << 40, 1 << 40)):
            mass, size = oracle.share(weights, w, q, n)
            exact = mass * abs(x) // size * (1 if x > 0 else -1)
            assert evaluated(beyond(weights, DUCKDB, str(x)), w=w, n=n, q=q) == exact


@pytest.mark.parametrize(
    "weights",
    [
        Weights(form=Form.ROWS, cap=3, scale=7),
        *(
            Weights(form=form, cap=cap, scale=scale, per_group=each)
            for form in (Form.L1, Form.L2)
            for cap, scale, each in ((1, 1, 1), (2, 5, 1), (3, 40, 2), (2, 1 << 12, 1), (7, 1500, 3))
        ),
    ],
    ids=str,
)
def test_no_row_weighs_nothing_unseen(weights: Weights) -> None:
    """Every n and q of a grid that reaches from weights of S to weights of 0; the condition is not true of all."""
    weight, seen = unit_weight(weights, DUCKDB, "q"), may_weigh_nothing(weights, DUCKDB)
    grid = "SELECT (1 + a * a * 3) AS n, (1 + b * b * b) AS q FROM range(60) AS x(a), range(400) AS y(b)"
    rows = f"SELECT *, {row_weight(weights, DUCKDB)} AS r FROM (SELECT *, {weight} AS w FROM ({grid}) AS g) AS g"
    counted = f"SELECT count(*) FILTER (r = 0 AND NOT {seen}), count(*) FILTER (r = 0), count(*) FILTER (NOT {seen})"
    unseen, nothing, fine = driver.execute(f"{counted} FROM ({rows}) AS t").fetchall()[0]
    assert unseen == 0
    assert nothing > 0
    assert fine > 0
