"""RAPPOR over time: a permanent noisy answer that is drawn once and kept, and a fresh one of it for each report.

Guarantee: all reports of one device about one value together are ε∞-private, however many there are; each one alone is
ε₁-private, and ``price(r)`` is the exact loss of r of them. Every value that a device ever reports costs ε∞ anew.
Proof: oracles.md. (Erlingsson, Pihur and Korolova 2014, one hash function for each value.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number, integer, log_up, probability
from discreet.local.oracle import read_domain
from discreet.local.unary import Unary, exact_epsilon_up
from discreet.noise.coin import flip, rational
from discreet.privacy.promises.measures import Pure
from discreet.randomness import SystemBits

_COUNTED = 256  # reports; beyond them the price is that of all


@dataclass(frozen=True, slots=True)
class Rappor:
    """Made by ``rappor(...)``."""

    k: int
    noise: Fraction
    """f: a permanent bit is random with this chance."""
    one: Fraction
    """The chance of sending 1 for a permanent 1."""
    zero: Fraction
    """The chance of sending 1 for a permanent 0."""

    @property
    def forever(self) -> Pure:
        """ε∞: what all reports of one value can ever say, rounded up."""
        half = self.noise / 2
        return Pure(exact_epsilon_up(1 - half, half))

    @property
    def once(self) -> Pure:
        """ε₁: what one report says, rounded up."""
        return Pure(self.server.epsilon)

    def price(self, reports: int) -> Pure:
        """What so many reports of one value say together: the exact loss of the most telling ones, rounded up.

        >>> r = rappor(k=8, noise="1/2", one="3/4", zero="1/2")
        >>> r.price(1) == r.once, r.price(1).epsilon < r.price(2).epsilon < 2 * r.price(1).epsilon
        (True, True)
        >>> r.price(10**6) == r.forever
        True
        """
        times = integer(reports, "reports", at_least=1)
        if times > _COUNTED:
            return self.forever
        return Pure(log_up(self._ratio(self.one**times, self.zero**times)
                           / self._ratio((1 - self.one) ** times, (1 - self.zero) ** times)))  # fmt: skip

    def _ratio(self, one: Fraction, zero: Fraction) -> Fraction:
        """How much likelier reports of a bit are for the own one, from their chances given a permanent 1 or 0."""
        half = self.noise / 2
        return ((1 - half) * one + half * zero) / (half * one + (1 - half) * zero)

    @property
    def server(self) -> Unary:
        """The oracle of one round of reports: chances of a 1 for the own bit and for another."""
        mixed = self.noise / 2 * (self.zero + self.one)
        keep, other = mixed + (1 - self.noise) * self.one, mixed + (1 - self.noise) * self.zero
        return Unary(self.k, exact_epsilon_up(keep, other), keep, other)

    def device(self) -> Device:
        """A client that remembers its permanent answers."""
        return Device(self)


class Device:
    """One client: for each value that it ever had, the permanent bits that were drawn for it once."""

    __slots__ = ("_made", "_permanent")

    def __init__(self, made: Rappor) -> None:
        self._made = made
        self._permanent: dict[int, NDArray[np.bool_]] = {}

    @property
    def spent(self) -> Pure:
        """What this device can have said so far: ε∞ for each value that it reported."""
        return Pure(max(1, len(self._permanent)) * self._made.forever.epsilon)

    def report(self, value: int) -> bytes:
        """A fresh report of the permanent answer for this value."""
        (own,) = self._made.server.read([value]).tolist()
        bits = SystemBits()
        if own not in self._permanent:
            half = self._made.noise / 2
            ones = [flip(rational(1 - half if v == own else half), bits) for v in range(self._made.k)]
            self._permanent[own] = np.array(ones)
        sent = [flip(rational(self._made.one if b else self._made.zero), bits) for b in self._permanent[own].tolist()]
        return np.packbits(np.array(sent), bitorder="little").tobytes()


def rappor(*, k: int, noise: Number, one: Number = "3/4", zero: Number = "1/2") -> Rappor:
    """RAPPOR with a permanent answer: 0 < noise < 1 and 0 < zero < one < 1.

    >>> device = rappor(k=4, noise="1/2").device()
    >>> len(device.report(2)), device.spent == rappor(k=4, noise="1/2").forever
    (1, True)
    """
    size, _ = read_domain(k, 1)
    f, q, p = probability(noise, "noise"), probability(one, "one"), probability(zero, "zero")
    if not 0 < f < 1:
        raise BadParameter("noise", noise, "must be above 0 and below 1")
    if not 0 < p < q < 1:
        raise BadParameter("zero", zero, "must satisfy 0 < zero < one < 1")
    return Rappor(size, f, q, p)
