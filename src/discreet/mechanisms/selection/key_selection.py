"""Which keys exist? Groups that nobody listed in advance are named only when enough units hold them.

Guarantee, for units that are added or removed, each of which holds at most ``keys_per_unit`` keys: both mechanisms are
(ε, δ)-differentially private for all keys together, and a key that no unit holds never appears.
Proof: key_selection.md.

``threshold_keys`` adds noise to every count, and names the keys whose noisy count is at least a threshold, with that
count. ``optimal_keys`` names keys alone, each as often as any (ε, δ)-private rule may (Desfontaines, Voss, Gipson and
Mandayam 2022).

Counts come as a mapping from key to an exact count, after capping: a unit adds at most ``count_per_key`` to each of its
keys. The order of the mapping says nothing: names come back sorted.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import confidence_level
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, exp_down, exp_up, integer, log_down, positive
from discreet.mechanisms.additive.gaussian import Gaussian, gaussian
from discreet.mechanisms.additive.laplace import Laplace, laplace
from discreet.mechanisms.base.inputs import least_whole
from discreet.mechanisms.base.mechanism import Priced
from discreet.mechanisms.base.sensitivity import L2
from discreet.noise.coin import flips, rational
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, small_probability
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.record import show
from discreet.randomness import Bits

_SATURATE = 1 << 61
_NEGLIGIBLE = Fraction(1, 1 << 120)
_SPARE_BITS = 64
_LONGEST = 1 << 20

Key = Hashable
Law = dict[Any, tuple[Fraction, Fraction]]


@dataclass(frozen=True, slots=True)
class Counts:
    """Keys in sorted order with their exact counts, all above 0."""

    keys: tuple[Key, ...]
    counts: NDArray[np.int64]


# --- a noisy count at least a threshold -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ThresholdKeys(Priced[Counts, dict[Key, int]]):
    """Made by ``threshold_keys(...)``: a key is named, with its noisy count, when that is at least ``threshold``."""

    noise: Laplace | Gaussian
    threshold: int
    keys_per_unit: int
    count_per_key: int = 1

    @property
    def delta(self) -> Fraction:
        """1 - (1 - p)^c, rounded up: a key that one unit alone holds is named with p = P[count_per_key + Z >= T]."""
        return _delta_up(self.noise, self.threshold - self.count_per_key, self.keys_per_unit)

    @property
    def event(self) -> events.Composed:
        """What a release writes into the ledger: the noisy counts, and the keys that could give a unit away."""
        return events.Composed([self.noise.event, events.Threshold(0, self.delta)]).about(Neighbours.ADD_REMOVE)

    @property
    def price(self) -> Approx | ZCDP:
        """The price as a promise: (ε, δ) for Laplace noise, δ-approximate ρ-zCDP for Gaussian noise."""
        if isinstance(self.noise, Laplace):
            return Approx(self.noise.epsilon, self.delta)
        return ZCDP(self.noise.rho, self.delta)

    def story(self) -> str:
        """One line on what was done."""
        return f"{self.noise.story()}; keys with a noisy count of at least {self.threshold}"

    def read(self, value: Any) -> Counts:
        """The keys that exist, with their exact counts."""
        return read_counts(value)

    def draw(self, value: Counts, bits: Bits) -> dict[Key, int]:
        """Keys and noisy counts."""
        noisy = value.counts + self.noise.noise(len(value.keys), bits)
        return {value.keys[i]: int(noisy[i]) for i in np.flatnonzero(noisy >= self.threshold).tolist()}

    def law(self, value: Counts) -> Law:
        """Bounds for each set of named keys and counts, written as a tuple of pairs: keys are independent."""
        law: Law = {(): (Fraction(1), Fraction(1))}
        for key, count in zip(value.keys, value.counts.tolist(), strict=True):
            alone = self._law_of_one(key, count)
            law = {a + b: (p * r, q * s) for a, (p, q) in law.items() for b, (r, s) in alone.items()}
        return law

    def _law_of_one(self, key: Key, count: int) -> Law:
        reach = least_whole(lambda r: self.noise.tail_up(r) <= _NEGLIGIBLE)
        named = {((key, v),): self.noise.pmf(v - count) for v in range(self.threshold, count + reach + 1)}
        silent = [self.noise.pmf(v - count) for v in range(count - reach, self.threshold)]
        rest = self.noise.tail_up(reach)
        low, high = (sum((p[side] for p in silent), Fraction(0)) for side in (0, 1))
        return {(): (low, high + rest), **named}

    def named_from(self, confidence: Number) -> int:
        """A key with at least this exact count is named with the given confidence.

        >>> threshold_keys(epsilon=1, delta="1e-6").named_from(0.95)
        17
        """
        allowed = 1 - confidence_level(confidence)
        return self.threshold + least_whole(lambda k: self.noise.tail_up(k) / 2 <= allowed)


def threshold_keys(
    *,
    epsilon: Number | None = None,
    scale: Number | None = None,
    rho: Number | None = None,
    sigma: Number | None = None,
    delta: Number | None = None,
    threshold: int | None = None,
    keys_per_unit: int = 1,
    count_per_key: int = 1,
) -> ThresholdKeys:
    """Keys by noisy count: Laplace noise from epsilon or scale, Gaussian from rho or sigma; and delta or threshold.

    Given delta, the threshold is the least one whose delta is certified to be at most that.

    >>> m = threshold_keys(epsilon=1, delta="1e-6", keys_per_unit=1)
    >>> m.threshold, float(m.delta) <= 1e-6 < float(threshold_keys(epsilon=1, threshold=m.threshold - 1).delta)
    (15, True)
    >>> sorted(m.release({"common": 1000, "rare": 1, "nobody": 0}).value)
    ['common']
    """
    c = integer(keys_per_unit, "keys_per_unit", at_least=1)
    m = integer(count_per_key, "count_per_key", at_least=1)
    noise = _noise(c, m, epsilon=epsilon, scale=scale, rho=rho, sigma=sigma)
    if (delta is None) == (threshold is None):
        raise BadParameter("delta", delta, "must be given, or threshold, and not both")
    if delta is None:
        mechanism = ThresholdKeys(noise, integer(threshold or 0, "threshold", at_least=m + 1), c, m)
        if mechanism.delta >= 1:
            raise BadParameter("threshold", threshold, "must be larger: with this one, delta would reach 1")
        return mechanism
    allowed = _positive_delta(delta)
    return ThresholdKeys(noise, m + least_whole(lambda k: _delta_up(noise, k, c) <= allowed, start=1), c, m)


def _noise(
    c: int, m: int, *, epsilon: Number | None, scale: Number | None, rho: Number | None, sigma: Number | None
) -> Laplace | Gaussian:
    if sum(x is not None for x in (epsilon, scale, rho, sigma)) != 1:
        raise BadParameter("epsilon", epsilon, "must be given, or scale, or rho, or sigma; exactly one of the four")
    if rho is not None or sigma is not None:
        return gaussian(sensitivity=L2(squared=c * m * m), rho=rho, sigma=sigma, dimension=c, real=False)
    return laplace(sensitivity=c * m, epsilon=epsilon, scale=scale, real=False)


def _delta_up(noise: Laplace | Gaussian, away: int, keys: int) -> Fraction:
    """1 - (1 - p)^c, rounded up, p = P[Z >= away], away >= 1: half of P[|Z| > away - 1], by symmetry.

    As a Fraction the power grows with the keys, so it is taken through the logarithm, unless c p is closer.
    """
    p = noise.tail_up(away - 1) / 2
    if keys == 1:
        return _short_up(p)
    return _short_up(min(keys * p, 1 - exp_down(keys * log_down(1 - p))))


def _short_up(x: Fraction) -> Fraction:
    """A Fraction of at most 128 significant bits, not below x."""
    if x == 0:
        return x
    bits = 128 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    return Fraction(ceil(x * (1 << bits)), 1 << bits)


# --- the optimal rule -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OptimalKeys(Priced[Counts, tuple[Key, ...]]):
    """Made by ``optimal_keys(...)``: a key with count n is named with probability ``chance(n)``."""

    lists_all_outputs = True
    epsilon: Fraction
    delta: Fraction
    keys_per_unit: int = 1

    @property
    def event(self) -> events.Event:
        """What a release writes into the ledger: one (ε/c, δ/c) box for each of the c keys that a unit touches."""
        each = events.Threshold(self.epsilon / self.keys_per_unit, self.delta / self.keys_per_unit)
        whole = each if self.keys_per_unit == 1 else events.Repeat(each, self.keys_per_unit)
        return whole.about(Neighbours.ADD_REMOVE)

    @property
    def price(self) -> Approx:
        """The price as a promise."""
        return Approx(self.epsilon, self.delta)

    def story(self) -> str:
        """One line on what was done."""
        return f"keys named by the optimal rule for epsilon {show(self.epsilon)}, delta {show(self.delta)}"

    def chance(self, count: int) -> Fraction:
        """The exact probability that a key with this count is named."""
        table = self._chances()
        return table[min(max(count, 0), len(table) - 1)]

    def _chances(self) -> tuple[Fraction, ...]:
        return chances(self.epsilon / self.keys_per_unit, self.delta / self.keys_per_unit)

    def read(self, value: Any) -> Counts:
        """The keys that exist, with their exact counts of units."""
        return read_counts(value)

    def draw(self, value: Counts, bits: Bits) -> tuple[Key, ...]:
        """The named keys."""
        table = self._chances()
        capped = np.minimum(value.counts, len(table) - 1)
        order = np.argsort(capped, kind="stable")
        counts, starts = np.unique(capped[order], return_index=True)
        named = np.zeros(len(value.keys), dtype=np.bool_)
        for count, place in zip(counts.tolist(), np.split(order, starts[1:]), strict=False):  # none: one empty part
            named[place] = flips(rational(table[count]), len(place), bits)
        return tuple(value.keys[i] for i in np.flatnonzero(named).tolist())

    def law(self, value: Counts) -> Law:
        """The probability of each set of named keys: keys are independent."""
        law: dict[tuple[Key, ...], Fraction] = {(): Fraction(1)}
        for key, count in zip(value.keys, value.counts.tolist(), strict=True):
            p = self.chance(count)
            law = {(*named, *more): q * r for named, q in law.items() for more, r in (((), 1 - p), ((key,), p))}
        return {named: (q, q) for named, q in law.items() if q}

    def named_from(self, confidence: Number) -> int:
        """A key with at least this exact count is named with the given confidence (which may be 1).

        >>> optimal_keys(epsilon=1, delta="1e-6").named_from(0.95)
        16
        """
        wanted = positive(confidence, "confidence")
        if wanted > 1:
            raise BadParameter("confidence", confidence, "must be at most 1")
        return least_whole(lambda n: self.chance(n) >= wanted)


def optimal_keys(*, epsilon: Number, delta: Number, keys_per_unit: int = 1) -> OptimalKeys:
    """Keys by the optimal rule; each unit counts once under each of its keys.

    >>> m = optimal_keys(epsilon=1, delta="1e-6")
    >>> m.chance(0), m.chance(1) == Fraction(1, 10**6), m.chance(29)
    (Fraction(0, 1), False, Fraction(1, 1))
    >>> m.release({"common": 1000, "nobody": 0}).value
    ('common',)
    """
    c = integer(keys_per_unit, "keys_per_unit", at_least=1)
    mechanism = OptimalKeys(positive(epsilon, "epsilon"), _positive_delta(delta), c)
    chances(mechanism.epsilon / c, mechanism.delta / c)
    return mechanism


@lru_cache(maxsize=16)
def chances(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, ...]:
    """π_0 = 0, π_1, ..., up to the first 1: the largest that the promise allows, rounded down to a fine grid.

    Guarantee, exactly: π_n <= π_{n+1} <= e^ε π_n + δ and 1 - π_n <= e^ε (1 - π_{n+1}) + δ.

    >>> [float(p) for p in chances(Fraction(0), Fraction(1, 4))]
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    width = _SPARE_BITS + max(64, delta.denominator.bit_length() - delta.numerator.bit_length() + 1)
    one = 1 << width
    precise = width + 16
    grow = max(one, int(exp_down(epsilon, precise) * one))  # e^ε rounded down
    shrink = min(one, ceil(exp_up(-epsilon, precise) * one))  # e^-ε rounded up
    jump = int(delta * one)
    table = [0]
    while table[-1] < one:
        p = table[-1]
        left = one - p - jump
        table.append(
            min((grow * p >> width) + jump, one - (shrink * left + one - 1 >> width) if left > 0 else one, one)
        )
        if len(table) > _LONGEST:
            raise BadParameter(
                "epsilon", epsilon, "must be larger for each key: a certain key would need more than a million units"
            )
    return tuple(Fraction(p, one) for p in table)


