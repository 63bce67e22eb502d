"""Histograms, point functions and attribute means: how many records fall into each public cell, with noise on each.

Guarantee: one record is counted in at most one cell, so k disjoint counts cost the noise of one (of two, when a record
may change): L1 1 and L2 1 under add/remove, L1 2 and L2 √2 under change-one. The counts of d attributes, of which a
record may have all: L1 d and L2 √d under both. Each cell has its own draw, and empty cells have theirs.
Proof: counting.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Accuracy
from discreet.arrays import Integers
from discreet.errors import BadData
from discreet.exact import Number, float_up, integer
from discreet.mechanisms.additive.shared import Exact, Released
from discreet.mechanisms.base.estimate import Estimate
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.mechanisms.statistics.binning import Cells, count_records, read_cells, records_of, tally
from discreet.mechanisms.statistics.budget import Budget, Moves, Noise, noise_for, part, read_budget, read_neighbours
from discreet.mechanisms.statistics.error_bounds import Scaled, Within, error_of
from discreet.mechanisms.statistics.noised import Noised
from discreet.privacy.promises.events import Composed, Event
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits

SIZE_SHARE = Fraction(1, 5)  # of the budget, for the number of records where that is private


def disjoint_moves(cells: int, neighbours: Neighbours) -> Moves:
    """How far disjoint counts move: a changed record leaves one cell and enters another, if there are two.

    >>> disjoint_moves(5, Neighbours.ADD_REMOVE), disjoint_moves(5, Neighbours.CHANGE_ONE)
    (Moves(l1=1, l2_squared=1), Moves(l1=2, l2_squared=2))
    """
    moved = 1 if neighbours is Neighbours.ADD_REMOVE else min(2, cells)
    return Moves(l1=moved, l2_squared=moved)


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(Noised[Exact, Released]):
    """Made by ``histogram(...)``: the count of each public cell, plus independent noise."""

    cells: Cells
    neighbours: Neighbours
    noise: Noise

    def story(self) -> str:
        """One line on what was done."""
        return f"counted {len(self.cells)} public cells, {self.noise.story()} on each"

    def read(self, value: Any) -> Integers:
        """The exact counts."""
        return tally(self.cells.of(value), len(self.cells))

    def draw(self, value: Exact, bits: Bits) -> Released:
        """The noisy counts."""
        return self.noise.draw(value, bits)


def histogram(
    *,
    keys: Iterable[Hashable] | None = None,
    bins: Sequence[Number] | NDArray[Any] | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Histogram:
    """How many records have each public key, or lie in each public bin. Records that fit none are not counted.

    Guarantee: ε-differentially private, or ρ-zCDP, for one record added or removed, or changed.

    >>> m = histogram(keys=["a", "b"], epsilon="1/2")
    >>> m.cost, m.accuracy.error_at(0.95), m.read(["b", "b", "?"]).tolist(), m.release([]).value.shape
    ('epsilon 0.5', 7.0, [0, 2], (2,))
    >>> histogram(keys=["a", "b"], epsilon="1/2", neighbours=Neighbours.CHANGE_ONE).noise.scale
    Fraction(4, 1)
    """
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    cells = read_cells(keys, bins)
    return Histogram(cells, relation, noise_for(budget, disjoint_moves(len(cells), relation), len(cells)))


# --- attributes ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class AttributeCounts(Noised[Exact, Released]):
    """How many records have each of d attributes, plus independent noise."""

    d: int
    noise: Noise

    def story(self) -> str:
        """One line on what was done."""
        return f"counted {self.d} attributes, {self.noise.story()} on each"

    def read(self, value: Any) -> Integers:
        """The exact counts. An entry counts if it is 1 (or True); anything else, and what is missing, does not."""
        masked = isinstance(value, np.ma.MaskedArray)  # its sums would say where everyone is masked
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.shape[1:] == (self.d,) and not masked:
            counts: Integers = (np.asarray(value) == 1).sum(axis=0, dtype=np.int64)
            return counts
        total = np.zeros(self.d, dtype=np.int64)
        for record in records_of(value):
            total += [_has(record, i) for i in range(self.d)]
        return total

    def draw(self, value: Exact, bits: Bits) -> Released:
        """The noisy counts."""
        return self.noise.draw(value, bits)


def _has(record: Any, i: int) -> bool:
    try:
        return bool(record[i] == 1)
    except Exception:  # a record of another shape has no attributes, whatever it raises
        return False


def attribute_moves(d: int) -> Moves:
    """How far the counts of d attributes move: each by one at most, whether a record comes, goes or changes."""
    return Moves(l1=d, l2_squared=d)


# --- shares of all records ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class NoisyShares:
    """What the shares are made from."""

    counts: Any
    records: int
    """Public, or noisy."""


@dataclass(frozen=True, slots=True, eq=False)
class Shares(Estimate[tuple[Any, int], NoisyShares]):
    """Counts over the number of records. That number is public where records only change; else it is noisy too."""

    counted: Mechanism[Any, Any]
    size: Noise | None
    budget: Budget
    label: str

    @property
    def event(self) -> Event:
        """What a release writes into the ledger."""
        if self.size is None:
            return self.counted.event.about(Neighbours.CHANGE_ONE)  # what is divided by is public only then
        return Composed([self.counted.event, self.size.event])

    @property
    def cost(self) -> str:
        """The price as text."""
        return str(self.budget)

    def story(self) -> str:
        """One line on what was done."""
        size = "" if self.size is None else f"; counted the records, {self.size.story()}"
        return f"{self.counted.story()}{size}"

    def derivation(self) -> str:
        """One line on how the answer is made."""
        return f"{self.label}: counts over the number of records, moved into [0, 1]"

    def read(self, value: Any) -> tuple[Any, int]:
        """The exact counts and the number of records."""
        data = value if hasattr(value, "__len__") else records_of(value)  # an iterator can be read only once
        return self.counted.read(data), count_records(data)

    def draw(self, value: tuple[Any, int], bits: Bits) -> NoisyShares:
        """Noisy counts, and the number of records with noise if it is private."""
        counts, records = value
        noisy = self.counted.draw(counts, bits)
        return NoisyShares(noisy, records if self.size is None else whole(self.size.draw(records, bits)))

    def independent(self, value: tuple[Any, int]) -> list[tuple[Mechanism[Any, Any], Any]]:
        """The counts, and the number of records where it is private."""
        counts, records = value
        return [(self.counted, counts), *([] if self.size is None else [(self.size, records)])]

    def finish(self, noisy: NoisyShares) -> tuple[NDArray[np.float64], Accuracy]:
        """The shares, and how far off they may be."""
        counted = self.counted
        counts, accuracy = (
            counted.finish(noisy.counts) if isinstance(counted, Estimate) else (noisy.counts, counted.accuracy)
        )
        if accuracy is None:
            raise BadData("the counts say nothing of their error")
        shares = np.clip(np.asarray(counts, dtype=np.float64) / max(noisy.records, 1), 0.0, 1.0)
        if self.size is None:
            return shares, Scaled(accuracy, Fraction(1, max(noisy.records, 1)))
        size = self.size
        return shares, Within(
            lambda level: _farthest(shares, counts, accuracy, records=noisy.records, size=size, level=level),
            Fraction(1),
        )


def _farthest(
    shares: NDArray[np.float64], counts: Any, accuracy: Accuracy, *, records: int, size: Noise, level: Fraction
) -> float:
    """How far an exact share may lie from its estimate, if counts and size lie within their error bars together."""
    each = 1 - (1 - level) / 2
    error = accuracy.error_at(each)
    reach = error_of(size, each)
    most, least = float_up(records + reach), float(max(records - reach, Fraction(1, 2)))
    if least < 1:
        return 1.0  # there may be no record at all
    noisy = np.asarray(counts, dtype=np.float64)
    high = np.minimum((noisy + error) / least, 1.0)
    low = np.maximum((noisy - error) / most, 0.0)
    return float(max((high - shares).max(), (shares - low).max(), 0.0)) + 2.0**-48


def whole(value: Any) -> int:
    """A single noisy count."""
    return int(value)


def shares_of(make: Any, budget: Budget, neighbours: Neighbours, label: str) -> Shares:
    """Shares from a maker of counts: where the number of records is private, a part of the budget goes to it."""
    if neighbours is Neighbours.CHANGE_ONE:
        return Shares(make(budget), None, budget, label)
    size = noise_for(part(budget, SIZE_SHARE), Moves(1, 1))
    return Shares(make(part(budget, 1 - SIZE_SHARE)), size, budget, label)


def point_queries(
    *,
    keys: Iterable[Hashable] | None = None,
    bins: Sequence[Number] | NDArray[Any] | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Shares:
    """Which share of the records has each public key. Records that fit none count in the number of records only.

    Guarantee: ε-differentially private, or ρ-zCDP. Under change-one the number of records is public, and all points
    together cost 2 in L1, not 1 each; under add/remove a fifth of the budget goes to the number of records.

    >>> m = point_queries(keys=range(8), epsilon=1, neighbours=Neighbours.CHANGE_ONE)
    >>> m.event, m.release([0, 0, 0, 1, 2, 2, 5, 5, 5, 6]).value.shape
    (DiscreteLaplace(scale=2, sensitivity=2).about(Neighbours.CHANGE_ONE), (8,))
    """
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    cells = read_cells(keys, bins)

    def make(paid: Budget) -> Histogram:
        return Histogram(cells, relation, noise_for(paid, disjoint_moves(len(cells), relation), len(cells)))

    return shares_of(make, budget, relation, "point queries")


def attribute_counts(
    *,
    d: int,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> AttributeCounts:
    """How many records have each of d attributes: records are rows of d zeros and ones.

    Guarantee: ε-differentially private, or ρ-zCDP. A row of another shape has none of the attributes.

    >>> m = attribute_counts(d=3, rho="1/2")
    >>> m.read([(1, 0, 1), (1, 1, float("nan"))]).tolist(), m.noise.sigma_squared
    ([2, 1, 1], Fraction(3, 1))
    """
    read_neighbours(neighbours)
    size = integer(d, "d", at_least=1)
    return AttributeCounts(size, noise_for(read_budget(epsilon, rho), attribute_moves(size), size))


def attribute_means(
    *,
    d: int,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Shares:
    """Which share of the records has each of d attributes.

    Guarantee: ε-differentially private, or ρ-zCDP. Under change-one the number of records is public; under add/remove
    a fifth of the budget goes to it.

    >>> attribute_means(d=3, epsilon=1, neighbours=Neighbours.CHANGE_ONE).event
    DiscreteLaplace(scale=3, sensitivity=3).about(Neighbours.CHANGE_ONE)
    """
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    size = integer(d, "d", at_least=1)
    return shares_of(
        lambda paid: AttributeCounts(size, noise_for(paid, attribute_moves(size), size)),
        budget,
        relation,
        "attribute means",
    )
