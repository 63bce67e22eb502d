"""The PostgreSQL port beside HTTP: a preview's round trip, many clients, and messages that no client sends.

    python -m bench.wire [preview] [clients=64] [fuzz=100000]

Real processes: a curator, and its port. Figures are held against what was asked for.
"""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import psutil
import psycopg

from bench.curator import asked
from bench.measure import Row, show
from discreet.curator.wire.server import WireServer
from tests.helpers.curator.servers import Server, Village
from tests.helpers.curator.wire_messages import message, start, talked
from tests.helpers.processes import free_port, kill_tree, launch, until

ROUNDS, TOGETHER = 150, 100


@contextmanager
def port(village: Village, server: Server) -> Iterator[tuple[int, psutil.Process]]:
    """The port of a village, in a process of its own."""
    number, config, log = free_port(), village.folder / "wire.toml", village.folder / "wire.log"
    own = f"[server]\nport = {server.port}\nwire = {number}"
    config.write_text(village.path.read_text().replace("[server]", own))
    command = [sys.executable, "-m", WireServer.__module__, str(config)]
    process = launch(command, log=log, folder=Path.cwd())
    try:
        until(lambda: _listens(village, number), process=process, log=log)
        yield number, psutil.Process(process.pid)
    finally:
        kill_tree(process)


def _listens(village: Village, number: int) -> bool:
    try:
        connected(village, number).close()
    except psycopg.OperationalError:
        return False
    return True


def connected(village: Village, number: int) -> psycopg.Connection[tuple[object, ...]]:
    """One client."""
    return psycopg.connect(
        host="127.0.0.1", port=number, user="analyst 0", password=village.tokens[0], dbname="other", autocommit=True
    )


def query(number: int) -> str:
    """Of another text each time, so that no plan is kept."""
    return f"SELECT COUNT(*) AS n{number} FROM notes"


def previews(village: Village, server: Server, wire: int) -> list[Row]:
    """Each preview over both, in turn."""
    line = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {"content-type": "application/json", "authorization": f"Bearer {village.tokens[0]}"}
    took: dict[str, list[float]] = {"http": [], "wire": []}
    with connected(village, wire) as client:
        for i in range(ROUNDS):
            began = time.perf_counter()
            body = json.dumps({"sql": query(2 * i), "epsilon": "0.1"})
            line.request("POST", "/api/datasets/other/preview", body, headers)
            reply = line.getresponse()
            reply.read()
            took["http"].append(time.perf_counter() - began)
            began = time.perf_counter()
            client.execute(query(2 * i + 1).encode()).fetchall()
            took["wire"].append(time.perf_counter() - began)
    line.close()
    http_time, wire_time = (1e3 * statistics.median(took[name][20:]) for name in ("http", "wire"))
    ratio = 1.5 * http_time / wire_time
    return [asked("preview, round trip", f"{wire_time:.1f} ms", f"1.5 x HTTP's {http_time:.1f} ms", ratio)]


def clients(village: Village, wire: int, many: int) -> list[Row]:
    """All connected at once, each with ten statements and a preview."""
    answered: list[int] = []

    def work(client: psycopg.Connection[tuple[object, ...]], i: int) -> None:
        for _ in range(10):
            client.execute("SELECT 1").fetchone()
        client.execute(query(10_000 + i).encode()).fetchall()
        answered.append(i)

    began, opened = time.monotonic(), [connected(village, wire) for _ in range(many)]
    threads = [threading.Thread(target=work, args=(client, i)) for i, client in enumerate(opened)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in opened:
        client.close()
    took = time.monotonic() - began
    return [asked(f"{many} clients at once, {took:.1f} s", f"{len(answered)} hold", f"{many}", len(answered) / many)]


def fuzz(village: Village, wire: int, process: psutil.Process, messages: int) -> list[Row]:
    """Messages as no client sends them; memory after a tenth of them, and at the end."""
    signed = start(village.tokens[0], "analyst 0", "other")
    began, rounds, early = time.monotonic(), messages // TOGETHER, 0.0
    for seed in range(rounds):
        draw = Random(seed)
        talked(wire, signed, [message(draw) for _ in range(TOGETHER)])
        if seed == rounds // 10:
            early = process.memory_info().rss / 1e6
    late = process.memory_info().rss / 1e6
    connected(village, wire).close()
    wrong = (village.folder / "wire.log").read_text().count("failed")
    seconds = time.monotonic() - began
    return [
        asked(f"{messages:,} fuzzed messages, {seconds:.0f} s", f"{wrong} surprises", "0", float(not wrong)),
        asked("memory, a tenth of them -> all", f"{early:.0f} -> {late:.0f} MB", "1.2 x", 1.2 * early / late),
    ]


def main() -> None:
    """Run what is named, or all."""
    named = dict(word.partition("=")[::2] for word in sys.argv[1:]) or {
        "preview": "",
        "clients": "64",
        "fuzz": "100000",
    }
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        village = Village(Path(folder))
        with village.server() as server, port(village, server) as (wire, process):
            if "preview" in named:
                rows += previews(village, server, wire)
            if "clients" in named:
                rows += clients(village, wire, int(named["clients"] or 64))
            if "fuzz" in named:
                rows += fuzz(village, wire, process, int(named["fuzz"] or 100_000))
    show("wire", rows)


if __name__ == "__main__":
    main()
