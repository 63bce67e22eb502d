"""Files that come, change or go while a session is open: they are read, or refused before the payment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb as driver
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb import engine as engine_module
from discreet.errors import BadData

SURE = 1000
"""An epsilon at which noise is 0, but for a chance below 1e-100."""
COUNT = "SELECT COUNT(*) AS n FROM t"
TWO = pa.table({"id": [1, 2], "x": [3, 4]})
THREE = pa.table({"id": [5, 6, 7], "x": [1, 1, 1]})


def opened(source: Any) -> dp.Session:
    table = dp.table(source, unit="id", max_rows=1, columns={"x": dp.bounds(0, 9)})
    return dp.Session(t=table, budget=dp.Pure(10 * SURE))


def count(session: dp.Session) -> Any:
    return session.sql(COUNT).release(epsilon=SURE).value


def refused(session: dp.Session, match: str) -> None:
    """Before anything is spent."""
    before = session.remaining
    with pytest.raises(BadData, match=match):
        session.sql("SELECT SUM(x) AS s FROM t").release(epsilon=1)
    assert session.remaining == before


@pytest.mark.slow
@pytest.mark.parametrize("form", ["folder", "glob"])
def test_files_that_come_later_are_read(tmp_path: Path, form: str) -> None:
    """They were never seen."""
    pq.write_table(TWO, tmp_path / "a.parquet")
    session = opened(tmp_path if form == "folder" else str(tmp_path / "*.parquet"))
    assert count(session) == 2
    pq.write_table(THREE, tmp_path / "b.parquet")
    assert count(session) == 5
    (tmp_path / "a.parquet").rename(tmp_path / "c.parquet")
    assert count(session) == 5, "a file that has another name was paid for and lost"
    (tmp_path / "b.parquet").unlink()
    assert count(session) == 2


@pytest.mark.parametrize("form", ["file", "list"])
def test_a_file_that_is_gone_is_refused_before_the_payment(tmp_path: Path, form: str) -> None:
    """The question was paid for, and failed."""
    path = tmp_path / "a.parquet"
    pq.write_table(TWO, path)
    pq.write_table(THREE, tmp_path / "b.parquet")
    session = opened(path if form == "file" else [str(path), str(tmp_path / "b.parquet")])
    path.rename(tmp_path / "moved.parquet")
    refused(session, "must exist")
    pq.write_table(THREE, path)
    assert count(session) == 3, "it is back"


@pytest.mark.parametrize("rows", [{"id": [1], "x": ["a"]}, {"id": [1], "x": ["7"]}, {"id": [1]}], ids=str)
def test_other_columns_are_refused_before_the_payment(tmp_path: Path, rows: dict[str, Any]) -> None:
    """With a row that is no number, the question was paid for and failed; without it, it was answered."""
    path = tmp_path / "a.parquet"
    pq.write_table(TWO, path)
    session = opened(path)
    pq.write_table(pa.table(rows), path)
    refused(session, "nothing was spent")
    again = dp.Session(t=dp.table(path, unit="id", max_rows=1), budget=dp.Pure(SURE), engine=session._backend.engine)
    assert count(again) == 1, "a new session sees what is there"


def test_a_part_with_other_columns_is_refused_before_the_payment(tmp_path: Path) -> None:
    pq.write_table(TWO, tmp_path / "a.parquet")
    session = opened(tmp_path)
    pq.write_table(pa.table({"id": [9], "x": ["text"]}), tmp_path / "b.parquet")
    refused(session, "nothing was spent")


def test_new_columns_are_no_change(tmp_path: Path) -> None:
    pq.write_table(TWO, tmp_path / "a.parquet")
    session = opened(tmp_path / "a.parquet")
    pq.write_table(THREE.append_column("more", pa.array(["a", "b", "c"])), tmp_path / "a.parquet")
    assert count(session) == 3


def test_a_database_that_is_replaced_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    for name, rows in (("a", 2), ("b", 3)):
        with driver.connect(str(tmp_path / f"{name}.duckdb")) as connection:
            connection.execute(f"CREATE TABLE rows AS SELECT range AS id, 1 AS x FROM range({rows})")
    session = opened(f"{path}::rows")
    assert count(session) == 2
    (tmp_path / "b.duckdb").replace(path)
    assert count(session) == 3
    with driver.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("CREATE TABLE rows AS SELECT range AS id FROM range(9)")
    (tmp_path / "c.duckdb").replace(path)
    refused(session, "nothing was spent")


def test_sources_that_did_not_change_are_not_opened_again(tmp_path: Path) -> None:
    pq.write_table(TWO, tmp_path / "a.parquet")
    engine = dp.engines.duckdb(threads=1)
    engine.columns(str(tmp_path))
    connected, known = engine._connected, dict(engine._known)
    engine.columns(str(tmp_path))
    assert engine._connected is connected
    assert engine._known == known


def test_frames_are_turned_into_arrow_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(TWO.to_pandas())
    monkeypatch.setattr(engine_module, "open_source", None)
    assert count(session) == 2
