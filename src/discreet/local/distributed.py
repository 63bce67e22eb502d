"""Noise in shares: each of n clients adds a little to its number, so that the sum has the noise that was priced.

Guarantee, for CHANGE_ONE: which clients take part is public and fixed, and one of them changes its number, or has none
and sends a ``dummy``. The sum, as behind a secure sum, is private as ``event`` says as long as at most ``dropouts`` of
the n shares are missing, whatever the reason but the numbers themselves: clients who drop out, who add no noise, or
who tell others their noise. Numbers are clamped to [low, high] by each client; more shares only add noise.

It does not hold for adding or removing a client: who stays away takes a share of the noise away, and the amount of
noise tells. So whoever is absent sends a ``dummy``, or counts among those who drop out in both worlds. Proof:
distributed.md.

``LaplaceShares``: the sum has exactly discrete Laplace noise (negative binomial shares), ε-private. ``GaussianShares``:
a sum of discrete Gaussians, which is not a discrete Gaussian; its price has the proven gap (Kairouz, Liu and Steinke
2021).
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, BadParameter
from discreet.exact import Number, exp_down, exp_up, integer, log_down, log_up, positive, sqrt_up
from discreet.noise import additive
from discreet.noise.lazy import count_below
from discreet.privacy.promises import events
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits, SystemBits

_GUARD = 64
_FIRST = 32
_PI_DOWN_SQUARED = Fraction(98696, 10000)


class Shares(ABC):
    """What both kinds of shares have in common: who sends, and what."""

    __slots__ = ()

    neighbours: ClassVar[Neighbours] = Neighbours.CHANGE_ONE
    """What ``event`` is true for: one client's number changes, and that client sends its share in both worlds."""
    low: int
    high: int
    clients: int
    dropouts: int

    @property
    def honest(self) -> int:
        """So many shares make up the priced noise."""
        return self.clients - self.dropouts

    @property
    def sensitivity(self) -> int:
        """How far the sum moves when one client changes its number."""
        return self.high - self.low

    @property
    @abstractmethod
    def event(self) -> events.Event:
        """What the sum writes into the ledger, for CHANGE_ONE."""

    @abstractmethod
    def share(self, bits: Bits | None = None) -> int:
        """One client's noise."""

    def masked(self, value: int) -> int:
        """One client's whole number, clamped to [low, high], with its share of the noise: for the secure sum."""
        given: object = value
        if isinstance(given, bool) or not isinstance(given, numbers.Integral):
            raise BadData("a client's value must be an integer")
        return min(max(int(given), self.low), self.high) + self.share()

    def dummy(self) -> int:
        """What a client without a number sends: the number in [low, high] that is nearest to 0, and its share."""
        return self.masked(0)


@dataclass(frozen=True, slots=True)
class LaplaceShares(Shares):
    """Made by ``laplace_shares(...)``: each client adds X - Y, both negative binomial with parameter 1/honest."""

    scale: Fraction
    low: int
    high: int
    clients: int
    dropouts: int

    @property
    def event(self) -> events.DiscreteLaplace:
        """What the sum writes into the ledger, for CHANGE_ONE."""
        return events.DiscreteLaplace(self.scale, self.sensitivity).about(self.neighbours)

    def share(self, bits: Bits | None = None) -> int:
        """One client's noise."""
        source = SystemBits() if bits is None else bits
        r = Fraction(1, self.honest)
        return negative_binomial(r, self.scale, source) - negative_binomial(r, self.scale, source)


@dataclass(frozen=True, slots=True)
class GaussianShares(Shares):
    """Made by ``gaussian_shares(...)``: each client adds a discrete Gaussian of parameter ``each``."""

    each: Fraction
    """σ² of one share."""
    low: int
    high: int
    clients: int
    dropouts: int

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
        """What the sum writes into the ledger, for CHANGE_ONE."""
        return events.ZCDP(self.rho).about(self.neighbours)

    def share(self, bits: Bits | None = None) -> int:
        """One client's noise."""
        return additive.gaussian(self.each, None, SystemBits() if bits is None else bits)

    def shares(self, count: int) -> NDArray[np.int64]:
        """Many clients' noise at once, for simulation."""
        return np.asarray(additive.gaussian(self.each, integer(count, "count", at_least=0), SystemBits()))


def laplace_shares(*, epsilon: Number, clients: int, dropouts: int = 0, low: int = 0, high: int = 1) -> LaplaceShares:
    """Shares of discrete Laplace noise of scale (high - low)/ε, for numbers from low to high.

    >>> shares = laplace_shares(epsilon=1, clients=100, dropouts=20, high=5)
    >>> shares.event, shares.neighbours
    (DiscreteLaplace(scale=5, sensitivity=5).about(Neighbours.CHANGE_ONE), <Neighbours.CHANGE_ONE: 'change one unit'>)
    >>> total = sum(shares.masked(3) for _ in range(99)) + shares.dummy()  # in place of a secure sum
    """
    bottom, top, n, lost = _read(low, high, clients, dropouts)
    return LaplaceShares((top - bottom) / positive(epsilon, "epsilon"), bottom, top, n, lost)


def gaussian_shares(*, rho: Number, clients: int, dropouts: int = 0, low: int = 0, high: int = 1) -> GaussianShares:
    """Shares whose sum costs at most ρ, gap included, for numbers from low to high.

    >>> shares = gaussian_shares(rho="1/8", clients=10)
    >>> shares.rho <= Fraction(1, 8), float(shares.each)
    (True, 0.544...)
    """
    price = positive(rho, "rho")
    bottom, top, n, lost = _read(low, high, clients, dropouts)
    smallest = (top - bottom) ** 2 / (2 * price * (n - lost))
    made = GaussianShares(max(smallest, Fraction(1, 4)), bottom, top, n, lost)
    while made.rho > price:  # the gap falls exponentially with each, so this ends
        made = replace(made, each=_short(made.each * Fraction(33, 32)))
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


def _read(low: int, high: int, clients: int, dropouts: int) -> tuple[int, int, int, int]:
    bottom, top = integer(low, "low"), integer(high, "high")
    if not bottom < top:
        raise BadParameter("low", low, f"must be below high, which is {top}")
    n, lost = integer(clients, "clients", at_least=1), integer(dropouts, "dropouts", at_least=0)
    if lost >= n:
        raise BadParameter("dropouts", dropouts, f"must be below the number of clients, which is {n}")
    return bottom, top, n, lost
