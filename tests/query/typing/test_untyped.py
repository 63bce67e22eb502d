"""Columns of files without types: declarations and the query decide, and no value does."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp

ROWS = """patient,clinic,cost,age,day,at,ok
1,North,10.5,31,2024-01-03,2024-01-03 10:30:00,true
2,South,20,32,2024-02-03,2024-02-03T23:00,false
3,North,{odd},33,{odd},{odd},{odd}
4,South,1e3,34,2024-01-01,2024-01-01,yes
5,North,,,,,
"""
PLENTY = 10**6


def session(tmp_path: Path, odd: str = "n/a", **columns: Any) -> dp.Session:
    path = tmp_path / "visits.csv"
    path.write_text(ROWS.format(odd=odd))
    visits = dp.table(str(path), unit="patient", max_rows=1, columns=columns)
    sites = pa.table({"site": ["North", "South"], "number": [1, 2], "opened": [date(2024, 1, 3), date(2024, 2, 3)]})
    return dp.Session(visits=visits, sites=dp.table(sites, public=True), budget=dp.Pure(10 * PLENTY))


def first(opened: dp.Session, sql: str) -> Any:
    (row,) = opened.sql(sql).release(epsilon=PLENTY).rows
    (value,) = row.values()
    return value


@pytest.mark.parametrize(
    ("asked", "right"),
    [
        ("cost > 15", 2), ("cost = 20", 1), ("cost = '20'", 1), ("cost IN (10.5, 1000)", 2), ("20 >= cost", 2),
        ("cost + 1 > 21", 1), ("cost BETWEEN 10 AND 20", 2), ("COALESCE(cost, 0) < 15", 3), ("cost IS NULL", 1),
        ("cost > age", 1), ("clinic = 'North'", 3), ("clinic LIKE 'N%'", 3), ("LENGTH(clinic) = 5", 5),
        ("ok", 2), ("NOT ok", 1), ("ok = TRUE", 2), ("ok = 'yes'", 1), ("ok AND cost > 15", 1),
        ("day >= DATE '2024-01-03'", 2), ("day < '2024-01-02'", 1), ("EXTRACT(MONTH FROM day) = 1", 2),
        ("EXTRACT(HOUR FROM at) = 23", 1), ("at > TIMESTAMP '2024-01-03 10:00:00'", 2),
        ("patient = 3", 1), ("patient = '3'", 1), ("CAST(age AS BIGINT) % 2 = 1", 2), ("CLAMP(cost, 0, 15) > 12", 2),
    ],
)  # fmt: skip
def test_the_use_decides(tmp_path: Path, asked: str, right: int) -> None:
    assert first(session(tmp_path), f"SELECT COUNT(*) FROM visits WHERE {asked}") == right


def test_declarations_decide(tmp_path: Path) -> None:
    opened = session(tmp_path, cost=dp.bounds(0, 100), day=dp.bounds("2024-01-01", "2024-12-31"),
                     at=dp.bounds(datetime(2024, 1, 1), datetime(2024, 12, 31)), ok=dp.keys([True, False]),
                     age=dp.keys([31, 32]))  # fmt: skip
    assert first(opened, "SELECT SUM(cost) FROM visits") == pytest.approx(130.5, abs=0.1)
    assert first(opened, "SELECT COUNT(*) FROM visits WHERE cost > 100") == 1
    for key, right in (
        ("ok", {True: 2, False: 1}),
        ("age", {31: 1, 32: 1}),
        ("EXTRACT(MONTH FROM day)", {1: 2, 2: 1} | dict.fromkeys(range(3, 13), 0)),
    ):
        rows = opened.sql(f"SELECT {key} AS k, COUNT(*) AS n FROM visits GROUP BY k").release(epsilon=PLENTY).rows
        assert {row["k"]: row["n"] for row in rows} == right


def test_a_subquery_and_a_union_read_numbers_too(tmp_path: Path) -> None:
    opened = session(tmp_path, age=dp.bounds(0, 100))
    inner = "SELECT patient, CLAMP(SUM(cost), 0, 50) AS s, MAX(cost) AS m FROM visits GROUP BY patient"
    assert first(opened, f"SELECT SUM(s) FROM ({inner})") == pytest.approx(80.5, abs=0.1)
    assert first(opened, f"SELECT COUNT(*) FROM ({inner}) WHERE m > 15") == 2
    both = "SELECT patient, age AS x FROM visits UNION ALL SELECT patient, cost FROM visits"
    assert first(opened, f"SELECT COUNT(*) FROM ({both}) WHERE x > 30") >= 1


@pytest.mark.parametrize(
    ("on", "right"), [("v.clinic = s.site", 5), ("v.patient = s.number", 2), ("v.day = s.opened", 2)]
)
def test_keys_of_joins_are_cast(tmp_path: Path, on: str, right: int) -> None:
    assert first(session(tmp_path), f"SELECT COUNT(*) FROM visits v JOIN sites s ON {on}") == right


@pytest.mark.parametrize("odd", ["n/a", "7", "2024-01-01", "1e99", "9" * 400, "NaN", "-inf", "true"])
def test_one_value_decides_about_no_outcome(tmp_path: Path, odd: str) -> None:
    """Today's state gave a preview for one of these files and a refusal for another."""
    usual, other = tmp_path / "usual", tmp_path / "other"
    usual.mkdir()
    other.mkdir()
    for sql in (
        "SELECT SUM(cost) FROM visits",
        "SELECT COUNT(*) FROM visits WHERE day < DATE '2024-02-02' AND ok",
        "SELECT AVG(CLAMP(age, 0, 99)) FROM visits WHERE at > TIMESTAMP '2024-01-01 00:00:00'",
    ):
        one = session(usual, cost=dp.bounds(0, 100)).sql(sql)
        two = session(other, odd, cost=dp.bounds(0, 100)).sql(sql)
        assert str(one.preview(epsilon=1)) == str(two.preview(epsilon=1))
        two.release(epsilon=1)
    plain = "SELECT SUM(age) FROM visits"  # nothing is declared of it: its use decides
    assert str(session(usual).sql(plain).preview(epsilon=1)) == str(session(other, odd).sql(plain).preview(epsilon=1))
