"""The shuffle model: reports of many people in an order that says nothing, and what that is worth.

Guarantee: n reports that are each ε₀-private, of the same randomizer, in uniformly random order, are (ε, δ)-private for
changing one person's value: ``shuffled_price``, numerical and certified; ``shuffled_closed_form``, larger and simple.
Each person hides behind the *fresh* randomness of the others. A device with a memory (``rappor``) has none that earlier
rounds did not show, so it is refused.
Believes: whoever shuffles does it, and keeps nothing; privacy/accountants/shuffling.py for the theorem.
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter, NotATheorem
from discreet.exact import Number, exp_up, integer, log_up, positive, sqrt_up
from discreet.local.means import MeanOracle
from discreet.local.oracle import Oracle, Reports
from discreet.local.rappor import Device, Rappor
from discreet.privacy.accountants.shuffling import shuffled
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx, small_probability
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import SystemBits, words


class Shuffler(Protocol):
    """Who forgets the order: another party, or this process.

    >>> shuffler: Shuffler = LocalShuffler()
    """

    def shuffle(self, reports: Reports) -> Reports:
        """The same reports in uniformly random order."""
        ...


class LocalShuffler:
    """Shuffles in this process: for simulations, and where the server itself is trusted to forget.

    >>> reports = np.arange(10, dtype=np.uint8)[:, None]
    >>> sorted(LocalShuffler().shuffle(reports)[:, 0].tolist()) == list(range(10))
    True
    """

    __slots__ = ()

    def shuffle(self, reports: Reports) -> Reports:
        """A uniformly random permutation."""
        return np.asarray(reports[permutation(len(reports))])


def permutation(n: int) -> NDArray[np.int64]:
    """Each order with probability 1/n!: sorted by 64-bit keys, all of which are drawn again if two are alike."""
    while True:
        keys = words(SystemBits(), n, np.uint64)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        if n < 2 or bool((ordered[1:] != ordered[:-1]).all()):
            return np.asarray(order)


def shuffled_price(oracle: Oracle | MeanOracle, people: int, *, delta: Number) -> Approx:
    """The (ε, δ) of one shuffled report from each of so many people, certified numerically.

    >>> from discreet.local.response import response
    >>> 0.18 < shuffled_price(response(k=2, epsilon=1), 1000, delta="1e-6").epsilon < 0.19
    True
    """
    return shuffled(_fresh(oracle).epsilon, people, delta=delta)


def shuffled_event(oracle: Oracle | MeanOracle, people: int, *, delta: Number) -> events.Approx:
    """What a shuffled collection writes into a ledger, for changing one person's value (CHANGE_ONE)."""
    price = shuffled_price(oracle, people, delta=delta)
    return events.Approx(price.epsilon, price.delta).about(Neighbours.CHANGE_ONE)


def shuffled_closed_form(local: Oracle | MeanOracle | Number, people: int, *, delta: Number) -> Approx:
    """The closed form: ε = ln(1 + s (1 - e^-ε₀)/(1 + e^-ε₀/(1 + s))), s = 8 √(e^ε₀ ln(4/δ)/n) + 8 e^ε₀/n, rounded up.

    Feldman, McMillan and Talwar (2021), in the weakest of the forms in use; for ε₀ <= ln(n / (16 ln(4/δ))) only.
    ``local`` is a randomizer, or its ε₀.

    >>> 0.05 < shuffled_closed_form(1, 100_000, delta="1e-6").epsilon < 0.1
    True
    """
    own = positive(local, "local") if isinstance(local, (numbers.Number, str)) else _fresh(local).epsilon
    n = integer(people, "people", at_least=1)
    d = small_probability(delta)
    if not d or exp_up(own) * 16 * log_up(4 / d) > n:
        raise NotATheorem(
            "the closed form needs a local epsilon of at most ln(n / (16 ln(4/delta))); use shuffled_price"
        )
    grown = exp_up(own)
    inner = 8 * sqrt_up(grown * log_up(4 / d) / n) + 8 * grown / n
    factor = (1 - 1 / grown) / (1 + 1 / (grown * (1 + inner)))  # grows with e^ε₀
    return Approx(min(own, log_up(1 + factor * inner)), d)


def _fresh(oracle: object) -> Oracle | MeanOracle:
    """The randomizer, if each of its reports has randomness of its own."""
    if isinstance(oracle, (Rappor, Device)):
        raise NotATheorem(
            "rappor devices remember their permanent bits, which earlier rounds have shown: nobody hides behind them "
            "in shuffled reports. Shuffle reports of rappor(...).one_time, or of another randomizer without memory"
        )
    if not isinstance(oracle, (Oracle, MeanOracle)):
        raise BadParameter("oracle", oracle, "must be a randomizer such as dp.local.response(k=2, epsilon=1)")
    return oracle


def largest_local(epsilon: Number, people: int, *, delta: Number) -> Fraction:
    """About the largest ε₀, to 2^-6, whose shuffled reports are (ε, δ)-private; tested.

    >>> from discreet.privacy.accountants.shuffling import shuffled
    >>> local = largest_local("1/2", 500, delta="1e-6")
    >>> shuffled(local, 500, delta="1e-6").epsilon <= Fraction(1, 2) < local
    True
    """
    wanted, n = positive(epsilon, "epsilon"), integer(people, "people", at_least=1)
    low, step = wanted, Fraction(1, 2)
    while step >= Fraction(1, 64):
        high = low + step
        if high <= 16 and shuffled(high, n, delta=delta).epsilon <= wanted:
            low = high
        else:
            step /= 2
    return low
