"""Noise in shares: each of n clients adds a little to its number, so that the sum has the noise that was priced.

Guarantee: whoever sees only the sum, as behind a secure sum, sees it with at least the stated noise, as long as at most
``dropouts`` clients drop out; more clients only add noise. For clients who are honest about their shares, which are as
many as do not drop out. Proof: distributed.md.

``LaplaceShares``: the sum has exactly discrete Laplace noise (negative binomial shares), ε-private. ``GaussianShares``:
a sum of discrete Gaussians, which is not a discrete Gaussian; its price has the proven gap (Kairouz, Liu and Steinke
2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number, exp_down, exp_up, integer, log_down, log_up, positive, sqrt_up
from discreet.noise import additive
from discreet.noise.lazy import count_below
from discreet.privacy.promises import events
from discreet.randomness import Bits, SystemBits

_GUARD = 64
_FIRST = 32
_PI_DOWN_SQUARED = Fraction(98696, 10000)


@dataclass(frozen=True, slots=True)
class LaplaceShares:
    """Made by ``laplace_shares(...)``: each client adds X - Y, both negative binomial with parameter 1/honest."""

    scale: Fraction
    sensitivity: int
    clients: int
    dropouts: int

    @property
    def honest(self) -> int:
        """So many shares make up the whole noise."""
        return self.clients - self.dropouts

    @property
    def event(self) -> events.DiscreteLaplace:
        """What the sum writes into the ledger."""
        return events.DiscreteLaplace(self.scale, self.sensitivity)

    def share(self, bits: Bits | None = None) -> int:
        """One client's noise."""
        source = SystemBits() if bits is None else bits
        r = Fraction(1, self.honest)
        return negative_binomial(r, self.scale, source) - negative_binomial(r, self.scale, source)

    def masked(self, value: int) -> int:
        """One client's whole number with its share of the noise, to be handed to the secure sum."""
        return integer(value, "value") + self.share()


@dataclass(frozen=True, slots=True)
class GaussianShares:
    """Made by ``gaussian_shares(...)``: each client adds a discrete Gaussian of parameter ``each``."""

    each: Fraction
    """σ² of one share."""
    sensitivity: int
    clients: int
    dropouts: int

    @property
    def honest(self) -> int:
        """So many shares make up the priced noise."""
        return self.clients - self.dropouts

    @property
    def gap(self) -> Fraction:
        """τ = 10 Σ_{k<n} e^(-2π²σ² k/(k+1)), rounded up: how far the sum is from a discrete Gaussian."""
        return _gap(self.each, self.honest)

    @property
    def rho(self) -> Fraction:
        """½ (Δ/(√n σ) + τ)², rounded up."""
        plain = sqrt_up(self.sensitivity**2 / (self.honest * self.each))
        return (plain + self.gap) ** 2 / 2

    @property
    def event(self) -> events.ZCDP:
        """What the sum writes into the ledger."""
        return events.ZCDP(self.rho)

    def share(self, bits: Bits | None = None) -> int:
        """One client's noise."""
        return additive.gaussian(self.each, None, SystemBits() if bits is None else bits)

    def shares(self, count: int) -> NDArray[np.int64]:
        """Many clients' noise at once, for simulation."""
        return np.asarray(additive.gaussian(self.each, integer(count, "count", at_least=0), SystemBits()))

    def masked(self, value: int) -> int:
        """One client's whole number with its share of the noise."""
        return integer(value, "value") + self.share()


def laplace_shares(*, epsilon: Number, clients: int, dropouts: int = 0, sensitivity: int = 1) -> LaplaceShares:
    """Shares of discrete Laplace noise of scale sensitivity/ε.

    >>> shares = laplace_shares(epsilon=1, clients=100, dropouts=20)
    >>> shares.event, isinstance(shares.masked(3), int)
    (DiscreteLaplace(scale=1, sensitivity=1), True)
    """
    moved = integer(sensitivity, "sensitivity", at_least=1)
    n, lost = _read(clients, dropouts)
    return LaplaceShares(moved / positive(epsilon, "epsilon"), moved, n, lost)


