"""Prepared copies by command line."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.helpers.commands import run

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_a_copy_is_made_once_asked_and_removed(visits: Path, tmp_path: Path) -> None:
    copy = tmp_path / "out" / "visits.duckdb"
    made = json.loads(run("prepare", visits, copy, "--unit", "person", "--json").stdout)
    assert made == {"source": f"{copy}::visits", "made": True}
    assert not json.loads(run("prepare", visits, copy, "--unit", "person", "--json").stdout)["made"]
    asked = run("ask", made["source"], COUNT, "--unit", "person", "--table", "visits", "--epsilon", "1000", "--json")
    assert json.loads(asked.stdout)["rows"] == [[2000]], asked.stderr
    assert run("prepare", visits, copy, "--remove").exit_code == 0
    assert not copy.exists()


def test_declared_columns_are_prepared_for(visits: Path, tmp_path: Path) -> None:
    """The copy keeps the key, and how many rows each unit has in its groups; other keys make another one."""
    copy = tmp_path / "visits.duckdb"
    given = ("prepare", visits, copy, "--unit", "person", "--json", "--keys")
    assert run(*given, "clinic=North,South").exit_code == 0
    with closing(duckdb.connect(str(copy), read_only=True)) as opened:
        kept = opened.execute("SELECT count(*) FROM discreet_kept").fetchone()
    assert kept is not None
    assert kept[0] >= 4
    assert not json.loads(run(*given, "clinic=North,South").stdout)["made"]
    assert json.loads(run(*given, "clinic=North,East").stdout)["made"]
    assert "column=..." in run(*given, "clinic").stderr


@pytest.mark.slow
def test_what_is_wrong_is_refused(visits: Path, tmp_path: Path) -> None:
    assert "must end with" in run("prepare", visits, tmp_path / "x.parquet", "--unit", "person").stderr
    assert "unit" in run("prepare", visits, tmp_path / "x.duckdb").stderr
    assert run("prepare", visits, tmp_path / "x.duckdb", "--unit", "nobody").exit_code == 1
    assert run("prepare", visits, tmp_path / "x.duckdb", "--remove").exit_code == 1
