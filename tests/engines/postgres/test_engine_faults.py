"""PostgreSQL dies, is out of reach, or is interrupted: a release is charged once or not at all, and never half given.

A question is held in the middle by a lock on its table, so that each test knows where it is.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest

import discreet as dp
from discreet.errors import EngineFailed, EngineUnreachable
from tests.helpers.postgres import Postgres
from tests.helpers.processes import tied, until

QUESTION = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def clinic(durable_postgres_dsn: str) -> str:
    with psycopg.connect(durable_postgres_dsn) as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS patient FROM generate_series(1, 100) AS i")
    return durable_postgres_dsn


def session(dsn: str) -> Any:
    visits = dp.table("visits", unit="patient")
    return dp.Session(visits=visits, engine=dp.engines.postgres(dsn, connect_timeout=5), budget=dp.Pure(100))


@contextmanager
def locked(dsn: str) -> Iterator[None]:
    """Nobody reads the table while this lasts."""
    with psycopg.connect(dsn) as connection:
        connection.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
        yield


WAITING = "SELECT pid FROM pg_stat_activity WHERE application_name = 'discreet' AND wait_event_type = 'Lock'"


def waiting(dsn: str) -> bool:
    """Whether a question of ours stands before the lock. (One transaction would always see the same.)"""
    with psycopg.connect(dsn) as connection:
        return connection.execute(WAITING).fetchone() is not None


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Another thread, whose failure is ours."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    yield
    thread.join()
    assert not failures, failures


def fails_in_the_middle(dsn: str, strike: Callable[[psycopg.Connection[Any]], None]) -> Any:
    """A release that waits for a lock until something strikes; the session afterwards."""
    asking = session(dsn)
    asking._backend.engine.check = lambda *_: None  # it would wait for the lock as well, before the payment
    holder = psycopg.connect(dsn)
    holder.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")

    def act() -> None:
        until(lambda: waiting(dsn), what="waiting")
        strike(holder)

    with meanwhile(act), pytest.raises(EngineFailed) as caught:
        asking.sql(QUESTION).release(epsilon=10)
    assert str(caught.value) == str(EngineFailed())
    assert asking.remaining == dp.Pure(90)
    holder.close()
    return asking, caught.value.again


def answers(asking: Any) -> None:
    (number,) = asking.sql(QUESTION).release(epsilon=50).to_arrow().column("n").to_pylist()
    assert abs(number - 100) < 10


@pytest.mark.slow
def test_the_server_is_killed_in_the_middle(clinic: str, durable_postgres: Postgres) -> None:
    asking, again = fails_in_the_middle(clinic, lambda _: durable_postgres.kill())
    del asking._backend.engine.check
    with pytest.raises(EngineUnreachable):
        asking._backend.engine.ready()
    assert asking.remaining == dp.Pure(90)
    with pytest.raises(EngineFailed, match="stays spent"):  # what was paid before is not called unspent
        again()
    durable_postgres.start()
    asking._backend.engine.ready()
    assert abs(again().value - 100) < 10  # under the same payment
    assert asking.remaining == dp.Pure(90)
    answers(asking)  # the same session goes on
    assert asking.remaining == dp.Pure(40)


@pytest.mark.slow
def test_the_connection_is_cut_in_the_middle(clinic: str) -> None:
    def cut(holder: psycopg.Connection[Any]) -> None:
        holder.execute(WAITING.replace("pid", "pg_terminate_backend(pid)", 1))

    asking, _ = fails_in_the_middle(clinic, cut)
    del asking._backend.engine.check
    answers(asking)
    assert asking.remaining == dp.Pure(40)


@pytest.mark.slow
def test_the_table_is_gone_in_the_middle(clinic: str) -> None:
    def drop(holder: psycopg.Connection[Any]) -> None:
        holder.execute("DROP TABLE visits")
        holder.commit()

    fails_in_the_middle(clinic, drop)


def test_a_server_that_is_killed_before_the_payment_costs_nothing(clinic: str, durable_postgres: Postgres) -> None:
    """What is checked before the payment waits for a lock as the question itself does."""
    asking = session(clinic)
    holder = psycopg.connect(clinic)
    holder.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")

    def kill() -> None:
        until(lambda: waiting(clinic), what="waiting")
        durable_postgres.kill()

    with meanwhile(kill), pytest.raises(EngineUnreachable):
        asking.sql(QUESTION).release(epsilon=10)
    holder.close()
    assert asking.remaining == dp.Pure(100)
    durable_postgres.start()
    answers(asking)


@pytest.mark.slow
def test_a_server_that_stops_before_the_question_costs_nothing(clinic: str, durable_postgres: Postgres) -> None:
    asking = session(clinic)
    durable_postgres.stop()
    with pytest.raises(EngineUnreachable):
        asking.sql(QUESTION).release(epsilon=10)
    assert asking.remaining == dp.Pure(100)
    durable_postgres.start()
    answers(asking)


INTERRUPTED = """
import sys
import discreet as dp
visits = dp.table("visits", unit="patient", max_rows=10)
engine = dp.engines.postgres(sys.argv[1])
engine.check = lambda *_: None
session = dp.Session(visits=visits, engine=engine, budget=dp.Pure(100))
print("open", flush=True)
sys.stdin.readline()
try:
    session.sql("SELECT COUNT(*) AS n FROM visits").release(epsilon=10)
except KeyboardInterrupt:
    print(session.remaining.epsilon)
"""


@pytest.mark.slow
def test_an_interruption_is_charged_and_ends_the_work_on_the_server(clinic: str, tmp_path: Path) -> None:
    program = tied(sys.executable, "-c", INTERRUPTED, clinic)
    asking = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    assert asking.stdin is not None
    assert asking.stdout is not None
    assert asking.stdout.readline() == b"open\n"
    with locked(clinic):
        asking.stdin.write(b"\n")
        asking.stdin.flush()
        until(lambda: waiting(clinic), process=asking, what="waiting")
        asking.send_signal(signal.SIGINT)
        said, _ = asking.communicate(timeout=60)
        assert asking.returncode == 0
        assert Fraction(said.decode().strip()) == 90
        until(lambda: not waiting(clinic), what="cancelled on the server")
