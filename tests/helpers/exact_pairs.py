"""Products of small pairs of laws in exact rationals, and the pair that the accountant sees."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.privacy.pld.pair import Atoms, Pair

Masses = list[tuple[Fraction, Fraction]]


class ListedPair(Pair):
    """Any two laws on a few points, given by integer weights; a zero weight is mass at ±∞."""

    def __init__(self, weights: list[tuple[int, int]]) -> None:
        all_p, all_q = sum(p for p, _ in weights), sum(q for _, q in weights)
        self.exact: Masses = [(Fraction(p, all_p), Fraction(q, all_q)) for p, q in weights]

    @property
    def reverse(self) -> Pair:
        turned = ListedPair([(1, 1)])
        turned.exact = [(q, p) for p, q in self.exact]
        return turned

    @property
    def atoms(self) -> Atoms:
        p, q = (np.array([float(x) for x in side]) for side in zip(*self.exact, strict=True))
        return Atoms(np.log(p / q), p, q)

    @property
    def discrete(self) -> bool:
        return True

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        return 0.0, math.inf  # an irrational number: say nothing about it

    def reach(self, tail: float) -> tuple[float, float]:
        loss = self.atoms.loss
        return float(loss.min()), float(loss.max())


def product(parts: list[tuple[Masses, int]]) -> Masses:
    """The law of all outputs together, outputs with equal ratio pooled."""
    total: dict[Fraction, tuple[Fraction, Fraction]] = {Fraction(1): (Fraction(1), Fraction(1))}
    for masses, times in parts:
        for _ in range(times):
            pooled: dict[Fraction, tuple[Fraction, Fraction]] = {}
            for p0, q0 in total.values():
                for p1, q1 in masses:
                    p, q = p0 * p1, q0 * q1
                    was = pooled.get(p / q, (Fraction(0), Fraction(0)))
                    pooled[p / q] = (was[0] + p, was[1] + q)
            total = pooled
    return list(total.values())


def hockey(masses: Masses, t: Fraction) -> Fraction:
    """H(t) = sup over sets of P(S) - t Q(S)."""
    return sum((max(Fraction(0), p - t * q) for p, q in masses), Fraction(0))


def both_ways(masses: Masses, t: Fraction) -> Fraction:
    """The larger of the two directions."""
    return max(hockey(masses, t), hockey([(q, p) for p, q in masses], t))


def neyman_pearson(p: list[float], q: list[float], alpha: float) -> float:
    """The power of the best test at level alpha: take outputs by likelihood ratio, the last one in part."""
    power = 0.0
    for a, b in sorted(zip(p, q, strict=True), key=lambda pair: -(pair[0] / pair[1] if pair[1] else math.inf)):
        share = 1.0 if b <= alpha else alpha / b
        power += a * share
        alpha -= b * share
    return power
