"""Two laws side by side: is a promise kept, or certainly broken? And do draws fit a law?

A law maps an outcome to bounds of its probability, as ``Mechanism.law`` gives it. Where a promise is tight no finite
computation can show that it is kept to the last digit, so a promise is "broken" only when the bounds prove it; the
bounds are about 2^-100 wide, and every use has a planted twin that is proven broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from discreet.exact import exp_down, exp_up
from discreet.randomness import SystemBits
from tests.helpers.gates import distance

Bounds = Mapping[Any, tuple[Fraction, Fraction]]

NONE = (Fraction(0), Fraction(0))
WIDEST = Fraction(1, 1 << 90)


def is_a_law(law: Bounds) -> bool:
    """Whether the bounds are tight and allow probabilities that sum to 1, but for what may be left out."""
    low, high = sum(p for p, _ in law.values()), sum(q for _, q in law.values())
    tight = all(0 <= p <= q <= p + WIDEST for p, q in law.values())
    return tight and low <= 1 and high >= 1 - WIDEST


def broken(p: Bounds, q: Bounds, epsilon: Fraction, delta: Fraction = Fraction(0)) -> bool:
    """Whether P(S) > e^ε Q(S) + δ for some set S, for certain."""
    grown = exp_up(epsilon)
    excess = sum(
        (max(Fraction(0), low - grown * q.get(x, NONE)[1]) for x, (low, _) in p.items() if x in q or low > WIDEST),
        Fraction(0),
    )
    return excess > delta + (len(p) * WIDEST if delta else 0)


def kept(p: Bounds, q: Bounds, epsilon: Fraction, delta: Fraction = Fraction(0)) -> bool:
    """Whether P(S) <= e^ε Q(S) + δ for all S, for certain; only for promises that have room."""
    grown = exp_down(epsilon)
    excess = sum((max(Fraction(0), high - grown * q.get(x, NONE)[0]) for x, (_, high) in p.items()), Fraction(0))
    return excess <= delta


def any_broken(
    laws: Mapping[Any, Bounds], near: Callable[[Any, Any], bool], epsilon: Fraction, delta: Fraction = Fraction(0)
) -> bool:
    """Whether some ordered pair of neighbours breaks the promise, for certain. Inputs that share a law count once."""
    pairs = {(id(laws[x]), id(laws[y])): (x, y) for x in laws for y in laws if x != y and near(x, y)}
    return any(broken(laws[x], laws[y], epsilon, delta) for x, y in pairs.values())


def within(moves: int) -> Callable[[tuple[int, ...], tuple[int, ...]], bool]:
    """Neighbours whose entries each move by at most this."""
    return lambda x, y: all(abs(a - b) <= moves for a, b in zip(x, y, strict=True))


def same_way(moves: int) -> Callable[[tuple[int, ...], tuple[int, ...]], bool]:
    """Neighbours whose entries all move up, or all down, by at most this."""

    def near(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
        steps = [b - a for a, b in zip(x, y, strict=True)]
        return all(0 <= s <= moves for s in steps) or all(-moves <= s <= 0 for s in steps)

    return near


def vectors(values: Iterable[int], length: int) -> Iterator[tuple[int, ...]]:
    return product(list(values), repeat=length)


def middle(law: Bounds) -> dict[Any, float]:
    return {x: float((p + q) / 2) for x, (p, q) in law.items()}


def misfit(draws: Iterable[Hashable], law: Bounds) -> float:
    """Pearson's statistic over its 1e-9 quantile: above 1 is an alarm. An outcome outside the law is one, too."""
    seen = Counter(draws)
    chance = middle(law)
    if set(seen) - set(chance):
        return float("inf")
    names = sorted(chance, key=lambda x: chance[x], reverse=True)
    left = 1 - sum(chance.values())
    return distance([*(seen[x] for x in names), 0], [*(chance[x] for x in names), left])


def drawn(mechanism: Any, value: Any, count: int) -> list[Any]:
    """Draws of one exact input, from the system's bits."""
    exact, bits = mechanism.read(value), SystemBits()
    return [mechanism.draw(exact, bits) for _ in range(count)]