# --- reading --------------------------------------------------------------------------------------------------------


def read_counts(value: Any) -> Counts:
    """Keys whose count is above 0, in an order that follows from the keys alone; counts saturate at 2^61.

    >>> read_counts({"b": 2, "a": 1, "c": 0}).keys
    ('a', 'b')
    """
    if not isinstance(value, Mapping):
        raise BadData("counts must be a mapping from key to a number of units")
    if not all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in value.values()):
        raise BadData("counts must be integers")
    held: list[Any] = [key for key, n in value.items() if n > 0]
    alike = set(map(type, held))
    keys = sorted(held) if alike <= {str} or alike <= {int} else sorted(held, key=_place)
    return Counts(tuple(keys), np.array([min(int(value[key]), _SATURATE) for key in keys], dtype=np.int64))


def _place(key: Any) -> tuple[Any, ...]:
    """Where a key sorts: by type, then by value where the type has an order that we know, else by its text."""
    if isinstance(key, tuple):
        return "tuple", tuple(_place(part) for part in key)
    if isinstance(key, (str, bytes)):
        return type(key).__name__, key
    with suppress(Exception):  # keys come from data: one that cannot be read or written must not stop the others
        if isinstance(key, numbers.Integral):
            return "int", int(key)
    with suppress(Exception):
        return type(key).__name__, repr(key)
    return type(key).__name__, ""


def _positive_delta(delta: Number) -> Fraction:
    result = small_probability(delta)
    if result == 0:
        raise BadParameter("delta", delta, "must be above 0: no rule finds keys with delta 0")
    return result
