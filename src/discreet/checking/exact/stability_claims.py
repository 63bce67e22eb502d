"""Claims of stability against all small neighbours.

Promise: a counterexample is two data sets, their distance by the input metric, and two outputs whose distance by the
output metric exceeds the claim (or that cannot be compared at all). Nothing is estimated.
Believes: the two metrics, which do not know the map.

A map may not fail on one of two neighbours, may not depend on the order of rows where order does not count, and may not
change the keys or the length of what it gives: these are distances no stability covers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.checking.exact.report import Counterexample, Report, written
from discreet.checking.exact.search import look
from discreet.checking.exact.small_data import Data, Space
from discreet.stable.core.metrics import Moves, identity


class Distance(Protocol):
    """A metric: how far apart are two of these?"""

    def between(self, first: Any, second: Any) -> Any:
        """The exact distance."""
        ...


@runtime_checkable
class StableLike(Protocol):
    """What a stable map says of itself. ``discreet.stable`` makes them; anything with these four can be checked."""

    @property
    def input_metric(self) -> Any:
        """What one step between inputs is: a metric of rows, or with given pairs any metric."""
        ...

    @property
    def output_metric(self) -> Distance:
        """How far apart two outputs are."""
        ...

    def stability(self, distance: int) -> Any:
        """How far apart the outputs of inputs that many steps apart are, at most."""
        ...

    def __call__(self, data: Any) -> Any:
        """The exact output."""
        ...


class Failed:
    """What came out was an exception, of this type."""

    __slots__ = ("kind",)

    def __init__(self, error: BaseException) -> None:
        self.kind = type(error).__name__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failed) and other.kind == self.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"raised {self.kind}"


def check_stability(
    map: StableLike, space: Space, *, rows: int, most_pairs: int, searches: int, subject: str | None = None
) -> Report:
    """The claim of a stable map against small neighbours."""
    judge = _Judge(map, space)
    searched = look(space, judge, rows=rows, most_pairs=most_pairs, searches=searches)
    return Report(
        subject=subject or name_of(map),
        claim=f"{map.input_metric}, one step: outputs at most {_moved(map.stability(1))} apart "
        f"({map.output_metric}); the same on all orders of the rows, and no failure that depends on them",
        method=searched.method,
        tried=searched.tried,
        counterexample=searched.counterexample,
    )


def check_stability_pairs(map: StableLike, pairs: Iterable[tuple[Any, Any]]) -> Report:
    """The claim of a stable map against given inputs of any kind, at the distance that its own metric says."""
    tried, counterexample = 0, None
    for first, second in pairs:
        tried += 1
        steps = map.input_metric.between(first, second)
        claimed = map.stability(steps)
        shown = compare(outcome(map, first), outcome(map, second), map.output_metric, claimed)
        if shown is not None:
            counterexample = Counterexample(first, second, steps, f"outputs at most {_moved(claimed)} apart", shown)
            break
    claim = f"outputs no further apart than its stability says ({map.output_metric})"
    return Report(name_of(map), claim, "the pairs that were given", tried, counterexample)


class _Judge:
    """Compares the outputs of two data sets with the claim; each output is computed once."""

    def __init__(self, map: StableLike, space: Space) -> None:
        self._map = map
        self._space = space
        self._known: dict[tuple[Hashable, ...], Any] = {}

    def __call__(self, first: Data, second: Data) -> Counterexample | None:
        steps = self._space.distance(first, second)
        if steps == float("inf"):
            return None
        claimed = self._map.stability(int(steps))
        shown = compare(self._output(first), self._output(second), self._map.output_metric, claimed)
        if shown is None:
            return None
        left, right = self._space.build(first), self._space.build(second)
        return Counterexample(left, right, int(steps), f"outputs at most {_moved(claimed)} apart", shown)

    def _output(self, data: Data) -> Any:
        key = tuple(map(identity, data))
        if key not in self._known:
            if len(self._known) > 200_000:
                self._known.clear()
            self._known[key] = outcome(self._map, self._space.build(data))
        return self._known[key]


def outcome(f: Any, data: Any) -> Any:
    """What f gives, or ``Failed``."""
    try:
        return f(data)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: that it fails is what the pair may differ in
        return Failed(error)


def compare(first: Any, second: Any, metric: Distance, claimed: Any) -> str | None:
    """What is wrong with two outputs of inputs whose outputs may be ``claimed`` apart; None if nothing is."""
    if isinstance(first, Failed) or isinstance(second, Failed):
        return None if first == second else f"{_output(first)}; {_output(second)}"
    if (shape := _shape(first)) != (other := _shape(second)):
        return f"the outputs have the shapes {shape} and {other}"
    try:
        moved = metric.between(first, second)
        within = bool(moved <= claimed)
    except (ValueError, TypeError, OverflowError):
        return None if _same(first, second) else f"the outputs {written(first)} and {written(second)} have no distance"
    return None if within else f"the outputs are {_moved(moved)} apart: {written(first)} and {written(second)}"


def _shape(output: Any) -> str:
    """Keys and lengths that are public: rows may differ in number, keys and numbers in a vector may not."""
    if isinstance(output, Mapping):
        return f"keys {written(list(output))}"
    if isinstance(output, np.ndarray):
        return f"{output.shape}"
    return "vector" if isinstance(output, (list, tuple)) else "one value"


def _same(first: Any, second: Any) -> bool:
    return identity(first) == identity(second)


def _output(output: Any) -> str:
    return repr(output) if isinstance(output, Failed) else f"gave {written(output)}"


def _moved(moved: Any) -> str:
    if isinstance(moved, Moves):
        return f"{moved.l1} in L1, √{moved.l2_squared} in L2, {moved.linf} in Linf"
    return str(moved)


def name_of(thing: Any) -> str:
    """What to call it in a report: what it says of itself, or its name."""
    story = getattr(thing, "story", None)
    if callable(story):
        steps = outcome(lambda _: story(), None)
        if isinstance(steps, tuple):
            return " → ".join(map(str, steps))
        if isinstance(steps, str):
            return f"{type(thing).__name__}: {steps}"
    return str(getattr(thing, "__name__", type(thing).__name__))
