"""The best possible composition of equal black boxes: of private ones exactly (Kairouz, Oh and Viswanath 2015), and of
boxes whose loss has a bounded range, enclosed on a grid (``BoundedRange``, below).

Promise: the curve is the true one, for every ε and not only at whole multiples of ε₀, enclosed from both sides.
Believes: their Theorem 3.2 and its dominating pair: with probability δ₀ the box says which input it was, else it is
randomized response on two values. So the loss of k boxes is infinite with probability 1 - (1-δ₀)^k, else (k-2l)ε₀ with
l binomial, and δ(ε) - the hockey-stick divergence - is a finite sum.

How: with A_m and B_m the probabilities that l <= m under the two inputs, δ(ε) = max over m of A_m - e^ε B_m (a sum of
positive parts is the largest of all partial sums), so ε(δ) = max over m of log((A_m - δ)/B_m). No search is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, expm1, floor, isqrt

import numpy as np

from discreet.errors import BadParameter, NoPrice
from discreet.exact import Number, exp_down, exp_up, float_down, float_up, integer, log_down, log_up, non_negative
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.numerics.interval import ZERO, Interval, power
from discreet.privacy.pld.beliefs import ELEMENTARY, ROUND, TINY, Array
from discreet.privacy.pld.certify import Effort, Workload
from discreet.privacy.pld.dominate import pair_of
from discreet.privacy.promises import events
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import HUGE, Approx, small_probability
from discreet.privacy.promises.record import Record, short_down, short_up, show

_BITS = 256
_EXACT = 1 << 14
_MOST = 100_000
_WORK = 100_000_000
_FINEST, _COARSEST = 2000, 20
"""Grid points per ε₀ of boxes of bounded range."""
_LARGEST = 100


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Optimal(Record):
    """``times`` adaptive uses of (ε₀, δ₀)-private boxes, parameters fixed in advance.

    >>> curve = Optimal(epsilon="0.1", delta=0, times=100)
    >>> curve.epsilon_at(delta=1e-6)
    Bound(lower=4.77456758..., upper=4.77456758...)
    """

    epsilon: Fraction
    delta: Fraction
    times: int

    def __init__(self, epsilon: Number, delta: Number, times: int) -> None:
        e, k = non_negative(epsilon, "epsilon"), integer(times, "times", at_least=1)
        if e > HUGE:
            raise BadParameter("epsilon", epsilon, f"must be at most {HUGE}; beyond, the sum is as good")
        if k > _MOST:
            raise BadParameter("times", times, f"must be at most {_MOST}; compose more than that numerically")
        self.fill(epsilon=e, delta=small_probability(delta), times=k)

    @property
    def lost(self) -> Bound:
        """The probability that one of the boxes gives the input away: 1 - (1-δ₀)^times, exactly or enclosed."""
        low, high = self._kept()
        return Bound(short_down(1 - high), short_up(1 - low))

    def delta_at(self, epsilon: Number) -> Bound:
        """The least δ that goes with this ε, in floats rounded outwards."""
        return Bound.outwards(*self._delta(non_negative(epsilon, "epsilon")))

    def epsilon_at(self, delta: Number) -> Bound:
        """The least ε that goes with this δ, in floats rounded outwards."""
        return Bound.outwards(*self._epsilon(small_probability(delta)))

    def price(self, delta: Number) -> Approx:
        """The promise at this δ, ε rounded up."""
        wanted = small_probability(delta)
        return Approx(short_up(self._epsilon(wanted)[1]), wanted)

    def _kept(self) -> tuple[Fraction, Fraction]:
        """Both sides of (1-δ₀)^times."""
        if self.delta.denominator.bit_length() * self.times < _EXACT:
            return ((1 - self.delta) ** self.times,) * 2
        kept = power(Interval.of(1 - self.delta), self.times)
        return kept.lower, kept.upper

    def _delta(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        kept_low, kept_high = self._kept()  # δ = 1 - kept (1 - gain)
        if epsilon >= self.times * self.epsilon:
            return 1 - kept_high, 1 - kept_low
        factor = Interval.of(exp_down(epsilon, _BITS), exp_up(epsilon, _BITS))
        low = high = ZERO
        for p, q in _prefixes(self.epsilon, self.times):
            gain = p.minus(factor * q)
            low, high = gain if gain.surer(low) else low, gain if gain.higher(high) else high
        return 1 - kept_high * (1 - low.lower), min(Fraction(1), 1 - kept_low * (1 - min(Fraction(1), high.upper)))

    def _epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction]:
        kept_low, kept_high = self._kept()
        if delta < 1 - kept_low:
            raise BadParameter("delta", delta, f"must be at least {show(1 - kept_low)}, which the boxes spend")
        free_low, free_high = 1 - (1 - delta) / kept_low, 1 - (1 - delta) / kept_high
        low = max(Fraction(0), _log(self._ratio(free_high)[0])[0])
        if not free_low:
            return low, self.times * self.epsilon
        return low, min(self.times * self.epsilon, max(low, _log(self._ratio(free_low)[1])[1]))

    def _ratio(self, delta: Fraction) -> tuple[Interval, Interval]:
        """The maximum of (A_m - δ)/B_m, at least 1: with the largest lower side, and with the largest upper side."""
        least = Interval.of(delta) if delta else ZERO
        one = Interval(1, 1, 0)
        low = high = one
        for p, q in _prefixes(self.epsilon, self.times):
            ratio = p.minus(least) / q
            low, high = ratio if ratio.surer(low) else low, ratio if ratio.higher(high) else high
        return low, high


def _log(x: Interval) -> tuple[Fraction, Fraction]:
    """Both sides of the logarithm of a number that is at least 1 on both; a long exponent is not written out."""
    if abs(x.exponent) < _EXACT:
        return log_down(x.lower), log_up(x.upper)
    two = Fraction(2)
    return (
        log_down(Fraction(x.low)) + x.exponent * (log_down(two) if x.exponent > 0 else log_up(two)),
        log_up(Fraction(x.high)) + x.exponent * (log_up(two) if x.exponent > 0 else log_down(two)),
    )


@lru_cache(maxsize=8)
def _prefixes(epsilon: Fraction, k: int) -> tuple[tuple[Interval, Interval], ...]:
    """(A_m, B_m) for m = 0 ... k/2: the binomial distribution functions of l under the two inputs."""
    e = Interval.of(exp_down(epsilon, _BITS), exp_up(epsilon, _BITS))
    one = Interval(1, 1, 0)
    step = one / e
    p = power(e / (one + e), k)  # probability of l = 0, loss kε
    q = power(one / (one + e), k)
    above, below = p, q
    result = [(above, below)]
    for m in range(1, k // 2 + 1):
        p = (p * step).times(k - m + 1, m)
        q = (q * e).times(k - m + 1, m)
        above, below = above + p, below + q
        result.append((above, below))
    return tuple(result)


def price_optimal(event: Event, delta: Number) -> Approx:
    """The best (ε, δ) for equal boxes, at this δ: a box by itself, or one repeated.

    Guarantee: exact for black boxes, so an upper bound for any event that basic accounting can box.

    >>> price_optimal(events.Repeat(events.Pure("0.1"), times=100), delta=1e-6)
    Approx(epsilon='...', delta='...')
    """
    box, times = _equal_boxes(event)
    each = price_basic(box)
    return Optimal(each.epsilon, each.delta, times).price(delta)


def _equal_boxes(event: Event) -> tuple[Event, int]:
    match event:
        case events.Repeat(event=inner, times=times):
            box, more = _equal_boxes(inner)
            return box, times * more
        case events.Composed(events=parts) if len(parts) and all(part == parts[0] for part in parts):
            box, more = _equal_boxes(parts[0])
            return box, len(parts) * more
        case events.Composed():
            raise NoPrice("optimal composition has a closed form for equal events only; compose them numerically")
        case _:
            return event, 1


# --- boxes whose loss has a bounded range -----------------------------------------------------------------------------


class BoundedRange(Workload):
    """``times`` adaptive uses of boxes whose loss has range ε₀, such as the exponential mechanism.

    Guarantee: ``delta`` and ``epsilon`` enclose the worst that an adversary can reach who chooses each box after seeing
    the earlier answers. The box of one use has losses in [t - ε₀, t] for some t; no single t is the worst, so the value
    of the game is computed from its end, on a grid of losses: over all t between two grid points at once from above,
    over the t on the grid from below. Proof: bounded_range.md.
    """

    def __init__(self, epsilon: Fraction, times: int, effort: Effort | None = None) -> None:
        box = events.Exponential(epsilon)
        super().__init__([(pair_of(box), times)], effort)
        self._epsilon, self._uses = epsilon, times
        self._cells = min(_FINEST, isqrt(_WORK // times**2))

    @staticmethod
    def fits(epsilon: Fraction, times: int) -> bool:
        """Whether the grid would be fine enough to be of use, and the numbers small enough for its errors."""
        return times > 1 and epsilon <= _LARGEST and isqrt(_WORK // times**2) >= _COARSEST

    @cached_property
    def _above(self) -> tuple[float, Array]:
        return _game(float_up(self._epsilon) / self._cells * (1 + 4 * ROUND), self._cells, self._uses, wider=1)

    @cached_property
    def _below(self) -> tuple[float, Array]:
        return _game(float_down(self._epsilon) / self._cells * (1 - 4 * ROUND), self._cells, self._uses, wider=0)

    def delta(self, epsilon: Fraction) -> tuple[float, float]:
        """Bounds of δ(ε), ε >= 0."""
        most = super().delta(epsilon)[1]
        low, high = self._delta_below(float_up(epsilon)), self._delta_above(float_down(epsilon))
        return max(min(low, high, most), 0.0), min(high, most)

    def epsilon(self, delta: Fraction) -> tuple[float, float]:
        """Bounds of the least ε >= 0 with δ(ε) <= delta."""
        most = super().epsilon(delta)[1]
        step, values = self._below
        reached = np.flatnonzero(values[len(values) // 2 :] * self._slack(-1) > float_up(delta))
        low = step * float(reached[-1]) * (1 - 4 * ROUND) if len(reached) else 0.0
        wanted = float_down(delta)
        a, b = 0.0, float_up(self._uses * self._epsilon) * (1 + 1 / self._cells) * (1 + 8 * ROUND)
        if self._delta_above(0.0) <= wanted:
            b = 0.0
        while b - a > 1e-9 * (1 + b):
            middle = (a + b) / 2
            a, b = (a, middle) if self._delta_above(middle) <= wanted else (middle, b)
        return min(low, b, most), min(b, most)

    def _delta_above(self, epsilon: float) -> float:
        """By the chord between two grid points: δ is convex in e^ε."""
        step, values = self._above
        centre = len(values) // 2
        place = min(floor(epsilon / step * (1 - 4 * ROUND)), len(values) - 2 - centre)
        share = expm1(max(epsilon - step * place * (1 + ROUND), 0.0)) / expm1(step)
        share = min(max(share * (1 - 8 * ELEMENTARY) - 8 * ELEMENTARY - 8 * ROUND * (place + 2), 0.0), 1.0)
        left, right = float(values[centre + place]), float(values[centre + place + 1])
        return min(1.0, (left + share * (right - left)) * self._slack(1) + TINY)

    def _delta_below(self, epsilon: float) -> float:
        """At the next grid point: δ falls."""
        step, values = self._below
        place = ceil(epsilon / step * (1 + 4 * ROUND))
        at = len(values) // 2 + place
        return float(values[at]) * self._slack(-1) if at < len(values) else 0.0

    def _slack(self, sign: int) -> float:
        """Each use multiplies by two masses, each within 8 elementary errors, and adds: 16 of them are enough."""
        return 1 + sign * 16 * (self._uses + 2) * ELEMENTARY


def _game(step: float, cells: int, times: int, *, wider: int) -> tuple[float, Array]:
    """The value of the game on the grid, ε from -n steps to n; boxes reach ``wider`` steps further than ε₀."""
    reach = cells + wider
    n = times * reach
    beyond = -np.expm1(step * np.arange(-n - reach, -n))  # where every loss is larger than ε
    value = np.maximum(-np.expm1(step * np.arange(-n, n + 1)), 0.0)
    for _ in range(times):
        padded = np.concatenate([beyond, value, np.zeros(reach)])
        value = np.zeros(2 * n + 1)
        for up in range(1, cells + wider):
            down = reach - up
            high = -np.expm1(-step * down) / -np.expm1(-step * reach)  # the mass of the larger loss, under P
            low = np.exp(-step * down) * (-np.expm1(-step * up)) / -np.expm1(-step * reach)
            both = (
                high * padded[reach - up : reach - up + 2 * n + 1]
                + low * padded[reach + down : reach + down + 2 * n + 1]
            )
            np.maximum(value, both, out=value)
    return step, value
