"""Windows, set operations and subqueries of one unit: what the other units get does not change when one leaves."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory import engine as memory
from discreet.errors import BadQuestion
from discreet.query.front.sql.parse import question_about
from discreet.query.lower.lower import lower_question, lower_relation
from discreet.query.lower.relation_facts import ONE_ROW, UNIT
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import Order, Scan, UnitWindows, Window
from discreet.query.plan.schema import Schema, Stored, StoredKind, resolve
from discreet.query.plan.types import LARGEST, Number
from tests.helpers.lowering import CATALOG, CITIES, VISITS, call, col

WHOLE, TEXT = Stored(StoredKind.INTEGER), Stored(StoredKind.TEXT)
Row = tuple[Any, ...]


def schemas(rows: list[Row]) -> dict[str, Schema]:
    data = {name: [row[i] for row in rows] for i, name in enumerate(("u", "x", "k"))}
    events = dp.table(data, unit="u", columns={"x": dp.bounds(0, 2), "k": dp.keys(["a", "b"])}, max_rows=4)
    return {"t": resolve("t", events, {"u": WHOLE, "x": WHOLE, "k": TEXT})}


BODIES = [
    "SELECT x, ROW_NUMBER() OVER (PARTITION BY u ORDER BY x DESC) AS y FROM t",
    "SELECT RANK() OVER (PARTITION BY u, k ORDER BY x) AS x, DENSE_RANK() OVER (PARTITION BY u ORDER BY k) AS y FROM t",
    "SELECT SUM(x) OVER (PARTITION BY u ORDER BY k) AS x, COUNT(*) OVER (PARTITION BY u) AS y FROM t",
    "SELECT x, 1 AS y FROM (SELECT u, x FROM t WHERE k = 'a' UNION SELECT u, x FROM t WHERE x > 0) AS s",
    "SELECT x, 1 AS y FROM (SELECT u, x FROM t WHERE k = 'a' INTERSECT SELECT u, x FROM t WHERE k = 'b') AS s",
    "SELECT x, 1 AS y FROM (SELECT u, x FROM t WHERE k = 'a' EXCEPT SELECT u, x FROM t WHERE k = 'b') AS s",
    "SELECT x, 1 AS y FROM t WHERE EXISTS (SELECT 1 FROM t AS s WHERE s.u = t.u AND s.x > t.x)",
    "SELECT x, 1 AS y FROM t WHERE NOT EXISTS (SELECT 1 FROM t AS s WHERE s.u = t.u AND s.x > t.x)",
    "SELECT x, 1 AS y FROM t WHERE x NOT IN (SELECT s.x FROM t AS s WHERE s.u = t.u AND s.k = 'b')",
    "SELECT x, (SELECT COUNT(*) FROM t AS s WHERE s.u = t.u AND s.x < t.x) AS y FROM t",
    # From here on SQL leaves open which of equal rows is the first.
    "SELECT x - LAG(x) OVER (PARTITION BY u ORDER BY k) AS x, LEAD(x, 2, 7) OVER (PARTITION BY u ORDER BY x) AS y "
    "FROM t",
    "SELECT AVG(x) OVER (PARTITION BY u ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x, 1 AS y FROM t",
    "SELECT x, 1 AS y FROM t QUALIFY FIRST_VALUE(k) OVER (PARTITION BY u ORDER BY x) = k",
    "SELECT x, 1 AS y FROM (SELECT DISTINCT ON (u) u, x FROM t ORDER BY u, k DESC) AS s",
    "SELECT COUNT(*) AS x, ROW_NUMBER() OVER (PARTITION BY u ORDER BY COUNT(*) DESC) AS y FROM t GROUP BY u, k",
    "SELECT t.x, s.y FROM t, LATERAL (SELECT s.x AS y FROM t AS s WHERE s.u = t.u ORDER BY s.k LIMIT 1) AS s",
]
DETERMINED = 10


def rows_of(body: str, rows: list[Row]) -> Counter[Row]:
    known = schemas(rows)
    text = f"SELECT SUM(CLAMP(x, 0, 9)) AS s, SUM(CLAMP(y, 0, 9)) AS r FROM ({body}) AS t"
    asked = lower_question(question_about(text, known), known)
    found = memory.relation(asked.whole, known)
    return Counter((row[UNIT], row["x"], row["y"]) for row in found if row[UNIT] is not None)


ONE = [(x, k) for x in (None, 0, 1) for k in ("a", "b")]
OTHERS: list[list[Row]] = [[(2, 0, "a"), (2, 1, "b"), (2, 1, "b")], [(2, None, "a")], []]
NOBODY: Row = (None, 1, "a")


@pytest.mark.parametrize("body", BODIES)
def test_a_unit_that_leaves_takes_its_own_rows_and_no_other_row_changes(body: str) -> None:
    """Every unit of up to two rows, beside three tables; rows that are nobody's (NULL) are never counted."""
    units = [rows for many in (0, 1, 2) for rows in combinations_with_replacement(ONE, many)]
    for others in OTHERS:
        alone = rows_of(body, [*others, NOBODY])
        for own in units:
            mine: list[Row] = [(1, *row) for row in own]
            assert rows_of(body, [*others, NOBODY, *mine]) == alone + rows_of(body, mine)


def test_a_window_over_everybody_would_be_caught() -> None:
    """The planted bug: without the unit in the partition, a unit that comes changes the others' rows."""
    window = Window("y", "row_number", (), (), (Order(col("x")),))

    def rows(given: list[Row]) -> Counter[Row]:
        made = [{"u": u, "x": x, "k": k} for u, x, k in given]
        return Counter((row["u"], row["x"], row["y"]) for row in memory.windowed([window], made))

    assert rows([(2, 1, "a"), (1, 0, "a")]) != rows([(2, 1, "a")]) + rows([(1, 0, "a")])


