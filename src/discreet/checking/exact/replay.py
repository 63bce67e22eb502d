"""Record and replay: run a pipeline on two neighbouring inputs with the same releases, and compare what went into each.

A pipeline is a function ``pipeline(data, release)`` that publishes only through ``release(mechanism, value)``. The
first run draws; the second is handed the very values that the first one released. So whatever differs between the two
runs comes from the data alone: another mechanism at the same place, one more or one less, or an exact input that moved
further than the mechanism covers. (After Cebere et al. 2026.)

Promise: what is reported differs, in a run that can happen. One pair and one run are tried: a pass proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.answer import Answer
from discreet.checking.exact.laws import refutations
from discreet.checking.exact.outputs import Pair, frozen, pair_of
from discreet.checking.exact.privacy_claims import Claim, dearer, in_words
from discreet.checking.exact.report import Counterexample, Report, written
from discreet.checking.exact.roles import OfRows
from discreet.checking.exact.stability_claims import Failed, name_of, outcome
from discreet.errors import BadParameter, DiscreetError, NoLaw
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.randomness import SystemBits
from discreet.stable.core.release import price

Publish: TypeAlias = Callable[[Any, Any], Any]
"""``release(mechanism, value)``: the only way out of a pipeline."""
Pipeline: TypeAlias = Callable[[Any, Publish], Any]


def publish(mechanism: Any, value: Any) -> Any:
    """What a pipeline is given outside of a check: a real release, with fresh noise.

    >>> from discreet.mechanisms import laplace
    >>> isinstance(publish(laplace(sensitivity=1, epsilon=1), 42), int)
    True
    """
    made = mechanism(value) if isinstance(mechanism, OfRows) and callable(mechanism) else mechanism.release(value)
    return made.value if isinstance(made, Answer) else made


@dataclass(frozen=True, slots=True)
class Step:
    """One release: which mechanism, what its event is, what went in, and what came out."""

    mechanism: Any
    event: Event
    value: Any
    released: Any


class Tape:
    """Records the releases of a run; with an earlier tape, hands out what that one released, as long as it fits.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> noisy, first = laplace(sensitivity=1, epsilon=1), Tape()
    >>> seen = first.release(noisy, 10)
    >>> Tape(first).release(noisy, 11) == seen
    True
    """

    def __init__(self, earlier: Tape | None = None) -> None:
        self.steps: list[Step] = []
        self._earlier = earlier

    def release(self, mechanism: Any, value: Any) -> Any:
        """Release a value, and note it."""
        event = mechanism.event() if callable(mechanism.event) else mechanism.event
        place = len(self.steps)
        before = None if self._earlier is None or place >= len(self._earlier.steps) else self._earlier.steps[place]
        if before is not None and before.event != event:
            self.steps.append(Step(mechanism, event, value, None))
            raise PathsPart
        if self._earlier is not None and before is None:
            self.steps.append(Step(mechanism, event, value, None))
            raise PathsPart
        released = before.released if before is not None else _drawn(mechanism, value)
        self.steps.append(Step(mechanism, event, value, released))
        return released


class PathsPart(DiscreetError):
    """The second run releases something that the first did not."""


def _drawn(mechanism: Any, value: Any) -> Any:
    drawn = mechanism.draw(mechanism.read(value), SystemBits())
    finish = getattr(mechanism, "finish", None)
    return finish(drawn)[0] if callable(finish) else drawn


def replay(
    pipeline: Pipeline,
    pair: tuple[Any, Any],
    *,
    claim: Claim | None = None,
    distance: int = 1,
    depth: int | None = None,
) -> Report:
    """Run a pipeline on both inputs of a pair, with the releases frozen, and compare it release by release.

    With a ``claim``, the events of the run together must cost no more than that.

    >>> from discreet.mechanisms.additive.laplace import laplace
    >>> noisy = laplace(sensitivity=1, epsilon=1)
    >>> def total(rows, release):
    ...     return release(noisy, len(rows)), release(noisy, sum(rows))  # a row may hold 5, so the second moves by 5
    >>> print(replay(total, ([1, 5], [1])).smallest.shown)
    release 2, ...: the exact input of the noise moves by 5 in L1, which costs epsilon 5
    """
    first, second = pair
    left = Tape()
    ended = outcome(lambda data: pipeline(data, left.release), first)
    right = Tape(left)
    again = outcome(lambda data: pipeline(data, right.release), second)
    refutation = (
        _different_path(left, right, ended, again)
        or _moved_too_far(left, right, distance, depth)
        or _too_dear(left, claim, distance)
    )
    return Report(
        subject=name_of(pipeline),
        claim="the same releases on both inputs, each within what it declares"
        + (f", and {in_words(claim)} together" if claim is not None else ""),
        method=f"one run with its {len(left.steps)} releases frozen",
        tried=1,
        counterexample=None if refutation is None else Counterexample(first, second, distance, *refutation),
    )


def _different_path(left: Tape, right: Tape, ended: Any, again: Any) -> tuple[str, str] | None:
    claimed = "the same releases on both inputs"
    for place, (a, b) in enumerate(zip(left.steps, right.steps, strict=False), 1):
        if a.event != b.event:
            return claimed, f"release {place} is {_named(a)} on the first and {_named(b)} on the second"
    if len(left.steps) != len(right.steps):
        return claimed, f"{len(left.steps)} releases on the first, and {len(right.steps)} or more on the second"
    if isinstance(ended, Failed) or isinstance(again, Failed):
        return None if ended == again else (claimed, f"the first {_end(ended)}, the second {_end(again)}")
    if not _same(ended, again):
        return (
            "what comes out follows from the releases alone",
            f"{written(ended)} and {written(again)}, from the same releases",
        )
    return None


def _moved_too_far(left: Tape, right: Tape, distance: int, depth: int | None) -> tuple[str, str] | None:
    for place, (a, b) in enumerate(zip(left.steps, right.steps, strict=True), 1):
        pair = _pair(a, b, depth)
        claim = a.mechanism.event(distance) if callable(a.mechanism.event) else a.event
        refutation = dearer(pair.needed, claim)
        if refutation is None:
            shown = next(refutations(claim, pair.first, pair.second, pair.missing), None)
            shown = shown or next(refutations(claim, pair.second, pair.first, pair.missing), None)
            refutation = None if shown is None else (shown.claim, shown.shown)
        if refutation is not None:
            return refutation[0], f"release {place}, {_named(a)}: {refutation[1]}"
    return None


def _pair(a: Step, b: Step, depth: int | None) -> Pair:
    try:
        return pair_of(a.mechanism, a.value, b.value, depth=depth)
    except NoLaw as none:
        raise NoLaw(f"release of {_named(a)}: {none}") from None


def _too_dear(left: Tape, claim: Claim | None, distance: int) -> tuple[str, str] | None:
    if claim is None or not left.steps:
        return None
    ran = [s.mechanism.event(distance) if callable(s.mechanism.event) else s.event for s in left.steps]
    total = events.Composed(ran)
    if isinstance(claim, Event):
        costs, allowed = outcome(price, total), outcome(price, claim)
        if isinstance(costs, Failed) or type(costs) is not type(allowed):
            costs, allowed = price_zcdp(total), price_zcdp(claim)
    else:
        costs, allowed = outcome(price, total), claim
        if type(costs) is not type(allowed):
            raise BadParameter("claim", claim, f"must be of the kind of what ran, which costs {costs}")
    return None if costs <= allowed else (str(allowed), f"what ran costs {costs}")


def _named(step: Step) -> str:
    return name_of(step.mechanism)


def _end(end: Any) -> str:
    return repr(end) if isinstance(end, Failed) else "ends"


def _same(first: Any, second: Any) -> bool:
    return frozen(first) == frozen(second) or repr(first) == repr(second)
