"""The data of a small town, and a curator.toml for them.

They hold canaries: texts and numbers that no answer may ever show.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CANARY = "canary7f3a"
"""Stands in every text of the data."""
NUMBER = 48_213_977
"""Stands in the data as a number."""
CITIES = ("Aton", "Bury", "Cold")
TOML = """
[server]
data = "data"
quantum = 0.01
engines = 1
grid = "even"
[limits]
requests_per_second = 100000
burst = 100000
under_way = 64
patience = 20
[datasets.town]
protects = "one person"
budget = {{epsilon = "{epsilon}", delta = "1e-18"}}
[datasets.town.tables.people]
source = "people.parquet"
unit = "person_id"
max_rows = 1
columns.city = {{keys = ["Aton", "Bury", "Cold"]}}
columns.pay = {{bounds = [0, 1000]}}
columns.name = {{unknown_keys = true}}
[datasets.town.tables.trips]
source = "trips.parquet"
unit = "person_id"
max_rows = 5
columns.day = {{bounds = ["2025-01-01", "2025-12-31"]}}
columns.length = {{bounds = [0, 100]}}
columns.city = {{keys = ["Aton", "Bury", "Cold"]}}
[datasets.other]
decision = "other people, who are numbered alike"
budget = {{epsilon = "1"}}
[datasets.other.tables.notes]
source = "notes.csv"
unit = "who"
max_rows = 10
"""

PLACES = """
[[datasets.town.tables.people.key_sets]]
name = "places"
columns = ["region", "city"]
rows = [["North", "Aton"], ["North", "Bury"], ["South", "Cold"]]
"""
"""What may stand after it: cities lie in regions."""


def write_town(folder: Path, *, people: int = 120, epsilon: str = "1000000", more: str = "", dataset: str = "") -> Path:
    """Files of a town and a curator.toml for them; ``dataset``: what it says more of the data set."""
    data = folder / "data"
    data.mkdir(parents=True)
    ids = list(range(1, people + 1))
    pq.write_table(
        pa.table(
            {
                "person_id": ids,
                "name": [f"{CANARY} person {i}" for i in ids],
                "city": [CITIES[i % 3] for i in ids],
                "pay": [float(i % 100) for i in ids],
                "secret": [f"{CANARY} secret {i}" for i in ids],
                "big": [NUMBER + i for i in ids],
            }
        ),
        data / "people.parquet",
    )
    pq.write_table(
        pa.table(
            {
                "person_id": [i for i in ids for _ in range(3)],
                "day": pa.array([date(2025, 1 + i % 12, 1 + k) for i in ids for k in range(3)]),
                "length": [float(i % 90) for i in ids for _ in range(3)],
                "city": [CITIES[(i + k) % 3] for i in ids for k in range(3)],
                "note": [f"{CANARY} note {i}" for i in ids for _ in range(3)],
            }
        ),
        data / "trips.parquet",
    )
    (data / "notes.csv").write_text("who,text\n" + "".join(f"{i},{CANARY} text {i}\n" for i in ids))
    config = folder / "curator.toml"
    text = TOML.format(epsilon=epsilon).replace("[datasets.town]\n", f"[datasets.town]\n{dataset}\n")
    config.write_text(text + more)
    return config


def holds_canary(content: bytes) -> bool:
    """Whether a text of the data is in it."""
    return CANARY.encode() in content.lower()
