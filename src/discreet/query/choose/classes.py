"""Public classes of sizes: powers of two with their sign, and the steps of a ladder. They depend on no data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isqrt

from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.work import LONGEST

POWERS = 60
SIGNED_POWERS = tuple(range(-POWERS - 1, POWERS + 2))


def ladder(most: int = LONGEST - 1) -> tuple[int, ...]:
    """Whole numbers from 1 up to ``most``, each about 2^(1/8) times the one before: a clip that is a step too long has
    a tenth more noise.

    >>> ladder(30)
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 20, 22, 24, 26, 29)
    """
    edges: list[int] = []
    k = 0
    while (edge := _eighth_root(1 << k)) <= most:
        if not edges or edge > edges[-1]:
            edges.append(edge)
        k += 1
    return tuple(edges)


def _eighth_root(n: int) -> int:
    """The largest r with r^8 <= n."""
    return isqrt(isqrt(isqrt(n)))


@lru_cache(maxsize=16)
def power_of_two(cells: Expression) -> Expression:
    """k > 0 for cells from 2^(k-1) up to below 2^k, -k for their negatives, 0 for 0, NULL for NULL."""
    ends = [0, *(1 << k for k in range(POWERS + 1))]
    above = [1 - end for end in reversed(ends[1:])]
    return by_size(cells, [*above, *ends[1:]], SIGNED_POWERS)


def by_size(x: Expression, starts: Sequence[int], labels: Sequence[int]) -> Expression:
    """The label of the class that x lies in: the first one below ``starts[0]``, the next from there on, and so on.

    Halving, so that a row costs few comparisons. NULL for NULL.
    """
    return Call("case", (Call("is_null", (x,)), Literal(None), _halved(x, starts, labels)))


def _halved(x: Expression, starts: Sequence[int], labels: Sequence[int]) -> Expression:
    if not starts:
        return Literal(labels[0])
    middle = len(starts) // 2
    below = _halved(x, starts[:middle], labels[: middle + 1])
    above = _halved(x, starts[middle + 1 :], labels[middle + 1 :])
    return Call("case", (Call("lt", (x, Literal(starts[middle]))), below, above))
