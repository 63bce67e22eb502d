"""One quantile or a few: look for where each lies, then count rows in a few cells around all of them.

Guarantee: the choices, two for each quantile, and the noisy counts together cost their share of the budget. A tree over
all bins has to be right everywhere, and pays for each of its levels; here a part of the price finds stretches that hold
the quantiles, more likely than not, and the rest is for one level of cells, fine inside of them and coarse outside. It
is counted once for all quantiles, so that they agree: a higher level never has the lower value.
Proof: quantile_search.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from discreet.arrays import Integers
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
"""In a stretch; and on either side of it one cell as wide as the stretch, and one for all that is beyond."""
_SHARES = (Fraction(1, 5), Fraction(3, 10), Fraction(2, 5))
"""Shares of the price that all choices together may have."""
FINEST = 1000
"""The largest denominator of a level."""
_SURE = 3
"""A choice misses its rank by more than this many scales with a probability of some e^-3 / 2."""
_FITS = 1 << 62


@dataclass(frozen=True, slots=True)
class Search:
    """How the ends of the stretch are chosen: bins with about ``shift`` / b rows between them and the quantile a/b."""

    choice: PermuteAndFlip | Exponential
    level: Fraction
    shift: int
    event: Event
    """What one of its two choices costs, over all groups."""

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


def split(budget: Pure | ZCDP, levels: tuple[Fraction, ...]) -> tuple[Pure | ZCDP, Pure | ZCDP]:
    """The budgets of one choice and of the counts: two of the first for each level and one of the second are the whole.

    >>> one, rest = split(Pure(1), (Fraction(1, 4), Fraction(1, 2)))
    >>> assert 4 * one.epsilon + rest.epsilon == 1
    """
    all_choices = share(levels, gaussian=isinstance(budget, ZCDP))
    return part(budget, all_choices / (2 * len(levels))), part(budget, 1 - all_choices)


def searches(
    cells: QuantileCells, budget: Pure | ZCDP, reach: Moves, noise: Noise, neighbours: Neighbours
) -> tuple[Search, ...]:
    """For each level the choices that this budget buys (each of them, twice): ``reach`` is how far one unit's rows move
    the numbers of rows, ``noise`` that of the cells.
    """
    return tuple(
        _search(level, weight, budget, reach=reach, noise=noise, neighbours=neighbours)
        for level, weight in zip(cells.levels, _weights(cells.levels), strict=True)
    )


def _search(
    level: Fraction, weight: float, budget: Pure | ZCDP, *, reach: Moves, noise: Noise, neighbours: Neighbours
) -> Search:
    each = _scores_move(level, neighbours)
    choice: PermuteAndFlip | Exponential
    event: Event
    if isinstance(budget, Pure):
        moves = Fraction(each.l1 * reach.l1)
        choice, event = PermuteAndFlip(moves, budget.epsilon / (2 * moves)), events.Pure(budget.epsilon)
    else:
        squared = each.l2_squared * reach.l2_squared
        rate = sqrt_down(2 * budget.rho / squared, 64)
        choice, event = Exponential(Fraction(ceil(sqrt(squared))), rate), events.ZCDP(budget.rho)
    away = level.denominator * noise_sum(noise, weight, 0.05) + _SURE / choice.rate
    return Search(choice, level, ceil(away), event)


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


def most_cells(quantiles: int) -> int:
    """Each stretch has ``CELLS``, if there are no others."""
    return quantiles * (CELLS - 1) + 1


def edges(stretches: Iterable[tuple[int, int]], bins: int) -> Integers:
    """The borders between the cells, in bins: each stretch in equal parts, what is beside it, and what is beyond.

    >>> edges([(5, 7)], 100).tolist()
    [0, 2, 5, 6, 7, 8, 11, 100]
    >>> edges([(5, 7), (50, 50)], 100).tolist()
    [0, 2, 5, 6, 7, 8, 11, 49, 50, 51, 52, 100]
    """
    borders = {0, bins}
    for first, last in stretches:
        wide = last - first + 1
        borders |= {first + k * wide // INNER for k in range(INNER + 1)}
        borders |= {max(first - wide, 0), min(last + 1 + wide, bins)}
    return np.array(sorted(borders), dtype=np.int64)


# --- which way is predicted to be nearer: in rows, for ε = 1 or ρ = 1/2 and one row per unit --------------------------


def is_better(bins: int, levels: tuple[Fraction, ...], tree: Tree, *, gaussian: bool) -> bool:
    """Whether errors at 95 % are predicted to be below those of a tree over all bins, on average and at any price."""
    if bins <= most_cells(len(levels)) or not all(0 < q < 1 and q.denominator <= FINEST for q in levels):
        return False
    return sum(_errors(levels, share(levels, gaussian=gaussian), gaussian)) < _tree_errors(tree, levels, gaussian)


@lru_cache(maxsize=256)
def share(levels: tuple[Fraction, ...], *, gaussian: bool) -> Fraction:
    """Which share of the price all choices together have: that of the least predicted error."""
    return min(_SHARES, key=lambda choices: sum(_errors(levels, choices, gaussian)))


@lru_cache(maxsize=256)
def _tree_errors(tree: Tree, levels: tuple[Fraction, ...], gaussian: bool) -> float:
    height = len(tree.levels)
    many = height if gaussian else 2 * height**2
    return sum(2 * sqrt(float(np.median(tree.prefix_weights(level))) * many) for level in levels)


def _errors(levels: tuple[Fraction, ...], choices: Fraction, gaussian: bool) -> list[float]:
    """The noise, and half a cell of the stretch."""
    left, per_choice = float(1 - choices), float(choices) / (2 * len(levels))
    errors = []
    for level, weight in zip(levels, _weights(levels), strict=True):
        each = float(max(level, 1 - level))
        noise = 2 * sqrt(weight * (1 / left if gaussian else 2 / left**2))
        rate = sqrt(per_choice) / each if gaussian else per_choice / (2 * each)
        errors.append(noise + (noise + _SURE / rate) / INNER)
    return errors


@lru_cache(maxsize=256)
def _weights(levels: tuple[Fraction, ...]) -> tuple[float, ...]:
    """For each level the squared length of the weights of the noise, in the middle of its stretch."""
    tree = cells_tree(most_cells(len(levels)))
    return tuple(float(tree.prefix_weights(q)[i * (CELLS - 1) + CELLS // 2 - 1]) for i, q in enumerate(levels))
