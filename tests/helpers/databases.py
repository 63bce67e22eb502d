"""All small databases over an adversarial domain, their neighbours, and how far a statistic moves between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, lgamma, log, log1p
from typing import Any

import numpy as np

from discreet.privacy.promises.neighbours import Neighbours

NAN, INF = float("nan"), float("inf")
RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE)


def databases(domain: Sequence[Any], most: int) -> Iterator[list[Any]]:
    """Every database of up to ``most`` records; the order of records is left out."""
    for n in range(most + 1):
        for chosen in combinations_with_replacement(range(len(domain)), n):
            yield [domain[i] for i in chosen]


def pairs(domain: Sequence[Any], most: int, relation: Neighbours) -> Iterator[tuple[list[Any], list[Any]]]:
    """Every pair of neighbours of up to ``most`` records, one direction of each."""
    for rest in databases(domain, most - 1):
        if relation is Neighbours.ADD_REMOVE:
            yield from ((rest, [*rest, record]) for record in domain)
        else:
            yield from (([*rest, a], [*rest, b]) for i, a in enumerate(domain) for b in list(domain)[i + 1 :])


def largest_move(
    read: Callable[[list[Any]], Any], domain: Sequence[Any], relation: Neighbours, most: int = 3
) -> tuple[int, int]:
    """The largest L1 move and the largest squared L2 move of a vector of whole numbers, over all neighbours."""
    l1 = l2_squared = 0
    for a, b in pairs(domain, most, relation):
        left, right = np.atleast_1d(np.array(read(a), dtype=object)), np.atleast_1d(np.array(read(b), dtype=object))
        moved = [abs(int(x) - int(y)) for x, y in zip(left, right, strict=True)]
        l1, l2_squared = max(l1, sum(moved)), max(l2_squared, sum(m * m for m in moved))
    return l1, l2_squared


def too_few(hits: int, tries: int, rate: float) -> bool:
    """Whether so few hits, or fewer, have a probability below 1e-9 if each has at least this rate (a binomial sum)."""
    if rate >= 1:
        return hits < tries

    def log_chance(k: int) -> float:
        ways = lgamma(tries + 1) - lgamma(k + 1) - lgamma(tries - k + 1)
        return ways + k * log(rate) + (tries - k) * log1p(-rate)

    return sum(exp(log_chance(k)) for k in range(hits + 1)) < 1e-9


class Hostile:
    """A record that raises whatever is done with it."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")

    def __getitem__(self, i: int) -> Any:
        raise RuntimeError("secret")

    def __len__(self) -> int:
        raise RuntimeError("secret")


KEYS_DOMAIN = ["a", "b", "c", None, NAN, ["a"], Hostile(), 1]


NUMBERS_DOMAIN = [-INF, -1.0, 0.0, -0.0, 0.5, 1, 2, 5.0, INF, NAN, None, "1", 10**400, Hostile()]


BITS_DOMAIN = [(0, 0, 0), (1, 1, 1), (1, 0, 1), (True, NAN, 2), (1,), None, Hostile(), "111"]


BOUNDS = [
    (0, 10),
    (-3, 7),
    ("0.1", "0.3"),
    (5, 5),
    (2**53, 2**53 + 1000),
    (-1e-5, 0),
    (2**70, 2**70 + 1),
    (-1e200, 1e200),
]


def bounded_domain(low: Any, high: Any) -> list[Any]:
    a, b = float(Fraction(low)), float(Fraction(high))
    return [-INF, a, a / 2 + b / 2, b, INF, NAN, None, "7", 10**400, 0.3 * a + 0.7 * b]
