"""Anything that keeps a promise; nothing else is known of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import BadParameter
from discreet.exact import Number, non_negative, probability
from discreet.privacy.promises.events.base import Event
from discreet.privacy.promises.measures import small_probability


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Pure(Event):
    """Anything ε-differentially private; nothing else is known of it.

    Dominated by randomized response on two values (Kairouz, Oh and Viswanath 2015).
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=non_negative(epsilon, "epsilon"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Biased(Pure):
    """One release that is ε-differentially private for every source of bits with a bias that was stated.

    Two of them from one source are *not* 2ε-differentially private (biased/laplace.md, 5). So they are never added up.

    >>> from discreet.privacy.promises.events.combined import Repeat
    >>> Repeat(Biased(1), 2)
    Traceback (most recent call last):
        ...
    discreet.errors.NotATheorem: two releases from biased bits do not add up: ...
    """

    weak = True


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Approx(Event):
    """Anything (ε, δ)-differentially private; nothing else is known of it.

    Dominated by: with probability δ say which input it was, else randomized response on two values.
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self.fill(epsilon=non_negative(epsilon, "epsilon"), delta=small_probability(delta))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(Event):
    """Anything that is (δ-approximately) ρ-zero-concentrated differentially private; nothing else is known of it."""

    rho: Fraction
    delta: Fraction

    def __init__(self, rho: Number, delta: Number = 0) -> None:
        self.fill(rho=non_negative(rho, "rho"), delta=small_probability(delta))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class TradeOff(Event):
    """Anything f-differentially private for the f with these knots; nothing else is known of it (Dong, Roth, Su 2022).

    f(a) is the least rate of misses of a test between neighbours that raises false alarms at rate a. The knots
    (a, f(a)) start at a = 0 and go no further than f(a) = a; f is linear between them, and its own mirror image beyond,
    since neighbours may be exchanged. It must be convex and at most 1 - a.

    >>> TradeOff({0: 1, "0.1": "0.5", "0.25": "0.25"}).steepest
    Fraction(5, 1)
    """

    knots: tuple[tuple[Fraction, Fraction], ...]

    def __init__(self, knots: Mapping[Any, Any] | Iterable[tuple[Number, Number]]) -> None:
        given: Any = knots
        listed = given.items() if isinstance(given, Mapping) else given
        if not isinstance(listed, Iterable) or isinstance(listed, (str, bytes)):
            raise BadParameter("knots", given, 'must be pairs of rates, as in {0: 1, "0.1": "0.5", "0.25": "0.25"}')
        pairs = [tuple(pair) if isinstance(pair, (tuple, list)) else () for pair in listed]
        if not all(len(pair) == 2 for pair in pairs):
            raise BadParameter("knots", given, "must be pairs: a rate of false alarms and the least rate of misses")
        self.fill(knots=_curve(tuple((probability(a, "knots"), probability(b, "knots")) for a, b in pairs)))

    @property
    def line(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """All knots, those of the mirror image too."""
        mirrored = tuple((b, a) for a, b in reversed(self.knots))
        return self.knots + (mirrored[1:] if self.knots[-1] == mirrored[0] else mirrored)

    @property
    def steepest(self) -> Fraction:
        """e^ε of the steepest part: by so much at most one rate can grow faster than the other."""
        (a, b), (c, d) = self.line[:2]
        return (b - d) / (c - a)

    @property
    def lost(self) -> Fraction:
        """1 - f(0): what is found without any false alarm."""
        return 1 - self.knots[0][1]


def _curve(knots: tuple[tuple[Fraction, Fraction], ...]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The knots, if they and their mirror image are a convex curve below 1 - a."""
    if not knots or knots[0][0] or not knots[0][1]:
        raise BadParameter("knots", knots, "must start at 0 false alarms, with some misses")
    line = [*knots, *((b, a) for a, b in reversed(knots) if a != b)]
    steps = [(c - a, b - d) for (a, b), (c, d) in itertools.pairwise(line)]
    falls = all(right > 0 and down > 0 for right, down in steps)
    bends = all(down * right2 >= down2 * right for (right, down), (right2, down2) in itertools.pairwise(steps))
    if not falls or not bends or any(a > b or a + b > 1 for a, b in knots):
        raise BadParameter(
            "knots", knots, "must be a convex curve with its mirror image, at most 1 - a, up to where it meets f(a) = a"
        )
    return knots
