"""RAPPOR over time: permanent noisy bits that are drawn once and kept, and a fresh report of them each time.

Guarantee: all reports of one device are ``price(reports, changes=...)``-private together, for any two sequences of
values with at most so many changes, whenever one stops to look. Without changes that is never more than ``forever``
(ε∞). With changes it grows with every report: that reports share permanent bits, or do not, tells when a value changed.
No cost of a single report exists that could be added up, so there is no ``event``; ``one_time`` is the randomizer
without memory. Proof: oracles.md. (Erlingsson, Pihur and Korolova 2014, one hash function for each value.)
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from operator import add
from threading import Lock
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter, NotATheorem
from discreet.exact import Number, integer, log_up, probability
from discreet.local.oracle import read_domain, read_values
from discreet.local.unary import BitDecoder, Unary, exact_epsilon_up
from discreet.noise.coin import flips, rational
from discreet.privacy.promises.measures import Pure
from discreet.randomness import SystemBits

_COUNTED = 256  # reports; beyond them the price is a simple bound
_FINE = 64  # losses are rounded up to multiples of 2^-64 before they are summed


@dataclass(frozen=True, slots=True)
class Rappor(BitDecoder):
    """Made by ``rappor(...)``: what all devices share, and the server's half, which counts one report of each."""

    name = "rappor"
    k: int
    noise: Fraction
    """f: a permanent bit is random with this chance."""
    one: Fraction
    """The chance of sending 1 for a permanent 1."""
    zero: Fraction
    """The chance of sending 1 for a permanent 0."""

    @property
    def keep(self) -> Fraction:
        """The own bit is sent as 1, over permanent and fresh coins."""
        return self.noise / 2 * (self.zero + self.one) + (1 - self.noise) * self.one

    @property
    def other(self) -> Fraction:
        """Another bit is."""
        return self.noise / 2 * (self.zero + self.one) + (1 - self.noise) * self.zero

    @property
    def one_time(self) -> Unary:
        """The randomizer of a device's first report, without memory: every report draws all its coins afresh."""
        return Unary(self.k, exact_epsilon_up(self.keep, self.other), self.keep, self.other)

    @property
    def forever(self) -> Pure:
        """ε∞: what all reports of one value that never changes can ever say, rounded up."""
        half = self.noise / 2
        return Pure(exact_epsilon_up(1 - half, half))

    def price(self, reports: int, *, changes: int = 0) -> Pure:
        """What so many reports of one device say together, in the worst pair of sequences, rounded up.

        Guarantee: for any two sequences of values with at most so many changes each, all outcomes are within e^ε. Up to
        256 reports it is attained if k >= 2 (changes + 1), and without changes; beyond them it is a simple bound.

        >>> made = rappor(k=8, noise="1/2", one="3/4", zero="1/2")
        >>> made.price(1).epsilon < made.price(2).epsilon < 2 * made.price(1).epsilon
        True
        >>> made.price(10**6) == made.forever
        True
        >>> [round(float(made.price(reports, changes=1).epsilon), 1) for reports in (1, 10, 60)]
        [0.5, 6.0, 30.2]
        """
        times = integer(reports, "reports", at_least=1)
        values = min(integer(changes, "changes", at_least=0) + 1, times, self.k)
        return Pure(_worst_loss(self, times, values))

    def device(self, *, changes: int = 0) -> Device:
        """A client that remembers its permanent bits, for values that change at most so many times."""
        return Device(self, integer(changes, "changes", at_least=0))


@lru_cache(maxsize=256)
def _worst_loss(made: Rappor, times: int, values: int) -> Fraction:
    """The largest loss of so many reports between two sequences, each of at most so many values."""
    if times > _COUNTED:
        if values == 1:
            return made.forever.epsilon
        rise, fall = log_up(made.one / made.zero), log_up((1 - made.zero) / (1 - made.one))
        slope = min(max(rise, fall), values * rise * fall / (rise + fall))
        return times * slope + 2 * values * log_up(2 / made.noise)
    if values == 1:
        return log_up(_own_ratio(made, times, times) * _foreign_ratio(made, times, times))
    each = range(1, times + 1)
    own = [0, *(ceil(log_up(_own_ratio(made, n, times)) * 2**_FINE) for n in each)]
    foreign = [0, *(ceil(log_up(_foreign_ratio(made, n, times)) * 2**_FINE) for n in each)]
    return Fraction(_largest_sum(own, values) + _largest_sum(foreign, values), 2**_FINE)


def _own_ratio(made: Rappor, own: int, times: int) -> Fraction:
    """How much likelier reports of a place can be if the value was here in ``own`` of them, than if in none."""
    away = times - own
    return max(
        _chance(made, False, 0, away) * _chance(made, True, own, 0) / _chance(made, False, own, away),
        _chance(made, False, away, 0) * _chance(made, True, 0, own) / _chance(made, False, away, own),
    )


