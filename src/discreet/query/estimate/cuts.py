"""What a clip takes of the totals up to about twice its length: one noisy number for all groups together.

Guarantee: ``noisy_cut`` is ε-differentially private, whether a unit is added, removed or changed. Proof: choosing.md.

It is paid from what its clip costs, and only where it tells something: where so many units are expected beyond the clip
that noise is at most half of their number. There an ascent with less of ε is hardly worse (``bench.accuracy clips``).
What units have beyond twice the clip is not in it: that would need as many times the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms.additive.laplace import Laplace
from discreet.randomness import Bits

SHARE = Fraction(2, 5)
"""Of what a clip costs: what the estimate costs."""
_TELLS = 6
"""How many times 1/ε units are to be beyond a clip; 95 % of its noise is within half of that."""
FURTHER = 8
"""How many steps of the ladder it reaches beyond the clip: twice the length."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A noisy number of cells that a clip takes from totals up to ``reach``, and the scale of its Laplace noise."""

    cells: float
    scale: float
    reach: int

    def share_of(self, clipped: float, miss: float = 0.05) -> tuple[float, float, float] | None:
        """What was taken as a share of all, beside what is left; then the ends of its interval. None if all is noise.

        >>> [round(share, 3) for share in Cut(cells=100.0, scale=10.0, reach=8).share_of(900.0)]
        [0.1, 0.072, 0.126]
        """
        error = self.scale * -math.log(miss)
        taken = [max(0.0, self.cells + side) for side in (0.0, -error, error)]
        if clipped <= 0:
            return None
        share, low, high = (cells / (clipped + cells) for cells in taken)
        return share, low, high


def tells(longer: float, epsilon: Fraction) -> bool:
    """Whether an estimate at this price tells something where so many units are longer than the clip."""
    return longer * float(epsilon) >= _TELLS


def halves_taken(longer: Sequence[int], edges: Sequence[int], step: int) -> int:
    """Twice what a clip at a step takes, units counted with the middle of their class, the farthest with its end.

    >>> longer = [9, 5, 3, 1, 1, 1, 1, 1, 1]  # 4 units of 2, 2 of 3, 2 of 4, and one of at least 10
    >>> halves_taken(longer, range(1, 10), 0)
    44
    """
    clip, last = edges[step], step + FURTHER
    classes = range(step, last)
    inside = sum((longer[j] - longer[j + 1]) * (edges[j] + 1 + edges[j + 1] - 2 * clip) for j in classes)
    return inside + longer[last] * 2 * (edges[last] - clip)


def noisy_cut(longer: Sequence[int], edges: Sequence[int], step: int, epsilon: Fraction, bits: Bits) -> Cut | None:
    """The estimate for a clip at a step, from the numbers of units that are longer than each edge; None at the end."""
    if step + FURTHER >= len(edges):
        return None
    moves = 2 * (edges[step + FURTHER] - edges[step])
    noise = Laplace(scale=moves / epsilon, moves=moves)
    drawn = noise.noise(None, bits)
    assert isinstance(drawn, int)  # noqa: S101
    halves = halves_taken(longer, edges, step) + drawn
    return Cut(halves / 2, float(noise.scale) / 2, edges[step + FURTHER])
