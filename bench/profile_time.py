"""The time of a profile beside the floor of one Q3: part ``profile`` of ``bench.accuracy``.

    DISCREET_ROWS=1e7 python -m bench.accuracy profile

Processor seconds, which a machine that does other things leaves about as they are; the best of three, in turn.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

import discreet as dp
from bench.floors import FLOORS, run
from bench.trips import DAYS, REGIONS, trips

TIMES = 3


def profile() -> None:
    """All columns of the trips: keys that are listed and not, and numbers."""
    rows = int(float(os.environ.get("DISCREET_ROWS", "1e6")))
    path = trips(rows)
    columns = {
        "region": dp.keys(REGIONS), "product": dp.unknown_keys(), "day": dp.keys(range(DAYS)),
        "amount": dp.bounds(0, 100), "rating": dp.bounds(1, 5),
    }  # fmt: skip

    def bought() -> None:
        table = dp.table(path, unit="user_id", columns=columns)
        dp.Session(t=table, budget=dp.Approx(1, "1e-8")).profile("t", epsilon="0.05")

    works: dict[str, Callable[[], object]] = {"floor": lambda: run(FLOORS["Q3"], path), "profile": bought}
    best = {name: min(column) for name, column in zip(works, zip(*_rounds(works), strict=True), strict=True)}
    shown = Table("", "CPU s", title=f"A profile of {rows:,} trips, six columns")
    for name, seconds in best.items():
        shown.add_row(name, f"{seconds:.2f}")
    shown.add_row("ratio", f"{best['profile'] / best['floor']:.2f}")
    Console().print(shown)


def _rounds(works: dict[str, Callable[[], object]]) -> list[list[float]]:
    return [[_busy(work) for work in works.values()] for _ in range(TIMES)]


def _busy(work: Callable[[], object]) -> float:
    def used() -> float:
        found = resource.getrusage(resource.RUSAGE_SELF)
        return found.ru_utime + found.ru_stime

    start = used()
    work()
    return used() - start
