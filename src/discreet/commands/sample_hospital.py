"""A made-up hospital, the same each time: patients and their visits, as Parquet, with a curator.toml beside them.

Nobody in it exists. Some come often, some once; one clinic is small, one diagnosis is rare.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from discreet.commands.output import AsJson, fail_plainly

_SEED = 20251
CLINICS = ("North", "South", "City", "Coast")
REGIONS = ("north", "south", "east", "west")
REASONS = ("check-up", "injury", "infection", "heart", "lungs", "skin", "eyes", "rare tropical fever")

CONFIG = """# A made-up hospital. Start it with: discreet serve curator.toml
[server]
data = "data"
ledger = "curator.ledger"
quantum = 0.25

[datasets.hospital]
protects = "one patient, with all their visits"
budget = {epsilon = "3", delta = "1e-9"}

[datasets.hospital.tables.patients]
source = "patients.parquet"
unit = "patient_id"
max_rows = 1
columns.sex = {keys = ["female", "male", "other"]}
columns.region = {keys = ["north", "south", "east", "west"]}
columns.birth_year = {bounds = [1920, 2025]}

[datasets.hospital.tables.visits]
source = "visits.parquet"
unit = "patient_id"
max_rows = 5
columns.clinic = {keys = ["North", "South", "City", "Coast"]}
columns.reason = {unknown_keys = true}
columns.day = {bounds = ["2025-01-01", "2025-12-31"]}
columns.cost = {bounds = [0, 5000]}
columns.wait_minutes = {bounds = [0, 240]}
"""


def patients(count: int) -> pa.Table:
    """So many patients."""
    draw = np.random.default_rng(_SEED)
    return pa.table(
        {
            "patient_id": np.arange(1, count + 1, dtype=np.int64),
            "sex": draw.choice(["female", "male", "other"], count, p=[0.51, 0.48, 0.01]),
            "region": draw.choice(REGIONS, count, p=[0.35, 0.3, 0.2, 0.15]),
            "birth_year": np.clip(draw.normal(1972, 22, count).round(), 1920, 2025).astype(np.int32),
            "insured": draw.random(count) < 0.93,
        }
    )


def visits(count: int) -> pa.Table:
    """The visits of so many patients: three or four each, a few of them very many."""
    draw = np.random.default_rng(_SEED + 1)
    many = np.minimum(draw.geometric(0.28, count) + (draw.random(count) < 0.01) * draw.integers(20, 60, count), 80)
    who = np.repeat(np.arange(1, count + 1, dtype=np.int64), many)
    total = len(who)
    reason = draw.choice(REASONS, total, p=[0.3, 0.2, 0.18, 0.12, 0.09, 0.06, 0.0499, 0.0001])
    clinic = draw.choice(CLINICS, total, p=[0.4, 0.3, 0.25, 0.05])
    dear = {"heart": 6.9, "injury": 5.9, "lungs": 6.2}
    middle = np.array([dear.get(str(why), 4.6) for why in reason])
    season = draw.beta(2, 2, total)
    start = date(2025, 1, 1)
    return pa.table(
        {
            "visit_id": np.arange(1, total + 1, dtype=np.int64),
            "patient_id": who,
            "day": pa.array([start + timedelta(days=int(s * 365)) for s in season], pa.date32()),
            "clinic": clinic,
            "reason": reason,
            "wait_minutes": np.minimum(draw.gamma(2, 18, total).round(), 600).astype(np.int32),
            "cost": np.minimum(np.exp(draw.normal(middle, 0.7)), 20_000).round(2),
            "emergency": draw.random(total) < np.where(reason == "injury", 0.5, 0.1),
        }
    )


def write_hospital(folder: Path, *, people: int = 20_000) -> Path:
    """Write the hospital into a folder; the path of its curator.toml, which is left alone if it is there."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    pq.write_table(patients(people), data / "patients.parquet")
    pq.write_table(visits(people), data / "visits.parquet")
    config = folder / "curator.toml"
    if not config.exists():
        config.write_text(CONFIG, encoding="utf-8")
    return config


@fail_plainly
def sample_command(
    folder: Annotated[Path, typer.Argument(help="where to put it")] = Path("hospital"), as_json: AsJson = False
) -> None:
    """Write a made-up hospital, with a curator.toml for discreet serve."""
    config = write_hospital(folder)
    started = f"wrote {config}; start it with: discreet serve {config}"
    typer.echo(json.dumps({"config": str(config)}) if as_json else started)
