"""The best possible composition of equal black boxes, exactly (Kairouz, Oh and Viswanath 2015).

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
from functools import lru_cache

from discreet.errors import BadParameter, NoPrice
from discreet.exact import Number, exp_down, exp_up, integer, log_down, log_up, non_negative
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.numerics.interval import ZERO, Interval, power
from discreet.privacy.promises import events
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import HUGE, Approx, small_probability
from discreet.privacy.promises.record import Record, short_down, short_up, show

_BITS = 256
_EXACT = 1 << 14
_MOST = 100_000


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
