"""Comparisons with a uniform real number of which only the first bits have been drawn.

Let U in [0, 1) have independent fair bits. Only a prefix is ever drawn: u, an integer of n bits, says
u/2^n <= U < (u+1)/2^n. A comparison answers as soon as certified bounds prove that every continuation of the
prefix gives the same answer; until then it draws more bits and keeps the old ones. So the answer is a function of
U alone, and its law is exact, whatever the precision at which it was settled.

An undecided draw is never thrown away: drawing again would favour the outcomes that are easy to decide.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from discreet.randomness import Bits

STEP = 64

Probability = Callable[[int], tuple[int, int]]
"""Given n: integers low <= 2^n p <= high, close together."""

Thresholds = Callable[[int], tuple[Sequence[int], Sequence[int]]]
"""Given n: non-decreasing low_j <= 2^n T_j <= high_j for T_1 < T_2 < ...; a law without end gives more terms as
n grows, all that lie below 1 - 2^-n."""


def is_below(p: Probability, u: int, n: int, bits: Bits, step: int = STEP) -> bool:
    """Whether U < p, given that the first n bits of U are u."""
    while True:
        low, high = p(n)
        if u < low:
            return True
        if u >= high:
            return False
        u = u << step | bits.bits(step)
        n += step


def count_below(thresholds: Thresholds, u: int, n: int, bits: Bits, *, endless: bool, step: int = STEP) -> int:
    """How many thresholds are at most U, given that the first n bits of U are u.

    An endless law never answers "beyond the last threshold": it draws on, and gets more thresholds to look at.
    """
    while True:
        low, high = thresholds(n)
        j = bisect_right(high, u)
        if j < len(low):
            if u < low[j]:
                return j
        elif not endless:
            return j
        u = u << step | bits.bits(step)
        n += step
