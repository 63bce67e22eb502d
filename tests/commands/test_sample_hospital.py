"""The made-up hospital: the same each time, and what its curator.toml declares of it is true."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from discreet.commands.sample_hospital import CLINICS, REASONS, REGIONS, patients, visits, write_hospital
from discreet.curator.service.config import read_config

FEW = 300


def test_it_is_the_same_each_time() -> None:
    assert patients(FEW).equals(patients(FEW))
    assert visits(FEW).equals(visits(FEW))
    assert not visits(FEW).equals(visits(FEW + 1).slice(0, visits(FEW).num_rows))


def test_every_visit_is_of_a_patient_and_every_patient_comes() -> None:
    people, came = patients(FEW), visits(FEW)
    assert people["patient_id"].to_pylist() == list(range(1, FEW + 1))
    assert set(came["patient_id"].to_pylist()) == set(range(1, FEW + 1))
    assert came["visit_id"].to_pylist() == list(range(1, came.num_rows + 1))
    assert np.bincount(came["patient_id"].to_numpy()).max() <= 80
    assert set(people["region"].to_pylist()) <= set(REGIONS)
    assert set(came["clinic"].to_pylist()) == set(CLINICS)
    assert set(came["reason"].to_pylist()) <= set(REASONS)
    days = came["day"].to_pylist()
    assert date(2025, 1, 1) <= min(days) <= max(days) <= date(2025, 12, 31)


def test_its_files_have_the_columns_that_are_declared(tmp_path: Path) -> None:
    found = read_config(write_hospital(tmp_path, people=FEW))
    assert found.data == tmp_path / "data"
    tables = found.datasets["hospital"].tables.tables
    assert set(tables) == {"patients", "visits"}
    for table in tables.values():
        names = set(pq.read_schema(tmp_path / "data" / table.source).names)
        assert {table.unit, *table.columns} <= names


def test_a_configuration_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "curator.toml").write_text("# mine")
    assert write_hospital(tmp_path, people=1).read_text() == "# mine"
    assert pq.read_table(tmp_path / "data" / "patients.parquet").num_rows == 1
