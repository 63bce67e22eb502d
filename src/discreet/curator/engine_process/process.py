"""The engine in a process of its own: limited memory, a deadline that no data can move, killed when it is over.

Promise: ``run`` gives exact integers of a checked shape or raises EngineFailed, whose message is always the same. A
process that hangs is killed at the deadline; the next question gets a new one. Noise, keys and the ledger are never
there. What it wrote to the disk goes with it, or at the next start (scratch.py). A process that has computed many
questions is replaced while nobody waits for it, so that whatever a library keeps does not add up.

``check`` looks at what is public about a source, before anybody pays: that it is there, and that its columns have the
names and types that they had. Of files only facts about the file decide; of CSV its first line, since types are
guessed from values.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from math import prod
from pathlib import Path
from typing import IO, Any

from discreet.curator.engine_process.file_facts import FileFacts, file_facts
from discreet.curator.engine_process.ipc import pack, read_cells, read_columns, read_exact, unpack
from discreet.curator.engine_process.remote import RemoteEngine
from discreet.curator.engine_process.scratch import Scratch
from discreet.curator.engine_process.turns import Turns
from discreet.curator.limits import Limits
from discreet.engines.duckdb.object_store import ObjectStore
from discreet.engines.sql.relations import scanned
from discreet.errors import BadData, EngineFailed, EngineUnreachable
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets, Work

log = logging.getLogger("discreet.curator")
_NAME = re.compile(r"[A-Za-z]{1,60}")
_JAVA = re.compile(r"(JAVA|SPARK|PYSPARK|HADOOP|KRB5)_?[A-Z_]*|HOME|USER")
_STARTING = 60.0
"""Seconds until a new process must have sent its first columns."""
_COPYING = 3600.0
"""Seconds until a prepared copy must have been made."""
RENEWED_AFTER = 2_000
"""Questions after which a process is replaced: DuckDB 2.0 loses 0.6 to 3 KB with each scan of a CSV file, whatever its
options and caches; scans of Parquet files, of DuckDB tables and planning alone lose nothing."""
GONE = "the data are not there, or not as they were registered; nothing was spent"


class Isolated:
    """An engine that computes in ``processes`` child processes, each for one question at a time."""

    def __init__(
        self, limits: Limits, *, processes: int = 1, threads: int = 2, remote: RemoteEngine | ObjectStore | None = None
    ) -> None:
        self._limits = limits
        self._remote = remote
        self._here = threading.local()
        self._all = [_Process(limits, threads, remote) for _ in range(processes)]
        self._turns = Turns(self._all, "engine processes of this data set")
        self._columns: dict[Any, dict[str, Stored]] = {}
        self._allowed: dict[Any, frozenset[str]] = {}
        self._files: dict[Any, FileFacts] = {}

    @property
    def name(self) -> str:
        """What it is called."""
        return self._remote.kind if isinstance(self._remote, RemoteEngine) else "duckdb"

    @property
    def renewals(self) -> int:
        """How often a process was replaced because of its age."""
        return sum(process.renewals for process in self._all)

    @property
    def failures(self) -> int:
        """How often a process failed, or was stopped at its deadline."""
        return sum(process.failures for process in self._all)

    @property
    def waiting(self) -> int:
        """How many questions wait for a process now."""
        return self._turns.waiting()

    @contextmanager
    def reserved(self, name: str = "") -> Iterator[None]:
        """Hold a process for what this thread runs next, for whoever is called so.

        ``ServiceBusy`` if none is free in time. Nothing is spent yet.
        """
        process = self._turns.take(name, float(self._limits.patience))
        self._here.process = process
        process.ends, process.holder = None, object()
        self._keep_one_ready()
        try:
            yield
        finally:
            self._here.process = None
            with process.holding:
                process.holder = None
            self._turns.give_back(process, name)

    def stopper(self) -> Callable[[], None]:
        """What kills the process that this thread holds, for another thread: as long as this one holds it."""
        process: _Process = self._here.process
        holder = process.holder

        def stop() -> None:
            with process.holding:
                if process.holder is holder:
                    process.kill()

        return stop

    def _keep_one_ready(self) -> None:
        """Start another process while this one computes, so that the next question need not wait for its start."""
        if any(process.alive for process in self._turns.free()):
            return
        spare = self._turns.take_spare()
        if spare is not None:
            threading.Thread(target=self._make_ready, args=(spare,), daemon=True).start()

    def _make_ready(self, process: _Process) -> None:
        try:
            with suppress(EngineFailed, OSError):
                process.make_ready()
        finally:
            self._turns.give_back(process)

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of a source's columns; asked for once, then remembered."""
        allowed, columns = self._allowed.get(_key(source)), self._all_columns(source)
        return columns if allowed is None else {name: one for name, one in columns.items() if name in allowed}

    def allow(self, source: object, names: Iterable[str]) -> None:
        """Let these columns of a source be asked about, and no others: whatever is added to it later is left out."""
        self._allowed[_key(source)] = frozenset(names)

    def left_out(self) -> tuple[str, ...]:
        """The columns that sources have and nobody may ask about."""
        pairs = ((self._columns.get(key, {}), allowed) for key, allowed in self._allowed.items())
        return tuple(name for columns, allowed in pairs for name in columns if name not in allowed)

    def _all_columns(self, source: object) -> dict[str, Stored]:
        key = _key(source)
        if key not in self._columns:
            facts = file_facts(source)
            with nullcontext() if self._reserved() else self.reserved():
                self._columns[key] = self._here.process.columns(source)
            if facts is not None:
                self._files[key] = facts
        return dict(self._columns[key])

    def prepare(self, source: object, folder: Path, name: str, unit: str | None, works: Sequence[Work] = ()) -> str:
        """A private copy of a source, sorted by unit, made in the engine's process unless it is there.

        It keeps what these works compute.
        """
        with nullcontext() if self._reserved() else self.reserved():
            return self._here.process.prepare(source, folder, name, unit, works)  # type: ignore[no-any-return]

    def smallest_hashes(self, source: object, column: str, most: int) -> list[str]:
        """The smallest hashes of the distinct values of a column."""
        with nullcontext() if self._reserved() else self.reserved():
            return self._here.process.smallest_hashes(source, column, most)  # type: ignore[no-any-return]

    def check(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
        """Check that the sources are as they were when they were opened, by public facts; called before the payment.

        ``BadData`` if one is gone or has other columns, ``EngineUnreachable`` if its server is away.
        """
        names = {name for work in works for name in scanned(work.source)}
        self.check_sources(schemas[name].table.source for name in sorted(names))

    def check_sources(self, sources: Iterable[object]) -> None:
        """The same, of these sources."""
        with nullcontext() if self._reserved() else self.reserved():
            self._check(sources)

    def _reserved(self) -> bool:
        return getattr(self._here, "process", None) is not None

    def _check(self, sources: Iterable[object]) -> None:
        for source in sources:
            key = _key(source)
            known, now = self._files.get(key), file_facts(source)
            if known is not None and now == known:
                continue
            if known is not None and now is None:
                raise BadData(GONE)
            if known is not None and now is not None and known.first_lines is not None:
                if now.first_lines != known.first_lines:
                    raise BadData(GONE)
            else:
                found = self._here.process.columns(source, again=True)
                if any(found.get(name) != stored for name, stored in self._columns.get(key, {}).items()):
                    raise BadData(GONE)
            if now is not None:
                self._files[key] = now

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        """The exact numbers of each work, or EngineFailed."""
        process = getattr(self._here, "process", None)
        if process is not None:
            return process.run(works, schemas)  # type: ignore[no-any-return]
        with self.reserved():
            return self._here.process.run(works, schemas)  # type: ignore[no-any-return]

    def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
        """The numbers of each set of keys, counted in one pass, or EngineFailed."""
        with nullcontext() if self._reserved() else self.reserved():
            return self._here.process.grouping_sets(work, schemas)  # type: ignore[no-any-return]

    def close(self) -> None:
        """End all processes. A question that is being computed fails; its own thread then cleans up."""
        for process in self._all:
            process.closed = True
        idle = []
        while (spare := self._turns.take_spare()) is not None:
            idle.append(spare)
        for process in self._all:
            process.stop() if process in idle else process.kill()
            process.stop_next()


class _Process:
    """One process, started when it is needed and started again after it was killed."""

    def __init__(self, limits: Limits, threads: int, remote: RemoteEngine | ObjectStore | None = None) -> None:
        self._limits = limits
        self._threads = threads
        self._remote = remote
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: Scratch | None = None
        self._sent: Mapping[str, Schema] | None = None
        self._next: _Process | None = None
        """The one that takes over at the next question, once it is up."""
        self._preparing = False
        self.ends: float | None = None
        """When the question must be computed that it is held for: one deadline for all that is run for it."""
        self.renewals = 0
        self.failures = 0
        self._computed = 0
        self.closed = False
        """Whether it shall not be started again."""
        self.holder: object | None = None
        """Stands for the reservation that it is held under."""
        self.holding = threading.Lock()

    def columns(self, source: object, *, again: bool = False) -> dict[str, Stored]:
        """The columns of a source; ``again``: not those that the process remembers."""
        try:
            self._start()
            payload = self._ask(("check" if again else "columns", source), _STARTING)
        except EngineFailed:
            if not isinstance(self._remote, RemoteEngine) or self.closed:
                raise
            raise EngineUnreachable(self._remote.what) from None
        bad, away = _sent(payload, "bad"), _sent(payload, "away")
        if away is not None:
            raise EngineUnreachable(away)
        if bad is not None:
            raise BadData(bad)
        return read_columns(payload)

    def prepare(self, source: object, folder: Path, name: str, unit: str | None, works: Sequence[Work]) -> str:
        self._start()
        body = (source, str(folder), name, unit, tuple(works), self._limits.memory // 2)
        payload = self._ask(("prepare", body), _COPYING)
        copy = _sent(payload, "copy")
        if copy is None:
            raise BadData(
                _sent(payload, "bad") or "the data cannot be copied; raise limits.memory, or leave prepared out"
            )
        return copy

    def smallest_hashes(self, source: object, column: str, most: int) -> list[str]:
        self._start()
        try:
            found = json.loads(self._ask(("units", (source, column, most)), _COPYING))["units"]
            return [one for one in found if re.fullmatch("[0-9a-f]{32}", one)][:most]
        except (KeyError, TypeError, ValueError, RecursionError):
            raise EngineFailed from None

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        now = time.monotonic()
        self.ends = self.ends or now + float(self._limits.deadline)
        return read_exact(self._computed_by("run", list(works), schemas, self.ends - now))

    def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
        sizes = [prod(len(work.keys[i].allowed or ()) for i in one) for one in work.sets]
        return read_cells(self._computed_by("sets", work, schemas, float(self._limits.deadline)), sizes)

    def _computed_by(self, kind: str, work: Any, schemas: Mapping[str, Schema], seconds: float) -> bytes:
        """The reply of the process, which is sent the schemas if it does not have them."""
        self._start()
        known = self._sent is schemas
        self._sent = schemas
        payload = self._ask((kind, (work, None if known else dict(schemas))), seconds)
        self._computed += 1
        if self._computed >= RENEWED_AFTER and not self._preparing and not self.closed:
            self._preparing = True
            threading.Thread(target=self._prepare, daemon=True).start()
        failed = _sent(payload, "failed")
        if failed is not None:
            self.failures += 1
            log.error("the engine failed: %s", failed if _NAME.fullmatch(failed) else "without a name")
            raise EngineFailed
        return payload

    def _prepare(self) -> None:
        """Start the process that takes over, while this one goes on."""
        fresh = _Process(self._limits, self._threads, self._remote)
        with suppress(EngineFailed):
            fresh.make_ready()
        self._next = fresh
        if self.closed:
            self.stop_next()

    def _take_over(self) -> None:
        """Let the new process take the place of the old one."""
        fresh, self._next = self._next, None
        if fresh is not None:
            self.stop()
            self._process, self._scratch = fresh._process, fresh._scratch
            self._computed, self._preparing = 0, False
            self.renewals += 1

    def _ask(self, request: tuple[str, Any], seconds: float) -> bytes:
        """Send a request and wait for the reply; after the deadline the process is killed."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise EngineFailed
        pipe, deadline = process.stdout, time.monotonic() + seconds
        try:
            _write(process.stdin, pack(pickle.dumps(request, protocol=pickle.HIGHEST_PROTOCOL)), deadline)
            return unpack(lambda size: _read(pipe, size, deadline))
        except (EOFError, OSError, TimeoutError) as error:
            if not self.closed:  # else nothing failed: a command ended while this process was still starting
                self.failures += 1
                log.error("the engine's process was stopped: %s", type(error).__name__)
            self.stop()
        raise EngineFailed

    @property
    def alive(self) -> bool:
        """Whether it is started."""
        process = self._process
        return process is not None and process.poll() is None

    def make_ready(self) -> None:
        """Start it, if it is not."""
        self._start()
        self._ask(("up", None), _STARTING)
        if self.closed:
            self.stop()

    def _start(self) -> None:
        self._take_over()
        if self.closed:
            self.stop()
            raise EngineFailed
        if self.alive:
            return
        self.stop()
        self._scratch = scratch = Scratch()
        command = [sys.executable, "-I", "-m", f"{__package__}.worker", scratch.path]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [*command, str(self._limits.memory), str(self._threads), "remote" if self._remote else "duckdb"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "TMPDIR": scratch.path, "TZ": "UTC"} | _java(self._remote),
            pass_fds=(scratch.lock,),
            bufsize=0,
            start_new_session=True,
        )
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)
        if self._remote is not None:  # it may hold a password: not among the arguments, which others can read
            self._ask(("engine", (self._remote, float(self._limits.deadline))), _STARTING)

    def kill(self) -> None:
        """Kill the process while another thread waits for it."""
        if self._process is not None:
            self._process.kill()

    def stop_next(self) -> None:
        """Kill the one that would have taken over."""
        if self._next is not None:
            self._next.stop()
            self._next = None

    def stop(self) -> None:
        """Kill the process, and remove what it left on the disk."""
        process, scratch = self._process, self._scratch
        self._process = self._scratch = self._sent = None
        if process is not None:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)  # with what it started
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if scratch is not None:
            scratch.remove()


def _key(source: object) -> Any:
    return tuple(source) if isinstance(source, list) else source


def _java(remote: RemoteEngine | ObjectStore | None) -> dict[str, str]:
    """What Spark needs to know of this machine."""
    if not isinstance(remote, RemoteEngine) or remote.kind != "spark":
        return {}
    return {name: value for name, value in os.environ.items() if _JAVA.fullmatch(name)}


def _read(pipe: IO[bytes], size: int, deadline: float) -> bytes:
    _until(pipe, select.POLLIN, deadline)
    return os.read(pipe.fileno(), size)


def _write(pipe: IO[bytes], data: bytes, deadline: float) -> None:
    left = memoryview(data)
    while left:
        _until(pipe, select.POLLOUT, deadline)
        left = left[os.write(pipe.fileno(), left) :]


def _until(pipe: IO[bytes], ready: int, deadline: float) -> None:
    """Wait until a pipe is ready; TimeoutError after the deadline."""
    left, watched = deadline - time.monotonic(), select.poll()
    watched.register(pipe.fileno(), ready)
    if left <= 0 or not watched.poll(left * 1000):
        raise TimeoutError


def _sent(payload: bytes, name: str) -> str | None:
    """What a process sent under a name, if its reply is short and has it."""
    if len(payload) > 2000:
        return None
    try:
        reply = json.loads(payload)
        return str(reply[name]) if isinstance(reply, dict) and name in reply else None
    except (ValueError, RecursionError):
        raise EngineFailed from None