def _foreign_ratio(made: Rappor, own: int, times: int) -> Fraction:
    """How much likelier they can be if the value was never here, than if in ``own`` of them."""
    away = times - own
    return max(
        _chance(made, False, 0, times) / (_chance(made, False, 0, away) * _chance(made, True, 0, own)),
        _chance(made, False, times, 0) / (_chance(made, False, away, 0) * _chance(made, True, own, 0)),
    )


def _chance(made: Rappor, here: bool, ones: int, zeros: int) -> Fraction:
    """The chance of one list of bits with so many ones and zeros, sent while the value was here, or was not."""
    set_chance = 1 - made.noise / 2 if here else made.noise / 2
    return (
        set_chance * made.one**ones * (1 - made.one) ** zeros
        + (1 - set_chance) * made.zero**ones * (1 - made.zero) ** zeros
    )


def _largest_sum(gains: list[int], parts: int) -> int:
    """The largest gains[n₁] + gains[n₂] + ... over at most ``parts`` numbers that add up to the last index.

    >>> _largest_sum([0, 1, 5, 6, 7], 2)
    10
    """
    best, power = [0] + [-(1 << 256)] * (len(gains) - 1), gains
    while parts:
        if parts % 2:
            best = _joined(best, power)
        power = _joined(power, power) if parts > 1 else power
        parts //= 2
    return best[-1]


def _joined(first: list[int], second: list[int]) -> list[int]:
    """For each total the largest first[i] + second[total - i]."""
    return [max(map(add, first, second[total::-1])) for total in range(len(first))]


class Device:
    """One client: two permanent bits for each of the k places, one for a true 0 and one for a true 1.

    ``spent`` is for one device; what two devices of one person say adds up. So it can be neither copied, nor stored,
    nor used after a fork. Threads may share it.
    """

    __slots__ = ("_absent", "_changes_left", "_last", "_lock", "_made", "_present", "_process", "_reports", "changes")

    def __init__(self, made: Rappor, changes: int) -> None:
        self.changes = changes
        """How many times the value may change."""
        self._made = made
        self._changes_left = changes
        self._last: int | None = None
        self._reports = 0
        self._lock = Lock()
        self._process = os.getpid()
        half, bits = made.noise / 2, SystemBits()
        self._absent = flips(rational(half), made.k, bits)
        self._present = flips(rational(1 - half), made.k, bits)

    @property
    def spent(self) -> Pure:
        """What this device can have said so far: ``price`` of its reports and changes, whatever its values were."""
        return self._made.price(self._reports, changes=self.changes) if self._reports else Pure(0)

    def report(self, value: int) -> bytes:
        """A fresh report of the permanent bits for this value."""
        (own,) = read_values([value], self._made.k).tolist()
        with self._lock:
            if os.getpid() != self._process:
                raise NotATheorem("a device belongs to the process that made it; its permanent bits must not be shared")
            if self._last is not None and own != self._last:
                if not self._changes_left:
                    raise NotATheorem(
                        f"the guarantee of this device covers {self.changes} changes of its value, and no more. Report "
                        "the last value again, since a missing report would tell of the change; or make devices with "
                        "device(changes=...)"
                    )
                self._changes_left -= 1
            self._last = own
            self._reports += 1
            return self._sent(own)

    def _sent(self, own: int) -> bytes:
        bits = SystemBits()
        permanent: NDArray[np.bool_] = self._absent.copy()
        permanent[own] = self._present[own]
        sent = np.empty(self._made.k, dtype=np.bool_)
        ones = int(permanent.sum())
        sent[permanent] = flips(rational(self._made.one), ones, bits)
        sent[~permanent] = flips(rational(self._made.zero), self._made.k - ones, bits)
        return np.packbits(sent, bitorder="little").tobytes()

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("a device can be neither copied nor pickled: each copy would count its own reports only")


def rappor(*, k: int, noise: Number, one: Number = "3/4", zero: Number = "1/2") -> Rappor:
    """RAPPOR with permanent bits: 0 < noise < 1 and 0 < zero < one < 1.

    >>> made = rappor(k=4, noise="1/2")
    >>> device = made.device()
    >>> len(device.report(2)), device.spent == made.price(1)
    (1, True)
    >>> device.report(3)
    Traceback (most recent call last):
        ...
    discreet.errors.NotATheorem: the guarantee of this device covers 0 changes of its value, and no more. ...
    """
    size, _ = read_domain(k, 1)
    f, q, p = probability(noise, "noise"), probability(one, "one"), probability(zero, "zero")
    if not 0 < f < 1:
        raise BadParameter("noise", noise, "must be above 0 and below 1")
    if not 0 < p < q < 1:
        raise BadParameter("zero", zero, "must satisfy 0 < zero < one < 1")
    return Rappor(size, f, q, p)
