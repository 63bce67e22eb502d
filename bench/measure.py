"""CPU time of one process, medians, and one shape for every table of results."""

from __future__ import annotations

import json
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: ours beside a peer's, and what was asked for."""

    task: str
    ours: str
    peer: str
    theirs: str
    ratio: float
    """How many times better than the peer we are."""
    target: float

    @property
    def met(self) -> bool:
        return self.ratio >= self.target


def cpu_seconds(work: Callable[[], object], *, repeats: int = 5, at_least: float = 0.02) -> float:
    """Median CPU seconds of one call, over ``repeats`` blocks that are long enough for the clock."""
    work()
    start = time.process_time()
    work()
    once = max(time.process_time() - start, 1e-7)
    calls = max(1, int(at_least / once))
    blocks = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(calls):
            work()
        blocks.append((time.process_time() - start) / calls)
    return statistics.median(blocks)


def cpu_once(work: Callable[[], object]) -> float:
    """CPU seconds of a single call, for work that is too slow to repeat."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak_bytes(work: Callable[[], object]) -> int:
    """The most memory that Python and numpy held at once while working."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def show(title: str, rows: list[Row]) -> None:
    """A table for people, then one JSON line for each row."""
    table = Table(title=title, title_justify="left")
    for heading in ("task", "discreet", "peer", "peer's", "ratio", "asked", ""):
        table.add_column(heading, justify="right" if heading in {"ratio", "asked"} else "left")
    for row in rows:
        mark = "[green]met[/]" if row.met else "[red]missed[/]"
        table.add_row(row.task, row.ours, row.peer, row.theirs, f"{row.ratio:,.1f}", f"{row.target:g}", mark)
    Console(width=140).print(table)
    for row in rows:
        print(json.dumps(asdict(row) | {"met": row.met, "suite": title}))
