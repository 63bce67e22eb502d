"""LEFT JOIN from a public table: what is answered is what SQL says, rows without a partner or not."""

from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadQuestion
from discreet.query.lower.absent_rows import is_null, never_true
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column, Expression, Literal
from tests.helpers.lowering import call

NAMES = pa.table({"k": ["a", "b", "c"], "name": ["A", "B", "B"]})
TYPES = {"u": pa.int64(), "k": pa.string(), "x": pa.int64()}
X, Y = Column("x"), Column("y")
X_HIGH, Y_HIGH, X_NULL = call("gt", X, Y), call("gt", Y, 0), call("is_null", X)
VALUES: list[Expression] = [
    X, Y, Literal(1), Literal(None), call("add", X, Y), call("coalesce", X, 1), X_NULL, call("not", X_NULL), X_HIGH,
    call("not", X_HIGH), call("and", X_HIGH, Y_HIGH), call("or", X_HIGH, Y_HIGH), call("or", X_HIGH, call("eq", X, Y)),
    call("in", X, 1, 2), call("case", X_HIGH, Y, Literal(None)), call("case", Y_HIGH, X, Literal(None)),
    call("case", Y_HIGH, X, 0), call("coalesce", X, call("neg", X)), call("case", X_NULL, Y, X), call("greatest", X, Y),
    call("and", call("not", X_NULL), Y_HIGH), call("case", X_HIGH, Y, X_NULL, 1, X),
]  # fmt: skip
ABSENT = frozenset({"x"})


@pytest.mark.parametrize("value", VALUES)
def test_what_is_said_to_be_null_is(value: Expression) -> None:
    rows = [{"x": None, "y": y} for y in (None, -1, 0, 1, 2)]
    found = [evaluate(value, row) for row in rows]
    assert not is_null(value, ABSENT) or all(one is None for one in found)
    assert not never_true(value, ABSENT) or all(one is not True for one in found)


def test_enough_is_seen() -> None:
    assert sum(is_null(value, ABSENT) for value in VALUES) >= 10
    assert sum(never_true(value, ABSENT) for value in VALUES) >= 12


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(TYPES.items())})


def session(rows: list[tuple[Any, ...]]) -> dp.Session:
    visits = dp.table(table(rows), unit="u", columns={"x": dp.bounds(-5, 5)}, max_rows=9)
    return dp.Session(v=visits, names=dp.table(NAMES, public=True), budget=dp.Pure(10**15))


@pytest.mark.parametrize("rows", [
    [], [(1, "a", 1)], [(1, "a", 1), (1, "a", None), (2, "b", 3), (3, "z", 1), (4, None, 2)]
], ids=len)  # fmt: skip
@pytest.mark.parametrize("text", [
    "SELECT n.k, COUNT(v.u) AS r FROM names AS n LEFT JOIN v ON n.k = v.k GROUP BY n.k",
    "SELECT n.name AS k, COUNT(DISTINCT v.u) AS r FROM v RIGHT JOIN names AS n ON n.k = v.k GROUP BY n.name",
    "SELECT n.k, COUNT(*) FILTER (WHERE v.x > 0) AS r FROM names AS n LEFT JOIN v ON n.k = v.k GROUP BY n.k",
    "SELECT n.k, COUNT(v.x) AS r FROM names AS n LEFT JOIN v ON n.k = v.k AND v.x > 0 GROUP BY n.k",
    "SELECT k, COUNT(y) AS r FROM (SELECT n.k, v.x + 1 AS y FROM names AS n LEFT JOIN v ON n.k = v.k) AS t GROUP BY k",
    "SELECT n.k, COUNT(v.x) AS r FROM names AS n LEFT JOIN v ON n.k = v.k WHERE COALESCE(v.x, 1) > 0 GROUP BY n.k",
])  # fmt: skip
def test_as_sql_says(text: str, rows: list[tuple[Any, ...]]) -> None:
    with duckdb.connect() as connection:
        connection.register("v", table(rows))
        connection.register("names", NAMES)
        right = dict(connection.execute(text).fetchall())
    found = {row["k"]: row["r"] for row in session(rows).sql(text).release(epsilon=10**9).rows}
    assert {k: found[k] for k in right} == right
    assert not any(many for k, many in found.items() if k not in right)


@pytest.mark.parametrize("aggregate", [
    "COUNT(*)", "COUNT(n.k)", "SUM(COALESCE(v.x, 1))", "COUNT(*) FILTER (WHERE v.x IS NULL)", "COUNT(v.x IS NULL)",
    "MEDIAN(LENGTH(n.k))",
])  # fmt: skip
def test_what_rows_without_a_partner_would_change_is_refused(aggregate: str) -> None:
    asking = session([(1, "a", 1)])
    with pytest.raises(BadQuestion, match="rows without a partner"):
        asking.sql(f"SELECT n.k, {aggregate} AS r FROM names AS n LEFT JOIN v ON n.k = v.k GROUP BY n.k")
    assert asking.remaining == asking.budget


def test_a_union_of_it_is_refused() -> None:
    one = "SELECT n.k, v.x FROM names AS n LEFT JOIN v ON n.k = v.k"
    with pytest.raises(BadQuestion, match="UNION of a LEFT JOIN"):
        session([]).sql(f"SELECT k, COUNT(x) AS r FROM ({one} UNION ALL SELECT k, x FROM v) AS t GROUP BY k")
