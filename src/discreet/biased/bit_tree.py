"""How much an adversary who biases every bit can gain: one exact recursion over the tree of bits.

U in [0, 1) is read bit by bit. A γ-Santha-Vazirani source chooses, after each prefix, the probability of a 1 anywhere
in [(1-γ)/2, (1+γ)/2]. For a payoff that is a step function of U with cuts at multiples of 2^-depth, ``best`` is the
largest expected payoff over all such sources. Proof: bit_tree.md.

Guarantee: with ``up`` the result is never below the truth, without it never above; both within depth + 1 units.
Believes: Python's integers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadParameter

Interval = tuple[int, int]
"""[low, high) in units of 2^-depth."""


@dataclass(frozen=True, slots=True)
class Steps:
    """A payoff that is a step function of U: ``payoffs[i]`` between ``cuts[i-1]`` and ``cuts[i]``.

    Cuts ascend strictly between 0 and 2^depth, in units of 2^-depth.
    """

    cuts: list[int]
    payoffs: list[int]
    depth: int

    @classmethod
    def between(
        cls, first: Sequence[Interval], second: Sequence[Interval], *, gain: int, loss: int, depth: int
    ) -> Steps:
        """Pays ``gain`` on the first set and takes ``loss`` on the second.

        >>> Steps.between([(0, 3)], [(2, 4)], gain=10, loss=7, depth=3)
        Steps(cuts=[2, 3, 4], payoffs=[10, 3, -7, 0], depth=3)
        """
        whole = 1 << depth
        for low, high in (*first, *second):
            if not 0 <= low <= high <= whole:
                raise BadParameter("interval", (low, high), f"must lie in [0, 2^{depth}] and not end before it starts")
        ends = sorted({end for low, high in (*first, *second) if low < high for end in (low, high)} - {0, whole})
        return cls(ends, [gain * _holds(first, at) - loss * _holds(second, at) for at in (0, *ends)], depth)

    def after(self, prefix: int, length: int) -> Steps:
        """The payoff as it looks after the first ``length`` bits of U were read."""
        below = self.depth - length
        low, high = prefix << below, (prefix + 1) << below
        i, j = bisect_left(self.cuts, low + 1), bisect_left(self.cuts, high)
        return Steps([cut - low for cut in self.cuts[i:j]], self.payoffs[i : j + 1], below)

    def zoom(self) -> Steps:
        """The payoff on the smallest dyadic interval outside of which it is 0; the sign of ``best`` stays.

        >>> Steps([1, 2], [0, 5, 0], 3).zoom()
        Steps(cuts=[], payoffs=[5], depth=0)
        """
        here = self
        while here.cuts:
            half = 1 << (here.depth - 1)
            if here.cuts[-1] <= half and here.payoffs[-1] == 0:
                here = here.after(0, 1)
            elif here.cuts[0] >= half and here.payoffs[0] == 0:
                here = here.after(1, 1)
            else:
                break
        return here


def best(steps: Steps, gamma: Fraction, *, up: bool) -> int:
    """The largest expected payoff over all γ-SV sources, rounded as asked.

    >>> best(Steps([4], [0, 1000], 3), Fraction(1, 10), up=True)  # the first bit decides: 1000 (1 + 1/10) / 2
    550
    """
    if not steps.cuts:
        return steps.payoffs[0]
    if len(steps.cuts) == 1:
        return _one_cut(steps, gamma, up)
    if_zero, if_one = best(steps.after(0, 1), gamma, up=up), best(steps.after(1, 1), gamma, up=up)
    top, bottom = gamma.numerator, gamma.denominator
    return _divided(bottom * (if_zero + if_one) + top * abs(if_zero - if_one), 2 * bottom, up)


def _one_cut(steps: Steps, gamma: Fraction, up: bool) -> int:
    """The same for one cut, from the last bit of the cut upwards: every node's value lies between left and right."""
    top, bottom = gamma.numerator, gamma.denominator
    (cut,), (left, right) = steps.cuts, steps.payoffs
    w_left, w_right = (bottom - top, bottom + top) if right >= left else (bottom + top, bottom - top)
    from_left, from_right = w_left * left, w_right * right
    last = (cut & -cut).bit_length() - 1
    cut >>= last
    value = _divided(from_left + from_right, 2 * bottom, up)
    for _ in range(steps.depth - last - 1):
        cut >>= 1
        value = _divided(from_left + w_right * value if cut & 1 else w_left * value + from_right, 2 * bottom, up)
    return value


def _divided(x: int, y: int, up: bool) -> int:
    return -(-x // y) if up else x // y


def lean(steps: Steps, gamma: Fraction, prefix: int, length: int) -> int:
    """Where the best source pushes the next bit after a prefix: 1, -1, or 0 if it makes no difference.

    >>> lean(Steps([4], [0, 1000], 3), Fraction(1, 10), 0, 0), lean(Steps([4], [0, 1000], 3), Fraction(1, 10), 1, 1)
    (1, 0)
    """
    if length >= steps.depth:
        return 0
    here = steps.after(prefix, length)
    if_zero, if_one = best(here.after(0, 1), gamma, up=True), best(here.after(1, 1), gamma, up=True)
    return (if_one > if_zero) - (if_one < if_zero)


def _holds(intervals: Sequence[Interval], at: int) -> bool:
    return any(low <= at < high for low, high in intervals)
