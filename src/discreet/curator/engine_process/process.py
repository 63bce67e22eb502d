"""The engine in a process of its own: limited memory, a deadline that no data can move, killed when it is over.

Promise: ``run`` gives exact integers of a checked shape or raises EngineFailed, whose message is always the same. A
process that hangs is killed at the deadline; the next question gets a new one. Noise, keys and the ledger are never
there. What it wrote to the disk goes with it, or at the next start (scratch.py).
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import queue
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from discreet.curator.engine_process.ipc import pack, read_columns, read_exact, unpack
from discreet.curator.engine_process.scratch import Scratch
from discreet.curator.limits import Limits
from discreet.errors import BadData, EngineFailed, LedgerBusy
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Exact

log = logging.getLogger("discreet.curator")
_NAME = re.compile(r"[A-Za-z]{1,60}")
_STARTING = 60.0
"""Seconds until a new process must have sent its first columns."""


class Isolated:
    """An engine that computes in ``processes`` child processes, each for one question at a time."""

    def __init__(self, limits: Limits, *, processes: int = 1, threads: int = 2) -> None:
        self._limits = limits
        self._here = threading.local()
        self._free: queue.Queue[_Process] = queue.Queue()
        self._all = [_Process(limits, threads) for _ in range(processes)]
        self._columns: dict[Any, dict[str, Stored]] = {}
        for process in self._all:
            self._free.put(process)

    @property
    def name(self) -> str:
        """What it is called."""
        return "duckdb"

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Hold a process for what this thread runs next; LedgerBusy if none is free in time. Nothing is spent yet."""
        try:
            process = self._free.get(timeout=float(self._limits.patience))
        except queue.Empty:
            raise LedgerBusy("many questions are being answered; nothing was spent, ask again") from None
        self._here.process = process
        try:
            yield
        finally:
            self._here.process = None
            self._free.put(process)

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of a source's columns; asked for once, then remembered."""
        key = tuple(source) if isinstance(source, list) else source
        if key not in self._columns:
            with self.reserved():
                self._columns[key] = self._here.process.columns(source)
        return dict(self._columns[key])

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        """The exact numbers of each work, or EngineFailed."""
        process = getattr(self._here, "process", None)
        if process is not None:
            return process.run(works, schemas)  # type: ignore[no-any-return]
        with self.reserved():
            return self._here.process.run(works, schemas)  # type: ignore[no-any-return]

    def close(self) -> None:
        """End all processes. A question that is being computed fails; its own thread then cleans up."""
        for process in self._all:
            process.closed = True
        idle = []
        with suppress(queue.Empty):
            while True:
                idle.append(self._free.get_nowait())
        for process in self._all:
            process.stop() if process in idle else process.kill()


class _Process:
    """One process, started when it is needed and started again after it was killed."""

    def __init__(self, limits: Limits, threads: int) -> None:
        self._limits = limits
        self._threads = threads
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: Scratch | None = None
        self._sent: Mapping[str, Schema] | None = None
        self.closed = False
        """Whether it shall not be started again."""

    def columns(self, source: object) -> dict[str, Stored]:
        self._start()
        payload = self._ask(("columns", source), _STARTING)
        bad = _sent(payload, "bad")
        if bad is not None:
            raise BadData(bad)
        return read_columns(payload)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        self._start()
        known = self._sent is schemas
        self._sent = schemas
        payload = self._ask(("run", (list(works), None if known else dict(schemas))), float(self._limits.deadline))
        failed = _sent(payload, "failed")
        if failed is not None:
            log.error("the engine failed: %s", failed if _NAME.fullmatch(failed) else "without a name")
            raise EngineFailed
        return read_exact(payload)

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
            log.error("the engine's process was stopped: %s", type(error).__name__)
            self.stop()
        raise EngineFailed

    def _alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _start(self) -> None:
        if self.closed:
            self.stop()
            raise EngineFailed
        if self._alive():
            return
        self.stop()
        self._scratch = scratch = Scratch()
        command = [sys.executable, "-I", "-m", f"{__package__}.worker", scratch.path]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [*command, str(self._limits.memory), str(self._threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "TMPDIR": scratch.path, "TZ": "UTC"},
            pass_fds=(scratch.lock,),
            bufsize=0,
            start_new_session=True,
        )
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    def kill(self) -> None:
        """Kill the process while another thread waits for it."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """Kill the process, and remove what it left on the disk."""
        process, scratch = self._process, self._scratch
        self._process = self._scratch = self._sent = None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if scratch is not None:
            scratch.remove()


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
