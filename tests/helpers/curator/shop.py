"""A shop behind a curator and the same shop here: every kind of column, a foreign key, a public table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from discreet.curator.client.client import RemoteSession
from tests.helpers.curator.town import Town, on_a_socket, open_town

BUDGET = {"epsilon": "1000000", "delta": "1e-18"}
TABLES: dict[str, Any] = {
    "orders": {
        "source": "orders.parquet",
        "unit": "buyer",
        "max_rows": 4,
        "columns": {
            "region": {"keys": ["north", "south"], "null_key": True},
            "amount": {"bounds": ["0", "1/3"]},
            "price": {"bounds": ["0.5", "99.5"]},
            "day": {"bounds": ["2025-01-01", "2025-12-31"]},
            "at": {"bounds": ["2025-01-01", "2025-12-31T12:30:00"]},
            "size": {"keys": [1, 2, 3], "nullable": False},
            "note": {"unknown_keys": True},
        },
    },
    "lines": {
        "source": "lines.parquet",
        "unit": "order_id -> orders.id",
        "max_groups": 2,
        "max_rows_per_group": 3,
        "columns": {"pieces": {"bounds": [0, 20]}, "shelf": {"keys": [f"s{i}" for i in range(1200)]}},
    },
    "regions": {"source": "regions.parquet", "public": True},
}


def files(folder: Path) -> None:
    """The data of the shop: 40 buyers with three orders each."""
    ids = list(range(120))
    orders = {
        "id": ids,
        "buyer": [i // 3 for i in ids],
        "region": [("north", "south", None)[i % 3] for i in ids],
        "amount": [i / 400 for i in ids],
        "price": [Decimal(i) / 2 for i in ids],
        "day": [date(2025, 1 + i % 12, 1) for i in ids],
        "at": [datetime(2025, 1 + i % 12, 2, 3) for i in ids],
        "size": [1 + i % 3 for i in ids],
        "paid": [i % 2 == 0 for i in ids],
        "note": ["ab"[i % 2] for i in ids],
        "blob": [b"x" for _ in ids],
    }
    pq.write_table(pa.table(orders), folder / "orders.parquet")
    lines = {"order_id": ids * 2, "pieces": [i % 9 for i in ids] * 2, "shelf": [f"s{i}" for i in ids] * 2}
    pq.write_table(pa.table(lines), folder / "lines.parquet")
    regions = {"region": ["north", "south"], "zone": ["cold", "warm"]}
    pq.write_table(pa.table(regions), folder / "regions.parquet")


@dataclass(frozen=True, slots=True)
class Shop:
    """The shop behind a curator, remotely and here."""

    town: Town
    url: str
    remote: RemoteSession
    here: dp.Session


@contextmanager
def open_shop(folder: Path) -> Iterator[Shop]:
    """The shop, served over a real socket."""
    with open_town(folder) as town, on_a_socket(town) as url:
        files(folder / "data")
        body = {"name": "shop", "budget": BUDGET, "tables": TABLES, "decision": "others, who are numbered alike"}
        reply = town.post("/api/datasets", body, town.owner)
        assert reply.status_code == 201, reply.text
        town.curator.ledger.owner.grant("ann", "shop")
        known, people = town.curator.dataset(town.curator.access.who(f"Bearer {town.ann}"), "shop")
        tables = {name: one.table for name, one in town.curator.open(known).session.schemas.items()}
        here = dp.Session(tables, budget=people.budget, rule=people.rule or dp.Rule.ZCDP)
        yield Shop(town, url, dp.connect(url, town.ann, "shop"), here)
