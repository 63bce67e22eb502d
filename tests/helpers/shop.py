"""A small shop with odd rows: trips of users, their orders and what was in them, and public regions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache

import pyarrow as pa

from discreet.engines.memory.engine import memory
from discreet.query.engine import Engine
from discreet.query.plan.schema import Schema, Table, bounds, keys, resolve, table, unknown_keys
from tests.helpers.tables import cycled

NAN, INF = float("nan"), float("inf")
ROWS = 60


@cache
def tables() -> dict[str, pa.Table]:
    """The rows. One user has a third of them; some have no user; every column has values outside what is declared."""
    users = [1 if n % 3 == 0 else (None, 2, 3, 4, 2, 5, 6)[n % 7] for n in range(ROWS)]
    trips = {
        "user_id": pa.array(users, pa.int64()),
        "region": pa.array(cycled(["north", "south", "North", "east", None, "north ", "nowhere"], ROWS), pa.string()),
        "product": pa.array(
            cycled(["tea", "milk", "tea", None, "e\u0301", "\u00e9", "", "rye", "oat"], ROWS), pa.string()
        ),
        "day": pa.array(
            cycled([date(2024, 1, 1), date(2024, 2, 29), None, date(2031, 5, 5), date.min], ROWS), pa.date32()
        ),
        "started": pa.array(
            cycled([datetime(2024, 3, 31, 1, 30), datetime(2024, 12, 31, 23, 59, 59, 999999), None], ROWS),
            pa.timestamp("us"),
        ),
        "amount": pa.array(
            cycled([1.5, 0.1, -3.0, NAN, INF, -INF, 99.99, 250.0, None, -0.0, 7.25], ROWS), pa.float64()
        ),
        "tip": pa.array(cycled([Decimal("0.10"), Decimal("60.00"), None, Decimal("1.25")], ROWS), pa.decimal128(10, 2)),
        "rating": pa.array(cycled([1, 5, 3, None, 9, -2, 4, 2], ROWS), pa.int8()),
        "paid": pa.array(cycled([True, False, None, True], ROWS), pa.bool_()),
        "weight": pa.array(cycled([0.5, NAN, None, 1e300, -INF], ROWS), pa.float64()),
    }
    people = {
        "id": pa.array([1, 2, 3, 4, 5, 7, None], pa.int64()),
        "country": pa.array(["NO", "SE", None, "NO", "DK", "SE", "SE"], pa.string()),
        "age": pa.array([30, 150, None, 41, 7, 8, 9], pa.int64()),
    }
    orders = {
        "id": pa.array([10, 11, 12, 13, 14, None], pa.int64()),
        "user_id": pa.array([1, 1, 2, 3, None, 4], pa.int64()),
        "region": pa.array(["north", "south", "south", "east", "north", None], pa.string()),
        "total": pa.array([5, 700, 20, -3, 1, None], pa.int64()),
    }
    items = {
        "order_id": pa.array(cycled([10, 10, 11, 12, 13, 14, 99, None], 40), pa.int64()),
        "product": pa.array(cycled(["tea", "milk", None, "rye", "oat"], 40), pa.string()),
        "price": pa.array(cycled([3, 120, None, 7, -1, 20], 40), pa.int64()),
    }
    regions = {
        "region": pa.array(["north", "south", "east", "south", None], pa.string()),
        "zone": pa.array(["cold", "warm", "cold", "hot", "dry"], pa.string()),
        "area": pa.array([10, 20, 30, 40, None], pa.int64()),
    }
    made = {"trips": trips, "users": people, "orders": orders, "items": items, "regions": regions}
    return {name: pa.table(columns) for name, columns in made.items()}


def declared(sources: Mapping[str, object]) -> dict[str, Table]:
    """What the owner says of each table."""
    return {
        "trips": table(
            sources["trips"], unit="user_id", max_rows=8, max_groups=4, max_rows_per_group=3,
            columns={
                "region": keys(["north", "south", "east"]), "product": unknown_keys(), "amount": bounds(0, 100),
                "day": bounds(date(2024, 1, 1), date(2024, 12, 31)), "tip": bounds(0, 50), "rating": bounds(1, 5),
            },
        ),
        "users": table(
            sources["users"], unit="id", max_rows=1,
            columns={"country": keys(["NO", "SE", None]), "age": bounds(0, 120)},
        ),
        "orders": table(
            sources["orders"], unit="user_id", max_rows=5,
            columns={"region": keys(["north", "south"]), "total": bounds(0, 500)},
        ),
        "items": table(
            sources["items"], unit="order_id -> orders.id", max_rows=6,
            columns={"product": unknown_keys(), "price": bounds(0, 100)},
        ),
        "regions": table(
            sources["regions"], public=True, columns={"zone": keys(["cold", "warm", "hot"]), "area": bounds(0, 100)}
        ),
    }  # fmt: skip


def schemas_on(engine: Engine, sources: Mapping[str, object]) -> dict[str, Schema]:
    """The tables as an engine sees them."""
    return {name: resolve(name, given, engine.columns(given.source)) for name, given in declared(sources).items()}


@cache
def schemas() -> dict[str, Schema]:
    """The tables in memory."""
    return schemas_on(memory(), tables())
