"""A shop with customers, orders and items, in the manner of TPC-H: joins through foreign keys, priced per customer.

With a price so high that the noise vanishes, and caps that nobody reaches, answers are those of plain Python.
"""

from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.checking import check_query

NATIONS = ["FRANCE", "GERMANY", "KENYA", "PERU"]
START = date(1995, 1, 1)


@cache
def shop() -> dict[str, pa.Table]:
    rng = np.random.default_rng(8)
    customers, orders, items = 300, 900, 2500
    price = [Decimal(int(p)).scaleb(-2) for p in rng.integers(100, 1_000_00, items)]
    discount = [Decimal(int(d)).scaleb(-2) for d in rng.integers(0, 11, items)]
    return {
        "nation": pa.table({"nation_id": list(range(4)), "name": NATIONS}),
        "customer": pa.table({"customer_id": list(range(customers)), "nation_id": rng.integers(0, 4, customers)}),
        "orders": pa.table(
            {
                "order_id": list(range(orders)),
                "customer_id": rng.integers(0, customers, orders),
                "day": pa.array([START + timedelta(days=int(d)) for d in rng.integers(0, 700, orders)]),
                "priority": rng.choice(["1-URGENT", "5-LOW"], orders),
            }
        ),
        "item": pa.table(
            {
                "order_id": rng.integers(0, orders, items),
                "quantity": rng.integers(1, 51, items),
                "price": pa.array(price, pa.decimal128(12, 2)),
                "discount": pa.array(discount, pa.decimal128(4, 2)),
                "flag": rng.choice(["A", "N", "R"], items),
            }
        ),
    }


def session(budget: Any = None, **caps: int) -> dp.Session:
    given = shop()
    wide: dict[str, Any] = dict(caps) or {"max_rows": 200, "max_groups": 50, "max_rows_per_group": 60}
    return dp.Session(
        nation=dp.table(given["nation"], public=True),
        customer=dp.table(given["customer"], unit="customer_id", max_rows=1),
        orders=dp.table(
            given["orders"],
            unit="customer_id",
            columns={"day": dp.bounds(START, date(1996, 12, 31)), "priority": dp.keys(["1-URGENT", "5-LOW"])},
            **wide,
        ),
        item=dp.table(
            given["item"],
            unit="order_id -> orders.order_id",
            columns={
                "quantity": dp.bounds(1, 50, nullable=False),
                "price": dp.bounds(0, 1000, nullable=False),
                "discount": dp.bounds(0, "0.1", nullable=False),
                "flag": dp.keys(["A", "N", "R"]),
            },
            **wide,
        ),
        budget=budget or dp.Pure(10**12),
    )


def answers(text: str) -> list[dict[str, Any]]:
    answer: dp.TableAnswer = session().sql(text).release(epsilon=10**10)
    return answer.rows


def rows(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop()[name].to_pylist()
    return found


def test_pricing_summary() -> None:
    found = answers(
        "SELECT flag, SUM(quantity) AS q, SUM(price * (1 - discount)) AS revenue, AVG(price) AS mean, COUNT(*) AS n "
        "FROM item GROUP BY flag"
    )
    for row in found:
        mine = [r for r in rows("item") if r["flag"] == row["flag"]]
        assert row["n"] == len(mine)
        assert row["q"] == sum(r["quantity"] for r in mine)
        assert row["revenue"] == pytest.approx(float(sum(r["price"] * (1 - r["discount"]) for r in mine)), rel=1e-6)
        assert row["mean"] == pytest.approx(float(sum(r["price"] for r in mine)) / len(mine), rel=1e-6)


def test_revenue_by_nation_through_three_tables() -> None:
    found = answers(
        "SELECT nation.name, SUM(item.price) AS revenue FROM item JOIN orders ON item.order_id = orders.order_id "
        "JOIN customer ON orders.customer_id = customer.customer_id "
        "JOIN nation ON customer.nation_id = nation.nation_id GROUP BY nation.name"
    )
    nation_of = {r["customer_id"]: NATIONS[r["nation_id"]] for r in rows("customer")}
    customer_of = {r["order_id"]: r["customer_id"] for r in rows("orders")}
    exact: dict[str, float] = defaultdict(float)
    for r in rows("item"):
        exact[nation_of[customer_of[r["order_id"]]]] += float(r["price"])
    assert [r["name"] for r in found] == sorted(NATIONS)
    for row in found:
        assert row["revenue"] == pytest.approx(
            exact[row["name"]], rel=1e-2
        )  # one row per customer in ``customer`` caps


def test_spending_per_customer() -> None:
    (row,) = answers(
        "SELECT AVG(CLAMP(spent, 0, 100000)) AS mean, COUNT(*) AS n FROM (SELECT customer_id, SUM(price) AS spent "
        "FROM item JOIN orders ON item.order_id = orders.order_id GROUP BY customer_id)"
    )
    spent: dict[int, float] = defaultdict(float)
    customer_of = {r["order_id"]: r["customer_id"] for r in rows("orders")}
    for r in rows("item"):
        spent[customer_of[r["order_id"]]] += float(r["price"])
    assert row["n"] == len(spent)
    assert row["mean"] == pytest.approx(sum(spent.values()) / len(spent), rel=1e-6)


def test_orders_by_priority_and_year() -> None:
    found = answers(
        "SELECT EXTRACT(YEAR FROM day) AS year, priority, COUNT(*) AS n FROM orders "
        "WHERE day >= DATE '1995-03-01' AND priority IN ('1-URGENT', '5-LOW') GROUP BY 1, 2 ORDER BY year, priority"
    )
    exact: dict[tuple[int, str], int] = defaultdict(int)
    for r in rows("orders"):
        if r["day"] >= date(1995, 3, 1):
            exact[r["day"].year, r["priority"]] += 1
    assert {(r["year"], r["priority"]): r["n"] for r in found} == dict(exact)


QUERIES = [
    "SELECT flag, SUM(price * (1 - discount)) AS revenue, COUNT(*) AS n FROM item GROUP BY flag",
    "SELECT nation.name, SUM(item.quantity) AS q FROM item JOIN orders ON item.order_id = orders.order_id "
    "JOIN customer ON orders.customer_id = customer.customer_id "
    "JOIN nation ON customer.nation_id = nation.nation_id GROUP BY nation.name",
    "SELECT AVG(CLAMP(spent, 0, 1000)) AS mean FROM (SELECT customer_id, SUM(price) AS spent FROM item "
    "JOIN orders ON item.order_id = orders.order_id GROUP BY customer_id)",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES)
def test_no_customer_reaches_too_far(text: str) -> None:
    query = session(dp.Approx(1, "1e-6"), max_rows=3).sql(text)
    report = check_query(query, tables=10)
    assert report.ok, report