def gaussian_shares(*, rho: Number, clients: int, dropouts: int = 0, sensitivity: int = 1) -> GaussianShares:
    """Shares whose sum costs at most ρ, gap included.

    >>> shares = gaussian_shares(rho="1/8", clients=10)
    >>> shares.rho <= Fraction(1, 8), float(shares.each)
    (True, 0.544...)
    """
    price = positive(rho, "rho")
    moved = integer(sensitivity, "sensitivity", at_least=1)
    n, lost = _read(clients, dropouts)
    made = GaussianShares(max(moved**2 / (2 * price * (n - lost)), Fraction(1, 4)), moved, n, lost)
    while made.rho > price:  # the gap falls exponentially with each, so this ends
        made = GaussianShares(_short(made.each * Fraction(33, 32)), moved, n, lost)
    return made


def negative_binomial(r: Fraction, scale: Fraction, bits: Bits) -> int:
    """P(k) = C(k + r - 1, k) (1 - q)^r q^k, q = e^(-1/scale), exactly: by inversion of certified bounds of the sums.

    >>> negative_binomial(Fraction(1, 10), Fraction(2), SystemBits()) >= 0
    True
    """
    return count_below(lambda n: _thresholds(r, scale, n), bits.bits(_FIRST), _FIRST, bits, endless=True, step=_FIRST)


@lru_cache(maxsize=64)
def _thresholds(r: Fraction, scale: Fraction, n: int) -> tuple[list[int], list[int]]:
    """Bounds of 2^n (P(0) + ... + P(j)) for all j up to where the rest is below 2^-n."""
    width = n + _GUARD
    q_low, q_high = exp_down(-1 / scale, width), exp_up(-1 / scale, width)
    low_first = exp_down(r * log_down(1 - q_high, width), width)
    high_first = exp_up(r * log_up(1 - q_low, width), width)
    one = 1 << width
    low_term, high_term = int(low_first * one), -int(-high_first * one // 1)
    low_q, high_q = int(q_low * one), -int(-q_high * one // 1)
    low, high, low_sum, high_sum, k = [], [], 0, 0, 0
    while True:
        low_sum += low_term
        high_sum += high_term
        low.append(low_sum >> _GUARD)
        high.append(min(-(-high_sum >> _GUARD), 1 << n))
        if one - low_sum < 1 << (_GUARD - 1):  # what is left is below half a unit
            return low, high
        top, bottom = k * r.denominator + r.numerator, (k + 1) * r.denominator  # (k + r)/(k + 1)
        low_term = low_term * low_q * top // (bottom << width)
        high_term = -(-high_term * high_q * top // (bottom << width))
        k += 1
        if low_term == 0:
            return low, high


@lru_cache(maxsize=64)
def _gap(each: Fraction, n: int) -> Fraction:
    """k/(k+1) grows, so terms fall: the first ones singly, the rest as many times the next."""
    if n <= 1:
        return Fraction(0)
    rate = 2 * _PI_DOWN_SQUARED * each
    singly = min(n - 1, 64)
    terms = [exp_up(-rate * Fraction(k, k + 1), 64) for k in range(1, singly + 1)]
    return 10 * _short(sum(terms, Fraction(0)) + (n - 1 - singly) * terms[-1])


def _short(x: Fraction) -> Fraction:
    """x rounded up to a multiple of 2^-64."""
    return Fraction(-((-x.numerator << 64) // x.denominator), 1 << 64)


def _read(clients: int, dropouts: int) -> tuple[int, int]:
    n, lost = integer(clients, "clients", at_least=1), integer(dropouts, "dropouts", at_least=0)
    if lost >= n:
        raise BadParameter("dropouts", dropouts, f"must be below the number of clients, which is {n}")
    return n, lost
