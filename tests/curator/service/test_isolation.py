"""The engine's own process: its limits, its end, and what it may say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.frames import pack, read_columns, read_exact, unpack, write_exact
from discreet.curator.isolation import Isolated
from discreet.curator.limits import Limits
from discreet.engines.duckdb import duckdb
from discreet.errors import BadData, EngineFailed, LedgerBusy
from discreet.privacy.measures import Pure
from discreet.session import Session
from discreet.table.schema import keys, table
from discreet.table.work import Exact
from tests.helpers.processes import gone


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": list(range(100)), "city": ["a", "b"] * 50}), path)
    return str(path)


@pytest.fixture
def engine() -> Iterator[Isolated]:
    found = Isolated(Limits(), threads=1)
    yield found
    found.close()


def processes(engine: Isolated) -> list[psutil.Process]:
    return [psutil.Process(one._process.pid) for one in engine._all if one._process is not None]


def question(source: str, engine: Isolated) -> Session:
    return Session(t=table([source], unit="id", columns={"city": keys(["a", "b"])}), budget=Pure(10**9), engine=engine)


SQL = "SELECT city, COUNT(*) AS n FROM t GROUP BY city"


def test_it_computes_what_the_engine_in_this_process_computes(source: str, engine: Isolated) -> None:
    assert engine.columns([source]) == duckdb().columns([source])
    assert question(source, engine).sql(SQL).release(epsilon=10**6)["n"] == [50, 50]


def test_a_process_that_hangs_is_killed_at_the_deadline_and_the_next_question_gets_a_new_one(source: str) -> None:
    engine = Isolated(Limits(deadline=Fraction(1, 2)), threads=1)
    session = question(source, engine)
    session.sql(SQL).release(epsilon=10**6)
    (first,) = processes(engine)
    first.suspend()
    with pytest.raises(EngineFailed) as found:
        session.sql(SQL).release(epsilon=1)
    assert str(found.value) == str(EngineFailed())
    assert not first.is_running()
    roomy = Limits()
    object.__setattr__(engine._all[0], "_limits", roomy)
    assert session.sql(SQL).release(epsilon=10**6)["n"] == [50, 50]
    engine.close()


def test_a_process_that_dies_fails_with_the_same_words(source: str, engine: Isolated) -> None:
    session = question(source, engine)
    session.sql(SQL).release(epsilon=10**6)
    processes(engine)[0].kill()
    processes(engine)[0].wait()
    assert session.sql(SQL).release(epsilon=10**6)["n"] == [50, 50]  # dead before it was asked: started again
    folder = Path(str(engine._all[0]._folder))
    assert folder.stat().st_mode & 0o077 == 0
    engine.close()
    assert not folder.exists()


def test_closing_while_a_question_is_computed_fails_that_question(source: str, engine: Isolated) -> None:
    session = question(source, engine)
    session.sql(SQL).release(epsilon=10**6)
    (process,) = processes(engine)
    process.suspend()
    with engine.reserved(), ThreadPoolExecutor(1) as pool:
        held = engine._here.process

        def run() -> object:
            engine._here.process = held
            return session.sql(SQL).release(epsilon=1)

        asked = pool.submit(run)
        engine.close()
        with pytest.raises(EngineFailed):
            asked.result()
    assert gone(process)


def test_it_has_no_more_memory_than_it_may(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    many = 600_000
    pq.write_table(pa.table({"id": list(range(many)), "text": [f"{i:0200d}" for i in range(many)]}), path)
    engine = Isolated(Limits(memory=96 << 20, deadline=Fraction(60)), threads=1)
    try:
        session = Session(t=table([str(path)], unit="id"), budget=Pure(100), engine=engine)
        with pytest.raises(EngineFailed):
            session.sql("SELECT COUNT(DISTINCT text) AS n FROM t").release(epsilon=1)
        core, _ = processes(engine)[0].rlimit(psutil.RLIMIT_CORE) if processes(engine) else (0, 0)
        assert core == 0
    finally:
        engine.close()


def test_it_ends_when_the_service_ends(source: str, engine: Isolated) -> None:
    engine.columns([source])
    (process,) = processes(engine)
    child = engine._all[0]._process
    assert child is not None
    assert child.stdin is not None
    child.stdin.close()  # what the kernel does when the service is killed
    process.wait(timeout=20)
    child.stdin = None


def test_its_environment_holds_nothing_of_ours(source: str, engine: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_SECRET", "x")
    engine.columns([source])
    assert set(processes(engine)[0].environ()) <= {"PATH", "TMPDIR", "TZ", "LC_CTYPE"}


def test_when_all_are_busy_nothing_is_spent(source: str) -> None:
    engine = Isolated(Limits(patience=Fraction(1, 100)), threads=1)
    with engine.reserved(), pytest.raises(LedgerBusy), engine.reserved():
        pass
    with engine.reserved():  # given back
        pass
    engine.close()


def test_what_cannot_be_opened_says_so_without_a_value(tmp_path: Path, engine: Isolated) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"canary7f3a")
    with pytest.raises(BadData) as found:
        engine.columns([str(path)])
    assert "canary" not in str(found.value)


# --- frames ---------------------------------------------------------------------------------------------------------


def test_exact_numbers_survive() -> None:
    found = Exact(
        ((1, "a", True, None), (2, "é\n", False, date(2025, 1, 2)), (3, "", None, datetime(2025, 1, 2, 3, 4, 5, 6))),
        (np.array([1, -(2**63), 2**63 - 1]), np.array([2**100, 0, -1], dtype=object)),
    )
    (back,) = read_exact(write_exact([found]))
    assert back.keys == found.keys
    assert [n.tolist() for n in back.numbers] == [n.tolist() for n in found.numbers]
    assert [n.dtype for n in back.numbers] == [np.int64, object]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\x80\x04}.",  # a pickle
        b"[]",
        b"{}",
        b'{"works": 3}',
        b'{"works": [{"keys": [[1]], "numbers": [[1, 2]]}]}',
        b'{"works": [{"keys": [[1]], "numbers": [[1.5]]}]}',
        b'{"works": [{"keys": [[1]], "numbers": [[true]]}]}',
        b'{"works": [{"keys": [[1]], "numbers": [["1"]]}]}',
        b'{"works": [{"keys": [[1]], "numbers": [[null]]}]}',
        b'{"works": [{"keys": [[1], [1]], "numbers": [[1, 2]]}]}',
        b'{"works": [{"keys": [[1.5]], "numbers": [[1]]}]}',
        b'{"works": [{"keys": [[{"date": "x"}]], "numbers": [[1]]}]}',
        b'{"works": [{"keys": [[[1]]], "numbers": [[1]]}]}',
        json.dumps({"works": [{"keys": [[1]], "numbers": [[10**60]]}]}).encode(),
        b"[" * 100_000,
    ],
)
def test_whatever_a_process_says_is_exact_numbers_or_a_failure(said: bytes) -> None:
    with pytest.raises(EngineFailed):
        read_exact(said)
    with pytest.raises(EngineFailed):
        read_columns(said)


def test_frames_end_where_they_say() -> None:
    data = pack(b"abc") + pack(b"") + b"\x00\x00"

    def read(size: int) -> bytes:
        nonlocal data
        part, data = data[:size], data[size:]
        return part

    assert (unpack(read), unpack(read)) == (b"abc", b"")
    with pytest.raises(EOFError):
        unpack(read)
    data = b"\xff" * 16
    with pytest.raises(EOFError):
        unpack(read)
