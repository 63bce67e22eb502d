"""A session on prepared copies: the same budget, the same answers."""

from __future__ import annotations

import gc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import BadParameter, Unsupported

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


def test_copies_share_the_budget_and_answer_alike(session: dp.Session, tmp_path: Path) -> None:
    copied = session.prepare(folder=tmp_path / "copies")
    assert [one.name for one in (tmp_path / "copies").iterdir()] == ["visits.duckdb"]  # public tables stay
    assert copied.sql(SQL).release(epsilon=1000)["n"] == [50, 50]
    assert session.remaining == copied.remaining == dp.Pure(10**6 - 1000)
    joined = "SELECT zone, COUNT(*) AS n FROM visits JOIN cities ON visits.city = cities.city GROUP BY zone"
    assert copied.sql(joined).release(epsilon=1000)["n"] == [50, 50]


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
