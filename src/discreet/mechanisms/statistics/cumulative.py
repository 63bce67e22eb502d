"""Threshold functions: how many records are at most t, for many public t; three strategies, and the best of them.

Guarantee: ε-differentially private, or ρ-zCDP, for the whole curve. With m thresholds, noise of scale 1/ε for one
count, and the error of one answer:
PREFIXES noise on each prefix: a record moves up to m of them, so the error is about m/ε (√(m/2ρ) for Gaussian noise);
POINTS noise on each cell, then running sums: cells cost the noise of one, and the error is about √m/ε;
TREE noise on a tree of counts, then least squares and running sums: about (log m)^1.5/ε (log m/√ρ). Proof: tree.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE, Accuracy
from discreet.arrays import Integers
from discreet.errors import BadParameter
from discreet.exact import Number
from discreet.mechanisms.additive.shared import Exact, Released
from discreet.mechanisms.base.estimate import Estimate
from discreet.mechanisms.base.marks import ruler
from discreet.mechanisms.statistics.binning import UpTo, tally
from discreet.mechanisms.statistics.budget import Budget, Moves, Noise, noise_for, read_budget, read_neighbours
from discreet.mechanisms.statistics.counting import Shares, disjoint_moves, shares_of
from discreet.mechanisms.statistics.error_bounds import Sums
from discreet.mechanisms.statistics.noised import Noised
from discreet.mechanisms.statistics.tree import Tree, best_tree
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits


class Strategy(Enum):
    """How a whole curve is released."""

    PREFIXES = "prefixes"
    POINTS = "points"
    TREE = "tree"
    BEST = "best"


@dataclass(frozen=True, slots=True, eq=False)
class Cumulative(Estimate[Exact, Released], Noised[Exact, Released]):
    """Made by ``cumulative(...)``: the number of records at most t, for each public threshold t."""

    cells: UpTo
    neighbours: Neighbours
    strategy: Strategy
    tree: Tree | None
    noise: Noise

    @property
    def accuracy(self) -> Accuracy:
        """For all thresholds at once."""
        match self.strategy:
            case Strategy.PREFIXES:
                return self.noise
            case Strategy.POINTS:
                many = len(self.cells)
                return Sums(self.noise, Fraction(many), 2, ((1.0, many),))  # running sums: Lévy's inequality
            case _:
                weight = self.tree.prefix_weight() if self.tree is not None else Fraction(1)
                return Sums(self.noise, weight, len(self.cells))

    def story(self) -> str:
        """One line on what was done."""
        what = {
            Strategy.PREFIXES: f"counted the records up to each of {len(self.cells)} public thresholds",
            Strategy.POINTS: f"counted the records between {len(self.cells)} public thresholds",
        }.get(self.strategy, f"counted the records between {len(self.cells)} public thresholds in a tree")
        return f"{what}, {self.noise.story()} on each"

    def derivation(self) -> str:
        """One line on how the answer is made."""
        return {
            Strategy.PREFIXES: "kept as they are",
            Strategy.POINTS: "added up",
        }.get(self.strategy, "made all levels agree, by least squares, and added up")

    def read(self, value: Any) -> Integers:
        """The exact counts that get noise."""
        counts = tally(self.cells.of(value), len(self.cells))
        if self.tree is not None:
            return self.tree.nodes(counts)
        return np.cumsum(counts) if self.strategy is Strategy.PREFIXES else counts

    def draw(self, value: Exact, bits: Bits) -> Released:
        """The noisy counts."""
        return self.noise.draw(value, bits)

    def finish(self, noisy: Released) -> tuple[NDArray[Any], Accuracy]:
        """The curve."""
        counts = np.asarray(noisy)
        if self.tree is not None:
            counts = self.tree.consistent(counts)
        return counts if self.strategy is Strategy.PREFIXES else np.cumsum(counts), self.accuracy


def prefix_moves(cells: int) -> Moves:
    """How far prefix counts move: a record in the first cell is in all of them, and may come, go or leave the cells."""
    return Moves(l1=cells, l2_squared=cells)


def cumulative(
    *,
    thresholds: Sequence[Number] | NDArray[Any],
    epsilon: Number | None = None,
    rho: Number | None = None,
    strategy: Strategy | str = Strategy.BEST,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Cumulative:
    """How many records are at most t, for each public threshold t. NaN is not counted.

    Guarantee: ε-differentially private, or ρ-zCDP. ``Strategy.BEST`` takes the strategy with the least error bar for
    the whole curve at 95 %, which follows from public parameters alone.

    >>> m = cumulative(thresholds=[1, 2, 3], epsilon=1, strategy="prefixes")
    >>> m.noise.scale, m.read([0, 1, 2.5, 9, float("nan")]).tolist()
    (Fraction(3, 1), [2, 2, 3])
    >>> [cumulative(thresholds=range(k), epsilon=1).strategy.name for k in (1, 8, 4096)]
    ['PREFIXES', 'POINTS', 'TREE']
    """
    return _make(_read_thresholds(thresholds), read_budget(epsilon, rho), _read_strategy(strategy), neighbours)


def cdf(
    *,
    thresholds: Sequence[Number] | NDArray[Any],
    epsilon: Number | None = None,
    rho: Number | None = None,
    strategy: Strategy | str = Strategy.BEST,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Shares:
    """Which share of the records is at most t, for each public threshold t.

    Guarantee: ε-differentially private, or ρ-zCDP. Under change-one the number of records is public; under add/remove
    a fifth of the budget goes to it.

    >>> curve = cdf(thresholds=range(8), epsilon=1, neighbours=Neighbours.CHANGE_ONE).release([0, 0, 0, 1, 2, 2])
    >>> curve.value.shape, curve.cost
    ((8,), 'epsilon 1')
    """
    cells, wanted = _read_thresholds(thresholds), _read_strategy(strategy)
    return shares_of(
        lambda paid: _make(cells, paid, wanted, neighbours),
        read_budget(epsilon, rho),
        read_neighbours(neighbours),
        "cdf",
    )


def _make(cells: UpTo, budget: Budget, strategy: Strategy, neighbours: Neighbours) -> Cumulative:
    relation = read_neighbours(neighbours)
    m = len(cells)
    match strategy:
        case Strategy.PREFIXES:
            return Cumulative(cells, relation, strategy, None, noise_for(budget, prefix_moves(m), m))
        case Strategy.POINTS:
            return Cumulative(cells, relation, strategy, None, noise_for(budget, disjoint_moves(m, relation), m))
        case Strategy.TREE:
            tree = best_tree(m, budget, relation)
            return Cumulative(cells, relation, strategy, tree, noise_for(budget, tree.moves(relation), tree.size))
        case _:
            ways = [_make(cells, budget, way, relation) for way in Strategy if way is not Strategy.BEST]
            return min(ways, key=lambda way: way.accuracy.error_at(CONFIDENCE))


def _read_thresholds(thresholds: Any) -> UpTo:
    return UpTo(ruler(list(thresholds) if isinstance(thresholds, range) else thresholds, "thresholds"))


def _read_strategy(strategy: Strategy | str) -> Strategy:
    try:
        return Strategy(strategy)
    except ValueError:
        raise BadParameter("strategy", strategy, f"must be one of {', '.join(s.value for s in Strategy)}") from None
