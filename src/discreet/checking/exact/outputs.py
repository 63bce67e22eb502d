"""The exact laws of what comes out on two neighbouring inputs: written down by the mechanism, or walked bit by bit.

Promise: both laws are certified bounds of the true ones, after joining outputs at most. Joining outputs, and leaving
out what is independent and alike on both sides, never makes two laws easier to tell apart: a refutation stays one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.checking.exact.laws import LEFT_OUT, Law
from discreet.checking.exact.roles import (
    AdditiveNoise,
    DrawsIndependently,
    HasMap,
    HasParts,
    HasRelease,
    HasReleases,
    HasScale,
    MapThenMechanism,
    OfRows,
    Reads,
)
from discreet.errors import BadParameter, NoLaw
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.mechanisms.statistics.noised import Noised
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.randomness import Bits, exact_law
from discreet.stable.core.metrics import identity
from discreet.stable.maps.grouping import group_by

_MOST_OUTPUTS = 2_500
_LARGEST_SCALE = 8  # of noise whose law is written out in releases; its price is compared at any scale
_PATHS = 400_000
_MOST_UNDECIDED = Fraction(1, 100)


@dataclass(frozen=True, slots=True)
class Pair:
    """The laws on two inputs; ``missing`` is the mass that either may have beyond its bounds.

    ``needed`` are the events that cover what really moved: additive noise whose exact inputs moved by so much. Where
    the noise is too fine to write its law down, they alone decide.
    """

    first: Law
    second: Law
    missing: Fraction = LEFT_OUT
    needed: tuple[Event, ...] | None = None


SURE: Law = {(): (Fraction(1), Fraction(1))}
ALIKE = Pair(SURE, SURE)
"""Nothing that comes out can tell the two inputs apart."""


def pair_of(
    thing: Any, first: Any, second: Any, *, depth: int | None = None, largest_scale: float = _LARGEST_SCALE
) -> Pair:
    """The laws of a mechanism or a release on two inputs.

    Releases are taken apart by what they hold: ``map`` and ``mechanism`` (a map, then noise), ``map`` and ``release``,
    ``release`` alone (post-processing), ``releases`` (all on the same data), ``parts`` and ``by`` (each on its part).
    """
    if isinstance(thing, MapThenMechanism):
        return pair_of(thing.mechanism, thing.map(first), thing.map(second), depth=depth)
    if isinstance(thing, HasMap) and isinstance(thing, HasRelease) and not callable(thing.release):
        return pair_of(thing.release, thing.map(first), thing.map(second), depth=depth)
    if isinstance(thing, HasReleases) and isinstance(thing.releases, tuple):
        return product([pair_of(each, first, second, depth=depth) for each in thing.releases])
    if isinstance(thing, HasParts) and isinstance(thing.parts, tuple):
        groups = group_by([key for key, _ in thing.parts], by=thing.by)
        left, right = groups(first), groups(second)
        return product([pair_of(each, left[key], right[key], depth=depth) for key, each in thing.parts])
    if isinstance(thing, OfRows) and isinstance(thing, HasRelease):
        return pair_of(thing.release, first, second, depth=depth)
    if isinstance(thing, Reads):
        return _mechanism_pair(thing, thing.read(first), thing.read(second), depth, largest_scale)
    raise NoLaw(f"{type(thing).__name__} is neither a mechanism nor a release that can be taken apart")


def walked(draw: Callable[[Any, Bits], Any], first: Any, second: Any, depth: int) -> Pair:
    """The laws of any function of bits, from every path of at most ``depth`` bits."""
    laws, missing = [], Fraction(0)
    for data in (first, second):
        counted = _Counted(draw, data)
        law, undecided = exact_law(counted, depth=depth)
        missing = max(missing, undecided)
        laws.append({output: (p, p + undecided) for output, p in law.items()})
    if missing > _MOST_UNDECIDED:
        raise NoLaw(f"{float(missing):.0%} of the bit paths have not ended after {depth} bits; give a larger depth=")
    return Pair(laws[0], laws[1], missing)


class _Counted:
    """A draw with a hashable outcome, that stops when there are too many paths."""

    def __init__(self, draw: Callable[[Any, Bits], Any], data: Any) -> None:
        self._draw, self._data, self._left = draw, data, _PATHS

    def __call__(self, bits: Bits) -> Hashable:
        self._left -= 1
        if self._left < 0:
            raise NoLaw("this function reads too many bits to walk all of their paths; audit it by samples")
        return frozen(self._draw(self._data, bits))


def frozen(output: Any) -> Hashable:
    """An output as something that can be counted."""
    if isinstance(output, np.ndarray):
        return tuple(frozen(x) for x in output.tolist())
    if isinstance(output, Mapping):
        return tuple(sorted(((frozen(k), frozen(v)) for k, v in output.items()), key=repr))
    if isinstance(output, (list, tuple)):
        return tuple(frozen(x) for x in output)
    if isinstance(output, (set, frozenset)):
        return frozenset(frozen(x) for x in output)
    return output if isinstance(output, Hashable) else repr(output)


# --- mechanisms -----------------------------------------------------------------------------------------------------


def _mechanism_pair(mechanism: Any, first: Any, second: Any, depth: int | None, largest_scale: float) -> Pair:
    if _same(first, second):
        return ALIKE
    if isinstance(mechanism, DrawsIndependently):
        parts = zip(mechanism.independent(first), mechanism.independent(second), strict=True)
        return product([_mechanism_pair(part, x, y, depth, largest_scale) for (part, x), (_, y) in parts])
    additive = additive_in(mechanism)
    left, right = _numbers(first), _numbers(second)
    if additive is not None and left is not None and right is not None:
        return _additive_pair(additive, left, right, largest_scale)
    try:
        return Pair(_law(mechanism, first), _law(mechanism, second))
    except (NoLaw, AttributeError):
        if depth is None:
            raise NoLaw(
                f"{type(mechanism).__name__} does not write its law down; give depth= to walk its bits, or audit it"
            ) from None
        return walked(mechanism.draw, first, second, depth)


def _law(mechanism: Any, value: Any) -> Law:
    try:
        return _known_law(mechanism, value)
    except TypeError:  # a value, or a mechanism, that cannot be looked up
        return dict(mechanism.law(value))


@lru_cache(maxsize=512)
def _known_law(mechanism: Any, value: Any) -> Law:
    return dict(mechanism.law(value))


def additive_in(mechanism: Any) -> Any:
    """The additive noise of a mechanism on whole numbers: itself, or what it holds as ``noise``; None if it is not."""
    if isinstance(mechanism, AdditiveNoise):
        return mechanism
    inside = getattr(mechanism, "noise", None)
    if isinstance(inside, AdditiveNoise) and (isinstance(mechanism, Noised) or not _writes_its_law(mechanism)):
        return inside
    return None


def _writes_its_law(mechanism: Any) -> bool:
    written = getattr(type(mechanism), "law", None)
    return written is not None and written is not Mechanism.law


def _additive_pair(additive: Any, first: list[int], second: list[int], largest_scale: float) -> Pair:
    if len(first) != len(second):
        return Pair(SURE, {"another length": (Fraction(1), Fraction(1))})
    moved = [y - x for x, y in zip(first, second, strict=True) if x != y]
    if not moved:
        return ALIKE
    needed = (event_for(additive, moved),)
    if additive.exponent is not None or _scale(additive) > largest_scale:
        return Pair(SURE, SURE, needed=needed)
    return dataclasses.replace(_shifted(additive, tuple(sorted(map(abs, moved)))), needed=needed)


@lru_cache(maxsize=256)
def _shifted(additive: Any, moved: tuple[int, ...]) -> Pair:
    """The laws of symmetric noise in the entries that moved; it sees neither where it is added, nor the direction."""
    alone = dataclasses.replace(additive, dimension=1)
    return product([Pair(_law(alone, 0), _law(alone, by)) for by in moved[-4:]])


def event_for(additive: Any, moved: Sequence[int]) -> Event:
    """The event of additive noise on an input that moved by so much in these entries."""
    if isinstance(additive, HasScale):
        return events.DiscreteLaplace(scale=additive.scale, sensitivity=sum(map(abs, moved)))
    return events.DiscreteGaussian(
        sigma_squared=additive.sigma_squared, sensitivity_squared=sum(m * m for m in moved), dimension=len(moved)
    )


def _scale(additive: Any) -> float:
    return float(additive.scale) if isinstance(additive, HasScale) else float(additive.sigma_squared) ** 0.5


def _numbers(value: Any) -> list[int] | None:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return [int(value)]
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu":
        return [int(x) for x in value]
    if isinstance(value, (list, tuple)) and all(isinstance(x, (int, np.integer)) for x in value):
        return [int(x) for x in value]
    return None


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return identity(first) == identity(second)


# --- independent parts ----------------------------------------------------------------------------------------------


def product(pairs: Sequence[Pair]) -> Pair:
    """The joint laws of independent outputs; those that are alike on both sides say nothing and are left out.

    >>> coin = {0: (Fraction(1, 2),) * 2, 1: (Fraction(1, 2),) * 2}
    >>> len(product([Pair(coin, coin, Fraction(0)), ALIKE, Pair(coin, coin, Fraction(0))]).first)
    4
    """
    differ = [pair for pair in pairs if pair is not ALIKE]
    if not differ:
        return ALIKE
    if len(differ) == 1:
        return differ[0]
    first, second, missing = _times_all(tuple(_Factor(pair) for pair in differ))
    needed = [pair.needed for pair in differ if pair.needed is not None]
    events = tuple(event for each in needed for event in each) if len(needed) == len(differ) else None
    return Pair(first, second, missing, events)


class _Factor:
    """A pair that is looked up by which laws it holds: laws are kept once, so the same laws are the same objects."""

    __slots__ = ("pair",)

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    def __hash__(self) -> int:
        return hash((id(self.pair.first), id(self.pair.second)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Factor)
            and self.pair.first is other.pair.first
            and self.pair.second is other.pair.second
            and self.pair.missing == other.pair.missing
        )


@lru_cache(maxsize=256)
def _times_all(factors: tuple[_Factor, ...]) -> tuple[Law, Law, Fraction]:
    each = int(_MOST_OUTPUTS ** (1 / len(factors)))
    first, second, missing = SURE, SURE, Fraction(0)
    for factor in factors:
        p, q = coarse(factor.pair, each)
        first, second = _times(first, p), _times(second, q)
        missing += factor.pair.missing
    return first, second, missing


def coarse(pair: Pair, most: int) -> tuple[Law, Law]:
    """The same laws with the least likely outputs joined into one, so that at most ``most`` are left."""
    outputs = set(pair.first) | set(pair.second)
    if len(outputs) <= most:
        return pair.first, pair.second
    if most < 2:
        raise BadParameter("releases", "too many", "must be fewer to write their joint law down; audit it by samples")
    nothing = (Fraction(0), Fraction(0))
    by_mass = sorted(outputs, key=lambda x: -float(pair.first.get(x, nothing)[1] + pair.second.get(x, nothing)[1]))
    keep = set(by_mass[: most - 1])
    return _joined(pair.first, keep), _joined(pair.second, keep)


def _joined(law: Law, keep: set[Hashable]) -> Law:
    rest = [bounds for x, bounds in law.items() if x not in keep]
    low, high = (sum((bounds[side] for bounds in rest), Fraction(0)) for side in (0, 1))
    return {**{x: bounds for x, bounds in law.items() if x in keep}, "the rest": (low, high)}


def _times(law: Law, other: Law) -> Law:
    return {(x, y): (p * r, q * s) for x, (p, q) in law.items() for y, (r, s) in other.items()}
