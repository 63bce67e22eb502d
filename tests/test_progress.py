"""Progress: for whoever waits at a terminal, and for nobody else."""

import io
import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from threading import Event
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest
from rich.console import Console

import discreet as dp
from discreet.engines.duckdb.engine import duckdb
from discreet.progress import Progress
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Exact
from discreet.session.session import session_of

TABLE = pa.table({"user": [1, 2, 3]})


class Screen(io.StringIO):
    """A terminal that tells when a text has come by."""

    def __init__(self, awaited: str) -> None:
        super().__init__()
        self.awaited = awaited
        self.seen = Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.awaited in self.getvalue():
            self.seen.set()
        return written


def console(screen: io.StringIO) -> Console:
    return Console(file=screen, force_terminal=True, width=80)


@pytest.mark.slow
def test_the_step_and_the_time_are_shown_and_taken_away_again() -> None:
    screen = Screen("reading")
    with Progress(True, after=0, console=console(screen)) as progress:
        progress.step("reading [the] data")
        assert screen.seen.wait(60)
        assert "0:00:0" in screen.getvalue()
        assert "[the]" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")  # the line is wiped


@pytest.mark.slow
def test_a_later_step_replaces_the_first() -> None:
    screen = Screen("noise")
    with Progress(True, after=0, console=console(screen)) as progress:
        progress.step("reading")
        progress.step("adding noise")
        assert screen.seen.wait(60)


@pytest.mark.parametrize("wanted", [True, False, None])
def test_what_is_quick_or_unwatched_says_nothing(wanted: bool | None) -> None:
    screen = io.StringIO()
    with Progress(wanted, after=3600 if wanted else 0, console=console(screen)) as progress:
        progress.step("reading")
    assert screen.getvalue() == ""


def test_a_notebook_is_told_from_a_program_that_imports_its_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    for shell, wanted in ((None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=object()), True)):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert Progress(None)._wanted is (wanted or sys.stderr.isatty())


@pytest.mark.slow
def test_a_failure_inside_passes_and_stops_it() -> None:
    screen = Screen("reading")

    def fail() -> None:
        with Progress(True, after=0, console=console(screen)) as progress:
            progress.step("reading")
            assert screen.seen.wait(60)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert screen.getvalue().endswith("\x1b[2K")


class Patient:
    """DuckDB that answers once the screen has said so."""

    name = "duckdb"

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._engine = duckdb()

    def columns(self, source: object) -> dict[str, Stored]:
        return self._engine.columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        assert self._screen.seen.wait(60)
        return self._engine.run(works, schemas)


@pytest.mark.slow
def test_a_release_shows_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen("reading the data")
    monkeypatch.setattr(
        "discreet.session.program.Progress", lambda wanted: Progress(wanted, after=0, console=console(screen))
    )
    session = dp.Session(t=dp.table(TABLE, unit="user"), budget=dp.Pure(2), engine=Patient(screen), progress=True)
    assert session.sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1)
    before = screen.getvalue()
    serving = session_of(session._backend.serving(session._backend.budget_store))
    assert serving.sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1)
    assert screen.getvalue() == before  # a curator never shows it, even where it was started in a terminal


def test_a_declared_session_keeps_its_choice() -> None:
    session = dp.Session(t=dp.table(TABLE, unit="user"), budget=dp.Pure(1), progress=False)
    assert session.with_columns()._backend.progress is False


@pytest.mark.slow
def test_a_terminal_is_told_from_a_pipe() -> None:
    script = "from discreet.progress import Progress; print(Progress(None)._wanted)"
    ours, theirs = pty.openpty()
    try:
        for stream, wanted in ((theirs, "True"), (subprocess.DEVNULL, "False")):
            done = subprocess.run(
                [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=stream, check=True, timeout=60
            )
            assert done.stdout.decode().strip() == wanted
    finally:
        os.close(ours)
        os.close(theirs)
