"""The engine's own process: its limits, its end, and what it may say."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator.engine_process import process
from discreet.curator.engine_process.process import Isolated
from discreet.curator.engine_process.scratch import PREFIX, sweep
from discreet.curator.limits import Limits
from discreet.engines.duckdb.engine import duckdb
from discreet.errors import BadData, EngineFailed, ServiceBusy
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import Pure
from discreet.query.engine import CountsSets
from discreet.query.plan.schema import keys, table
from discreet.session.session import Session
from discreet.synthetic.columns import categories
from discreet.synthetic.domain import Domain
from discreet.synthetic.tables.engine_source import EngineSource
from tests.helpers.processes import gone, until


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


SHORT = Limits(deadline=Fraction(1, 2))  # set once a process hangs, so that no honest work depends on speed


def test_many_sets_are_counted_in_one_request(source: str, engine: Isolated) -> None:
    given = table([source], unit="id", columns={"city": keys(["a", "b"])}, max_rows=1)
    session = Session(t=given, budget=Pure(1), engine=engine)
    domain = Domain({"city": categories(["a", "b"])})
    assert isinstance(engine, CountsSets)
    here, there = (EngineSource(one, session.schemas, "t", domain) for one in (duckdb(), engine))
    there.check()
    for mine, theirs in zip(here.marginals([(0,), ()]), there.marginals([(0,), ()]), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert engine.failures == 0
    Path(source).unlink()
    with pytest.raises(BadData, match="nothing was spent"):
        EngineSource(engine, session.schemas, "t", domain).check()
    with pytest.raises(EngineFailed):
        EngineSource(engine, session.schemas, "t", domain).marginals([(0,)])


@pytest.mark.slow
def test_it_computes_what_the_engine_in_this_process_computes(source: str, engine: Isolated) -> None:
    assert engine.columns([source]) == duckdb().columns([source])
    assert question(source, engine).sql(SQL).release(epsilon=10**6)["n"] == [50, 50]


@pytest.mark.slow
def test_a_process_that_hangs_is_killed_at_the_deadline_and_the_next_question_gets_a_new_one(source: str) -> None:
    engine = Isolated(Limits(), threads=1)
    session = question(source, engine)
    session.sql(SQL).release(epsilon=10**6)
    (first,) = processes(engine)
    first.suspend()
    object.__setattr__(engine._all[0], "_limits", SHORT)
    with pytest.raises(EngineFailed) as found:
        session.sql(SQL).release(epsilon=1)
    assert str(found.value) == str(EngineFailed())
    assert not first.is_running()
    object.__setattr__(engine._all[0], "_limits", Limits())
    assert session.sql(SQL).release(epsilon=10**6)["n"] == [50, 50]
    engine.close()


@pytest.mark.slow
def test_a_process_that_dies_fails_with_the_same_words(source: str, engine: Isolated) -> None:
    session = question(source, engine)
    session.sql(SQL).release(epsilon=10**6)
    processes(engine)[0].kill()
    processes(engine)[0].wait()
    assert session.sql(SQL).release(epsilon=10**6)["n"] == [50, 50]  # dead before it was asked: started again
    scratch = engine._all[0]._scratch
    assert scratch is not None
    folder = Path(scratch.path)
    assert folder.stat().st_mode & 0o077 == 0
    engine.close()
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize("closed", [True, False])
def test_a_process_that_was_still_starting_when_a_command_ended_is_no_failure(
    closed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A command on a busy machine wrote "the engine's process was stopped" below what it had to say."""
    engine = Isolated(Limits(), processes=2, threads=1)
    spare = engine._all[1]
    spare._start()
    spare.closed = closed  # as ``close`` does, while another thread waits for the first reply
    spare.kill()
    with pytest.raises(EngineFailed):
        spare._ask(("up", None), 60.0)
    assert ("was stopped" in caplog.text) is not closed
    assert engine.failures == (not closed)
    engine.close()


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_it_ends_when_the_service_ends_and_takes_its_folder_with_it(source: str, engine: Isolated) -> None:
    engine.columns([source])
    (process,) = processes(engine)
    child, scratch = engine._all[0]._process, engine._all[0]._scratch
    assert child is not None
    assert child.stdin is not None
    assert scratch is not None
    (Path(scratch.path) / "spilled").write_text("rows that did not fit")
    child.stdin.close()  # what the kernel does when the service is killed
    process.wait(timeout=20)
    child.stdin = None
    assert not Path(scratch.path).exists()


