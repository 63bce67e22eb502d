"""The curator under load: real server processes on a ledger with full durability, asked over HTTP.

    python -m bench.curator [load] [verify] [strangers] [timing] [beside] [prepared] [soak] [fuzz] [race] [kill]

There is no peer to stand beside: the figures are held against what was asked for. How many rounds is an option, such as
``fuzz=2000 race=20 kill=300 soak=100000``. With PostgreSQL on the machine, races and kills run on both stores.
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import Row, show
from bench.table_runs import QUESTIONS, session
from bench.trips import trips
from discreet.curator.service.access import TABLE
from discreet.curator.service.config import read_config
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.curator.service.questions import SqlQuestion
from discreet.ledger import open_ledger, verify_ledger
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.session.price import Price
from tests.helpers.curator.grammar import malformed, question
from tests.helpers.curator.land import holds_canary
from tests.helpers.curator.servers import Server, Village
from tests.helpers.postgres import Postgres
from tools.servers import Missing

SECONDS = 8.0
GRID = 0.25
SHORT = "SELECT COUNT(*) AS n, SUM(pay) AS s FROM s"
LONG = (
    "SELECT "
    + ", ".join(f"VARIANCE(pay * {i} + age) AS v{i}, MEDIAN(pay + {i}) AS m{i}" for i in range(1, 3))
    + " FROM t"
)
PREVIEW = {"sql": "SELECT COUNT(*) AS n FROM notes", "epsilon": "0.1"}


def rate(servers: list[Server], tokens: list[str], path: str, clients: int, body: Callable[[str], Any]) -> list[float]:
    """Seconds that each request took, of all that were answered in the time given; every client keeps its line open."""
    took: list[float] = []
    stop = time.monotonic() + SECONDS

    def client(i: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", servers[i % len(servers)].port, timeout=60)
        headers = {"content-type": "application/json", "authorization": f"Bearer {tokens[i % len(tokens)]}"}
        n = 0
        while time.monotonic() < stop:
            n += 1
            start = time.monotonic()
            line.request("POST", path, json.dumps(body(f"{i} {n} {start}")), headers)
            reply = line.getresponse()
            reply.read()
            if reply.status == 200:
                took.append(time.monotonic() - start)
        line.close()

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def load(folder: Path) -> list[Row]:
    """Previews and questions for each second, two server processes on the embedded ledger."""
    village = Village(folder / "load", analysts=16)
    text = village.path.read_text().replace("quantum = 0.01", f"quantum = {GRID}")
    village.path.write_text(text)
    roomy(village)
    with village.server() as one, village.server() as other:
        servers = [one, other]
        for server in servers:
            server.ask(village.tokens[0], f"warm {server.port}")
        busy = [processor(servers)]
        previews = rate(servers, village.tokens, "/api/datasets/other/preview", 8, lambda _: PREVIEW)
        busy.append(processor(servers))
        questions = rate(servers, village.tokens, "/api/datasets/other/questions", 96, lambda k: {**PREVIEW, "key": k})
        busy.append(processor(servers))
    free, paid = ((busy[i + 1] - busy[i]) / len(found) for i, found in enumerate((previews, questions)))
    worst = statistics.quantiles(questions, n=100)[98]
    return [
        asked("previews", f"{len(previews) / SECONDS:.0f}/s", "1500/s", len(previews) / SECONDS / 1500),
        asked(
            "questions, full durability", f"{len(questions) / SECONDS:.0f}/s", "100/s", len(questions) / SECONDS / 100
        ),
        asked("processor time of a preview", f"{free * 1e3:.2f} ms", "2 cores, 1500/s", 2 / 1500 / free),
        asked("processor time of a question", f"{paid * 1e3:.1f} ms", "2 cores, 100/s", 2 / 100 / paid),
        asked(f"p99 of a question, grid {GRID} s", f"{worst:.2f} s", f"{4 * GRID + 0.5} s", (4 * GRID + 0.5) / worst),
    ]


def processor(servers: list[Server]) -> float:
    """Seconds that the servers and their engines have computed: other work on the machine hardly moves it."""
    family = [one for server in servers for one in (psutil.Process(server.process.pid),)]
    family += [child for one in family for child in one.children(recursive=True)]
    return sum(one.cpu_times().user + one.cpu_times().system for one in family)


def verify(folder: Path) -> list[Row]:
    """A ledger of 10,000 entries, checked whole."""
    folder.mkdir(exist_ok=True)
    path = folder / "long.ledger"
    with open_ledger(path, create=True) as ledger:
        ledger.owner.protect("people", Pure(10_000))
        ledger.owner.register("t", "people", marks=["t"])
        ledger.owner.add_analyst("ann")
        ledger.owner.grant("ann", "people")
        while ledger.head.sequence < 10_000:
            ledger.spend("t", "ann", events.Pure("0.01"), key=str(ledger.head.sequence), query="SELECT COUNT(*) FROM t")
    start = time.monotonic()
    report = verify_ledger(path, head=folder / "long.ledger.head")
    took = time.monotonic() - start
    assert report.good, report.problems
    speed = report.entries / took
    return [asked("ledger verification", f"{speed:,.0f} entries/s", "30,000/s", speed / 30_000)]


def strangers(folder: Path, many: int = 500) -> list[Row]:
    """Connections that send half a request and wait: how long an analyst's question takes beside them."""
    village = Village(folder, analysts=1)
    roomy(village)
    with village.server() as server, ExitStack() as held:
        server.ask(village.tokens[0], "warm")
        for _ in range(many):
            line = held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            line.sendall(b"GET /api/me HTTP/1.1\r\nx: ")
        took = []
        for i in range(40):
            start = time.monotonic()
            status, _ = server.ask(village.tokens[0], f"beside {i}")
            took.append(time.monotonic() - start if status == 200 else 60.0)
    worst = statistics.quantiles(took, n=20)[18]
    return [asked(f"p95 of a question beside {many} slow strangers", f"{worst:.2f} s", "2 s", 2 / worst)]


