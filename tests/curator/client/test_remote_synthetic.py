"""Synthetic rows from a curator, over a real socket."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from discreet import connect
from discreet.errors import BadParameter, BadQuestion, OverBudget
from discreet.session.price import Price
from tests.helpers.curator.town import Town

pytestmark = pytest.mark.slow


def test_rows_like_those_of_a_session(served: tuple[Town, str], tmp_path: Path) -> None:
    town, url = served
    session = connect(url, town.ann)
    made = session.synthesize("people", epsilon=1, rows=25, columns=["city"], quick=True, key="made")
    assert len(made) == made.to_arrow().num_rows == 25
    assert made.to_polars().columns == list(made.to_pandas().columns) == ["city"]
    assert made.sql("SELECT COUNT(*) AS n FROM synthetic").column("n").to_pylist() == [25]
    assert "rho" in made.spent or "epsilon" in made.spent
    made.write(tmp_path / "made.parquet")
    assert pq.read_table(tmp_path / "made.parquet").num_rows == 25
    again = session.synthesize("people", epsilon=1, rows=25, columns=["city"], quick=True, key="made")
    assert (again.number, again.parquet) == (made.number, made.parquet)
    for bad in ("SELECT * FROM 'people.parquet'", "SET threads = 1"):
        with pytest.raises(BadQuestion):
            made.sql(bad)


def test_a_job_to_watch_and_cancel(served: tuple[Town, str]) -> None:
    town, url = served
    job = connect(url, town.ann).start_synthesize("people", Price("1"), rows=10)
    assert job.state()["state"] in ("running", "done")
    job.cancel()
    assert len(job.result()) == 10


def test_bad_jobs_are_refused(served: tuple[Town, str]) -> None:
    town, url = served
    session = connect(url, town.ann)
    with pytest.raises(BadParameter, match="rows"):
        session.synthesize("people", epsilon=1)
    with pytest.raises(BadParameter):
        session.synthesize("nobody", epsilon=1, rows=5)
    with pytest.raises(OverBudget):
        session.synthesize("people", epsilon=10**8, rows=5)
