"""The pairs with a density: Gaussian, Laplace, bounded range, and discrete noise too wide to list.

Promise: each class gives the masses of its pair; the pair itself is in the docstring.
Believes: beliefs.py; events for which pair an event has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.privacy.pld.beliefs import ELEMENTARY, PLACE, TINY, Array, normal_error
from discreet.privacy.pld.pair import Atoms, Cells, Pair

_ROOT_HALF = math.sqrt(0.5)


def _normal(x: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(ndtr(x), dtype=np.float64)


def _between(x: Array) -> tuple[Array, Array]:
    """P[x_{i+1} < Z <= x_i] of a standard normal for falling x, and its error; differences of the smaller tails."""
    low, high = _normal(x), _normal(-x)
    by_low, by_high = low[:-1] - low[1:], high[1:] - high[:-1]
    left = x[:-1] <= 0.0
    size = np.where(left, low[:-1], high[1:])
    finite = np.where(np.isfinite(x), x, 0.0)
    worst = normal_error(np.maximum(np.abs(finite[:-1]), np.abs(finite[1:])))
    return np.maximum(np.where(left, by_low, by_high), 0.0), 2.0 * worst * size + TINY


@dataclass(frozen=True, slots=True)
class GaussianPair(Pair):
    """N(0, 1) against N(μ, 1): L is N(μ²/2, μ²) under P and N(-μ²/2, μ²) under Q; symmetric."""

    mu: float

    def cells(self, edges: Array) -> Cells:
        """By differences of the smaller tails."""
        mu = self.mu
        p, p_error = _between(mu / 2 - edges / mu)
        q, q_error = _between(-mu / 2 - edges / mu)
        s, s_error = self._scaled(edges, q, q_error)
        return Cells(p, q, s, p_error, q_error, s_error)

    def _scaled(self, edges: Array, q: Array, q_error: Array) -> tuple[Array, Array]:
        """e^{edge} q. For a loss above 0, e^l Φ(b) = e^{-a²/2} erfcx(-b/√2)/2 with a = μ/2 - l/μ, b = a - μ."""
        from scipy.special import erfcx

        mu = self.mu
        start = edges[:-1]
        grown = np.exp(np.minimum(start, 0.0))
        s, error = grown * q, grown * (q_error + ELEMENTARY * q)
        far = start > 0.0
        if far.any():
            l0, l1 = start[far], edges[1:][far]
            gap = np.exp(l0 - l1)
            a0, a1 = mu / 2 - l0 / mu, np.where(np.isfinite(l1), mu / 2 - l1 / mu, -1e9)
            t0 = 0.5 * erfcx((mu - a0) * _ROOT_HALF) * np.exp(-a0 * a0 / 2)
            t1 = 0.5 * erfcx((mu - a1) * _ROOT_HALF) * np.exp(-a1 * a1 / 2) * gap
            s[far] = np.maximum(t0 - t1, 0.0)
            error[far] = 2.0 * normal_error(np.maximum(np.abs(a0), np.minimum(np.abs(a1), 1e3))) * t0 + TINY
        return s, error

    @property
    def slip(self) -> float:
        """μ/2 - l/μ is a difference of rounded numbers, of size μ/2: μ times its error is an error of the loss."""
        return PLACE * (1.0 + self.mu * self.mu)

    def above(self, loss: float) -> tuple[float, float]:
        """One tail each."""
        x = np.array([self.mu / 2 - loss / self.mu, -self.mu / 2 - loss / self.mu])
        p, q = _normal(x)
        return float(p), float(q)

    def below(self, loss: float) -> tuple[float, float]:
        """One tail each."""
        x = np.array([loss / self.mu - self.mu / 2, loss / self.mu + self.mu / 2])
        p, q = _normal(x)
        return float(p), float(q)

    def reach(self, tail: float) -> tuple[float, float]:
        """By the bound e^{-z²/2} of the tail."""
        z = math.sqrt(2.0 * math.log(1.0 / max(tail, 1e-300)))
        return self.mu * (self.mu / 2 - z), self.mu * (self.mu / 2 + z)

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        """There is none."""
        return math.inf, math.inf


def _exponential(edges: Array, epsilon: float, factor: float) -> Cells:
    """The density factor·e^{(l-ε)/2} dl/2 on [-ε, ε], the continuous part of Laplace and of bounded range."""
    x = np.clip(edges, -epsilon, epsilon)
    low, half = x[:-1], 0.5 * np.diff(x)
    part = -np.expm1(-half)
    p = factor * np.exp(0.5 * (x[1:] - epsilon)) * part
    flat = factor * np.exp(0.5 * (low - epsilon)) * part  # e^{low} q
    q = factor * np.exp(-0.5 * (epsilon + low)) * part
    # the edge of the cell may lie below -ε, where the mass begins
    s = flat * np.exp(np.minimum(edges[:-1] - low, 0.0))
    # half is a difference of rounded numbers: its own error is PLACE of the edges, which is an error of place
    relative = 16.0 * ELEMENTARY + PLACE * (1.0 + epsilon)
    error = relative * p + TINY
    return Cells(p, q, s, error, relative * q + TINY, relative * s + TINY)


@dataclass(frozen=True, slots=True)
class _BoundedPair(Pair):
    """A symmetric pair with losses from -ε to ε; ``value`` is the double nearest to ε."""

    epsilon: Fraction
    value: float

    @property
    def anchor(self) -> float:
        """The largest loss."""
        return self.value

    @property
    def lattice(self) -> Fraction | None:
        """From end to end: any whole part of it puts both ends on the grid."""
        return 2 * self.epsilon

    def above(self, loss: float) -> tuple[float, float]:
        """By one cell."""
        return self._one_cell(min(loss, self.value), self.value)

    def below(self, loss: float) -> tuple[float, float]:
        """By one cell."""
        return self._one_cell(-self.value, max(loss, -self.value))

    def _one_cell(self, low: float, high: float) -> tuple[float, float]:
        if not low < high:
            return 0.0, 0.0
        cells = self.cells(np.array([low, high]))
        return float(cells.p[0]), float(cells.q[0])

    def reach(self, tail: float) -> tuple[float, float]:
        """From where P(L < l) <= e^{(l-ε)/2}/(1-e^{-ε}) is small; the upper end carries much."""
        room = tail * -math.expm1(-self.value)
        return (max(-self.value, self.value + 2.0 * math.log(room)) if room > 0.0 else -self.value), self.value

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        """Exactly ε."""
        return self.epsilon, self.epsilon


class LaplacePair(_BoundedPair):
    """Laplace noise around 0 against around ε, scale 1: atoms at ±ε, density e^{(l-ε)/2}/4 between; symmetric."""

    __slots__ = ()

    @property
    def atoms(self) -> Atoms:
        """Both ends: everything to one side of both centres has the same loss."""
        half = np.array([0.5 * math.exp(-self.value), 0.5])
        return Atoms(np.array([-self.value, self.value]), half, half[::-1])

    def cells(self, edges: Array) -> Cells:
        """P has half of the mass e^{(l-ε)/2}, Q half of e^{-(l+ε)/2}."""
        return _exponential(edges, self.value, 0.5)


class BoundedRangePair(_BoundedPair):
    """The dominating pair of all mechanisms whose loss has range ε: density ½ e^{(l-ε)/2}/(1 - e^{-ε}) on [-ε, ε].

    A loss inside [t-ε, t] is dominated by the two ends, H_t(e^x) = (1-e^{t-ε})(1-e^{x-t})/(1-e^{-ε}), largest over t at
    t = (x+ε)/2: H(e^x) = (1-e^{(x-ε)/2})²/(1-e^{-ε}), convex in e^x, whose pair has the density above; symmetric.
    """

    __slots__ = ()

    def cells(self, edges: Array) -> Cells:
        """As Laplace between its ends, with all of the mass."""
        return _exponential(edges, self.value, -1.0 / math.expm1(-self.value))


@dataclass(frozen=True, slots=True)
class WideDiscreteLaplacePair(_BoundedPair):
    """P(z) ∝ e^{-|z|/b} on the integers against its shift by Δ, without a list of the integers between; symmetric.

    Between 0 and Δ the loss is (Δ-2z)/b; a range of z has mass (a^{z0} - a^{z1})/(1 + a), a = e^{-1/b}. An edge that
    is one unit in the last place of z off moves by 2Δ/b·2^-53, which is an error of place.
    """

    scale: float
    shift: float

    @property
    def atoms(self) -> Atoms:
        """Both ends, z <= 0 and z >= Δ."""
        a, e = math.exp(-1.0 / self.scale), self.value
        ends = np.array([math.exp(-e) / (1.0 + a), 1.0 / (1.0 + a)])
        return Atoms(np.array([-e, e]), ends, ends[::-1])

    def cells(self, edges: Array) -> Cells:
        """Ranges of z, from one rounded edge to the next."""
        b, e = self.scale, self.value
        # {L > x} is {z < (Δ - b x)/2}, and 1 <= z <= Δ-1
        z = np.clip(np.ceil(0.5 * (self.shift - b * np.clip(edges, -e, e))), 1.0, self.shift)
        first, width = z[1:], z[:-1] - z[1:]
        norm = 1.0 / (1.0 + math.exp(-1.0 / b))
        p = norm * np.exp(-first / b) * -np.expm1(-width / b)
        q = np.where(width > 0, norm * np.exp((z[:-1] - 1.0 - self.shift) / b) * -np.expm1(-width / b), 0.0)
        s = np.exp(np.minimum(edges[:-1], 700.0)) * q if e < 300 else self._scaled(edges, z, norm)
        relative = 32.0 * ELEMENTARY + PLACE * (1.0 + e)
        return Cells(p, q, s, relative * p + TINY, relative * q + TINY, relative * s + TINY)

    def _scaled(self, edges: Array, z: Array, norm: float) -> Array:
        """e^{edge} q with the exponents added before e is taken."""
        b = self.scale
        width = z[:-1] - z[1:]
        exponent = np.maximum(edges[:-1], -self.value) + (z[:-1] - 1.0 - self.shift) / b
        grown = norm * np.exp(np.minimum(exponent, 0.0)) * -np.expm1(-width / b)
        return np.where(width > 0, grown * np.exp(np.minimum(edges[:-1] + self.value, 0.0)), 0.0)


@dataclass(frozen=True, slots=True)
class WideDiscreteGaussianPair(Pair):
    """P(z) ∝ e^{-z²/2σ²} on the integers against its shift by Δ, for σ >= 1000; symmetric.

    The sum of e^{-z²/2σ²} over an integer range is the integral between the half-integers around it within a relative
    (1 + x²)/(24σ²)·e^{...}, x = z/σ (midpoint rule), and over all integers σ√2π within 2e^{-2π²σ²}.
    """

    sigma: float
    shift: float

    @property
    def _mu(self) -> float:
        return self.shift / self.sigma

    def cells(self, edges: Array) -> Cells:
        """Between half-integers, as the continuous pair."""
        mu, sigma = self._mu, self.sigma
        # L = Δ(Δ-2z)/(2σ²) > x is z < Δ/2 - x σ²/Δ; the edges move to the half-integer above
        z = self.shift / 2 - edges * sigma / mu
        z = np.where(np.isfinite(z), np.ceil(z) - 0.5, z)
        moved = (self.shift / 2 - z) * mu / sigma
        inner = GaussianPair(mu).cells(moved)
        x = np.where(np.isfinite(z), np.abs(z / sigma), 45.0)
        far = np.maximum(x[:-1], x[1:]) + mu
        # the midpoint rule is off by at most ∫(1 + x²)φ dx/(24σ²) over the cell, and all of that integral is 2
        unit = 1.2 / (24.0 * sigma * sigma)
        bend = 1.0 + np.minimum(far, 45.0) ** 2
        # s was made for the moved edge, which is at most one integer away: put it back
        finite = np.isfinite(edges[:-1])
        back = np.exp(np.where(finite, edges[:-1], 0.0) - np.where(finite, moved[:-1], 0.0))
        s = inner.s * back
        most = 2.0 * np.exp(np.where(finite, np.minimum(edges[:-1], 700.0), -700.0))
        return Cells(
            inner.p,
            inner.q,
            s,
            inner.p_error + unit * np.minimum(bend * inner.p, 2.0),
            inner.q_error + unit * np.minimum(bend * inner.q, 2.0),
            inner.s_error * back + ELEMENTARY * s + unit * np.minimum(bend * s, most),
        )

    @property
    def slip(self) -> float:
        """As the continuous pair; an edge that is one unit in the last place of z off moves by less."""
        return 2.0 * GaussianPair(self._mu).slip

    def above(self, loss: float) -> tuple[float, float]:
        """About as the continuous pair."""
        return GaussianPair(self._mu).above(loss)

    def below(self, loss: float) -> tuple[float, float]:
        """About as the continuous pair."""
        return GaussianPair(self._mu).below(loss)

    def reach(self, tail: float) -> tuple[float, float]:
        """About as the continuous pair."""
        return GaussianPair(self._mu).reach(tail)

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        """There is none."""
        return math.inf, math.inf
