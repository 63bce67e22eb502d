"""Questions about a table beside the floor and the peers: time, memory, keys found, error. All parts, or those named:

    .venv-bench/bin/python -m bench.tables speed errors

Each tool runs in a process of its own, one at a time (``bench.table_runs``); seconds are the best of several runs of
ours and of the floor, in turns, and of one run of a slow peer. The whole takes a quarter of an hour; 1e8 rows need 1 GB
of disk for the table.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.floors import truths
from bench.measure import Row, show
from bench.table_runs import QUESTIONS, Run, session
from bench.trips import trips

LIMIT = 8 << 30
"""Bytes of address space of the process at 1e8 rows."""
PEERS = {
    "opendp": "OpenDP",
    "opendp-gaussian": "OpenDP, ρ worked out by hand",
    "pipelinedp": "PipelineDP",
    "pipelinedp-gaussian": "PipelineDP, Gaussian",
}
FIRST = """
import sys
import discreet as dp
regions = [f"region-{i:02}" for i in range(50)]
trips = dp.table(sys.argv[1], unit="user_id", columns={"amount": dp.bounds(0, 100), "region": dp.keys(regions)})
session = dp.Session(trips=trips, budget=dp.Approx(1, "1e-8"))
print(session.sql(sys.argv[2]).release(epsilon=1))
"""
EARLIER = [  # measured once, 15 November 2026, on the same kind of table; not run here
    ("Tumult Analytics 0.21 on Spark 3.5", "50 s", "36 s", "93-95", ""),
    (
        "SmartNoise SQL 1.0.10 on PostgreSQL 15",
        "1.5 s",
        "5.6 s",
        "139-141",
        "spends ε = 4 in Q2 and 2 in Q3 where 1 is asked",
    ),
    ("Qrlew 0.9.27 on PostgreSQL 15", "3.6 s", "11.7 s", "131-138", "noise in floats from the database's RANDOM()"),
]


@cache
def run(who: str, question: str, rows: str, repeats: int = 1, *, memory: str = "", turn: int = 0) -> Run | None:
    """What a process of its own found; None if it failed. Another ``turn`` is another process."""
    del turn
    command = [
        sys.executable,
        "-m",
        "bench.table_runs",
        who,
        question,
        rows,
        str(repeats),
        *([memory] if memory else []),
    ]
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))) if memory else None
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    if done.returncode:
        print(f"{who} {question} {rows} failed: {(done.stderr.strip() or 'no message').splitlines()[-1][:200]}")
        return None
    return Run(**json.loads(done.stdout))


def row(task: str, ours: Run | None, peer: str, theirs: Run | None, target: float) -> Row:
    """Seconds of both, best of all runs, and CPU seconds."""
    said = ["failed" if r is None else f"{min(r.seconds):.3g} s ({r.cpu:.3g} CPU)" for r in (ours, theirs)]
    ratio = min(theirs.seconds) / min(ours.seconds) if ours and theirs else 0.0
    return Row(task, said[0], peer, said[1], ratio, target)


def joined(runs: list[Run | None]) -> Run | None:
    """The same work from several processes as one."""
    good = [r for r in runs if r]
    if len(good) < len(runs):
        return None
    seconds = [s for r in good for s in r.seconds]
    return Run(seconds, min(r.cpu for r in good), max(r.peak_mb for r in good), [])


# --- time and memory --------------------------------------------------------------------------------------------------


def speed() -> None:
    """Q1 to Q5 at 1e7 rows: the floor and ours in turns, then OpenDP."""
    rows = []
    for question in QUESTIONS:
        turns = [[run(who, question, "1e7", 3, turn=turn) for who in ("floor", "ours")] for turn in range(2)]
        floor, ours = (joined(list(side)) for side in zip(*turns, strict=True))
        task = f"{question} at 1e7 rows"
        rows += [
            row(task, ours, "floor", floor, 1 / 1.5),
            row(task, ours, "OpenDP", run("opendp", question, "1e7"), 5 if question in {"Q2", "Q3"} else 0),
            row(task, ours, "not private", run("raw", question, "1e7", 3), 0),
        ]
    show("Tables: 1e7 rows", rows)


def small() -> None:
    """At 1e6 rows: PipelineDP, the first answer from the start of the process, plan and preview."""
    rows = []
    for question in QUESTIONS:
        ours = run("ours", question, "1e6", 5)
        rows += [
            row(f"{question} at 1e6 rows", ours, PEERS[peer], run(peer, question, "1e6"), target)
            for peer, target in (("pipelinedp", 10), ("opendp", 0))
        ]
    show("Tables: 1e6 rows", rows)


def start() -> None:
    """The first answer from the start of the process; plan and preview in a warm one."""
    path = trips(1_000_000)
    command = [sys.executable, "-c", FIRST, str(path), QUESTIONS["Q2"]]
    walls, cpus = [], []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        walls.append(_seconds(partial(subprocess.run, command, check=True, capture_output=True)))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    wall, said = min(walls), f"{min(walls):.2f} s ({min(cpus):.2f} CPU)"
    rows = [Row("first answer (Q2, 1e6 rows), from process start", said, "limit", "1.5 s", 1.5 / wall, 1)]
    opened = session(path)
    for question, text in QUESTIONS.items():
        quick = statistics.median(_seconds(partial(_preview, opened, text)) for _ in range(21))
        rows.append(Row(f"plan and preview of {question}", f"{quick * 1e3:.1f} ms", "limit", "20 ms", 0.02 / quick, 1))
    show("Tables: start and preview", rows)


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _preview(opened: Any, text: str) -> Any:
    return opened.sql(text).preview(epsilon=1)


def scaling() -> None:
    """Q1 to Q5 at 1e7 rows on one core and on two, in turns."""
    path = trips(10_000_000)
    rows = []
    for question, text in QUESTIONS.items():
        seconds: dict[int, float] = {}
        for cores in (1, 2) * 4:
            seconds[cores] = min(seconds.get(cores, math.inf), _seconds(partial(_answer, path, text, cores)))
        one, two = seconds[1], seconds[2]
        rows.append(Row(f"{question} at 1e7 rows, 2 cores", f"{two:.2f} s", "1 core", f"{one:.2f} s", one / two, 0))
    show("Tables: from one core to two", rows)


def _answer(path: Path, text: str, cores: int) -> Any:
    return session(path, threads=cores).sql(text).release(epsilon=1)


def large() -> None:
    """Q1 to Q5 at 1e8 rows, in turns: ours in processes of at most 8 GiB, the floor with all there is."""
    trips(100_000_000)
    rows = []
    for question in QUESTIONS:
        turns = [
            [run(who, question, "1e8", memory=memory, turn=turn) for who, memory in (("floor", ""), ("ours", "6GB"))]
            for turn in range(2)
        ]
        floor, ours = (joined(list(side)) for side in zip(*turns, strict=True))
        peak = ours.peak_mb / 1024 if ours else 0
        said = f"{peak:.1f} GiB" if ours else "failed"
        rows.append(row(f"{question} at 1e8 rows", ours, "floor", floor, 1 / 1.5))
        rows.append(Row(f"{question} at 1e8 rows: memory", said, "limit", "8 GiB", 8 / peak if peak else 0, 1))
    show("Tables: 1e8 rows", rows)


# --- what is answered -------------------------------------------------------------------------------------------------


def keys() -> None:
    """How many of the 5,000 products come out of Q3 at 1e6 rows; every one that does is a true key."""
    found = {who: _keys(run(who, "Q3", "1e6", 5 if who == "ours" else 1)) for who in ("ours", *PEERS)}
    ours = found.pop("ours")
    rows = [Row("keys of Q3 at 1e6 rows", str(ours), "asked", "250", ours / 250, 1)]
    for peer, count in found.items():
        rows.append(Row("keys of Q3 at 1e6 rows", str(ours), PEERS[peer], str(count), ours / count if count else 0, 1))
    show("Tables: unknown keys", rows)
    table = Table(
        "measured earlier", "Q2, 1e6", "Q3, 1e6", "keys of Q3", "", title="Not run here", title_justify="left"
    )
    for line in EARLIER:
        table.add_row(*line)
    Console(width=140).print(table)


def _keys(found: Run | None) -> int:
    return int(statistics.median(map(len, found.answers))) if found else 0


Three = tuple[float, float, float]
"""Of the count, the sum and the average."""


def relative_errors(found: Run, truth: dict[str, tuple[float, float]]) -> Three:
    """Of each release the median over the regions; of all releases the mean of these."""
    medians = []
    for answer in found.answers:
        off = []
        for key, *values in answer:
            n, total = truth[key]
            off.append([abs(value - true) / true for value, true in zip(values, (n, total, total / n), strict=True)])
        medians.append([statistics.median(column) for column in zip(*off, strict=True)])
    n, total, mean = (statistics.fmean(column) for column in zip(*medians, strict=True))
    return n, total, mean


def errors() -> None:
    """Q2 at 1e6 rows, everyone with the same total; more releases of those that come close."""
    true = {
        name: {key: (float(n), float(total)) for key, (n, total) in regions.items()}
        for name, regions in truths(trips(1_000_000)).items()
    }
    found: dict[str, dict[str, Three]] = {}
    for who, name in {"ours": "discreet", **PEERS}.items():
        releases = 40 if who == "ours" else 10 if who.startswith("pipelinedp") else 2
        if answers := run(who, "Q2", "1e6", releases):
            rooted = who == "ours" and "Gaussian" in _preview(session(trips(1_000_000)), QUESTIONS["Q2"]).noise
            own = true["scaled" if rooted else "drawn"]
            found[name] = {"bounded": relative_errors(answers, own), "raw": relative_errors(answers, true["raw"])}
    table = Table(title="Median relative error over 50 regions, Q2 at 1e6 rows, ε = 1, δ = 1e-8", title_justify="left")
    for heading in ("", "COUNT", "SUM", "AVG", "COUNT, raw", "SUM, raw", "AVG, raw"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, kinds in found.items():
        table.add_row(name, *(f"{100 * value:.3g} %" for kind in ("bounded", "raw") for value in kinds[kind]))
    Console(width=140).print(table)
    print(
        "raw: against the table without bounds, where a user may have any number of rows; else against one's own bounds"
    )
    rows = []
    if ours := found.pop("discreet", None):
        for name, kinds in found.items():
            for place, what in enumerate(("COUNT", "SUM", "AVG")):
                mine, theirs = ours["bounded"][place], kinds["bounded"][place]
                rows.append(
                    Row(f"error of {what}", f"{100 * mine:.3g} %", name, f"{100 * theirs:.3g} %", theirs / mine, 1)
                )
    show("Tables: error", rows)


PARTS: dict[str, Callable[[], None]] = {
    "speed": speed,
    "small": small,
    "start": start,
    "keys": keys,
    "errors": errors,
    "scaling": scaling,
    "large": large,
}


def main() -> None:
    named = [part for part in sys.argv[1:] if part in PARTS]
    for part in named or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
