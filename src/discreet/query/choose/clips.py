"""Which clip: one run of the sparse vector technique, up a public ladder of lengths, until few units are longer.

Guarantee: adding, removing or changing one unit moves the numbers of units beyond all edges in one direction, each by
at most one; so an ascent is ε-differentially private, and so is the number of units beside it, for its own share.
Proof: choosing.md.

With groups of similar size, noise makes the error of a group about clip/ε, and clipping loses what units have beyond
it. Both are least where about 0.7 · G/ε units are longer, G being all rows divided by those of a typical group. So few
units are not told from none: an ascent ends where ``AHEAD``/ε more are longer, and where that is many times as many,
the clip is a few steps further up. Constants are those of ``bench/clip_choice.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms.additive.laplace import Laplace
from discreet.noise import additive as noise
from discreet.query.plan.work import Exact
from discreet.randomness import Bits

BEST = 0.7
BEST_OF_MEANS = 2.8
"""Of distances from about the mean, which have both signs: what is cut from them hardly moves the mean."""
BEST_OF_SPREAD = 5.6
"""Of rows that say how values are spread: heavy units hardly move that by weighing less."""
AHEAD = 2.5
"""How many times 1/ε more units may be longer than is best: so that noise does not end an ascent too high."""
_FURTHER, _FARTHEST = 3, 4
"""One step further up for each so many times what is best that it is ahead, up to so many: twice the length."""
COUNTED = Fraction(1, 8)
"""Of what clips cost: what the number of units costs, which says whether there are enough of them."""
_ENOUGH = 24
"""Beyond those that may be longer, in 1/ε: with fewer units an ascent would often end at its first steps."""


@dataclass(frozen=True, slots=True)
class Ascent:
    """The price of one choice."""

    epsilon: Fraction
    beyond: int
    """How many units may be longer where it ends."""
    further: int = 0
    """How many steps beyond its end the clip is."""

    @property
    def enough(self) -> float:
        """How many units there must be for it to be a choice at all."""
        return self.beyond + _ENOUGH / float(self.epsilon)

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """Of the noise on the threshold, and of that at each step; the inverses add up to ε. With more on the threshold
        fewer ascents end too early; with half each, more than one in a hundred would end beyond 16 times the longest
        unit, where no step is told from the next. So, of 24 groups, one in a thousand does.
        """
        return Fraction(7, 4) / self.epsilon, Fraction(7, 3) / self.epsilon

    def __call__(self, longer: Sequence[int], bits: Bits) -> int:
        """The first step where ``beyond`` units or fewer are longer, both with noise, or else the last one.

        The noise is at least 0 on both: it has half the variance of noise with two sides, at the same price.
        """
        ahead, at_each = self.scales
        threshold = noise.geometric(ahead, None, bits) - self.beyond
        ends = (step for step, many in enumerate(longer) if noise.geometric(at_each, None, bits) - many >= threshold)
        return next(ends, len(longer) - 1)

    def clip(self, longer: Sequence[int], bits: Bits) -> int:
        """The step of the clip: some beyond the end."""
        return min(self(longer, bits) + self.further, len(longer) - 1)


def ascent(epsilon: Fraction, error: float, groups: float, best: float = BEST) -> Ascent:
    """For noise of so many clips in each group, and so many typical groups in all rows."""
    longer, ahead = best * groups * error, AHEAD / float(epsilon)
    return Ascent(epsilon, round(longer + ahead), min(_FARTHEST, int(ahead / (_FURTHER * longer))))


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
