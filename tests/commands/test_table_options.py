"""The options that describe a table."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.commands.table_options import read_ends, read_keys
from discreet.errors import BadParameter
from discreet.query.plan.schema import bounds
from tests.helpers.commands import OPTIONS, SQL, run


@pytest.mark.slow
def test_keys_are_read_as_the_column_is_stored(visits: Path) -> None:
    by = "SELECT code, COUNT(*) AS n FROM visits GROUP BY code"
    done = run("ask", visits, by, "--unit", "person", "--epsilon", "1", "--keys", "code=0,1,2", "--json")
    assert [row[0] for row in json.loads(done.stdout)["rows"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("0:5000", ("0", "5000")),
        ("-1 .. 1/2", ("-1", "1/2")),
        ("2024-01-01:2024-12-31", ("2024-01-01", "2024-12-31")),
        ("2024-01-01:2024-12-31 23:59:59", ("2024-01-01", "2024-12-31 23:59:59")),
        ("2024-01-01 08:00:2024-12-31", ("2024-01-01 08:00", "2024-12-31")),
        ("2024-01-01 00:00:00:2024-12-31 23:59:59", ("2024-01-01 00:00:00", "2024-12-31 23:59:59")),
        ("2024-01-01 08:00..2024-12-31 09:30", ("2024-01-01 08:00", "2024-12-31 09:30")),
    ],
)
def test_bounds_have_a_colon_or_dots_between(text: str, ends: tuple[str, str]) -> None:
    assert read_ends("x", text) == ends
    bounds(*ends)


@pytest.mark.slow
def test_bounds_of_times_are_asked_with(tmp_path: Path) -> None:
    times = [datetime(2024, 3, 1) + timedelta(hours=i) for i in range(200)]
    pq.write_table(pa.table({"person": list(range(200)), "arrived": times}), tmp_path / "t.parquet")
    for between in (":", ".."):
        done = run(
            *("ask", tmp_path / "t.parquet", "SELECT MIN(arrived) AS first FROM t", "--unit", "person"),
            *("--epsilon", "9", "--bounds", f"arrived=2024-01-01 00:00:00{between}2024-12-31 23:59:59", "--json"),
        )
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["rows"][0][0].startswith("2024-")


def test_bounds_that_nobody_knows_are_chosen_out_of_the_price(tmp_path: Path) -> None:
    rows = {"person": list(range(3000)), "cost": [i % 40 for i in range(3000)]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    asked = ("ask", tmp_path / "t.parquet", "SELECT AVG(cost) AS m FROM t", "--unit", "person", "--epsilon", "9")
    done = run(*asked, "--bounds", "cost=auto", "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert row[0] == pytest.approx(19.5, abs=5)


@pytest.mark.slow
@pytest.mark.usefixtures("fixed_noise")
def test_blanks_around_keys_do_not_count_unless_quoted(visits: Path) -> None:
    assert read_keys(' North ,South,"a, ""b""", " c "') == ["North", "South", 'a, "b"', " c "]
    assert read_keys('""') == [""]
    for bad in ("", "a,,b", "a,", 'a "b"', '"a', '"a" b'):
        with pytest.raises(BadParameter):
            read_keys(bad)
    done = run("ask", visits, SQL, *OPTIONS[:-1], "clinic=North, South", "--epsilon", "1000", "--json")
    assert [round(row[1], -2) for row in json.loads(done.stdout)["rows"]] == [1000, 1000]
