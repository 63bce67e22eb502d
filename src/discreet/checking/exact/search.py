"""Look for a counterexample: all small pairs first, from the smallest up, then random larger ones, made smaller.

Promise: what comes back was judged and refuted as it stands; making it smaller only ever replaces one refuted pair by
another. The report says what was tried, so that finding nothing is never taken for a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from discreet.checking.exact.report import Counterexample
from discreet.checking.exact.small_data import Data, Space
from discreet.stable.core.metrics import identity

Judge: TypeAlias = Callable[[Data, Data], Counterexample | None]
"""Whether a pair of data sets refutes the claim."""

_ROUNDS_OF_SHRINKING = 200
_LARGEST = 12
_FURTHEST = 3


@dataclass(frozen=True, slots=True)
class Found:
    """What was tried, and the counterexample that was found, if any."""

    tried: int
    method: str
    counterexample: Counterexample | None = None


def look(space: Space, judge: Judge, *, rows: int, most_pairs: int, searches: int, seed: int = 0) -> Found:
    """All pairs of up to ``rows`` rows, as long as there are at most ``most_pairs``; then ``searches`` random ones."""
    tried, complete = 0, -1
    for size in range(rows + 1):
        cut = False
        for first, second in _pairs(space, size):
            if tried >= most_pairs:
                cut = True
                break
            tried += 1
            if (counterexample := judge(first, second)) is not None:
                return Found(tried, _words(space, size - 1, 0), shrunk(space, judge, first, second, counterexample))
        if cut:
            break
        complete = size
    choose = Random(seed)  # noqa: S311 - it chooses what to try; no noise is drawn from it
    for n in range(searches):
        first = second = space.random(choose, _LARGEST)
        for _ in range(choose.randint(1, _FURTHEST)):
            second = space.step(second, choose)
        if not space.ordered:
            second = tuple(choose.sample(second, len(second)))
        tried += 1
        if (counterexample := judge(first, second)) is not None:
            return Found(tried, _words(space, complete, n + 1), shrunk(space, judge, first, second, counterexample))
    return Found(tried, _words(space, complete, searches))


def _pairs(space: Space, size: int) -> Iterator[tuple[Data, Data]]:
    for data in space.of_size(size):
        for other in space.reordered(data):
            yield data, other
        for other in space.neighbours(data):
            yield data, other


def _words(space: Space, complete: int, searches: int) -> str:
    parts = []
    if complete >= 0:
        parts.append(
            f"all data of up to {complete} rows over {len(space.elements)} different ones, with all neighbours"
        )
    if searches:
        parts.append(f"{searches:,} random pairs of up to {_LARGEST} rows")
    return ", then ".join(parts) or "the smallest data"


# --- smaller --------------------------------------------------------------------------------------------------------


def shrunk(space: Space, judge: Judge, first: Data, second: Data, counterexample: Counterexample) -> Counterexample:
    """The smallest counterexample that greedy steps from this one lead to."""
    for _ in range(_ROUNDS_OF_SHRINKING):
        for left, right in _simpler(space, first, second):
            better = judge(left, right)
            if better is not None and better.distance <= counterexample.distance:
                first, second, counterexample = left, right, better
                break
        else:
            return counterexample
    return counterexample


def _simpler(space: Space, first: Data, second: Data) -> Iterator[tuple[Data, Data]]:
    """Pairs that are smaller, or have an earlier element in a place; the boldest steps first."""
    for i, element in enumerate(first):
        if (j := _place(second, element)) is not None:
            yield _without(first, i), _without(second, j)
    for i in range(len(first)):
        yield _without(first, i), second
    for j in range(len(second)):
        yield first, _without(second, j)
    rank = {identity(element): n for n, element in enumerate(space.elements)}
    for i, element in enumerate(first):
        j = _place(second, element)
        for simple in space.elements[: rank.get(identity(element), 0)]:
            yield _with(first, i, simple), second if j is None else _with(second, j, simple)
    for j, element in enumerate(second):
        if _place(first, element) is None:
            for simple in space.elements[: rank.get(identity(element), 0)]:
                yield first, _with(second, j, simple)


def _place(data: Data, element: object) -> int | None:
    wanted = identity(element)
    return next((i for i, other in enumerate(data) if identity(other) == wanted), None)


def _without(data: Data, i: int) -> Data:
    return (*data[:i], *data[i + 1 :])


def _with(data: Data, i: int, element: object) -> Data:
    return (*data[:i], element, *data[i + 1 :])
