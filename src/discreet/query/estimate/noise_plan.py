"""Which noise, how much of it, and what that costs: from the plan and public metadata alone.

Guarantee: all statistics of a question together, each with its noise, and the selection of keys that nobody listed,
keep the allowance. The shares of the statistics add up to it exactly. Proof: noise_plan.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadParameter, NotATheorem
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.statistics.budget import Moves, noise_for, part
from discreet.mechanisms.statistics.budget import Noise as Drawn
from discreet.mechanisms.statistics.error_bounds import error_of
from discreet.mechanisms.statistics.tree import Tree
from discreet.mechanisms.statistics.worst_sum import noise_sum
from discreet.messages import message
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.accountants.gaussian_vectors import VectorBudget, vector_budget
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.quantile_search import INNER, Search, cells_tree, most_cells, searches, split
from discreet.query.estimate.statistics import (
    Bins,
    Distinct,
    QuantileCells,
    Rows,
    Statistic,
    Units,
    most_rows,
    paid_share,
    paid_with,
)
from discreet.query.lower.bounding import (
    Noise,
    Reach,
    groups,
    most_keys,
    row_reach,
    total_reach,
    unit_reach,
    values_kept,
)
from discreet.query.plan.schema import Caps
from discreet.query.plan.work import Weights

Allowance: TypeAlias = Pure | Approx | ZCDP
"""What one question may cost. δ pays for Gaussian noise under (ε, δ), and for keys that nobody listed."""

_MOST_LEVELS = 6
_COARSE = 400
"""The variance of noise in cells below which its law is summed up."""
_STILL = Fraction(1, 10**6)
"""The variance in cells below which noise is 0, but for a chance below 1e-100: its law would take long to sum up."""
_STEP, _STEPS = 1.2, 10
_SHARES = 1024
LEAST = Fraction(1, 10**12)
_WIDE = Fraction(1, 16)
"""(sensitivity/σ)² up to which Gaussian noise is made for (ε, δ) as it is, and not through ρ."""
_TO_NOISE = Fraction(3, 4)
"""The part of δ for Gaussian noise where keys are selected, about the best split; the rest is for the threshold."""
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One grouping set of a question: its statistics and how much each matters, whether it has groups, which keys."""

    caps: Caps
    statistics: Mapping[Statistic, float]
    grouped: bool
    selects: bool
    """Whether keys are selected: then ``Units()`` is among the statistics."""


