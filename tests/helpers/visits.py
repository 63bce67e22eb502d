"""Visits to clinics, two for each patient, and a session over them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import discreet as dp

PEOPLE = 4_000
VISITS = pa.table(
    {
        "patient_id": [i // 2 for i in range(2 * PEOPLE)],
        "clinic": ["North" if i % 3 else "South" for i in range(2 * PEOPLE)],
        "cost": [float(i % 100) for i in range(2 * PEOPLE)],
        "drug": [f"d{i % 7}" for i in range(2 * PEOPLE)],
    }
)
COLUMNS = {"cost": dp.bounds(0, 100), "clinic": dp.keys(["North", "South", "West"]), "drug": dp.unknown_keys()}


def session(source: Any = VISITS, **options: Any) -> dp.Session:
    given: dict[str, Any] = {"budget": dp.Approx(10, "1e-6")} | options
    return dp.Session(visits=dp.table(source, unit="patient_id", columns=COLUMNS, max_rows=2), **given)
