"""Independent oracles for biased bits: nothing here comes from the code under test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from scipy.special import betaincinv

from discreet.randomness.replay import Replay, TapeEnded

FALSE_ALARM = 1e-9

Point = tuple[Fraction, Fraction]


def all_sources(depth: int, leans: Sequence[int], gamma: Fraction) -> Iterator[list[Fraction]]:
    """The law of each source on strings of ``depth`` bits, for every choice of a lean at every node."""
    nodes = (1 << depth) - 1
    for chosen in product(leans, repeat=nodes):
        law = [Fraction(1)]
        start = 0
        for level in range(depth):
            law = [
                p * (1 + (1 if bit else -1) * gamma * chosen[start + i]) / 2
                for i, p in enumerate(law)
                for bit in (0, 1)
            ]
            start += 1 << level
        yield law


def frontier(first: Sequence[int], second: Sequence[int], gamma: Fraction) -> list[Point]:
    """The corners of all (P(first), P(second)) that sources reach; sets as 0/1 for each string, in order."""
    if len(first) == 1:
        return [(Fraction(first[0]), Fraction(second[0]))]
    half = len(first) // 2
    zero = frontier(first[:half], second[:half], gamma)
    one = frontier(first[half:], second[half:], gamma)
    low, high = (1 - gamma) / 2, (1 + gamma) / 2
    return hull(
        [
            (w * a + (1 - w) * c, w * b + (1 - w) * d)
            for w in (low, high)
            for a, b in zero
            for c, d in one
        ]
    )  # fmt: skip


def hull(points: list[Point]) -> list[Point]:
    """The corners of the convex hull."""
    ordered = sorted(set(points))
    if len(ordered) <= 2:
        return ordered

    def chain(these: list[Point]) -> list[Point]:
        kept: list[Point] = []
        for p in these:
            while len(kept) >= 2 and _turn(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    return chain(ordered) + chain(ordered[::-1])


def _turn(a: Point, b: Point, c: Point) -> Fraction:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def law_under(
    draw: Callable[[Any], Any], strategy: Callable[[int, int], Any], gamma: Fraction, *, depth: int
) -> tuple[dict[Any, Fraction], Fraction]:
    """The law of ``draw`` on the source that follows a strategy, and the mass of the paths left open."""
    law: dict[Any, Fraction] = {}
    undecided = Fraction(0)
    paths = [(0, 0, Fraction(1))]
    while paths:
        prefix, length, weight = paths.pop()
        try:
            outcome = draw(Replay(value=prefix, length=length))
        except TapeEnded as ended:
            if ended.missing != 1:
                raise AssertionError("the k-th bit drawn must be the k-th bit of U") from None
            if length == depth:
                undecided += weight
                continue
            one = (1 + gamma * strategy(prefix, length)) / 2
            paths += [(2 * prefix, length + 1, weight * (1 - one)), (2 * prefix + 1, length + 1, weight * one)]
        else:
            law[outcome] = law.get(outcome, Fraction(0)) + weight
    return law, undecided


def proven_loss(first: int, second: int, draws: int) -> float:
    """What samples prove about log(P/Q), when an outcome was seen so often among as many draws from P and from Q.

    Clopper and Pearson's bounds, each at half of the false-alarm rate of 1e-9.
    """
    if first == 0:
        return -math.inf
    low = float(betaincinv(first, draws - first + 1, FALSE_ALARM / 2))
    high = 1.0 if second == draws else float(betaincinv(second + 1, draws - second, 1 - FALSE_ALARM / 2))
    return math.log(low / high)