@pytest.mark.slow
def test_what_a_crash_left_is_swept_away_and_what_is_in_use_is_not(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    engine = Isolated(Limits(), threads=1)
    engine.columns([source])
    (process,), used = processes(engine), engine._all[0]._scratch
    assert used is not None
    left, link, other = tmp_path / f"{PREFIX}left", tmp_path / f"{PREFIX}link", tmp_path / "other"
    for folder in (left, other):
        folder.mkdir()
        (folder / "spilled").write_text("rows that did not fit")
    link.symlink_to(other)
    assert sweep() == 1
    assert not left.exists()
    assert (other / "spilled").exists()
    assert Path(used.path).exists()
    process.suspend()  # so that it cannot clear up behind itself
    os.close(used.lock)  # the service dies: its engine still holds the folder
    assert sweep() == 0
    process.kill()
    process.wait()
    assert sweep() == 1
    assert not Path(used.path).exists()
    used.lock = os.open(tmp_path, os.O_RDONLY)
    engine.close()


@pytest.mark.slow
def test_a_process_that_does_not_listen_is_killed_at_the_deadline(source: str) -> None:
    """A question that is larger than the pipe waits for no reader beyond the deadline."""
    engine = Isolated(Limits(), threads=1)
    many = keys([f"key {i:0100d}" for i in range(5_000)])
    session = Session(t=table([source], unit="id", columns={"city": many}), budget=Pure(10), engine=engine)
    (process,) = processes(engine)
    process.suspend()
    object.__setattr__(engine._all[0], "_limits", SHORT)
    with pytest.raises(EngineFailed):
        session.sql(SQL).release(epsilon=1)
    assert gone(process)
    engine.close()


@pytest.mark.slow
def test_what_a_process_says_of_a_failure_is_logged_only_as_a_name(
    source: str, engine: Isolated, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = question(source, engine)
    for said, logged in (("MemoryError", "MemoryError"), ("row 7\nis canary", "without a name")):
        reply = json.dumps({"failed": said}).encode()
        monkeypatch.setattr(engine._all[0], "_ask", lambda *_, reply=reply: reply)
        with pytest.raises(EngineFailed):
            session.sql(SQL).release(epsilon=1)
        assert caplog.messages[-1] == f"the engine failed: {logged}"
    assert "canary" not in caplog.text


@pytest.mark.slow
def test_if_memory_runs_out_the_engine_goes_before_the_service(source: str, engine: Isolated) -> None:
    engine.columns([source])
    (process,) = processes(engine)
    assert Path(f"/proc/{process.pid}/oom_score_adj").read_text().strip() == "1000"


@pytest.mark.slow
def test_its_environment_holds_nothing_of_ours(source: str, engine: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_SECRET", "x")
    engine.columns([source])
    assert set(processes(engine)[0].environ()) <= {"PATH", "TMPDIR", "TZ", "LC_CTYPE"}


def test_when_all_are_busy_nothing_is_spent(source: str) -> None:
    engine = Isolated(Limits(patience=Fraction(1, 100)), threads=1)
    with engine.reserved(), pytest.raises(ServiceBusy), engine.reserved():
        pass
    with engine.reserved():  # given back
        pass
    engine.close()


@pytest.mark.slow
def test_what_cannot_be_opened_says_so_without_a_value(tmp_path: Path, engine: Isolated) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(b"canary7f3a")
    with pytest.raises(BadData) as found:
        engine.columns([str(path)])
    assert "canary" not in str(found.value)


@pytest.mark.slow
def test_a_process_is_replaced_after_many_questions_and_nobody_waits(
    source: str, engine: Isolated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails where one process lives for ever, and grows by what its libraries keep of each question."""
    monkeypatch.setattr(process, "RENEWED_AFTER", 3)
    session = question(source, engine)
    for _ in range(3):
        assert session.sql(SQL).release(epsilon=10**6)["n"] == [50, 50]
    (first,) = processes(engine)
    until(lambda: engine._all[0]._next is not None, what="prepared")
    assert first.is_running()  # it answers until the next one takes over
    assert session.sql(SQL).release(epsilon=10**6)["n"] == [50, 50]
    (second,) = processes(engine)
    assert second.pid != first.pid
    assert gone(first)
    assert engine.renewals == 1


@pytest.mark.slow
def test_closing_ends_the_process_that_would_have_taken_over(
    source: str, engine: Isolated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "RENEWED_AFTER", 1)
    question(source, engine).sql(SQL).release(epsilon=10**6)
    until(lambda: engine._all[0]._next is not None, what="prepared")
    fresh = engine._all[0]._next
    assert fresh is not None
    assert fresh._process is not None
    child = psutil.Process(fresh._process.pid)
    engine.close()
    assert gone(child)


# --- before the payment ---------------------------------------------------------------------------------------------


def spent(session: Session) -> bool:
    return session.remaining != session.budget


@pytest.mark.slow
@pytest.mark.parametrize("change", ["moved", "another type", "a column less"])
def test_a_source_that_changed_is_refused_before_the_payment(source: str, engine: Isolated, change: str) -> None:
    """Fails where every question is charged and then fails."""
    session = question(source, engine)
    if change == "moved":
        Path(source).rename(f"{source}.old")
    elif change == "another type":
        pq.write_table(pa.table({"id": list(range(100)), "city": [1, 2] * 50}), source)
    else:
        pq.write_table(pa.table({"id": list(range(100))}), source)
    with pytest.raises(BadData, match="nothing was spent"):
        session.sql(SQL).release(epsilon=1)
    assert not spent(session)


@pytest.mark.slow
def test_new_rows_and_new_columns_are_no_change(source: str, engine: Isolated) -> None:
    session = question(source, engine)
    pq.write_table(pa.table({"id": list(range(60)), "city": ["a", "b"] * 30, "more": [1] * 60}), source)
    assert session.sql(SQL).release(epsilon=10**6)["n"] == [30, 30]


@pytest.mark.slow
def test_of_csv_the_header_counts_and_no_value_does(tmp_path: Path, engine: Isolated) -> None:
    """A refusal by values would depend on a person."""
    path = tmp_path / "t.csv"
    path.write_text("id,city\n" + "".join(f"{i},a\n" for i in range(10)))
    session = question(str(path), engine)
    path.write_text("id,city\n" + "".join(f"person {i},7\n" for i in range(10)))
    with suppress(EngineFailed):  # whatever becomes of it, it is not refused
        session.sql(SQL).release(epsilon=1)
    assert spent(session)
    path.write_text("id,town\n1,a\n")
    session = question_again(session)
    with pytest.raises(BadData, match="nothing was spent"):
        session.sql(SQL).release(epsilon=1)
    assert not spent(session)


def question_again(session: Session) -> Session:
    """The same tables behind the same engine, with a budget of which nothing is spent."""
    return session.serving(Filter(Pure(10**9)))


def test_a_question_that_hangs_or_is_killed_keeps_no_other_one_waiting(source: str) -> None:
    """Four short questions beside a long one: with one engine process, all of them waited for it in vain."""
    engine = Isolated(Limits(), processes=5, threads=1)
    session = question(source, engine)
    try:
        session.sql(SQL).release(epsilon=10**6)
        (first,) = [one for one in engine._all if one.alive and one in engine._turns.free()][-1:]
        assert first._process is not None
        long = psutil.Process(first._process.pid)
        long.suspend()
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(session.sql(SQL).release, epsilon=1)
            until(lambda: first not in engine._turns.free(), what="asked")
            for _ in range(4):
                assert session.sql(SQL).release(epsilon=10**6)["n"] == [50, 50]
            assert not slow.done()
            long.kill()
            with pytest.raises(EngineFailed):
                slow.result()
        assert session.sql(SQL).release(epsilon=10**6)["n"] == [50, 50]
        assert engine.failures == 1
    finally:
        engine.close()


def test_another_process_is_ready_before_it_is_needed(source: str) -> None:
    engine = Isolated(Limits(), processes=3, threads=1)
    with engine.reserved("ann"):
        until(lambda: any(process.alive for process in engine._turns.free()), what="ready")
        assert sum(process.alive for process in engine._all) == 1  # the one that is held starts when it is asked
    engine.close()
    assert not any(process.alive for process in engine._all)


def test_all_that_is_run_for_one_question_has_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that chooses bounds first runs several times: it holds a process no longer for that."""
    engine, seconds, now = Isolated(Limits(deadline=Fraction(8)), threads=1), list[float](), iter((100.0, 103.0, 200.0))

    def computed(*sent: object) -> bytes:
        seconds.append(sent[-1])  # type: ignore[arg-type]
        raise EngineFailed

    monkeypatch.setattr(engine._all[0], "_computed_by", computed)
    monkeypatch.setattr(engine, "_keep_one_ready", lambda: None)
    monkeypatch.setattr("discreet.curator.engine_process.process.time", SimpleNamespace(monotonic=lambda: next(now)))
    for runs in (2, 1):
        with engine.reserved():
            for _ in range(runs):
                with pytest.raises(EngineFailed):
                    engine.run([], {})
    assert seconds == [8, 5, 8]
    engine.close()