@pytest.mark.parametrize("body", BODIES[:DETERMINED])
def test_rows_are_those_of_sql(body: str) -> None:
    with duckdb.connect() as connection:
        for own in product(ONE, repeat=2):
            given = [(1, *row) for row in own] + OTHERS[0]
            types = {"u": pa.int64(), "x": pa.int64(), "k": pa.string()}
            connection.register("t", pa.table({n: pa.array([r[i] for r in given], t) for i, (n, t) in
                                               enumerate(types.items())}))  # fmt: skip
            right = Counter(connection.execute(f"SELECT x, y FROM ({body}) AS s").fetchall())
            assert Counter(row[1:] for row in rows_of(body, given).elements()) == right


def test_ties_are_broken_by_all_columns_and_nulls_come_last() -> None:
    body = "SELECT x, ROW_NUMBER() OVER (PARTITION BY u ORDER BY k) AS y FROM t"
    orders: list[list[Row]] = [
        [(1, None, "a"), (1, 2, "a"), (1, 0, "a")],
        [(1, 0, "a"), (1, None, "a"), (1, 2, "a")],
    ]
    for rows in orders:
        assert rows_of(body, rows) == Counter([(1, 0, 1), (1, 2, 2), (1, None, 3)])


def test_what_is_known_of_the_columns() -> None:
    whole = Window("s", "sum", (call("sub", col("age"), 5),), (col("id"),))
    lag = Window("l", "lag", (col("id"),), (col("id"),), (Order(col("age")),))
    fields = lower_relation(UnitWindows(Scan("people"), (whole, lag)), CATALOG).fields
    assert fields["s"].kind == Number(Fraction(1), -LARGEST, LARGEST)
    assert fields["l"].nullable
    assert not fields["l"].is_unit
    assert fields["id"].is_unit


@pytest.mark.parametrize(
    ("source", "window", "message"),
    [
        (VISITS, Window("w", "row_number", (), (col("clinic"),)), "different people"),
        (VISITS, Window("w", "row_number"), "different people"),
        (VISITS, Window("w", "sum", (col("cost"),), (call("add", col("pid"), 0),)), "different people"),
        (VISITS, Window("w", "rank", (), (col("pid"),)), "needs ORDER BY"),
        (VISITS, Window("w", "ntile", (), (col("pid"),)), "NTILE"),
        (VISITS, Window("w", "sum", (), (col("pid"),)), "takes a column"),
        (VISITS, Window("w", "row_number", (col("cost"),), (col("pid"),)), "takes no argument"),
        (VISITS, Window("w", "sum", (col("clinic"),), (col("pid"),)), "SUM needs a number"),
        (VISITS, Window("w", "lag", (col("day"), col("cost")), (col("pid"),)), "integer"),
        (VISITS, Window("w", "lag", (col("day"), Literal(Fraction(-1))), (col("pid"),)), "integer"),
        (VISITS, Window("w", "max", (Literal(None),), (col("pid"),)), "no value"),
        (VISITS, Window("w", "count", (), (col("pid"),), (), (2, 1)), "ends before"),
        (VISITS, Window("w", "lag", (col("day"),), (col("pid"),), (), (0, 1)), "no frame"),
        (VISITS, Window("w", "min", (col("raw"),), (col("pid"),)), "needs a number with bounds"),
        (VISITS, Window("cost", "row_number", (), (col("pid"),)), "two columns cost"),
        (VISITS, Window("w", "rank", (), (col("pid"),), (Order(Literal(None)),)), "orders nothing"),
        (VISITS, Window("w", "count", (), (col("pid"), col("raw"))), "exact values"),
    ],
)  # fmt: skip
def test_what_is_no_window_of_one_unit_is_refused_by_name(source: Scan, window: Window, message: str) -> None:
    with pytest.raises(BadQuestion, match=message):
        lower_relation(UnitWindows(source, (window,)), CATALOG)


def test_public_rows_may_be_of_any_partition() -> None:
    found = lower_relation(UnitWindows(CITIES, (Window("n", "count", (), (col("country"),)),)), CATALOG)
    assert not found.private


@pytest.mark.parametrize(
    ("where", "once"),
    [
        ("n = 1", True),
        ("n <= 1", True),
        ("n < 2", True),
        ("n <= 2", False),
        ("n > 0", False),
        ("n = 1 OR x = 1", False),
    ],
)
def test_the_first_row_of_a_unit_needs_no_cap(where: str, once: bool) -> None:
    known = schemas([])
    inner = "SELECT x, ROW_NUMBER() OVER (PARTITION BY u ORDER BY x) AS n FROM t"
    asked = lower_question(question_about(f"SELECT COUNT(*) AS c FROM ({inner}) AS s WHERE {where}", known), known)
    assert (asked.caps == ONE_ROW) is once


def test_nothing_is_spent_on_what_is_refused() -> None:
    session = dp.Session(t=dp.table({"u": [1], "k": ["a"], "x": [1]}, unit="u"), budget=dp.Pure(1))
    for body in ("SELECT ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) AS n FROM t",
                 "SELECT SUM(x) OVER (ORDER BY x) AS n FROM t"):  # fmt: skip
        with pytest.raises(BadQuestion, match="different people"):
            session.sql(f"SELECT COUNT(*) AS c FROM ({body}) AS s WHERE n = 1")
    with pytest.raises(BadQuestion, match="recursive"):
        session.sql("WITH RECURSIVE r AS (SELECT u FROM t UNION ALL SELECT u FROM r) SELECT COUNT(*) AS c FROM r")
    assert session.remaining == session.budget
