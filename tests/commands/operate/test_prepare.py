"""Prepared copies by command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.commands import run

COUNT = "SELECT COUNT(*) AS n FROM visits"


def test_a_copy_is_made_once_asked_and_removed(visits: Path, tmp_path: Path) -> None:
    copy = tmp_path / "out" / "visits.duckdb"
    made = json.loads(run("prepare", visits, copy, "--unit", "person", "--json").stdout)
    assert made == {"source": f"{copy}::visits", "made": True}
    assert not json.loads(run("prepare", visits, copy, "--unit", "person", "--json").stdout)["made"]
    asked = run("ask", made["source"], COUNT, "--unit", "person", "--table", "visits", "--epsilon", "1000", "--json")
    assert json.loads(asked.stdout)["rows"] == [[2000]], asked.stderr
    assert run("prepare", visits, copy, "--remove").exit_code == 0
    assert not copy.exists()


def test_what_is_wrong_is_refused(visits: Path, tmp_path: Path) -> None:
    assert "must end with" in run("prepare", visits, tmp_path / "x.parquet", "--unit", "person").stderr
    assert "unit" in run("prepare", visits, tmp_path / "x.duckdb").stderr
    assert run("prepare", visits, tmp_path / "x.duckdb", "--unit", "nobody").exit_code == 1
    assert run("prepare", visits, tmp_path / "x.duckdb", "--remove").exit_code == 1
