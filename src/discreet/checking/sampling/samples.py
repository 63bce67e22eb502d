"""Runs of a black box on two inputs, drawn in chunks: with a progress bar, over several processes, and to be continued.

Promise: how many runs are wanted is fixed before the first; nothing looks at them before all are there. So a run that
was interrupted and continued is worth what an uninterrupted one is.
Believes: runs are independent. Processes are started afresh, not forked: a generator that is copied by a fork repeats
itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from rich.progress import Progress

from discreet.checking.sampling.observed import Outcome, as_json, from_json, observe
from discreet.shown import brief

_CHUNK = 500


@dataclass(slots=True)
class Samples:
    """Outcomes on the first and on the second input, so far. Hand it to ``audit`` again to go on with it.

    >>> some = Samples([1, 2.5], [None])
    >>> Samples.from_lines(some.to_lines()) == some
    True
    """

    __repr__ = brief

    first: list[Outcome] = field(default_factory=list)
    second: list[Outcome] = field(default_factory=list)

    def to_lines(self) -> Iterator[str]:
        """One line of JSON for each outcome, to be stored by the caller."""
        for side, outcomes in ((0, self.first), (1, self.second)):
            for outcome in outcomes:
                yield json.dumps([side, as_json(outcome)])

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Samples:
        """What was stored."""
        samples = cls()
        for line in lines:
            side, outcome = json.loads(line)
            (samples.second if side else samples.first).append(from_json(outcome))
        return samples


def draw(
    run: Callable[[Any], Any],
    pair: tuple[Any, Any],
    wanted: int,
    *,
    samples: Samples | None = None,
    processes: int = 1,
    progress: bool = False,
) -> Samples:
    """``wanted`` runs on each side, the two sides in turn; what ``samples`` holds already is kept."""
    samples = samples if samples is not None else Samples()
    jobs = list(_jobs(samples, wanted))
    with Progress(disable=not progress, transient=True) as bar:
        task = bar.add_task("running", total=sum(count for _, count in jobs))
        for side, outcomes in _done(run, pair, jobs, processes):
            (samples.second if side else samples.first).extend(outcomes)
            bar.advance(task, len(outcomes))
    return samples


def _jobs(samples: Samples, wanted: int) -> Iterator[tuple[int, int]]:
    """Which side to run next, and how often."""
    left = [wanted - len(samples.first), wanted - len(samples.second)]
    while max(left) > 0:
        for side in (0, 1):
            count = min(_CHUNK, left[side])
            if count > 0:
                left[side] -= count
                yield side, count


def _done(
    run: Callable[[Any], Any], pair: tuple[Any, Any], jobs: list[tuple[int, int]], processes: int
) -> Iterator[tuple[int, list[Outcome]]]:
    if processes <= 1 or len(jobs) < 2:
        for side, count in jobs:
            yield side, chunk(run, pair[side], count)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = [(side, pool.submit(chunk, run, pair[side], count)) for side, count in jobs]
        for side, future in running:
            yield side, future.result()


def chunk(run: Callable[[Any], Any], data: Any, count: int) -> list[Outcome]:
    """``count`` runs on one input."""
    return [observe(run, data) for _ in range(count)]
