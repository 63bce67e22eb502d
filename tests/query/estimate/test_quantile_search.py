"""Quantiles that are searched for: exact laws of the choices against the price, and the cells around them."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, log
from typing import Any

import numpy as np
import pytest

from discreet.mechanisms.statistics.budget import Moves, noise_for
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.noise_plan import Need, plan_noise, tree_of
from discreet.query.estimate.quantile_search import (
    CELLS,
    Search,
    edges,
    is_better,
    most_cells,
    searches,
    share,
    split,
)
from discreet.query.estimate.statistics import Bins, QuantileCells
from discreet.query.lower.bounding import Noise
from discreet.query.plan.expressions import Column
from discreet.query.plan.schema import Caps
from discreet.randomness import SystemBits

LEVELS = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)]
WEIGHT = 2
"""How much one unit weighs in all groups together."""
CONTRIBUTIONS = [[np.array(v[:3]), np.array(v[3:])] for v in product(range(WEIGHT + 1), repeat=6) if sum(v) <= WEIGHT]
OTHERS = [[np.array([1, 0, 2]), np.array([0, 0, 0])], [np.array([0, 3, 0]), np.array([2, 1, 1])]]


def bins(many: int) -> Bins:
    return Bins(Column("x"), many, Fraction(0), Fraction(1), True)


def planned(level: Fraction, budget: Pure | ZCDP, neighbours: Neighbours) -> Search:
    reach = Moves(WEIGHT, WEIGHT**2)
    cells = QuantileCells(bins(3), (level,))
    return searches(cells, budget, reach, noise_for(Pure(1), reach, 2), neighbours)[0]


@cache
def law(found: Search, counts: tuple[int, ...]) -> dict[int, tuple[Fraction, Fraction]]:
    return found.choice.law(found.scores(np.array(counts), -found.shift))


def losses(found: Search, first: list[np.ndarray], second: list[np.ndarray]) -> list[list[tuple[float, float]]]:
    """For each group, (probability, log of the ratio) of each bin."""
    out = []
    for one, other in zip(first, second, strict=True):
        p, q = (law(found, tuple(counts.tolist())) for counts in (one, other))
        out.append([(float(p[i][0]), log(p[i][0] / q[i][1])) for i in p])
    return out


def pairs(neighbours: Neighbours) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    nobody = CONTRIBUTIONS[:1]
    found = []
    for base in OTHERS:
        for one, other in product(
            CONTRIBUTIONS, nobody if neighbours is Neighbours.ADD_REMOVE else CONTRIBUTIONS[::14]
        ):
            sides = [[a + b for a, b in zip(base, unit, strict=True)] for unit in (one, other)]
            found += [(sides[0], sides[1]), (sides[1], sides[0])]
    return found


def worst(found: Search, neighbours: Neighbours, *, pure: bool) -> float:
    """The largest loss over both groups, or (for ρ) the largest D_2 / 2, from below."""
    largest = 0.0
    for first, second in pairs(neighbours):
        each = losses(found, first, second)
        if pure:
            largest = max(largest, sum(max(loss for _, loss in group) for group in each))
        else:
            largest = max(largest, sum(log(sum(p * exp(loss) for p, loss in group)) for group in each) / 2)
    return largest


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("level", LEVELS)
def test_choices_in_all_groups_cost_what_they_say(level: Fraction, neighbours: Neighbours) -> None:
    for budget, pure, claimed in ((Pure(1), True, 1.0), (ZCDP(Fraction(1, 8)), False, 1 / 8)):
        found = planned(level, budget, neighbours)
        largest = worst(found, neighbours, pure=pure)
        assert claimed / 8 < largest <= claimed * (1 + 1e-9), "near the price, and not above it"


def farthest(found: Search, neighbours: Neighbours) -> tuple[int, int]:
    """The largest sums over two groups of how far scores move, and of their squares, over crowded groups too."""
    crowds = [[9, 0, 9], [0, 9, 0], [9, 9, 9], [1, 0, 0]]
    units = [v for v in product(range(WEIGHT + 1), repeat=3) if sum(v) <= WEIGHT]
    longest: dict[tuple[int, int], int] = {}  # by what the unit weighs in the group before and after
    for crowd, one, other in product(crowds, units, units):
        before, after = (found.scores(np.array(crowd) + np.array(v), -found.shift) for v in (one, other))
        weights = sum(one), sum(other)
        longest[weights] = max(longest.get(weights, 0), int(abs(np.array(before) - np.array(after)).max()))
    there = range(WEIGHT + 1)
    whole = [0] if neighbours is Neighbours.ADD_REMOVE else there
    moves = [(longest[a, c], longest[b, d]) for a, b in product(there, there) if a + b <= WEIGHT
             for c, d in product(whole, whole) if c + d <= WEIGHT]  # fmt: skip
    return max(x + y for x, y in moves), max(x * x + y * y for x, y in moves)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("level", LEVELS)
def test_a_unit_that_leaves_a_group_and_comes_to_another_moves_scores_no_farther(
    level: Fraction, neighbours: Neighbours
) -> None:
    """Σ 2 r Δ_g <= ε and Σ (2 r Δ_g)² / 8 <= ρ: levels other than 1/2 move by more than b in all."""
    pure, concentrated = (planned(level, budget, neighbours) for budget in (Pure(1), ZCDP(Fraction(1, 8))))
    farthest_l1, _ = farthest(pure, neighbours)
    _, farthest_squared = farthest(concentrated, neighbours)
    assert Fraction(2, 3) < 2 * pure.choice.rate * farthest_l1 <= 1
    assert Fraction(1, 20) < concentrated.choice.rate**2 * farthest_squared / 2 <= Fraction(1, 8)


@pytest.mark.parametrize("pure", [True, False])
def test_a_rate_that_is_too_large_is_seen(pure: bool) -> None:
    budget = Pure(1) if pure else ZCDP(Fraction(1, 8))
    claimed, right = (1.0, 2) if pure else (1 / 8, 4)
    found = planned(Fraction(1, 2), budget, Neighbours.ADD_REMOVE)
    wrong = Search(type(found.choice)(Fraction(1), right * found.choice.rate), found.level, found.shift, found.event)
    assert worst(wrong, Neighbours.ADD_REMOVE, pure=pure) > claimed


def test_scores_of_huge_numbers_are_those_of_small_ones() -> None:
    found = planned(Fraction(1, 4), Pure(1), Neighbours.ADD_REMOVE)
    small = np.array([3, 0, 9, 1])
    huge = found.scores(small << 58, -4)
    assert isinstance(huge, tuple)
    assert [int(s) for s in huge] == [
        -max(4 * below - (13 << 58) + 4, (13 << 58) - 4 - 4 * up, 0)
        for below, up in ((0, 3 << 58), (3 << 58, 3 << 58), (3 << 58, 12 << 58), (12 << 58, 13 << 58))
    ]
    few = found.scores(small, -4)
    assert isinstance(few, np.ndarray)
    assert few.tolist() == [0, -3, -3, -39]


def test_cells_cover_all_bins_once() -> None:
    for many in (15, 100, 4096):
        for first, last in ((0, 0), (0, many - 1), (many - 1, many - 1), (3, 9), (many // 3, many // 2)):
            borders = edges([(first, last)], many).tolist()
            assert (borders[0], borders[-1]) == (0, many)
            assert borders == sorted(set(borders))
            assert len(borders) - 1 <= CELLS
            assert {first, last + 1} <= set(borders)
            several = edges([(first, last), (2, 2), (many // 2, many - 3)], many).tolist()
            assert set(borders) <= set(several)
            assert several == sorted(set(several))
            assert len(several) - 1 <= most_cells(3)


def better(many: int, levels: tuple[Fraction, ...], noise: Noise) -> bool:
    return is_better(many, levels, tree_of(bins(many), noise), gaussian=noise is Noise.GAUSSIAN)


def test_a_search_is_for_many_bins_and_quantiles_inside() -> None:
    half = Fraction(1, 2)

    for noise in Noise:
        assert better(4096, (half,), noise)
        assert not better(20, (half,), noise)
        assert not better(4096, (Fraction(0),), noise)
        assert not better(4096, (Fraction(1, 1009), half), noise)


def test_a_few_quantiles_are_searched_for_and_many_are_not() -> None:
    """Cells around each make all the others noisier, and a tree has room for all of them."""
    for noise in Noise:
        found = [better(4096, tuple(Fraction(i, k + 1) for i in range(1, k + 1)), noise) for k in range(1, 13)]
        assert found[:3] == [True] * 3
        assert found == sorted(found, reverse=True), "from some number on it is always the tree"
        assert not found[-1]


def test_more_choices_have_a_larger_share_of_the_price_and_never_most_of_it() -> None:
    levels = tuple(Fraction(i, 10) for i in range(1, 10))
    for gaussian in (False, True):
        shares = [share(levels[:k], gaussian=gaussian) for k in range(1, 10)]
        assert all(Fraction(1, 10) <= s < Fraction(1, 2) for s in shares)
    assert share(levels, gaussian=False) > share(levels[4:5], gaussian=False)


@pytest.mark.parametrize("allowance", [Pure(2), ZCDP(Fraction(1, 2)), Approx(1, Fraction(1, 10**6))])
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("levels", [(Fraction(1, 2),), (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))])
def test_the_price_is_all_of_the_budget_and_no_more(
    allowance: Pure | ZCDP | Approx, neighbours: Neighbours, levels: tuple[Fraction, ...]
) -> None:
    cells = QuantileCells(bins(4096), levels)
    need = Need(caps=Caps(max_rows=3, max_groups=2), statistics={cells: 1.0}, grouped=True, selects=False)
    plan = plan_noise((need,), allowance, neighbours)
    if isinstance(allowance, ZCDP):
        assert price_zcdp(plan.price).rho == allowance.rho
    else:
        assert price_basic(plan.price).epsilon == allowance.epsilon
        assert price_basic(plan.price).delta <= (allowance.delta if isinstance(allowance, Approx) else 0)
    one = plan.sets[0][cells]
    assert [search.level for search in one.searches] == list(levels)
    assert isinstance(one.event, events.Composed)
    assert one.event.events == (*(search.event for search in one.searches for _ in range(2)), one.noise.event)


def test_the_parts_of_a_budget() -> None:
    for many in (1, 2, 5):
        one, rest = split(Pure(1), tuple(Fraction(i, 6) for i in range(1, many + 1)))
        assert isinstance(one, Pure)
        assert isinstance(rest, Pure)
        assert 2 * many * one.epsilon + rest.epsilon == 1


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("levels", [(Fraction(1, 2),), (Fraction(1, 4), Fraction(1, 2))])
def test_cells_that_are_no_fewer_than_the_bins_are_never_better(levels: tuple[Fraction, ...], gaussian: bool) -> None:
    """However bad the tree is."""
    tree = tree_of(bins(4096), Noise.GAUSSIAN if gaussian else Noise.LAPLACE)
    most = most_cells(len(levels))
    assert most == 13 * len(levels) + 1
    assert [is_better(many, levels, tree, gaussian=gaussian) for many in (most, most + 1)] == [False, True]


@pytest.mark.parametrize(
    ("level", "searched"),
    [("1/1000", True), ("1/1001", False), ("0", False), ("1", False), ("999/1000", True)],
)
def test_levels_are_inside_and_not_too_fine(level: str, searched: bool) -> None:
    tree = tree_of(bins(4096), Noise.LAPLACE)
    assert is_better(4096, (Fraction(level),), tree, gaussian=False) is searched


class Best:
    """Stands for a choice without noise."""

    @staticmethod
    def draw(scores: Any, _: object) -> int:
        return int(np.argmax(scores))


@pytest.mark.parametrize(("shift", "stretch"), [(15, (1, 2)), (0, (1, 1)), (39, (0, 3)), (5, (1, 2))])
def test_a_stretch_reaches_as_far_on_either_side(shift: int, stretch: tuple[int, int]) -> None:
    """Half of 40 rows are 20: with a shift of 15 halves, the ends lie where 12.5 and 27.5 rows are below."""
    choice: Any = Best()
    found = Search(choice, Fraction(1, 2), shift, events.Pure(1))
    assert found.stretch(np.array([10, 10, 10, 10]), SystemBits()) == stretch
