"""Median, quantiles, minimum and maximum: one of the public candidates, chosen by how far its rank is off.

Guarantee: for a rank a/b of the way up, a record added or removed moves each score by at most max(a, b - a) and a
changed one by at most b, so each choice is ε-differentially private by permute-and-flip, or ρ-zCDP by the exponential
mechanism. Each record counts as the candidate nearest to it; NaN counts as no record. Proof: quantiles.md.

The answer is a candidate, exactly; what is uncertain is its rank. ``rank_error_at(confidence)`` says by how many
records, whatever the data are; ``quantile_interval`` releases two candidates with a quantile between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE, confidence_level
from discreet.arrays import Integers
from discreet.errors import BadParameter
from discreet.exact import Number, float_up, number, significant, sqrt_down
from discreet.mechanisms.base.estimate import Estimate
from discreet.mechanisms.base.marks import Ruler, ruler, ruler_between
from discreet.mechanisms.selection.exponential import Exponential, exponential
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip, permute_and_flip
from discreet.mechanisms.statistics.budget import Budget, part, read_budget, read_neighbours
from discreet.privacy.promises.events import Composed, Event
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import Bits

Candidates = Sequence[Number] | NDArray[Any]
FINEST = 1_000_000  # the largest denominator of a rank, so that scores fit into 64 bits
_RHO_BITS = 64
_FARTHEST = 1 << 60  # of a shift: with fewer than 2^40 records, scores stay below 2^62


@dataclass(frozen=True, slots=True)
class Rank:
    """A place in the order of n records: (top n + shift) / bottom records lie below it.

    >>> Rank(1, 2).moves(Neighbours.ADD_REMOVE), Rank(1, 2).moves(Neighbours.CHANGE_ONE)
    (1, 2)
    """

    top: int
    bottom: int
    shift: int = 0

    def moves(self, neighbours: Neighbours) -> int:
        """How far a score moves between neighbours."""
        if neighbours is Neighbours.ADD_REMOVE:
            return max(self.top, self.bottom - self.top)
        return self.bottom

    def scores(self, below: Integers, up_to: Integers, records: int) -> Integers:
        """Minus the distance of this rank from [below, up_to], times ``bottom``: 0 where the candidate has the rank."""
        wanted = self.top * records + self.shift
        return -np.maximum(np.maximum(self.bottom * below - wanted, wanted - self.bottom * up_to), 0)


class Side(Enum):
    """What the candidates stand for: themselves, or an end of the stretch between two neighbouring ones."""

    POINT = "the candidate"
    LOWER = "the lower end of a stretch"
    UPPER = "the upper end of a stretch"


@dataclass(frozen=True, slots=True)
class Ask:
    """One choice: which rank, and what for."""

    rank: Rank
    choice: PermuteAndFlip | Exponential
    side: Side = Side.POINT


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """For each option in ascending order, how many records lie below it and how many up to it."""

    below: Integers
    up_to: Integers

    @property
    def records(self) -> int:
        """All records lie at or below the last option, since they were moved there."""
        return int(self.up_to[-1])

    def scores(self, ask: Ask) -> Integers:
        """The scores of the options."""
        scores = ask.rank.scores(self.below, self.up_to, self.records)
        # the range itself is a sure bound, so the outermost stretch has all ranks beyond it too
        wanted = ask.rank.top * self.records + ask.rank.shift
        if ask.side is Side.LOWER:
            scores[0] = min(0, ask.rank.bottom * int(self.up_to[0]) - wanted)
        elif ask.side is Side.UPPER:
            scores[-1] = min(0, wanted - ask.rank.bottom * int(self.below[-1]))
        return scores


class Shape(Enum):
    """What is made of the chosen candidates."""

    ONE = "one candidate"
    MANY = "sorted"
    RANGE = "the upper minus the lower one, not below 0"
    INTERVAL = "an interval"


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles(Estimate[Ordered, tuple[float, ...]]):
    """Made by ``median``, ``quantile``, ``quantiles``, ``minimum``, ``maximum`` and the like."""

    lists_all_outputs = True
    candidates: NDArray[np.float64]
    ruler: Ruler
    """The borders between the candidates, or for an interval the candidates themselves."""
    asks: tuple[Ask, ...]
    shape: Shape
    neighbours: Neighbours
    budget: Budget

    @property
    def event(self) -> Event:
        """What a release writes into the ledger."""
        events = [ask.choice.event for ask in self.asks]
        return (events[0] if len(events) == 1 else Composed(events)).about(self.neighbours)

    @property
    def cost(self) -> str:
        """The price as text."""
        return str(self.budget)

    def story(self) -> str:
        """One line on what was done."""
        ranks = ", ".join(_say(ask.rank) for ask in self.asks)
        choice: str = self.asks[0].choice.story()
        return f"ranked {len(self.candidates)} public candidates; chose for the rank {ranks} by {choice}"

    def derivation(self) -> str:
        """One line on how the answer is made, with what is known of its rank."""
        if self.shape is Shape.INTERVAL:
            return str(self.shape.value)
        error = self.rank_error_at(CONFIDENCE)
        return f"{self.shape.value}; {significant(error, 6)} records or fewer from the right rank (95 %)"

    def rank_error_at(self, confidence: Number) -> float:
        """The rank of every answer, among the records rounded to candidates, is off by at most so many records.

        Whatever the data are: the statement follows from the number of candidates and the budget. (For an extreme whose
        rank is beyond the number of records, it is off by so many more than the nearest rank there is.)
        """
        level = 1 - (1 - confidence_level(confidence)) / len(self.asks)
        return max(float_up(Fraction(_gap(ask, level, len(self.candidates)), ask.rank.bottom)) for ask in self.asks)

    def read(self, value: Any) -> Ordered:
        """Exact counts: NaN dropped; the options are the candidates, or the stretches between them."""
        if self.shape is Shape.INTERVAL:
            cumulated = np.cumsum(self.ruler.counts(value, clamp=True))
            below, up_to = cumulated[0:-1:2], cumulated[1::2]
            return Ordered(below[:-1], up_to[1:]) if len(below) > 1 else Ordered(below, up_to)
        up_to = np.cumsum(self.ruler.counts(value, clamp=False))[0::2]
        return Ordered(np.concatenate([[0], up_to[:-1]]), up_to)

    def draw(self, value: Ordered, bits: Bits) -> tuple[float, ...]:
        """One candidate for each rank."""
        return tuple(self._candidate(ask, ask.choice.draw(value.scores(ask), bits)) for ask in self.asks)

    def _candidate(self, ask: Ask, index: int) -> float:
        upper = ask.side is Side.UPPER and len(self.candidates) > 1
        return float(self.candidates[index + 1 if upper else index])

    def law(self, value: Ordered) -> dict[tuple[float, ...], tuple[Fraction, Fraction]]:
        """Bounds of the probability of each output of ``draw``."""
        law: dict[tuple[float, ...], tuple[Fraction, Fraction]] = {(): (Fraction(1), Fraction(1))}
        for ask in self.asks:
            chosen = ask.choice.law(value.scores(ask))
            law = {
                (*earlier, self._candidate(ask, i)): (low * p, high * q)
                for earlier, (low, high) in law.items()
                for i, (p, q) in chosen.items()
            }
        return law

    def finish(self, noisy: tuple[float, ...]) -> tuple[Any, None]:
        """The answer. Its error is one of rank, not of value: see ``rank_error_at``."""
        match self.shape:
            case Shape.ONE:
                return noisy[0], None
            case Shape.MANY:
                return np.sort(np.array(noisy)), None
            case Shape.RANGE:
                return max(noisy[1] - noisy[0], 0.0), None
            case Shape.INTERVAL:
                return (min(noisy), max(noisy)), None


def _gap(ask: Ask, level: Fraction, candidates: int) -> int:
    """The chosen score is at most so far below the best one; scores are whole numbers."""
    return floor(ask.choice.gap_at(level, candidates))


def _shift(ask: Ask, level: Fraction, candidates: int) -> int:
    """The gap as a shift of the rank: so small that no score leaves 64 bits, whatever the data are."""
    gap = ask.choice.gap_at(level, candidates)
    if gap > _FARTHEST:
        raise BadParameter("epsilon", "this small", "must be larger: the rank would be off by more than 2^60 records")
    return floor(gap)


def _say(rank: Rank) -> str:
    part_of = f"{rank.top}/{rank.bottom} n" if rank.top not in {0, rank.bottom} else "n" if rank.top else ""
    shift = Fraction(rank.shift, rank.bottom)
    return f"{part_of} {'-' if shift < 0 else '+'} {abs(shift)}".strip(" +") if shift else part_of or "0"


# --- what to ask for ----------------------------------------------------------------------------------------------


def quantile(
    q: Number,
    *,
    candidates: Candidates | None = None,
    low: Number | None = None,
    high: Number | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Quantiles:
    """One of the public candidates below which about the share q of the records lies.

    Guarantee: ε-differentially private, or ρ-zCDP. Candidates are given, or made from public bounds and a step. q is
    taken as the nearest fraction with a denominator up to a million.

    >>> m = quantile("1/4", low=0, high=100, step=1, epsilon=1)
    >>> m.event, m.rank_error_at(0.95)
    (PermuteAndFlip(epsilon=1).about(Neighbours.ADD_REMOVE), 11.25)
    >>> m.release([20.2] * 1500 + [80.0] * 2500 + [float("nan")]).value
    20.0
    """
    return _make(
        [_rank(q)], Shape.ONE, _candidates(candidates, low, high, step), epsilon=epsilon, rho=rho, neighbours=neighbours
    )


def median(
    *,
    candidates: Candidates | None = None,
    low: Number | None = None,
    high: Number | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Quantiles:
    """One of the public candidates with about half of the records below it.

    Guarantee: ε-differentially private, or ρ-zCDP.

    >>> median(low=0, high=10, step=1, epsilon=1).release([3.2] * 1000 + [-4, 99]).value in {3.0, 4.0}
    True
    """
    return _make(
        [Rank(1, 2)],
        Shape.ONE,
        _candidates(candidates, low, high, step),
        epsilon=epsilon,
        rho=rho,
        neighbours=neighbours,
    )


def quantiles(
    qs: Sequence[Number],
    *,
    candidates: Candidates | None = None,
    low: Number | None = None,
    high: Number | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Quantiles:
    """Several quantiles, each with an equal part of the budget, sorted. For very many, ``cdf`` is more accurate.

    Guarantee: ε-differentially private, or ρ-zCDP, for all of them together.

    >>> m = quantiles(["0.1", "0.5", "0.9"], low=0, high=10, step="0.5", epsilon=3)
    >>> m.asks[0].choice.event, m.cost, m.release([]).value.shape
    (PermuteAndFlip(epsilon=1), 'epsilon 3', (3,))
    """
    given: object = qs
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, (str, bytes)) or not len(given):
        raise BadParameter("qs", given, "must be a list of at least one share between 0 and 1")
    ranks = [_rank(q) for q in given]
    return _make(
        ranks, Shape.MANY, _candidates(candidates, low, high, step), epsilon=epsilon, rho=rho, neighbours=neighbours
    )


def interquartile_range(
    *,
    candidates: Candidates | None = None,
    low: Number | None = None,
    high: Number | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Quantiles:
    """The distance from the lower to the upper quartile, each chosen with half of the budget.

    Guarantee: ε-differentially private, or ρ-zCDP.

    >>> interquartile_range(low=0, high=10, step=1, epsilon=1).release([]).value >= 0
    True
    """
    ranks = [Rank(1, 4), Rank(3, 4)]
    return _make(
        ranks, Shape.RANGE, _candidates(candidates, low, high, step), epsilon=epsilon, rho=rho, neighbours=neighbours
    )


def minimum(
    *,
    candidates: Candidates | None = None,
    low: Number | None = None,
    high: Number | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    rank: int | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Quantiles:
    """A candidate that few records lie below. The least record itself is one person's: no such answer can be near it.

    Guarantee: ε-differentially private, or ρ-zCDP. The rank aimed at is the k-th from below; k is ``rank``, or else the
    rank error at 95 %, so that with 95 % the answer is not below the least record and at most 2k records are below it
    (if the candidates are dense, and there are more than k records).

    >>> m = minimum(low=0, high=100, step=1, epsilon=1)
    >>> m.asks[0].rank
    Rank(top=0, bottom=1, shift=16)
    """
    return _extreme(0, rank, _candidates(candidates, low, high, step), epsilon=epsilon, rho=rho, neighbours=neighbours)


def maximum(
    *,
    candidates: Candidates | None = None,
    low: Number | None = None,
    high: Number | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    rank: int | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Quantiles:
    """A candidate that few records lie above; as ``minimum``, from the other end.

    >>> maximum(low=0, high=100, step=1, epsilon=1, rank=5).asks[0].rank
    Rank(top=1, bottom=1, shift=-5)
    """
    return _extreme(1, rank, _candidates(candidates, low, high, step), epsilon=epsilon, rho=rho, neighbours=neighbours)


def quantile_interval(
    q: Number,
    *,
    confidence: Number = CONFIDENCE,
    candidates: Candidates | None = None,
    low: Number | None = None,
    high: Number | None = None,
    step: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Quantiles:
    """Two public candidates with a q-quantile of the records between them, with this confidence, whatever the data are.

    Guarantee: ε-differentially private, or ρ-zCDP, for both ends together. With the stated confidence at most the share
    q of the records lies below the lower end, and at least the share q up to the upper end.

    >>> low, high = quantile_interval("1/2", low=0, high=10, step=1, epsilon=1).release([3.2] * 1000).value
    >>> low <= high
    True
    """
    wanted, marks = _rank(q), _candidates(candidates, low, high, step)
    level = 1 - (1 - confidence_level(confidence)) / 2
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    choice = _choice(part(budget, Fraction(1, 2)), wanted.moves(relation))
    far = _shift(Ask(wanted, choice), level, len(marks))
    ends = (
        Ask(Rank(wanted.top, wanted.bottom, -far), choice, Side.LOWER),
        Ask(Rank(wanted.top, wanted.bottom, far), choice, Side.UPPER),
    )
    return Quantiles(marks.marks, marks, ends, Shape.INTERVAL, relation, budget)


# --- how it is made -----------------------------------------------------------------------------------------------


def _make(
    ranks: list[Rank],
    shape: Shape,
    candidates: Ruler,
    *,
    epsilon: Number | None,
    rho: Number | None,
    neighbours: Neighbours,
) -> Quantiles:
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    each = part(budget, Fraction(1, len(ranks)))
    asks = tuple(Ask(rank, _choice(each, rank.moves(relation))) for rank in ranks)
    return Quantiles(candidates.marks, _borders(candidates), asks, shape, relation, budget)


def _extreme(
    top: int, rank: int | None, candidates: Ruler, *, epsilon: Number | None, rho: Number | None, neighbours: Neighbours
) -> Quantiles:
    budget, relation = read_budget(epsilon, rho), read_neighbours(neighbours)
    choice = _choice(budget, Rank(top, 1).moves(relation))
    if rank is None:
        k = _shift(Ask(Rank(top, 1), choice), CONFIDENCE, len(candidates)) + 1
    elif isinstance(rank, int) and not isinstance(rank, bool) and 1 <= rank < 1 << 40:
        k = rank
    else:
        raise BadParameter("rank", rank, "must be an integer of at least 1 and below 2^40")
    ask = Ask(Rank(top, 1, -k if top else k), choice)
    return Quantiles(candidates.marks, _borders(candidates), (ask,), Shape.ONE, relation, budget)


def _borders(candidates: Ruler) -> Ruler:
    """Between each two candidates the place from which on records count as the upper one, as near to half-way as floats
    are; always above the lower and at most the upper candidate.
    """
    low, high = candidates.marks[:-1], candidates.marks[1:]
    middle = low / 2 + high / 2
    return Ruler(np.where(middle > low, middle, high))


def _choice(budget: Budget, moves: int) -> PermuteAndFlip | Exponential:
    """Permute-and-flip for epsilon; for rho the exponential mechanism, whose loss has range ε, so that ρ = ε²/8."""
    if isinstance(budget, Pure):
        return permute_and_flip(sensitivity=moves, epsilon=budget.epsilon)
    return exponential(sensitivity=moves, epsilon=sqrt_down(8 * budget.rho, _RHO_BITS))


def _rank(q: Number) -> Rank:
    share = number(q, "q")
    if not 0 <= share <= 1:
        raise BadParameter("q", q, "must lie between 0 and 1")
    near = share.limit_denominator(FINEST)
    return Rank(near.numerator, near.denominator)


def _candidates(candidates: Candidates | None, low: Number | None, high: Number | None, step: Number | None) -> Ruler:
    bounds = [x for x in (low, high, step) if x is not None]
    if candidates is not None and not bounds:
        return ruler(candidates, "candidates")
    if candidates is None and low is not None and high is not None and step is not None:
        return ruler_between(low, high, step)
    raise BadParameter("candidates", candidates, "must be given, or low, high and step in their place, and not both")
