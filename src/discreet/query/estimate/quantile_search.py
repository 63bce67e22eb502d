"""One quantile: look for where it lies, then count rows in a few cells around it.

Guarantee: the two choices and the noisy counts together cost their share of the budget. A tree over all bins has to be
right everywhere, and pays for each of its levels; here a fifth of the price finds a stretch that holds the quantile,
more likely than not, and the rest is for one level of cells, fine inside of it and coarse outside.
Proof: quantile_search.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.exact import sqrt_down
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.statistics.budget import Moves, Noise, part
from discreet.mechanisms.statistics.tree import Tree
from discreet.mechanisms.statistics.worst_sum import noise_sum
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.statistics import QuantileCells
from discreet.randomness import Bits

INNER = 10
CELLS = INNER + 4
"""In the stretch; and on either side of it one cell as wide as the stretch, and one for all that is beyond."""
SEARCH = Fraction(1, 10)
"""The share of the price of each of the two choices."""
FINEST = 1000
"""The largest denominator of a level."""
_SURE = 3
"""A choice misses its rank by more than this many scales with a probability of some e^-3 / 2."""
_FITS = 1 << 62
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Search:
    """How the ends of the stretch are chosen: bins with about ``shift`` / b rows between them and the quantile a/b."""

    choice: PermuteAndFlip | Exponential
    level: Fraction
    shift: int
    event: Event
    """What one of the two choices costs, over all groups."""

    def stretch(self, counts: Integers, bits: Bits) -> tuple[int, int]:
        """The first and the last bin of a stretch, of one group with these exact counts."""
        first, second = (self.choice.draw(self.scores(counts, shift), bits) for shift in (-self.shift, self.shift))
        return min(first, second), max(first, second)

    def scores(self, counts: Integers, shift: int) -> Integers | tuple[Fraction, ...]:
        """Minus the distance of the rank (an + shift)/b from those that each bin has, times b.

        >>> choice = PermuteAndFlip(Fraction(1), Fraction(1))
        >>> Search(choice, Fraction(1, 2), 2, events.Pure(1)).scores(np.array([1, 5, 0, 4]), -2)
        array([-6,  0, -4, -4])
        """
        a, b = self.level.numerator, self.level.denominator
        if b * (int(counts.sum(dtype=object)) + 1) + self.shift < _FITS:
            up_to = np.cumsum(counts)
            wanted = a * int(up_to[-1]) + shift
            return np.asarray(-np.maximum(np.maximum(b * (up_to - counts) - wanted, wanted - b * up_to), 0))
        far = np.cumsum(counts.astype(object))
        wanted = a * int(far[-1]) + shift
        ends = zip((far - counts).tolist(), far.tolist(), strict=True)
        return tuple(Fraction(-max(b * below - wanted, wanted - b * up, 0)) for below, up in ends)


def split(budget: Pure | ZCDP) -> tuple[Pure | ZCDP, Pure | ZCDP]:
    """The budgets of one choice and of the counts: two of the first and one of the second make the whole."""
    return part(budget, SEARCH), part(budget, 1 - 2 * SEARCH)


def search(cells: QuantileCells, budget: Pure | ZCDP, reach: Moves, noise: Noise, neighbours: Neighbours) -> Search:
    """The choices that this budget buys (each): ``reach`` is how far one unit's rows move the numbers of rows."""
    b = cells.level.denominator
    each = _scores_move(cells.level, neighbours)
    choice: PermuteAndFlip | Exponential
    event: Event
    if isinstance(budget, Pure):
        moves = Fraction(each.l1 * reach.l1)
        choice, event = PermuteAndFlip(moves, budget.epsilon / (2 * moves)), events.Pure(budget.epsilon)
    else:
        squared = each.l2_squared * reach.l2_squared
        rate = sqrt_down(2 * budget.rho / squared, 64)
        choice, event = Exponential(Fraction(ceil(sqrt(squared))), rate), events.ZCDP(budget.rho)
    weight = float(cells_tree(CELLS).prefix_weight(cells.level))
    return Search(choice, cells.level, ceil(b * noise_sum(noise, weight, 0.05) + _SURE / choice.rate), event)


def _scores_move(level: Fraction, neighbours: Neighbours) -> Moves:
    """How far one unit moves the scores of all groups, for each 1 that its rows may weigh in all of them.

    A unit that is changed may leave one group and come to another: either move is the longer one.

    >>> _scores_move(Fraction(3, 4), Neighbours.ADD_REMOVE), _scores_move(Fraction(3, 4), Neighbours.CHANGE_ONE)
    (Moves(l1=3, l2_squared=9), Moves(l1=6, l2_squared=20))
    """
    longer = max(level.numerator, level.denominator - level.numerator)
    if neighbours is Neighbours.ADD_REMOVE:
        return Moves(longer, longer**2)
    return Moves(2 * longer, 2 * (longer**2 + (level.denominator - longer) ** 2))


@lru_cache(maxsize=32)
def cells_tree(cells: int) -> Tree:
    """The counts of the cells: a tree of one level."""
    return Tree(cells, max(cells, 2), rooted=False)


def edges(first: int, last: int, bins: int) -> Integers:
    """The borders between the cells, in bins: the stretch in equal parts, what is beside it, and what is beyond.

    >>> edges(5, 7, 100).tolist()
    [0, 2, 5, 6, 7, 8, 11, 100]
    """
    wide = last - first + 1
    inner = {first + k * wide // INNER for k in range(INNER + 1)}
    return np.array(sorted(inner | {0, max(first - wide, 0), min(last + 1 + wide, bins), bins}), dtype=np.int64)


@lru_cache(maxsize=256)
def is_better(bins: int, level: Fraction, tree: Tree, *, gaussian: bool) -> bool:
    """Whether its error at 95 % is predicted to be below that of a tree over all bins, whatever the price is.

    In rows, for ε = 1 or ρ = 1/2 and one row per unit: the noise, and half a cell of the stretch.
    """
    if bins <= CELLS or not 0 < level < 1 or level.denominator > FINEST:
        return False
    height, each = len(tree.levels), float(max(level, 1 - level))
    whole = 2 * sqrt(float(np.median(tree.prefix_weights(level))) * (height if gaussian else 2 * height**2))
    left, one = float(1 - 2 * SEARCH), float(SEARCH)
    noise = 2 * sqrt(float(cells_tree(CELLS).prefix_weight(level)) * (1 / left if gaussian else 2 / left**2))
    rate = sqrt(one) / each if gaussian else one / (2 * each)
    return noise + (noise + _SURE / rate) / INNER < whole