@dataclass(frozen=True, slots=True)
class Noised:
    """A statistic with its weights and its noise; numbers are in cells: ``scale`` of them make one full weight."""

    statistic: Statistic
    reach: Reach | None
    noise: Drawn
    searches: tuple[Search, ...] = ()
    """Of quantiles that are searched for: how the places are chosen where rows are counted."""
    common: bool = False
    """Whether ``noise`` is what noises common to several tables come to in one number: it is not drawn by itself."""

    @property
    def event(self) -> Event:
        """What all that is drawn for it costs."""
        assert not self.common, "common noise is charged once for all tables"  # noqa: S101
        chosen = [event for search in self.searches for event in 2 * [search.event]]
        return events.Composed([*chosen, self.noise.event]) if chosen else self.noise.event

    @property
    def weights(self) -> Weights:
        """How rows and units are weighed."""
        assert self.reach is not None, "numbers of distinct values are not weighed"  # noqa: S101
        return self.reach.weights

    @property
    def scale(self) -> int:
        """Cells per unit of weight."""
        return 1 if self.reach is None else self.reach.weights.scale

    @property
    def unit(self) -> Fraction:
        """What one cell stands for, in the statistic's own units."""
        step = self.statistic.step if isinstance(self.statistic, Rows) else Fraction(1)
        return step / self.scale

    @property
    def variance(self) -> Fraction:
        """At least that of one noise, in the statistic's units squared: σ², or 2·scale² for Laplace noise."""
        return self._cells_squared * self.unit**2

    @property
    def _cells_squared(self) -> Fraction:
        """The same in cells."""
        return self.noise.sigma_squared if isinstance(self.noise, Gaussian) else 2 * self.noise.scale**2

    def error(self, miss: float) -> float:
        """|noise| is at most this with probability 1 - miss, in the statistic's units; for bins, of any one prefix.

        Noise of a few cells has few values, and the least error comes from its exact law; else a cell is added to that
        of the continuous law.
        """
        miss = max(miss, 1e-15)
        if isinstance(self.statistic, (Bins, QuantileCells)):
            return self._prefix_error(self.statistic, miss)
        spread = self._cells_squared
        if spread < _STILL:
            return 0.0
        if spread < _COARSE:
            return float(error_of(self.noise, 1 - Fraction(miss)) * self.unit)
        if isinstance(self.noise, Gaussian):
            cells = math.sqrt(self.noise.sigma_squared) * -_NORMAL.inv_cdf(miss / 2)
        else:
            cells = float(self.noise.scale) * -math.log(miss)
        return (cells + 1) * float(self.unit)

    def share_error(self, level: Fraction, miss: float) -> float:
        """Of any one prefix of bins less a share of their total, 0 <= level <= 1: how far it may be off."""
        assert isinstance(self.statistic, Bins)  # noqa: S101
        return self._prefix_error(self.statistic, max(miss, 1e-15), level)

    def share_errors(self, level: Fraction, miss: float) -> Floats:
        """The same for each prefix by its own weights: those that take part in few nodes are less noisy."""
        assert isinstance(self.statistic, Bins)  # noqa: S101
        return _place_errors(tree_of(self.statistic, self.noise), self.noise, level, max(miss, 1e-15)) * float(
            self.unit
        )

    def cell_errors(self, cells: int, level: Fraction, miss: float) -> Floats:
        """The same for each prefix of so many cells that have noise of their own."""
        return _place_errors(cells_tree(cells), self.noise, level, max(miss, 1e-15)) * float(self.unit)

    def _prefix_error(self, bins: Bins | QuantileCells, miss: float, level: Fraction = Fraction(0)) -> float:
        """Error of the worst prefix of the least-squares fit, by the length of its weights. Proof: noise_plan.md."""
        weight = float(tree_of(bins, self.noise).prefix_weight(level))
        return (noise_sum(self.noise, weight, miss) + 1) * float(self.unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Keys are named if their noisy number of units is at least ``threshold`` cells."""

    threshold: int
    delta: Fraction
    most_keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePlan:
    """The noise of every statistic of every grouping set, and what all of it costs together."""

    noise: Noise
    sets: tuple[Mapping[Statistic, Noised], ...]
    selections: tuple[Selection | None, ...]
    event: Event
    price: Event
    """What is charged: the event itself, with the (ε, δ) that it is known to keep where noise was made for that."""


@lru_cache(maxsize=256)
def _place_errors(tree: Tree, noise: Drawn, level: Fraction, miss: float) -> Floats:
    """In cells, for each prefix less a share of the total; weights are rounded up to a few steps."""
    weights = tree.prefix_weights(level)
    most = float(weights.max())
    steps = most * _STEP ** -np.arange(_STEPS)
    at = np.minimum(np.floor(-np.log(np.maximum(weights / most, 1e-9)) / math.log(_STEP)), _STEPS - 1).astype(int)
    at = np.where(steps[at] < weights, np.maximum(at - 1, 0), at)
    errors = np.array([noise_sum(noise, float(w), miss) + 1 for w in steps])
    return np.asarray(errors[at])


@lru_cache(maxsize=256)
def _tree(leaves: int, gaussian: bool) -> Tree:
    """The tree, of some equal branching and without a root, whose prefixes less half of the total are least noisy.

    With noise on h levels the variance of one node is h² times that of a single count, or h times for Gaussian noise.
    """
    trees = {Tree(leaves, branching, rooted=False) for branching in _roots(max(leaves, 2))}

    def variance(tree: Tree) -> float:
        return float(tree.prefix_weights(Fraction(1, 2)).mean()) * len(tree.levels) ** (1 if gaussian else 2)

    return min(trees, key=lambda tree: (variance(tree), tree.branching))


def _roots(leaves: int) -> list[int]:
    """The least b with b^k >= leaves, for k levels."""
    branchings = []
    for k in range(1, _MOST_LEVELS + 1):
        near = max(2, round(leaves ** (1 / k)) - 1)
        branchings.append(next(b for b in range(near, leaves + 1) if b**k >= leaves))
    return branchings


def tree_of(bins: Bins | QuantileCells, noise: Drawn | Noise) -> Tree:
    """The tree of counts over the bins, for this noise."""
    if isinstance(bins, QuantileCells):
        return cells_tree(most_cells(len(bins.levels)))
    return _tree(bins.bins, noise is Noise.GAUSSIAN or isinstance(noise, Gaussian))


def plan_noise(needs: tuple[Need, ...], allowance: Allowance, neighbours: Neighbours) -> NoisePlan:
    """The better of Laplace and Gaussian noise that the allowance can pay for."""
    chooses = any(isinstance(statistic, QuantileCells) for need in needs for statistic in need.statistics)
    ways = _ways(allowance, any(need.selects for need in needs), chooses)
    drafts = [_draft(needs, way, neighbours) for way in ways]
    best = drafts[0] if len(drafts) == 1 else min(drafts, key=lambda draft: badness(draft, needs))
    return _plan(best, allowance)


@dataclass(frozen=True, slots=True)
class Draft:
    """The noise of every statistic of every grouping set, not priced yet."""

    way: _Way
    sets: tuple[Mapping[Statistic, Noised], ...]
    selections: tuple[Selection | None, ...]
    apart: bool
    """Whether the numbers of units by which keys are selected have Gaussian noise, beside other noise."""


@dataclass(frozen=True, slots=True)
class _Way:
    """A noise with the budget for it, and the δ that is left for selecting keys."""

    noise: Noise
    budget: Pure | ZCDP | VectorBudget
    delta: Fraction
    apart: Fraction = Fraction(0)
    """With Laplace noise: a δ for Gaussian noise on the numbers of units by which keys are selected."""


def check_selects(allowance: Allowance) -> None:
    """Refuses to select keys without a delta."""
    if isinstance(allowance, Pure) or not allowance.delta:
        raise NotATheorem("undeclared groups cost delta, and this budget has none", message("delta_or_groups"))


def _ways(allowance: Allowance, selects: bool, chooses: bool = False) -> list[_Way]:
    """What the allowance can be spent on; ``chooses``: on choices too, which only ε and ρ pay for."""
    if selects:
        check_selects(allowance)
    match allowance:
        case Pure():
            return [_Way(Noise.LAPLACE, allowance, Fraction(0))]
        case ZCDP(rho=rho, delta=delta):
            return [_Way(Noise.GAUSSIAN, ZCDP(rho), delta)]
        case Approx(epsilon=epsilon, delta=delta):
            ways = [_Way(Noise.LAPLACE, Pure(epsilon), delta)]
            if delta:
                spread = delta * _TO_NOISE if selects else delta
                ways.append(_Way(Noise.GAUSSIAN, _gaussian(epsilon, spread, chooses), delta - spread))
            if selects:
                ways.append(_Way(Noise.LAPLACE, Pure(epsilon), delta * (1 - _TO_NOISE), delta * _TO_NOISE))
            return ways


@lru_cache(maxsize=256)
def _gaussian(epsilon: Fraction, delta: Fraction, chooses: bool = False) -> ZCDP | VectorBudget:
    """What Gaussian noise may use of an (ε, δ); for a few cells of noise ρ says more than the gap does."""
    promise = Approx(epsilon, delta)
    vectors = None if chooses else vector_budget(promise)
    return vectors if vectors is not None and vectors.mu_squared <= _WIDE else ZCDP(largest_zcdp(promise).rho)


def _draft(needs: tuple[Need, ...], way: _Way, neighbours: Neighbours) -> Draft:
    """The noise that one way buys."""
    shares = _shares([need.statistics for need in needs], 3 if way.noise is Noise.LAPLACE else 2)
    naming = sum((share[Units()] for need, share in zip(needs, shares, strict=True) if need.selects), Fraction(0))
    gaussian = _for_naming(way, naming)
    sets = []
    for need, share in zip(needs, shares, strict=True):
        noised_set = {}
        for statistic in need.statistics:
            noise, budget = way.noise, part(way.budget, share[statistic])
            if gaussian is not None and need.selects and statistic == Units():
                noise, budget = Noise.GAUSSIAN, part(gaussian, share[statistic] / naming)
            noised_set[statistic] = noised(statistic, need, noise, budget, neighbours)
        sets.append(noised_set)
    selecting = sum(need.selects for need in needs)
    by = way.noise if gaussian is None else Noise.GAUSSIAN
    selections = tuple(
        _selection(noised_set[Units()], need.caps, by, way.delta / selecting) if need.selects else None
        for need, noised_set in zip(needs, sets, strict=True)
    )
    return Draft(way, tuple(sets), selections, gaussian is not None)


def _plan(draft: Draft, allowance: Allowance) -> NoisePlan:
    """The noise with what all of it costs together."""
    sets, selections, noise = draft.sets, draft.selections, draft.way.noise
    drawn = [event for noised_set in sets for event in _events(noised_set)]
    event = events.Composed([*drawn, *(events.Threshold(0, s.delta) for s in selections if s is not None)])
    price: Event = event
    if isinstance(allowance, Approx) and (noise is Noise.GAUSSIAN or draft.apart):
        # the noise was made for a share of ε and of δ, and the keys cost at most the rest of δ
        price = events.Stated(event, allowance.epsilon, allowance.delta)
    return NoisePlan(noise=noise, sets=sets, selections=selections, event=event, price=price)


def _for_naming(way: _Way, share: Fraction) -> ZCDP | VectorBudget | None:
    """What Gaussian noise on the numbers of units may cost, if they alone get it: their share of ε, with a δ."""
    if not way.apart:
        return None
    assert isinstance(way.budget, Pure)  # noqa: S101
    return _gaussian(share * way.budget.epsilon, way.apart)


def _events(noised_set: Mapping[Statistic, Noised]) -> list[Event]:
    """One event for each statistic that is drawn; one for all parts of a range, which move together like one."""
    once = {paid_with(statistic): drawn.event for statistic, drawn in noised_set.items()}
    assert sum(map(paid_share, noised_set)) == len(once), "a noise is drawn that no event counts"  # noqa: S101
    return list(once.values())


def _shares(needs: list[Mapping[Statistic, float]], power: int) -> list[dict[Statistic, Fraction]]:
    """Shares that make the sum of importance · variance least: with variance ∝ 1/share^(power-1), share ∝ w^(1/power).

    They are multiples of 1/1024 or so that add up to 1 exactly, when what is paid for together counts once.
    """
    roots = [{paid: max(w, 1e-6) ** (1 / power) for paid, w in _together(need).items()} for need in needs]
    total = sum(sum(need.values()) for need in roots)
    whole = [{paid: max(1, round(_SHARES * r / total)) for paid, r in need.items()} for need in roots]
    divisor = sum(sum(need.values()) for need in whole)
    return [
        {s: Fraction(weights[paid_with(s)], divisor) for s in need} for need, weights in zip(needs, whole, strict=True)
    ]


def _together(need: Mapping[Statistic, float]) -> dict[Hashable, float]:
    weights: dict[Hashable, float] = {}
    for statistic, weight in need.items():
        weights[paid_with(statistic)] = weights.get(paid_with(statistic), 0.0) + weight
    return weights


def noised(
    statistic: Statistic, need: Need, noise: Noise, budget: Pure | ZCDP | VectorBudget, neighbours: Neighbours
) -> Noised:
    """The statistic with the noise that this budget buys; how far one unit moves it is worked out here."""
    caps, grouped, apart = need.caps, need.grouped, most_rows(statistic)
    if apart is not None:
        caps = replace(caps, max_rows=apart)
    if isinstance(statistic, Distinct):
        most = statistic.most or values_kept(caps, own=statistic.own, grouped=grouped)
        reach, l1, l2_squared = None, most, most * most
    elif isinstance(statistic, Rows) and statistic.clip is not None:
        reach = total_reach(statistic.clip)
        l1 = reach.weights.scale * reach.l1
        l2_squared = l1 * l1
    else:
        reach = (
            unit_reach(caps, noise, grouped=grouped)
            if isinstance(statistic, Units)
            else row_reach(caps, noise, grouped=grouped)
        )
        bound = statistic.bound if isinstance(statistic, Rows) else 1
        scale = reach.weights.scale
        l1, l2_squared = scale * reach.l1 * bound, scale**2 * reach.l2_squared * bound**2
    parts = isinstance(statistic, Rows) and len(statistic.beside) > 0
    if isinstance(statistic, Rows) and statistic.by_length and noise is not Noise.GAUSSIAN:
        raise NotATheorem("these parts of a range are bounded in length, which only Gaussian noise pays for")
    several = grouped or parts or isinstance(statistic, (Bins, QuantileCells))
    many, rows_move = _lengths(statistic, noise, neighbours, several=several), Moves(l1, l2_squared)
    l1, l2_squared = many.l1 * l1, many.l2_squared * l2_squared
    if noise is Noise.GAUSSIAN and not several:
        l1 = math.isqrt(l2_squared)  # one coordinate: ROWS and single units have whole lengths
    moves = Moves(l1, l2_squared)
    if isinstance(statistic, QuantileCells):
        assert not isinstance(budget, VectorBudget), "choices are charged in epsilon or rho"  # noqa: S101
        of_choices, rest = split(budget, statistic.levels)
        drawn = noise_for(rest, moves, 2)
        return Noised(statistic, reach, drawn, searches(statistic, of_choices, rows_move, drawn, neighbours))
    return Noised(statistic, reach, noise_for(budget, moves, 2 if several else 1))


def _lengths(statistic: Statistic, noise: Noise, neighbours: Neighbours, *, several: bool) -> Moves:
    """How many times further than the sums of one level of one unit's rows the statistic moves between neighbours."""
    levels = len(tree_of(statistic, noise).levels) if isinstance(statistic, Bins) else 1
    if neighbours is Neighbours.ADD_REMOVE:
        return Moves(levels, levels)
    if isinstance(statistic, Rows) and not statistic.one_sign:
        return Moves(2, 4)
    if not several:
        return Moves(1, 1)
    return Moves(2 * levels, 2 * levels)


# --- keys that nobody listed ------------------------------------------------------------------------------------------


def _selection(units: Noised, caps: Caps, noise: Noise, delta: Fraction) -> Selection:
    most = most_keys(caps, noise)
    threshold = _threshold(units.noise, units.scale, groups(caps), most, delta)
    return Selection(threshold=threshold, delta=delta, most_keys=most)


@lru_cache(maxsize=256)
def _threshold(drawn: Drawn, scale: int, cap: int, most: int, delta: Fraction) -> int:
    """A threshold, near the least, with t · P[w_t + Z >= T] <= δ for every number t of keys that a unit may have.

    w_t, the weight of a unit in each of its t keys, is ⌊S·√(cap/t)⌋ or ⌊S·cap/t⌋, and at most S. It falls with t, and
    the quantile at δ/t grows, so for t from a to b the sum of w_a and the quantile at δ/b is enough.
    """
    rooted = isinstance(drawn, Gaussian)
    threshold, first = 0, 1
    while first <= most:
        last = min(most, cap if first <= cap else first + first // 6)
        weight = scale if first <= cap else (math.isqrt(scale**2 * cap // first) if rooted else scale * cap // first)
        threshold = max(threshold, weight + _quantile(drawn, delta / last))
        first = last + 1
    return threshold


def _quantile(drawn: Drawn, miss: Fraction) -> int:
    """A certified a, near the least, with P[Z >= a] <= miss."""
    if isinstance(drawn, Gaussian):
        sigma = math.sqrt(drawn.sigma_squared)
        guess = sigma * (-_NORMAL.inv_cdf(float(miss)) if miss > Fraction(1, 10**300) else 40.0)
    else:
        sigma = float(drawn.scale)
        guess = sigma * (math.log(0.5) - math.log(miss.numerator) + math.log(miss.denominator))
    a = max(1, math.ceil(guess))
    while drawn.tail_up(a - 1) / 2 > miss:
        a += max(1, int(sigma * 1e-4))
    return a


# --- which is better --------------------------------------------------------------------------------------------------


def badness(plan: NoisePlan | Draft, needs: tuple[Need, ...]) -> float:
    """What is to be small: the squared errors weighted by importance, times the square of the largest threshold."""
    pairs = [
        (need, noised_set, s is not None) for need, noised_set, s in zip(needs, plan.sets, plan.selections, strict=True)
    ]
    errors = [
        weight * (predicted_error(noised_set[statistic]) / _size(statistic)) ** 2
        for need, noised_set, selects in pairs
        for statistic, weight in need.statistics.items()
        if not (selects and statistic == Units())
    ]
    thresholds = [
        s.threshold / noised_set[Units()].scale
        for s, noised_set in zip(plan.selections, plan.sets, strict=True)
        if s is not None
    ]
    return (sum(errors) or 1.0) * max(thresholds, default=1.0) ** 2


def predicted_error(noised: Noised) -> float:
    """The error at 95 %; of quantiles in rows, with half a cell of the widest stretch."""
    stretch = max((Fraction(s.shift, s.level.denominator) for s in noised.searches), default=Fraction(0))
    return noised.error(0.05) + float(stretch * noised.unit) / INNER


def _size(statistic: Statistic) -> float:
    return float(statistic.bound * statistic.step) if isinstance(statistic, Rows) else 1.0


def check_allowance(allowance: Allowance) -> Allowance:
    """An allowance that buys something."""
    name = "rho" if isinstance(allowance, ZCDP) else "epsilon"
    first = allowance.rho if isinstance(allowance, ZCDP) else allowance.epsilon
    if not LEAST <= first <= 1 / LEAST:
        raise BadParameter(name, first, "must lie between 1e-12 and 1e12; beyond, an answer is all noise or none")
    return allowance
