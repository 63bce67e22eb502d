"""Prepared copies: the same exact numbers, for their owner alone, made again when the source changes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb as driver
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.duckdb.prepared import is_current, keep_copy, prepare
from discreet.errors import BadData, BadParameter
from discreet.query.plan.schema import Table
from discreet.query.run import works_of

ROWS: dict[str, Any] = {
    "who": ["b", "a", "c", "a", None, "a", "b"],
    "number": pa.array([1, -5, 7, None, 3, 2**40, 9], pa.int64()),
    "small": pa.array([1, 2, 3, 4, 5, 6, 7], pa.int8()),
    "pay": pa.array([Decimal("1.25"), None, Decimal("-3.50"), Decimal(0), Decimal(1), Decimal(2), Decimal(3)]),
    "real": [0.5, float("nan"), float("inf"), -1.0, None, 2.0, 1e300],
    "city": pa.array(["x", "y", "x", "Y", None, "x", "z"]).dictionary_encode(),
    "day": [date(2025, 1, i) for i in range(1, 8)],
    "moment": pa.array([datetime(2025, 1, i, tzinfo=UTC) for i in range(1, 8)], pa.timestamp("us", "UTC")),
    "good": [True, False, None, True, False, True, True],
}
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM t",
    "SELECT city, COUNT(*) AS n, SUM(number) AS s, AVG(pay) AS p FROM t GROUP BY city",
    "SELECT COUNT(DISTINCT who) AS n, SUM(real) AS r FROM t WHERE good AND day > DATE '2025-01-01'",
    "SELECT name, COUNT(*) AS n FROM (SELECT who AS name, number FROM t) GROUP BY name",
    "SELECT city, MEDIAN(small) AS m FROM t WHERE moment < TIMESTAMP '2025-01-06 00:00:00' GROUP BY city",
)


def table(source: object) -> Table:
    return dp.table(
        source,
        unit="who",
        columns={
            "number": dp.bounds(-100, 100), "pay": dp.bounds(-5, 5), "real": dp.bounds(-2, 2),
            "small": dp.bounds(0, 10), "city": dp.keys(["x", "y", None]),
        },
        max_rows=2,
    )  # fmt: skip


def test_integers_are_kept_in_few_bits(source: Path, tmp_path: Path) -> None:
    copy = prepare(str(source), tmp_path / "copy.duckdb", unit="who")
    with driver.connect(copy.path, read_only=True) as opened:
        kinds = {name: kind for name, kind, *_ in opened.execute("DESCRIBE rows").fetchall()}
    assert (kinds["number"], kinds["small"]) == ("BIGINT", "TINYINT")
    wide = prepare({"id": [1, 2], "n": [300, -5], "none": pa.nulls(2, pa.int64())}, tmp_path / "n.duckdb", unit="id")
    with driver.connect(wide.path, read_only=True) as opened:
        assert [kind for _, kind, *_ in opened.execute("DESCRIBE rows").fetchall()] == [
            "TINYINT",
            "SMALLINT",
            "TINYINT",
        ]
    assert duckdb().columns(wide) == duckdb().columns({"id": [1, 2], "n": [3, 5], "none": pa.nulls(2, pa.int64())})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(ROWS), path, store_schema=False)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv", "frame"])
def test_exact_numbers_are_the_same(source: Path, tmp_path: Path, kind: str) -> None:
    """Caps that cut included: which rows count is chosen by what they hold, not by where they lie."""
    given: Any = str(source) if kind == "parquet" else pa.table(ROWS)
    if kind == "csv":
        given = str(tmp_path / "t.csv")
        Path(given).write_text("who,number,small,pay,real,city,day,moment,good\n" + "".join(
            f"{w},{i},{i},{i}.25,{i}.5,x,2025-01-0{i},2025-01-0{i} 00:00:00,true\n" for i, w in enumerate("abcaaab", 1)
        ))  # fmt: skip
    engine = duckdb(threads=2)
    copy = prepare(given, tmp_path / "copy.duckdb", unit="who", table="t")
    assert engine.columns(copy) == engine.columns(given)
    one, other = (dp.Session(t=table(s), budget=dp.Pure(10), engine=engine) for s in (given, copy))
    compared = 0
    for text in QUESTIONS:
        try:
            works = works_of(one.sql(text).quote(epsilon=1), "salt")
        except dp.errors.BadQuestion:
            continue
        for a, b in zip(engine.run(works, one.schemas), engine.run(works, other.schemas), strict=True):
            first, second = (dict(zip(e.keys, np.array(e.numbers).T.tolist(), strict=True)) for e in (a, b))
            assert first == second, text
            compared += 1
    assert compared >= 4


def test_a_copy_is_for_its_owner_alone_and_sorted(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "copy.duckdb"
    copy = prepare(str(source), path, unit="who")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert [one.name for one in path.parent.iterdir()] == ["copy.duckdb"]  # nothing half-made stays
    assert copy.table == "rows"


@pytest.mark.slow
def test_a_copy_is_made_again_when_its_source_changes(source: Path, tmp_path: Path) -> None:
    keep_copy(str(source), str(tmp_path), "c", unit="who")
    path = tmp_path / "c.duckdb"
    made = path.stat().st_ino
    keep_copy(str(source), str(tmp_path), "c", unit="who")
    assert path.stat().st_ino == made
    pq.write_table(pa.table({**ROWS, "more": [1] * 7}), source)
    assert not is_current(str(source), path, unit="who")
    keep_copy(str(source), str(tmp_path), "c", unit="who")
    assert is_current(str(source), path, unit="who")
    assert path.stat().st_ino != made
    path.write_bytes(b"damaged")
    assert not is_current(str(source), path, unit="who")
    assert not is_current(pa.table(ROWS), path, unit="who")


def test_what_cannot_be_copied_is_refused_and_leaves_nothing(source: Path, tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="unit"):
        prepare(str(source), tmp_path / "out" / "c.duckdb", unit="nobody")
    with pytest.raises(BadData):
        prepare(f"{source}x", tmp_path / "out" / "c.duckdb", unit="who")
    assert list((tmp_path / "out").iterdir()) == []
