"""What shuffling adds: n people each send an ε₀-private report, and a shuffler forgets who sent which.

Promise: the (ε, δ) is implied by the theorem below, for changing one person's value, computed with certified rounding.
Believes: Feldman, McMillan and Talwar 2021, Theorem 3.1: the shuffled reports are at most as telling as the pair
(A + D, C - A + 1 - D) against (A + 1 - D, C - A + D), where C ~ Bin(n-1, e^{-ε₀}), A ~ Bin(C, 1/2) and
D ~ Bernoulli(e^{ε₀}/(1 + e^{ε₀})). Later work has better constants; this one is a theorem for every ε₀-private report.

How: swapping the two counts swaps the pair, so one direction is enough. Given C = c the likelihood ratio grows with the
first count, so the best test is a threshold: the first count exceeds j = floor((c+1)θ), with
θ = (e^{ε+ε₀} - 1)/((e^{ε₀} - 1)(e^ε + 1)). Its gain is u·P[A = j] - (e^ε - 1)·P[A > j], where
u = (e^{ε₀} - e^ε)/(1 + e^{ε₀}). Then the mean over c, summed outwards from the most likely c; what is left out on both
sides is bounded by a geometric series and counted as lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from discreet.errors import BadParameter
from discreet.exact import Number, exp_down, exp_up, integer, non_negative, positive
from discreet.privacy.numerics.interval import ZERO, Interval
from discreet.privacy.numerics.search import least
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.measures import Approx, small_probability
from discreet.privacy.promises.record import short_down, short_up

_BITS = 256
_LEFT_OUT = 160  # terms below 2^-160 of the largest are bounded, not summed
_ONE = Interval(1, 1, 0)
_MOST_LOCAL = 256
_NEAR = 20_000
_MOST_PEOPLE = 1_000_000


def shuffled(local_epsilon: Number, people: int, *, delta: Number) -> Approx:
    """The (ε, δ) of ``people`` shuffled reports at this δ, ε rounded up (to a relative 2^-20); never above ε₀.

    >>> float(shuffled(1, 1000, delta=1e-6).epsilon)
    0.1824123...
    """
    local, n = _read(local_epsilon, people)
    d = small_probability(delta)
    if not d:
        return Approx(local, 0)
    epsilon = least(lambda e: e >= local or shuffled_delta(local, n, e).upper <= d, start=local, bits=20)
    return Approx(min(local, epsilon), d)


def shuffled_delta(local_epsilon: Number, people: int, epsilon: Number) -> Bound:
    """The δ of the theorem's pair at ε, enclosed in Fractions; its upper side holds for the shuffled reports.

    >>> bound = shuffled_delta(1, 1000, "0.25")
    >>> float(bound.upper), bound.width < 1e-40
    (1.2113...e-09, True)
    """
    local, n = _read(local_epsilon, people)
    e = non_negative(epsilon, "epsilon")
    if e >= local:
        return Bound(Fraction(0), Fraction(0))
    weights, first, left_out = _clones(local, n - 1)
    gained = total = ZERO
    for weight, gain in zip(weights, _gains(local, e, first, len(weights)), strict=True):
        total = total + weight
        gained = gained + weight * gain
    upper = (gained.upper + left_out) / total.lower
    lower = gained.lower / (total.upper + left_out)
    return Bound(short_down(lower), min(Fraction(1), short_up(upper)))


def _read(local_epsilon: Number, people: int) -> tuple[Fraction, int]:
    """The checked parameters. More people never hurt (they could be ignored), so their number may be cut."""
    local = positive(local_epsilon, "local_epsilon")
    if local > _MOST_LOCAL:
        raise BadParameter(
            "local_epsilon", local_epsilon, f"must be at most {_MOST_LOCAL}: shuffling adds nothing there"
        )
    return local, min(_MOST_PEOPLE, integer(people, "people", at_least=1))


def _bits(local: Fraction) -> int:
    """Enough bits for e^{ε₀} - 1 when ε₀ is small."""
    return _BITS + 2 * max(0, local.denominator.bit_length() - local.numerator.bit_length())


@lru_cache(maxsize=4)
def _clones(local: Fraction, n: int) -> tuple[list[Interval], int, Fraction]:
    """The binomial weights of C around its mode, up to a factor; the first c; and a bound of what is left out."""
    odds = Interval.of(1 / (exp_up(local, _bits(local)) - 1), 1 / (exp_down(local, _bits(local)) - 1))
    mode = min(n, int((n + 1) * exp_down(-local, 32)))
    floor = Fraction(1, 1 << _LEFT_OUT)
    up = [_ONE]
    c = mode
    while c < n and up[-1].upper > floor:
        up.append((up[-1] * odds).times(n - c, c + 1))
        c += 1
    down = [_ONE]
    b = mode
    while b > 0 and down[-1].upper > floor:
        down.append((down[-1] / odds).times(b, n - b + 1))
        b -= 1
    rest = Fraction(0)
    if c < n:
        rest += _geometric(up[-1].upper, odds.upper * Fraction(n - c, c + 1))
    if b > 0:
        rest += _geometric(down[-1].upper, Fraction(b, n - b + 1) / odds.lower)
    return down[:0:-1] + up, b, rest


def _geometric(last: Fraction, ratio: Fraction) -> Fraction:
    """What follows a term when each is at most ``ratio`` times the one before; past the mode it is below 1."""
    return last * ratio / (1 - ratio) if ratio < 1 else Fraction(1 << 4096)


def _gains(local: Fraction, epsilon: Fraction, first: int, count: int) -> Iterator[Interval]:
    """The gain of the best test for c = first, first + 1, ..."""
    bits = _bits(local)
    x_low, x_high = exp_down(epsilon, bits), exp_up(epsilon, bits)
    y_low, y_high = exp_down(local, bits), exp_up(local, bits)
    # θ grows with e^ε; in e^{ε₀} it is 1/(1+e^ε) (e^ε + (e^ε - 1)/(e^{ε₀} - 1)), falling
    theta_low = (x_low * y_high - 1) / ((y_high - 1) * (1 + x_low))
    theta_high = (x_high * y_low - 1) / ((y_low - 1) * (1 + x_high))
    u = Interval.of((y_low - x_high) / (1 + y_low), (y_high - x_low) / (1 + y_high))
    v = Interval.of(x_low - 1, x_high - 1) if epsilon else ZERO
    state = _Tail(first, min(first, _floor(theta_low, first + 1)))
    for c in range(first, first + count):
        state.go_to(c, min(c, _floor(theta_low, c + 1)))
        gain = (u * state.point).minus(v * state.beyond)
        if min(c, _floor(theta_high, c + 1)) != state.j:  # θ(c+1) is within rounding of a whole number: try both
            point = state.point.times(c - state.j, state.j + 1)
            other = (u * point).minus(v * state.beyond.minus(point))
            gain = Interval.of(max(gain.lower, other.lower), max(gain.upper, other.upper))
        yield gain


def _floor(theta: Fraction, m: int) -> int:
    return m * theta.numerator // theta.denominator


def _point(c: int, j: int) -> Interval:
    """C(c, j)/2^c, from the middle where that is near: a large binomial coefficient takes a second."""
    start = c // 2 if 0 <= j - c // 2 <= _NEAR else j
    point = _binomial(c, start)
    for i in range(start, j):
        point = point.times(c - i, i + 1)
    return point


@lru_cache(maxsize=64)
def _binomial(c: int, j: int) -> Interval:
    ways = math.comb(c, j)
    cut = max(0, ways.bit_length() - _BITS)
    return Interval(ways >> cut, -(-ways >> cut), cut - c)


class _Tail:
    """P[A = j] and P[A > j] for A ~ Bin(c, 1/2), moved to the next c and j step by step."""

    __slots__ = ("beyond", "c", "j", "point")

    beyond: Interval

    def __init__(self, c: int, j: int) -> None:
        self.c, self.j = c, j
        self.point = _point(c, j)
        self._sum_beyond()

    def go_to(self, c: int, j: int) -> None:
        """Move to a larger c, by one, and a j that is the same or one more."""
        if c > self.c:
            self.beyond = self.beyond + self.point.times(1, 2)
            self.point = self.point.times(c, 2 * (c - self.j))
            self.c = c
        if j > self.j:
            self.point = self.point.times(c - self.j, j)
            self.j = j
            self.beyond = self.beyond.minus(self.point)
        if self.beyond.high - self.beyond.low > self.beyond.high >> 64:
            self._sum_beyond()

    def _sum_beyond(self) -> None:
        """P[A > j] afresh: the terms fall off faster than a geometric series once j is above c/2."""
        term, total, i = self.point, ZERO, self.j
        while i < self.c:
            ratio = Fraction(self.c - i, i + 1)
            if ratio < 1 and total.high and term.upper * ratio < (1 - ratio) * total.upper / (1 << _LEFT_OUT):
                total = Interval.of(total.lower, total.upper + term.upper * ratio / (1 - ratio))
                break
            term = term.times(self.c - i, i + 1)
            total = total + term
            i += 1
        self.beyond = total
