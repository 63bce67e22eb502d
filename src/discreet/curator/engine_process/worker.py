"""The engine's own process: ``python -I -m discreet.curator.engine_process.worker FOLDER MEMORY THREADS KIND``.

It reads requests from its standard input and writes exact integers to its standard output. It has no key, no ledger, no
tokens and no noise; its memory is limited, and if the machine has none left this process goes first; it leaves no crash
dump; it ends when the service ends, even in the middle of a question, and takes its folder with it.

What arrives comes from the service and is trusted; what leaves is not (see ipc.py).
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import resource
import shutil
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from discreet.curator.engine_process.file_facts import check_same_columns
from discreet.curator.engine_process.ipc import pack, unpack, write_cells, write_columns, write_exact
from discreet.curator.engine_process.remote import ChecksRole, HashesUnits, open_remote
from discreet.engines.duckdb.engine import DuckDB, duckdb
from discreet.engines.duckdb.object_store import ObjectStore
from discreet.engines.duckdb.prepared import keep_copy
from discreet.errors import BadData, BadParameter, EngineUnreachable
from discreet.query.engine import CountsSets, Engine
from discreet.query.plan.schema import Schema


def limit_memory(more: int) -> None:
    """Let this process grow by so many bytes and no further; no crash dumps."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def answer(engine: Engine, schemas: Mapping[str, Schema], request: tuple[str, Any]) -> bytes:
    """The reply to one request. A failure is reported by its type alone."""
    kind, body = request
    try:
        if kind == "columns":
            if isinstance(engine, ChecksRole):
                engine.check_role(body)
            check_same_columns(body)
            return write_columns(engine.columns(body))
        if kind == "check":
            return write_columns(engine.columns(body))
        if kind == "prepare":
            source, folder, name, unit, works, memory = body
            copy = keep_copy(source, folder, name, unit=unit, memory=memory, works=works)
            return json.dumps({"copy": f"{copy.path}::{copy.table}"}).encode()
        if kind == "units" and isinstance(engine, HashesUnits):
            return json.dumps({"units": engine.smallest_hashes(*body)}).encode()
        if kind == "sets" and isinstance(engine, CountsSets):
            return write_cells(engine.grouping_sets(body, schemas))
        if kind == "up":
            return b"{}"
        return write_exact(engine.run(body, schemas))
    except (BadData, BadParameter) as error:  # both are about public facts
        return json.dumps({"bad": str(error)}).encode()
    except EngineUnreachable as error:
        return json.dumps({"away": error.what}).encode()
    except BaseException as error:  # MemoryError too
        return json.dumps({"failed": type(error).__name__}).encode()


def listen(source: BinaryIO, requests: queue.Queue[tuple[str, Any]], folder: str) -> None:
    """Take requests as they come; when the service is gone, so is this process, and its folder."""
    try:
        while True:
            requests.put(pickle.loads(unpack(source.read)))  # noqa: S301 - the service is trusted, and nobody else writes
    except EOFError:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def open_engine(kind: str, folder: str, limit: int, threads: int, requests: queue.Queue[tuple[str, Any]]) -> Engine:
    """The engine of this process: DuckDB, or the one that the first request names."""
    remote = None if kind == "duckdb" else requests.get()[1]
    if remote is None or isinstance(remote[0], ObjectStore):
        store = None if remote is None else remote[0]
        memory = f"{limit * 3 // 4 // (1 << 20)}MiB"
        return duckdb(memory_limit=memory, threads=threads, temp_directory=folder, store=store)
    return open_remote(*remote)


def main(folder: str, memory: str, threads: str, kind: str = "duckdb") -> None:
    """Serve requests until the service ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whatever an engine prints goes nowhere
    limit = int(memory)
    requests: queue.Queue[tuple[str, Any]] = queue.Queue()
    threading.Thread(target=listen, args=(sys.stdin.buffer, requests, folder), daemon=True).start()
    engine = open_engine(kind, folder, limit, int(threads), requests)
    if isinstance(engine, DuckDB):  # else the memory that counts is the server's
        limit_memory(limit)
    if kind != "duckdb":
        out.write(pack(b"{}"))
        out.flush()
    schemas: Mapping[str, Schema] = {}
    while True:
        request = requests.get()
        if request[0] in ("run", "sets"):
            work, new = request[1]
            schemas = schemas if new is None else new
            request = (request[0], work)
        out.write(pack(answer(engine, schemas, request)))
        out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