def timing(folder: Path, rows: int = 1_000_000, rounds: int = 15) -> list[Row]:
    """A person with half of all rows: how well the time of a reply tells whether they are there (AUC, 0.5: not)."""
    found = []
    for grid, quantum in (("even", 0.25), ("geometric", 0.25), ("geometric", 2)):
        times = [
            reply_times(folder / f"{grid}-{quantum}-{there}", grid, quantum, rows=rows, there=there, rounds=rounds)
            for there in (0, 1)
        ]
        pairs = [(a < b) + (a == b) / 2 for a in times[0] for b in times[1]]
        auc = max(sum(pairs), len(pairs) - sum(pairs)) / len(pairs)
        found.append(
            asked(f"AUC of reply times, {grid} grid of {quantum} s", f"{auc:.2f}", "0.60", 0.1 / max(auc - 0.5, 0.05))
        )
    return found


def beside(folder: Path, rows: int = 2_000_000) -> list[Row]:
    """Four short questions of four analysts at once, alone and beside a long one of a fifth, over HTTP."""
    (folder / "data").mkdir(parents=True)
    ids = np.arange(rows)
    pq.write_table(pa.table({"id": ids, "pay": ids % 100, "age": ids % 90}), folder / "data" / "t.parquet")
    pq.write_table(pa.table({"id": ids[:1000], "pay": ids[:1000] % 100}), folder / "data" / "s.parquet")
    config = folder / "curator.toml"
    bounds = "columns.pay = {bounds = [0, 100]}\n"
    config.write_text(
        '[server]\nquantum = 0.01\n[datasets.d]\nbudget = {epsilon = "1000"}\n'
        f'[datasets.d.tables.t]\nsource = "t.parquet"\nunit = "id"\n{bounds}columns.age = {{bounds = [0, 100]}}\n'
        f'[datasets.d.tables.s]\nsource = "s.parquet"\nunit = "id"\n{bounds}'
    )
    curator = open_curator(read_config(config), create=True)
    names = [f"analyst {i}" for i in range(5)]
    tokens = []
    for name in names:
        curator.ledger.owner.add_analyst(name)
        curator.ledger.owner.grant(name, "d")
        tokens.append(curator.access.issue(name, Role.ANALYST))
    curator.close()
    server = Server(folder, config)
    took: dict[str, list[float]] = {"alone": [], "beside": [], "long": []}
    keys = iter(range(10**6))

    def ask(token: str, text: str, into: str) -> None:
        body = {"sql": text, "epsilon": "0.1", "key": f"k{next(keys)}"}
        began = time.monotonic()
        status, reply = server.ask_for("POST", "/api/datasets/d/questions", body, token)
        assert status == 200, reply
        took[into].append(time.monotonic() - began)

    def at_a_time(into: str) -> None:
        threads = [threading.Thread(target=ask, args=(token, SHORT, into)) for token in tokens[:4]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    try:
        for _ in range(3):
            at_a_time("alone")
        took["alone"].clear()  # the engines were still starting
        for _ in range(5):
            at_a_time("alone")
        long = threading.Thread(target=ask, args=(tokens[4], LONG, "long"))
        long.start()
        time.sleep(0.3)
        while long.is_alive():
            at_a_time("beside")
        long.join()
    finally:
        server.kill()
    middle = {name: statistics.median(seconds) for name, seconds in took.items() if seconds}
    times = middle["beside"] / middle["alone"]
    return [
        asked(
            f"a short question beside one of {middle['long']:.1f} s ({len(took['beside'])} of them)",
            f"{middle['beside'] * 1e3:.0f} ms, {times:.2f} x {middle['alone'] * 1e3:.0f} ms alone", "2 x", 2 / times,
        )
    ]  # fmt: skip


def reply_times(folder: Path, grid: str, quantum: float, *, rows: int, there: int, rounds: int) -> list[float]:
    """On which line of the grid each reply left."""
    (folder / "data").mkdir(parents=True)
    ids = np.concatenate([np.arange(rows) + 1, np.zeros(rows * there, dtype=np.int64)])
    pq.write_table(pa.table({"id": ids, "pay": ids % 100}), folder / "data" / "t.parquet")
    config = folder / "curator.toml"
    config.write_text(
        f'[server]\ngrid = "{grid}"\nquantum = {quantum}\n[datasets.d]\nbudget = {{epsilon = "1000"}}\n'
        '[datasets.d.tables.t]\nsource = "t.parquet"\nunit = "id"\ncolumns.pay = {bounds = [0, 100]}\n'
    )
    curator = open_curator(read_config(config), create=True)
    curator.ledger.owner.add_analyst("ann")
    curator.ledger.owner.grant("ann", "d")
    ann = curator.access.who("Bearer " + curator.access.issue("ann", Role.ANALYST))
    asked_for = SqlQuestion(sql="SELECT COUNT(*) AS n, SUM(pay) AS s FROM t", price=Price("0.01"))
    curator.ask(ann, "d", asked_for)
    lines = []
    for _ in range(rounds):
        began = time.monotonic()
        curator.ask(ann, "d", asked_for, began=began)
        lines.append(curator.grid.line(time.monotonic() - began))
    curator.close()
    return lines


def soak(folder: Path, questions: int, clients: int = 8) -> list[Row]:
    """Many questions: memory of the server and of its engine's process, after a tenth of them and at the end.

    An engine's process is replaced after some thousands of questions: its memory is the most that was seen so far.
    """
    village = Village(folder, analysts=clients)
    village.path.write_text(village.path.read_text().replace("quantum = 0.01", "quantum = 0.01\nprocesses = 1"))
    roomy(village, Pure(10**9))
    with village.server() as server:
        left, lock, seen, wrong = iter(range(1, questions + 1)), threading.Lock(), list[list[float]](), list[str]()
        family = psutil.Process(server.process.pid)
        each, began = max(1, questions // 200), time.monotonic()

        def client(i: int) -> None:
            while True:
                with lock:
                    at = next(left, None)
                    if at is not None and at % each == 0:
                        seen.append(megabytes(family))
                        if at % (10 * each) == 0:
                            memory = "server {:.1f} MB, engine {:.1f} MB".format(*seen[-1])
                            print(f"{at:>9,} questions, {time.monotonic() - began:6.0f} s: {memory}", flush=True)
                if at is None:
                    return
                status, said = server.ask(village.tokens[i], f"{i} {at}")
                if status != 200:
                    wrong.append(f"{status} {said}")

        threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong, f"{len(wrong)} questions were not answered, such as {wrong[0]}"
    tenth = len(seen) // 10
    rows = []
    for which, name in enumerate(("the server", "its engine")):
        early, late = max(one[which] for one in seen[:tenth]), max(one[which] for one in seen[-tenth:])
        told = f"memory of {name} after {questions:,} questions, {early:.0f} MB after a tenth"
        rows.append(asked(told, f"{late:.0f} MB", "+10 %", 1.1 * early / late))
    return rows


def megabytes(server: psutil.Process) -> list[float]:
    """The memory of a server, and of its largest child: there may be one that starts and one that ends."""
    sizes = [server.memory_info().rss]
    for child in server.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            sizes.append(child.memory_info().rss)
    return [sizes[0] / (1 << 20), max(sizes[1:], default=0) / (1 << 20)]


def prepared(folder: Path, rows: int) -> list[Row]:
    """Questions on a prepared copy, beside the same questions on the Parquet file that it was made of."""
    path, found = trips(rows), []
    start = time.monotonic()
    copy = session(path).prepare(folder=folder).schemas["trips"].table.source
    found.append(asked(f"a copy of {rows:.0e} rows", f"{time.monotonic() - start:.1f} s", "once", 1))
    for name, text in QUESTIONS.items():
        took = {}
        for source in (path, copy):
            took[source] = min(seconds(source, text) for _ in range(3))
        ours, theirs = took[copy], took[path]
        found.append(
            Row(
                task=f"{name} at {rows:.0e} rows, prepared", ours=f"{ours:.2f} s", peer="Parquet",
                theirs=f"{theirs:.2f} s", ratio=theirs / ours, target=2,
            )
        )  # fmt: skip
    return found


def seconds(source: Any, text: str) -> float:
    query = session(source).sql(text)
    start = time.monotonic()
    query.release(epsilon=1)
    return time.monotonic() - start


def fuzz(folder: Path, questions: int) -> list[Row]:
    """Questions from a grammar, and requests that are none: how many replies held no text of the data."""
    village = Village(folder, analysts=1, about=("town", "other"))
    draw, (token,) = Random(questions), village.tokens
    statuses: dict[int, int] = {}
    clean = wrong = 0
    with village.server() as server:
        for _ in range(questions):
            body = {"sql": question(draw), "epsilon": draw.choice(["0.5", "1", "5"])}
            status, reply = raw(
                server, "POST", "/api/datasets/town/questions", json.dumps(body).encode(), bearer(token)
            )
            statuses[status] = statuses.get(status, 0) + 1
            clean += not holds_canary(reply) and status in (200, 402, 422)
        assert statuses.get(200, 0) > questions // 20, statuses  # the grammar reaches the data
        many = max(1, questions // 4)
        for _ in range(many):
            method, path, text, headers = malformed(draw, [path for _, path in TABLE], [token])
            status, reply = raw(server, method, path, text, headers)
            wrong += not holds_canary(reply) and b"Traceback" not in reply and status < 500
        left = [path for path in village.folder.rglob("*") if path.is_file() and path.parent.name != "data"]
        kept = sum(not holds_canary(path.read_bytes()) for path in left)
    return [
        asked("fuzzed questions without a canary", f"{clean}", f"{questions}", clean / questions),
        asked("malformed requests without a canary", f"{wrong}", f"{many}", wrong / many),
        asked("ledger, logs, temporary files without one", f"{kept}", f"{len(left)}", kept / len(left)),
    ]


def raw(server: Server, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Status, and headers and body together."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        line.request(method, path.replace(" ", "%20"), body, headers)
        reply = line.getresponse()
        return reply.status, str(reply.headers).encode() + reply.read()
    finally:
        line.close()


def bearer(token: str) -> dict[str, str]:
    return {"content-type": "application/json", "authorization": f"Bearer {token}"}


def race(folder: Path, ledger: str | None, rounds: int) -> Row:
    """A cap for ten asks, 64 clients on two servers at once: how many rounds gave exactly ten answers."""
    village = Village(folder, ledger=ledger)
    good = 0
    with village.server() as one, village.server() as other:
        for i in range(rounds):
            statuses = at_once(village, [one, other], i)
            good += statuses.count(200) == 10 and set(statuses) == {200, 402}
            roomy(village, Pure(i + 2))
    store = "SQLite" if ledger is None else "PostgreSQL"
    return asked(f"race, {store}: rounds with exactly ten", f"{good}", f"{rounds}", good / rounds)


def at_once(village: Village, servers: list[Server], round_: int, clients: int = 64) -> list[int]:
    start, statuses = threading.Barrier(clients), [0] * clients

    def client(i: int) -> None:
        start.wait()
        token = village.tokens[i % len(village.tokens)]
        statuses[i] = servers[i % len(servers)].ask(token, f"round {round_} client {i}")[0]

    threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses


def kill(folder: Path, ledger: str | None, rounds: int) -> Row:
    """Kill -9 at random instants under load; every delivered answer must have its charge, charges never decrease."""
    village = Village(folder, ledger=ledger)
    roomy(village)
    draw, delivered, charges, good = Random(), dict[str, Any](), 0, 0
    for _ in range(rounds):
        crash(village, draw, delivered)
        curator = open_curator(village.config)
        found = {line.entry.sequence: line for line in curator.ledger.entries(kind="charge", limit=10**6)}
        kept = all(
            found[s["number"]].entry.body["key"] == k and found[s["number"]].answered for k, s in delivered.items()
        )
        good += kept and len(found) >= charges and curator.ledger.trouble is None
        charges = len(found)
        curator.close()
    store = "SQLite" if ledger is None else "PostgreSQL"
    told = f"kill -9, {store}: rounds kept ({charges} charges, {len(delivered)} delivered)"
    return asked(told, f"{good}", f"{rounds}", good / rounds)


def crash(village: Village, draw: Random, delivered: dict[str, Any]) -> None:
    with village.server() as server:
        done = threading.Event()

        def client(i: int) -> None:
            n = 0
            while not done.is_set():
                n, key = n + 1, f"{server.port} {i} {n}"
                try:
                    status, said = server.ask(village.tokens[i], key)
                except OSError:
                    return
                if status == 200:
                    delivered[key] = said

        server.ask(village.tokens[0], f"{server.port} first")  # from here on there is load
        threads = [threading.Thread(target=client, args=(i,)) for i in range(len(village.tokens))]
        for thread in threads:
            thread.start()
        done.wait(draw.uniform(0, 1))
        server.kill()
        done.set()
        for thread in threads:
            thread.join()


def roomy(village: Village, budget: Pure | None = None) -> None:
    curator = open_curator(village.config)
    curator.ledger.owner.set_budget("other", budget or Pure(10**6), reason="room for more questions")
    curator.close()


def asked(task: str, ours: str, wanted: str, ratio: float) -> Row:
    return Row(task=task, ours=ours, peer="asked for", theirs=wanted, ratio=ratio, target=1)


@contextmanager
def stores() -> Iterator[dict[str, Callable[[], str | None]]]:
    """Where ledgers may lie on this machine."""
    try:
        with Postgres(durable=True) as server:
            yield {"sqlite": lambda: None, "postgres": server.fresh}
    except Missing:
        yield {"sqlite": lambda: None}


def main() -> None:
    known = {"load", "verify", "strangers", "timing", "beside", "prepared", "soak", "fuzz", "race", "kill"}
    said = {name: text for name, _, text in (one.partition("=") for one in sys.argv[1:]) if name in known} or {
        "load": "",
        "verify": "",
        "strangers": "",
        "timing": "",
        "beside": "",
        "prepared": "1e7",
        "fuzz": "500",
        "race": "20",
        "kill": "10",
    }
    rows: list[Row] = []
    folder = Path(tempfile.mkdtemp(prefix="discreet-bench-"))
    try:
        if "load" in said:
            rows += load(folder)
        if "verify" in said:
            rows += verify(folder / "verify")
        if "strangers" in said:
            rows += strangers(folder / "strangers", int(said["strangers"] or 500))
        if "timing" in said:
            rows += timing(folder / "timing")
        if "beside" in said:
            rows += beside(folder / "beside")
        if "prepared" in said:
            rows += prepared(folder / "prepared", int(float(said["prepared"] or "1e7")))
        if "soak" in said:
            rows += soak(folder / "soak", int(said["soak"] or 100_000))
        if "fuzz" in said:
            rows += fuzz(folder / "fuzz", int(said["fuzz"] or 2000))
        with stores() as places:
            for name, place in places.items():
                if "race" in said:
                    rows.append(race(folder / f"race-{name}", place(), int(said["race"] or 20)))
                if "kill" in said:
                    rows.append(kill(folder / f"kill-{name}", place(), int(said["kill"] or 300)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show("curator", rows)
    if "soak" in said and not all(row.met for row in rows):  # as `make audit` runs it
        sys.exit("memory grew by more than 10 %")


if __name__ == "__main__":
    main()
