"""Which clips: one run of the sparse vector technique, up a public ladder of lengths, until few units are longer.

Guarantee: adding or removing one unit moves the numbers of units beyond all edges in one direction, each by at most
one, and changing one those of each total; so the ascents of some totals together are ε-differentially private, and so
is the number of units beside them, for its own share. Proof: choosing.md.

With groups of similar size, noise makes the error of a group about clip/ε, and clipping loses what units have beyond
it. Both are least where about 0.7 · G/ε units are longer, G being all rows divided by those of a typical group. So few
units are not told from none: an ascent ends where ``AHEAD``/ε more are longer, and where that is many times as many,
the clip is a few steps further up. Constants are those of ``bench/clip_choice.py``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms.additive.laplace import Laplace
from discreet.noise import additive as noise
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan.work import Exact
from discreet.randomness import Bits

BEST = 0.7
BEST_OF_MEANS = 2.8
"""Of distances from about the mean, which have both signs: what is cut from them hardly moves the mean."""
BEST_OF_SPREAD = 5.6
"""Of rows that say how values are spread: heavy units hardly move that by weighing less."""
AHEAD = 2.5
"""How many times 1/ε more units may be longer than is best: so that noise does not end an ascent too high."""
_FURTHER = 12
"""Where it is so many times what is best ahead, the clip is twice as long as the end; at most that, and less before."""
COUNTED = Fraction(1, 8)
"""Of what clips cost: what the number of units costs, which says whether there are enough of them."""
_MISS = 0.05
_ENOUGH = 24
"""Beyond those that may be longer, in 1/ε: with fewer units an ascent would often end at its first steps."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Where an ascent is to end."""

    beyond: int
    """How many units may be longer there."""
    longer: float
    """How many times as long as the end the clip is."""
    enough: float
    """How many units there must be for it to be a choice at all."""

    def clip(self, end: int, edges: Sequence[int]) -> int:
        """The step of the clip: the last edge that is no longer than that."""
        return max(end, bisect_right(edges, edges[end] * self.longer) - 1)


@dataclass(frozen=True, slots=True)
class Ascents:
    """Some ascents, one for each total, with one noise on all of their thresholds."""

    epsilon: Fraction
    """What all of them cost together."""
    beyond: tuple[int, ...]
    """Of each: how many units may be longer where it ends."""
    neighbours: Neighbours

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """Of the noise on the thresholds, and of that at each step. Where no unit is longer, no step is told from the
        next: an ascent whose threshold is below 0 passes k more with a chance of k^(-5/3), the ratio of the two. With
        more noise on the thresholds fewer would end too early, and more of them at a clip that is nothing but noise.
        """
        alone = self.epsilon / less_for_each(len(self.beyond), self.neighbours)
        return Fraction(8, 5) / alone, Fraction(8, 3) / alone

    def at_most(self, place: int, steps: int) -> int:
        """So many units are longer than the step on which one of them ended, at most, with a chance of 95 %; there are
        so many steps on which it may have ended too early. It says nothing of an ascent that ended nowhere.
        """
        _, at_each = self.scales
        return self.beyond[place] + math.ceil(float(at_each) * math.log(steps / _MISS))

    def __call__(self, longer: Sequence[Sequence[int]], bits: Bits) -> tuple[int, ...]:
        """Of each: the first step where ``beyond`` units or fewer are longer, both with noise, or else the last one.

        The noise is at least 0 on both: it has half the variance of noise with two sides, at the same price.
        """
        ahead, at_each = self.scales
        threshold = noise.geometric(ahead, None, bits)

        def end(beyond: int, counts: Sequence[int]) -> int:
            ends = (i for i, n in enumerate(counts) if noise.geometric(at_each, None, bits) - n >= threshold - beyond)
            return next(ends, len(counts) - 1)

        return tuple(end(*pair) for pair in zip(self.beyond, longer, strict=True))


def less_for_each(ascents: int, neighbours: Neighbours) -> Fraction:
    """How many times the noise of an ascent alone each has beside others, at the same price in all.

    With one unit more or less the numbers of all totals move in one direction; a changed unit may have a longer total
    and a shorter one.

    >>> less_for_each(2, Neighbours.ADD_REMOVE), less_for_each(2, Neighbours.CHANGE_ONE)
    (Fraction(11, 8), Fraction(7, 4))
    """
    ends = ascents if neighbours is Neighbours.ADD_REMOVE else 2 * ascents - 1
    return Fraction(5 + 3 * max(1, ends), 8)


def goal(epsilon: Fraction, error: float, groups: float, best: float = BEST) -> Goal:
    """For an ascent with the noise of one alone that costs ε, noise of so many clips in each group, and so many typical
    groups in all rows.
    """
    longer, ahead = best * groups * error, AHEAD / float(epsilon)
    beyond = round(longer + ahead)
    return Goal(beyond, 2 ** min(1.0, ahead / (_FURTHER * longer)), beyond + _ENOUGH / float(epsilon))


def longer_units(classes: Exact, total: int, edges: int) -> tuple[int, list[int]]:
    """How many units there are, and how many are longer than each edge, from the classes of a total."""
    counts = [0] * (edges + 1)
    for (place, number), many in zip(classes.keys, classes.numbers[0], strict=True):
        if place == total and isinstance(number, int) and 0 <= number <= edges:
            counts[number] += int(many)
    longer = []
    left = everyone = sum(counts)
    for many in counts[:-1]:
        left -= many
        longer.append(left)
    return everyone, longer


def noisy_units(everyone: int, epsilon: Fraction, bits: Bits) -> int:
    """The number of units, with noise."""
    drawn = Laplace(scale=1 / epsilon, moves=1).noise(None, bits)
    assert isinstance(drawn, int)  # noqa: S101
    return everyone + drawn
