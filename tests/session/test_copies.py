"""A session on prepared copies: the same budget, the same answers."""

from __future__ import annotations

import gc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.emit import emit
from discreet.engines.sql.kept import unit_name
from discreet.errors import BadParameter, Unsupported
from discreet.query.plan.expressions import Column
from discreet.query.run import works_of

SQL = "SELECT city, COUNT(*) AS n FROM visits GROUP BY city"


@pytest.fixture
def session(tmp_path: Path) -> dp.Session:
    return made(tmp_path)


def made(tmp_path: Path) -> dp.Session:
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"who": list(range(100)), "city": ["a", "b"] * 50}), path)
    visits = dp.table(str(path), unit="who", columns={"city": dp.keys(["a", "b"])})
    cities = dp.table({"city": ["a", "b"], "zone": ["north", "south"]}, public=True)
    return dp.Session(visits=visits, cities=cities, budget=dp.Pure(10**6))


@pytest.mark.slow
def test_copies_share_the_budget_and_answer_alike(session: dp.Session, tmp_path: Path) -> None:
    copied = session.prepare(folder=tmp_path / "copies")
    assert [one.name for one in (tmp_path / "copies").iterdir()] == ["visits.duckdb"]  # public tables stay
    assert copied.sql(SQL).release(epsilon=1000)["n"] == [50, 50]
    assert session.remaining == copied.remaining == dp.Pure(10**6 - 1000)
    joined = "SELECT zone, COUNT(*) AS n FROM visits JOIN cities ON visits.city = cities.city GROUP BY zone"
    assert copied.sql(joined).release(epsilon=1000)["n"] == [50, 50]


@pytest.mark.slow
def test_without_a_folder_copies_go_with_the_session(tmp_path: Path) -> None:
    session = made(tmp_path)
    copied = session.prepare("visits")
    path = Path(copied.schemas["visits"].table.source.path)
    assert path.is_file()
    assert copied.sql(SQL).release(epsilon=1000)["n"] == [50, 50]
    del session, copied
    gc.collect()
    assert not path.exists()


def test_what_has_no_copy_is_refused(session: dp.Session) -> None:
    for name in ("nothing", "cities"):
        with pytest.raises(BadParameter, match="must be one of visits"):
            session.prepare(name)
    elsewhere = dp.Session(t=dp.table({"id": [1]}, unit="id"), budget=dp.Pure(1), engine=memory())
    with pytest.raises(Unsupported):
        elsewhere.prepare()


def test_copies_keep_what_declared_columns_need(tmp_path: Path) -> None:
    """Counts of units by the declared key; another list is another copy, in the place of the first."""
    path, folder = tmp_path / "visits.parquet", tmp_path / "copies"
    pq.write_table(pa.table({"who": ["x", "y", "x"], "city": ["a", "b", "a"], "cost": [1.5, 2.0, None]}), path)

    def copy(*cities: str) -> set[str]:
        columns = {"city": dp.keys(list(cities)), "cost": dp.bounds(0, 10)}
        visits = dp.table(str(path), unit="who", columns=columns, max_rows=2)
        copied = dp.Session(visits=visits, budget=dp.Pure(10**6)).prepare(folder=folder)
        origin = copied._backend.engine._open(copied.schemas["visits"].table.source).origin  # type: ignore[attr-defined]
        for text, used in ((SQL, True), (SQL.replace("GROUP", "WHERE city = 'a' GROUP"), False)):
            (work,) = works_of(copied.sql(text).quote(epsilon=1), "0" * 32)
            assert ("kept_n" in emit(work, DUCKDB, {"visits": origin}).sql) == used
        assert unit_name(Column("who")) in origin.kept
        assert copied.sql(SQL).release(epsilon=1000)["n"] == [2, 1][: len(cities)]
        return set(origin.kept)

    assert copy("a", "b") != copy("a")
    made = (folder / "visits.duckdb").stat().st_ino
    copy("a")
    assert (folder / "visits.duckdb").stat().st_ino == made
