"""What a list of events costs together: ε for a δ, δ for an ε, and what is left to an attacker, all enclosed.

Promise: every ``Bound`` encloses the truth for the product of the events' dominating pairs (pld/dominate.py), the
larger of both directions; for ε and δ of equal boxes of bounded range, for the worst that an adaptive choice of them
reaches. So ``upper`` is a valid price of whatever ran, adaptively or not, as long as the events themselves were fixed
in advance; and ``lower`` says how much of it is due to the arithmetic.
Believes: pld/ (its beliefs about floating point are in pld/beliefs.py); conversions.py for Gaussians alone.

>>> from discreet.privacy.promises import events
>>> bound = compose([events.Pure("0.1")] * 100).epsilon(delta="1e-6")
>>> bound.width < 1e-9, 4.774567588 < bound.upper < 4.774567589
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import BadParameter, DiscreetError, NoPrice
from discreet.exact import Number, exp_down, exp_up, float_down, float_up, non_negative, number, sqrt_down
from discreet.privacy.accountants.conversions import gdp_delta, gdp_epsilon
from discreet.privacy.accountants.optimal import BoundedRange
from discreet.privacy.accountants.tradeoff import false_negatives_down
from discreet.privacy.numerics import normal
from discreet.privacy.pld.certify import Effort, Workload
from discreet.privacy.pld.dominate import Leaves, alternatives, gaussian_pair, lost_mass, pair_of
from discreet.privacy.promises import events
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.events.base import agree
from discreet.privacy.promises.measures import GDP, small_probability

_NOTHING = Bound(0.0, 0.0)
_EXACT_BITS = 1 << 15
_LEAST = Fraction(1, 1 << 1000)  # below it floats cannot hold δ
_SMALL_LOSS = Fraction(1, 1 << 60)
_EDGE = Fraction(1, 1 << 30)


def compose(given: Iterable[Event] | Event, effort: Effort | None = None) -> Composition:
    """All of these events together, declared in advance.

    Guarantee: the answers enclose the truth; how closely is a matter of ``effort`` (3e-4 plus 3e-5 ε as a rule).
    Refuses with NoPrice what has no dominating pair.

    >>> compose([events.Gaussian(sigma=1)] * 100).epsilon(delta="1e-6")
    Bound(lower=96.717..., upper=96.717...)
    """
    listed: object = [given] if isinstance(given, Event) else given
    if not isinstance(listed, Iterable) or isinstance(listed, (str, bytes)):
        raise BadParameter("events", given, "must be a sequence of events")
    counted: dict[Event, int] = {}
    for event in listed:
        if not isinstance(event, Event):
            raise BadParameter("events", event, "must hold events alone, such as events.Gaussian(sigma=10)")
        counted[event] = counted.get(event, 0) + 1
    agree(part for event, times in counted.items() for part in (event,) * min(times, 2))
    with _within_floats():
        ways = alternatives(list(counted.items()))
        return Composition([_Way.of(leaves, effort) for leaves in ways])


@contextmanager
def _within_floats() -> Iterator[None]:
    """Numbers that leave the floats are a refusal, not a crash."""
    try:
        with np.errstate(invalid="raise"):
            yield
    except DiscreetError:
        raise
    except (ArithmeticError, ValueError, RecursionError):
        raise NoPrice(
            "numerical composition cannot hold these numbers in floats; use a closed form, such as zCDP"
        ) from None


class Composition:
    """The cost of some events together. Made by ``compose``.

    >>> two = compose([events.Laplace(scale=1), events.Approx(1, "1e-9")])
    >>> two.epsilon(delta=0).upper, two.delta(epsilon=2).upper
    (inf, 1e-09)
    """

    def __init__(self, ways: list[_Way]) -> None:
        self._ways = ways
        self._bounds: dict[tuple[str, Fraction], Bound] = {}

    def epsilon(self, delta: Number) -> Bound:
        """The least ε with which all of this is (ε, δ)-differentially private; infinite if there is none."""
        wanted = small_probability(delta)
        return self._recall("epsilon", wanted, lambda way: way.epsilon(wanted))

    def delta(self, epsilon: Number) -> Bound:
        """The least δ with which all of this is (ε, δ)-differentially private."""
        wanted = non_negative(epsilon, "epsilon")
        return self._recall("delta", wanted, lambda way: way.delta(wanted))

    def tradeoff(self, alpha: Number) -> Bound:
        """f(α): the least rate of misses of any test between neighbours that raises false alarms at rate α.

        >>> compose([events.Pure(1)]).tradeoff("0.1")
        Bound(lower=0.728171..., upper=0.728171...)
        """
        wanted = number(alpha, "alpha")
        if not 0 <= wanted <= 1:
            raise BadParameter("alpha", alpha, "must lie between 0 and 1")
        with _within_floats():
            bounds = [way.tradeoff(wanted) for way in self._ways]
        return Bound(min(float(b.lower) for b in bounds), min(float(b.upper) for b in bounds))

    def true_positive_rate(self, false_positive: Number) -> Bound:
        """The largest share of members that an attacker can find, if he accuses this share of the others wrongly.

        >>> compose([events.Pure(1)]).true_positive_rate("0.1").upper
        0.2718281...
        """
        left = self.tradeoff(false_positive)
        return Bound(max(0.0, float_down(1 - Fraction(left.upper))), float_up(1 - Fraction(left.lower)))

    def profile(self, deltas: Iterable[Number] | None = None) -> list[tuple[Bound, float]]:
        """Points (ε enclosed, δ) of the privacy profile, for a plot."""
        chosen = deltas if deltas is not None else [Fraction(1, 10**k) for k in range(1, 13)]
        return [(self.epsilon(d), float(number(d, "delta"))) for d in chosen]

    def tradeoff_band(self, alphas: Iterable[Number] | None = None) -> list[tuple[float, Bound]]:
        """Points (α, f(α) enclosed) of the trade-off curve, for a plot."""
        chosen = alphas if alphas is not None else [Fraction(k, 20) for k in range(21)]
        return [(float(number(a, "alpha")), self.tradeoff(a)) for a in chosen]

    def __repr__(self) -> str:
        return "<Composition: epsilon(delta), delta(epsilon), tradeoff(alpha), true_positive_rate(false_positive)>"

    def _recall(self, what: str, key: Fraction, ask: Callable[[_Way], Bound]) -> Bound:
        bound = self._bounds.get((what, key))
        if bound is None:
            with _within_floats():
                bounds = [ask(way) for way in self._ways]
            bound = Bound(max(b.lower for b in bounds), max(b.upper for b in bounds))
            self._bounds[what, key] = bound
        return bound


@dataclass(frozen=True, slots=True)
class _Way:
    """What one unit meets: Gaussians alone (exact), or a workload of pairs, or nothing."""

    gaussian: Fraction
    work: Workload | None
    top: tuple[Fraction | float, Fraction | float]
    lost: tuple[Fraction, Fraction]

    @classmethod
    def of(cls, leaves: Leaves, effort: Effort | None) -> _Way:
        gaussian = sum((n * e.mu_squared for e, n in leaves.items() if isinstance(e, events.Gaussian)), Fraction(0))
        others = {event: n for event, n in leaves.items() if not isinstance(event, events.Gaussian)}
        pairs = [(pair_of(event), n) for event, n in others.items()]
        forward = [(pair.top, n) for pair, n in pairs]
        backward = [(pair.reverse.top, n) for pair, n in pairs]
        sides = [tuple(sum((n * t[i] for t, n in way), Fraction(0)) for i in (0, 1)) for way in (forward, backward)]
        top: tuple[Fraction | float, Fraction | float] = (max(s[0] for s in sides), max(s[1] for s in sides))
        if gaussian:
            top = (math.inf, math.inf)
        if pairs and gaussian:
            pairs.append((gaussian_pair(gaussian), 1))
        alike = None if gaussian else _alike(others)
        if alike is not None:
            return cls(gaussian, BoundedRange(*alike, effort), top, _lost(others))
        return cls(gaussian, Workload(pairs, effort) if pairs else None, top, _lost(others))

    def epsilon(self, delta: Fraction) -> Bound:
        if delta < self.lost[0]:
            return Bound(math.inf, math.inf)
        certain = delta >= self.lost[1]
        if self.work is None:
            if not self.gaussian:
                return _NOTHING
            if not delta:
                return Bound(math.inf, math.inf)
            bound = gdp_epsilon(GDP(mu_squared=self.gaussian), delta)
            return Bound.outwards(Fraction(bound.lower), Fraction(bound.upper))
        most = _up(self.top[1]) if certain else math.inf
        alike = len(self.work.directions) == 1  # then whoever loses this mass also reaches the top
        if delta == self.lost[0] == self.lost[1] and (alike or not delta):
            return Bound(_down(self.top[0]), most)
        if delta == self.lost[0] or delta < _LEAST:
            # at the very edge only the top is known from above; from below, ε at a larger δ is no larger
            low = self.work.epsilon(max(delta * (1 + _EDGE), _LEAST))[0]
            return Bound(min(low, most), most)
        low, high = self.work.epsilon(delta)
        if certain:
            high = min(high, _up(self.top[1]))
            low = min(low, high)
        return Bound(low, high)

    def delta(self, epsilon: Fraction) -> Bound:
        if self.work is None:
            if not self.gaussian:
                return _NOTHING
            bound = gdp_delta(GDP(mu_squared=self.gaussian), epsilon)
            return Bound.outwards(Fraction(bound.lower), Fraction(bound.upper))
        low, high = float_down(self.lost[0]), float_up(self.lost[1])
        if epsilon >= self.top[1]:
            return Bound(low, high)
        below, above = self.work.delta(epsilon)
        return Bound(max(low, below), max(low, below, above))

    def tradeoff(self, alpha: Fraction) -> Bound:
        if alpha in (0, 1):  # no false alarms: only what gives itself away is found
            return _NOTHING if alpha else Bound.outwards(1 - self.lost[1], 1 - self.lost[0])
        if self.work is None:
            if not self.gaussian:
                return Bound.outwards(1 - alpha, 1 - alpha)
            promise = GDP(mu_squared=self.gaussian)
            least = false_negatives_down(promise, alpha)
            most = normal.cdf_up(normal.quantile_up(1 - alpha) - sqrt_down(self.gaussian))
            return Bound.outwards(max(Fraction(0), least), most)
        return Bound(*self.work.misses(alpha))


def _alike(leaves: Leaves) -> tuple[Fraction, int] | None:
    """The range and the number of boxes, if they all have a loss of the same bounded range."""
    ranges = set()
    for event in leaves:
        match event:
            case events.Exponential(epsilon=e) | events.NoisyMax(epsilon=e, noise=events.MaxNoise.GUMBEL):
                ranges.add(e)
            case _:
                return None
    times = sum(leaves.values())
    return (ranges.pop(), times) if len(ranges) == 1 and BoundedRange.fits(max(ranges), times) else None


def _lost(leaves: Leaves) -> tuple[Fraction, Fraction]:
    """1 - Π(1 - lost mass): exact while the fractions stay short, else enclosed."""
    masses = [(lost_mass(event), n) for event, n in leaves.items()]
    masses = [(mass, n) for mass, n in masses if mass]
    if sum(n * mass.denominator.bit_length() for mass, n in masses) <= _EXACT_BITS:
        kept = Fraction(1)
        for mass, n in masses:
            kept *= (1 - mass) ** n
        return 1 - kept, 1 - kept
    # e^{-m/(1-m)} <= 1 - m <= e^{-m}, and x/(1+x) <= 1 - e^{-x} <= x
    least = sum((n * mass for mass, n in masses), Fraction(0))
    most = sum((n * mass / (1 - mass) for mass, n in masses), Fraction(0))
    low, high = least / (1 + least), min(most, Fraction(1))
    if least > _SMALL_LOSS:
        low = 1 - exp_up(-min(least, Fraction(2000)))
    if _SMALL_LOSS < most < 2000:
        high = 1 - exp_down(-most)
    return low, high


def _up(x: Fraction | float) -> float:
    return x if isinstance(x, float) else float_up(x)


def _down(x: Fraction | float) -> float:
    return x if isinstance(x, float) else float_down(x)
