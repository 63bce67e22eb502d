"""Visits over some days, and dashboards over them."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

import discreet as dp

FIRST = date(2026, 11, 1)
SQL = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS mean FROM visits GROUP BY clinic"
COLUMNS = {"cost": dp.bounds(0, 100), "clinic": dp.keys(["North", "South", "West"])}


def day(i: int) -> date:
    return FIRST + timedelta(days=i)


def table_of(rows: list[tuple[int, int, str, int]]) -> pa.Table:
    """Rows of patient, number of the day, clinic and cost."""
    return pa.table(
        {
            "patient": pa.array([r[0] for r in rows], pa.int64()),
            "day": pa.array([day(r[1]) for r in rows], pa.date32()),
            "at": pa.array(
                [datetime.combine(day(r[1]), time(23, 59, 59, r[0] % 1000)) for r in rows], pa.timestamp("us")
            ),
            "clinic": pa.array([r[2] for r in rows], pa.string()),
            "cost": pa.array([r[3] for r in rows], pa.int64()),
        }
    )


MANY = [(i // 15, i % 5, "North" if i % 3 else "South", i % 101) for i in range(6000)]
"""400 people; each is there on every day, twice in the North and once in the South."""


def session(rows: Any = None, **options: Any) -> dp.Session:
    source = table_of(MANY) if rows is None else rows
    given: dict[str, Any] = {"budget": dp.Approx(10, "1e-6")} | options
    caps = given.pop("caps", {"max_rows": 3})
    if isinstance(source, list):
        source = table_of(source)
    return dp.Session(visits=dp.table(source, unit="patient", columns=COLUMNS, **caps), **given)
