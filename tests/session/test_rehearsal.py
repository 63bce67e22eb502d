"""Made-up rows: of every kind of column, from the public schema alone, and nothing is spent."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.session.rehearsal import made_up

ORDERS: dict[str, list[Any]] = {
    "id": [1, 2, 3],
    "buyer": ["ann", "bob", "bob"],
    "region": ["north", "south", None],
    "state": ["A", "A", "B"],
    "county": ["a1", "a2", "b1"],
    "price": [Decimal("1.50"), Decimal("2.25"), None],
    "amount": [0.1, 0.2, 0.3],
    "pieces": [1, 2, 3],
    "day": [date(2025, 1, 1), date(2025, 2, 1), None],
    "at": [datetime(2025, 1, 1, 3), datetime(2025, 1, 2, 3), None],
    "open": [time(9), time(17, 30), None],
    "tags": [["new"], ["old", "new"], None],
    "paid": [True, False, None],
    "blob": [b"x", b"y", b"z"],
}
PLACES = dp.hierarchy("places", ["state", "county"], table=[("A", "a1"), ("A", "a2"), ("B", "b1")])


def session(orders: dict[str, list[Any]]) -> dp.Session:
    columns = {
        "region": dp.keys(["north", "south", None]),
        "state": dp.keys(["A", "B"]),
        "county": dp.keys(["a1", "a2", "b1"]),
        "price": dp.bounds("0.5", "99.5"),
        "pieces": dp.bounds(1, 9),
        "tags": dp.keys(["new", "old"]),
        "day": dp.bounds("2025-01-01", "2025-12-31"),
    }
    kept = dp.table(pa.table(orders), unit="buyer", columns=columns, max_rows=4, key_sets=[PLACES])
    lines = dp.table(pa.table({"order_id": [1, 1, 3], "kilos": [1.0, 2.0, 3.0]}), unit="order_id -> orders.id",
                     columns={"kilos": dp.bounds(0, 20)}, max_rows=9)  # fmt: skip
    regions = dp.table(pa.table({"region": ["north", "south"], "zone": ["cold", "warm"]}), public=True)
    return dp.Session(orders=kept, lines=lines, regions=regions, budget=dp.Approx(1, "1e-6"))


QUERIES = [
    "SELECT region, COUNT(*) AS n, SUM(price) AS s, AVG(pieces) AS m FROM orders GROUP BY region",
    "SELECT zone, COUNT(*) AS n FROM orders JOIN regions USING (region) GROUP BY zone",
    "SELECT state, SUM(kilos) AS k FROM lines JOIN orders ON order_id = id GROUP BY state",
    "SELECT tag, COUNT(*) AS n FROM orders, UNNEST(tags) AS t(tag) WHERE open > '08:00' GROUP BY tag",
    "SELECT MIN(day) AS first, MEDIAN(price) AS middle FROM orders WHERE paid",
]


@pytest.mark.parametrize("text", QUERIES)
def test_queries_run_on_made_up_rows_and_cost_nothing(text: str) -> None:
    s = session(ORDERS)
    rehearsal = s.rehearse()
    assert rehearsal.budget == s.budget
    shown = rehearsal.sql(text).preview(epsilon="0.5", delta="1e-7")
    assert shown.columns == s.sql(text).preview(epsilon="0.5", delta="1e-7").columns
    assert len(rehearsal.sql(text).release(epsilon="0.5", delta="1e-7"))
    assert s.remaining == s.budget


def test_rows_follow_from_the_schema_alone() -> None:
    """Other data of the same types: the same rows."""
    others = {name: list(reversed(values)) for name, values in ORDERS.items()}
    whole: list[Any] = [made_up(session(data).schemas, 50) for data in (ORDERS, others)]
    assert whole[0]["orders"].source.equals(whole[1]["orders"].source)
    assert whole[0]["lines"].source.equals(whole[1]["lines"].source)
    assert "ann" not in str(whole[0]["orders"].source.to_pydict())


def test_values_are_between_bounds_among_keys_and_of_their_types() -> None:
    made: Any = made_up(session(ORDERS).schemas, 300)
    rows = made["orders"].source.to_pydict()
    assert "blob" not in rows
    assert set(rows["region"]) == {"north", "south", None}
    assert set(zip(rows["state"], rows["county"], strict=True)) == {("A", "a1"), ("A", "a2"), ("B", "b1")}
    assert all(Decimal("0.5") <= price <= Decimal("99.5") for price in rows["price"])
    assert {type(price) for price in rows["price"]} == {Decimal}
    assert set(rows["pieces"]) == set(range(1, 10))
    assert all(date(2025, 1, 1) <= day <= date(2025, 12, 31) for day in rows["day"])
    assert len(set(rows["buyer"])) == 100
    assert set(made["lines"].source.to_pydict()["order_id"]) == set(rows["id"])
    assert made["regions"].source.num_rows == 2
