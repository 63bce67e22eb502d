"""Poisson subsampling of a pair, under adding or removing one unit.

Promise: if P is the law with the unit in the sample and Q without, ``removed`` is ((1-r)Q + rP, Q), and ``added`` is
(Q, (1-r)Q + rP): the two dominating pairs of the sampled mechanism (Zhu, Dong and Wang 2022).
Believes: the inner pair dominates in both directions and is symmetric, as every pair here but these two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.exact import exp_down, exp_up, log_down, log_up
from discreet.privacy.pld.beliefs import ELEMENTARY, TINY, Array
from discreet.privacy.pld.pair import Atoms, Cells, Mass, Pair
from discreet.privacy.promises.measures import HUGE

_FAR = 600.0


@dataclass(frozen=True, slots=True)
class _Mixture:
    """l -> log(1 - r + r e^l), its inverse, and the mixed masses."""

    inner: Pair
    rate: Fraction

    @property
    def r(self) -> float:
        return float(self.rate)

    @property
    def rest(self) -> float:
        return float(1 - self.rate)

    @property
    def floor(self) -> float:
        """log(1 - r), the smallest loss of the mixture against Q."""
        return math.log1p(-self.r) if self.r < 0.5 else math.log(self.rest)

    def mixed(self, loss: Array) -> Array:
        """log(1 - r + r e^l), with care at both ends."""
        near = np.log1p(self.r * np.expm1(np.minimum(loss, _FAR)))
        far = loss + math.log(self.r) + np.log1p(self.rest / self.r * np.exp(-np.maximum(loss, 0.0)))
        small = np.log(self.rest + self.r * np.exp(np.minimum(loss, 0.0)))
        return np.asarray(np.where(loss > 30.0, far, np.where(loss < -1.0, small, near)), dtype=np.float64)

    def unmixed(self, mixed: Array) -> Array:
        """The inner loss; -∞ where the mixture cannot go."""
        inside = np.expm1(np.minimum(mixed, _FAR)) / self.r
        with np.errstate(divide="ignore"):
            near = np.log1p(np.maximum(inside, -1.0))
        far = mixed + np.log1p(-self.rest * np.exp(-np.maximum(mixed, 30.0))) - math.log(self.r)
        return np.asarray(np.where(mixed > 30.0, far, near), dtype=np.float64)

    def weigh(self, p: float, q: float) -> float:
        return self.rest * q + self.r * p


@dataclass(frozen=True, slots=True)
class RemovedPair(Pair):
    """((1-r)Q + rP, Q)."""

    inner: Pair
    rate: Fraction

    @property
    def _mix(self) -> _Mixture:
        return _Mixture(self.inner, self.rate)

    @property
    def reverse(self) -> Pair:
        """The unit added."""
        return AddedPair(self.inner, self.rate)

    @property
    def anchor(self) -> float:
        """The smallest loss, where a heap may be."""
        return float(self.atoms.loss[0]) if self._two else self._mix.floor

    @property
    def _two(self) -> bool:
        """Two losses, which a grid can always hold exactly (and the mass of the void, which is small)."""
        return self.inner.discrete and len(self.inner.atoms.loss) == 2

    @property
    def lattice(self) -> Fraction | None:
        """The distance of two losses."""
        return Fraction(float(self.atoms.loss[1] - self.atoms.loss[0])) if self._two else None

    @property
    def atoms(self) -> Atoms:
        """The inner atoms, mixed; the void of P becomes an atom at log(1 - r)."""
        mix, inner = self._mix, self.inner.atoms
        p = mix.r * inner.p + mix.rest * inner.q
        loss, q = mix.mixed(inner.loss), inner.q
        if self.inner.void.high:
            lost = 0.5 * (self.inner.void.low + self.inner.void.high)
            loss = np.concatenate([loss, [mix.floor]])
            p, q = np.concatenate([p, [mix.rest * lost]]), np.concatenate([q, [lost]])
        return Atoms(loss, p, q, slack=2.0 * inner.slack + 8.0 * ELEMENTARY, places=inner.places + 1.0)

    @property
    def infinite(self) -> Mass:
        """What only P has, r times."""
        r, inner = self._mix.r, self.inner.infinite
        return Mass(r * inner.low * (1.0 - ELEMENTARY), r * inner.high * (1.0 + ELEMENTARY))

    @property
    def slip(self) -> float:
        """Mixing brings losses nearer to each other: their errors do not grow."""
        return self.inner.slip + self.atoms.slip

    @property
    def discrete(self) -> bool:
        """As the inner pair."""
        return self.inner.discrete

    def cells(self, edges: Array) -> Cells:
        """The inner cells between the inner losses of the edges."""
        mix = self._mix
        inner = self.inner.cells(mix.unmixed(edges))
        p = mix.r * inner.p + mix.rest * inner.q
        p_error = mix.r * inner.p_error + mix.rest * inner.q_error + ELEMENTARY * p
        far = edges[:-1] > _FAR
        grown = np.exp(np.minimum(edges[:-1], _FAR))
        s = np.where(far, mix.r * inner.s + mix.rest * inner.q, grown * inner.q)
        s_error = np.where(far, mix.r * inner.s_error + mix.rest * inner.q_error, grown * inner.q_error)
        return Cells(p, inner.q, s, p_error, inner.q_error, s_error + 4.0 * ELEMENTARY * s + TINY)

    def above(self, loss: float) -> tuple[float, float]:
        """The inner tails, mixed."""
        p, q = self.inner.above(float(self._mix.unmixed(np.array([loss]))[0]))
        return self._mix.weigh(p, q), q

    def below(self, loss: float) -> tuple[float, float]:
        """The inner tails, mixed."""
        p, q = self.inner.below(float(self._mix.unmixed(np.array([loss]))[0]))
        return self._mix.weigh(p, q), q

    def reach(self, tail: float) -> tuple[float, float]:
        """The inner reach, mixed."""
        mix = self._mix
        low, high = self.inner.reach(min(0.25, tail))
        # under Q the inner loss reaches from -high to -low
        ends = mix.mixed(np.array([min(low, -high), max(self.inner.reach(min(0.25, tail / mix.r))[1], -low)]))
        least = mix.floor if self.inner.void.high else float(ends[0])
        return max(least, mix.floor), float(ends[1])

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        """log(1 - r + r e^top)."""
        low, high = self.inner.top
        return _mixed_exactly(low, self.rate)[0], _mixed_exactly(high, self.rate)[1]


@dataclass(frozen=True, slots=True)
class AddedPair(Pair):
    """(Q, (1-r)Q + rP)."""

    inner: Pair
    rate: Fraction

    @property
    def _mix(self) -> _Mixture:
        return _Mixture(self.inner, self.rate)

    @property
    def reverse(self) -> Pair:
        """The unit removed."""
        return RemovedPair(self.inner, self.rate)

    @property
    def anchor(self) -> float:
        """The largest loss, where a heap may be."""
        return -RemovedPair(self.inner, self.rate).anchor

    @property
    def lattice(self) -> Fraction | None:
        """The distance of two losses."""
        return RemovedPair(self.inner, self.rate).lattice

    @property
    def atoms(self) -> Atoms:
        """Those of the reverse, turned."""
        turned = RemovedPair(self.inner, self.rate).atoms
        return Atoms(-turned.loss[::-1], turned.q[::-1], turned.p[::-1], turned.slack, turned.places)

    @property
    def slip(self) -> float:
        """Mixing brings losses nearer to each other: their errors do not grow."""
        return self.inner.slip + self.atoms.slip

    @property
    def discrete(self) -> bool:
        """As the inner pair."""
        return self.inner.discrete

    def cells(self, edges: Array) -> Cells:
        """Those of the reverse, turned."""
        turned = RemovedPair(self.inner, self.rate).cells(-edges[::-1])
        p, p_error = turned.q[::-1], turned.q_error[::-1]
        q, q_error = turned.p[::-1], turned.p_error[::-1]
        grown = np.exp(np.minimum(edges[:-1], _FAR))
        s = grown * q
        return Cells(p, q, s, p_error, q_error, grown * q_error + 4.0 * ELEMENTARY * s + TINY)

    def above(self, loss: float) -> tuple[float, float]:
        """Those of the reverse, turned."""
        p, q = RemovedPair(self.inner, self.rate).below(-loss)
        return q, p

    def below(self, loss: float) -> tuple[float, float]:
        """Those of the reverse, turned."""
        p, q = RemovedPair(self.inner, self.rate).above(-loss)
        return q, p

    def reach(self, tail: float) -> tuple[float, float]:
        """The inner reach under Q, mixed and turned."""
        mix = self._mix
        low, high = self.inner.reach(min(0.25, tail))
        # under Q the inner loss reaches from -high to -low
        ends = mix.mixed(np.array([-high, -low]))
        most = -mix.floor if self.inner.void.high else min(-float(ends[0]), -mix.floor)
        return -float(ends[1]), most

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        """-log(1 - r + r e^bottom)."""
        low, high = (Fraction(0), Fraction(0)) if self.inner.void.high else self.inner.bottom
        if self.inner.void.high or low == -math.inf:
            return -log_up(1 - self.rate), -log_down(1 - self.rate)
        return -_mixed_exactly(high, self.rate)[1], -_mixed_exactly(low, self.rate)[0]


def _mixed_exactly(loss: Fraction | float, rate: Fraction) -> tuple[Fraction | float, Fraction | float]:
    """Bounds of log(1 - r + r e^l) for a rational or infinite l."""
    if isinstance(loss, float):
        return loss, loss
    if loss > HUGE:  # l + log r + log(1 + (1-r)/r e^{-l}), without writing e^l out
        return loss + log_down(rate), loss + log_up(rate) + (1 - rate) / rate * exp_up(-Fraction(HUGE))
    if loss < -HUGE:
        return log_down(1 - rate), log_up(1 - rate + rate * exp_up(-Fraction(HUGE)))
    return log_down(1 - rate + rate * exp_down(loss)), log_up(1 - rate + rate * exp_up(loss))
