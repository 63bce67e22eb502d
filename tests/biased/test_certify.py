"""The certifier: the published figures, brute force, fair bits, and planted twins."""

import math
import random
from fractions import Fraction
from itertools import pairwise

import pytest

from discreet.biased.certify import (
    LN2_UP,
    Pair,
    certify_laplace,
    depth_for,
    laplace_cdf,
    laplace_cell,
    largest_ratio,
)
from discreet.biased.cover import Boxes, holds
from discreet.errors import BadParameter
from tests.helpers.biased import frontier

# base epsilon, grid, gamma, epsilon' for inputs (0, 1) and outputs up to 10 / base epsilon
FIGURES = [
    ("0.1", 1, "0.1", 1.038),
    ("0.1", 1, "0.3", 3.041),
    ("0.01", 1, "0.1", 1.617),
    ("0.1", 10, "0.1", 0.2403),
    ("0.1", 10, "0.3", 0.7773),
    ("0.01", 100, "0.1", 0.0367),
]


@pytest.mark.slow
@pytest.mark.parametrize(("base", "grid", "gamma", "expected"), FIGURES)
def test_the_reference_figures(base: str, grid: int, gamma: str, expected: float) -> None:
    found = certify_laplace(base, grid, gamma, inputs=(0, 1), within=10 / Fraction(base))
    assert abs(found.lower / expected - 1) < 0.002
    assert abs(found.upper / expected - 1) < 0.002
    assert found.width < 1e-6
    everywhere = certify_laplace(base, grid, gamma, inputs=(0, 1))
    assert found.lower <= everywhere.upper  # more outputs, never less
    assert everywhere.lower <= certify_laplace(base, grid, gamma).upper  # more inputs, never less
    assert everywhere.upper / everywhere.lower < 1.01


# --- against brute force ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [2, 4, 6])
@pytest.mark.parametrize("gamma", ["0", "0.1", "0.6"])
def test_largest_ratio_against_all_sources(depth: int, gamma: str) -> None:
    rng = random.Random(depth)
    for _ in range(8):
        ends = sorted(rng.sample(range((1 << depth) + 1), 4))
        (a, b, c, d), n = ends, 1 << depth
        first, second = rng.choice([([(a, c)], [(b, d)]), ([(a, b), (c, d)], [(b, c)]), ([(b, c)], [(a, d)])])
        corners = frontier(indicator(first, n), indicator(second, n), Fraction(gamma))
        truth = max(math.log(p / q) for p, q in corners)
        found = largest_ratio(scaled(first, n), scaled(second, n), gamma)
        assert found.lower - 1e-12 <= max(truth, 0) <= found.upper + 1e-12
        assert found.width < 1e-6


def indicator(intervals: list[tuple[int, int]], n: int) -> list[int]:
    return [int(any(low <= r < high for low, high in intervals)) for r in range(n)]


def scaled(intervals: list[tuple[int, int]], n: int) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(low, n), Fraction(high, n)) for low, high in intervals]


def test_sets_that_share_nothing_and_sets_that_are_empty() -> None:
    assert largest_ratio([(0, "1/2")], [("1/2", "1/2")], "0.1").upper == math.inf
    with pytest.raises(BadParameter, match="empty"):
        largest_ratio([("1/2", "1/2")], [(0, 1)], "0.1")
    for bad in [(1, 0), (-1, 1), (0, 2)]:
        with pytest.raises(BadParameter, match="interval"):
            largest_ratio([bad], [(0, 1)], "0.1")


# --- against fair bits and against single pairs ---------------------------------------------------------------------


@pytest.mark.parametrize(("base", "grid"), [("0.1", 1), ("0.1", 10), ("1", 1), ("2", "1/2"), ("0.5", 7)])
def test_fair_bits_give_the_ordinary_epsilon(base: str, grid: str | int) -> None:
    """By its theorem, and by the cover, which knows nothing of it."""
    epsilon, width = Fraction(base), Fraction(base) * Fraction(grid)
    found = certify_laplace(base, grid, 0)
    assert found.lower <= epsilon <= found.upper
    assert found.width < 1e-15
    boxes = Boxes.spread(-epsilon - width - LN2_UP, LN2_UP, (epsilon, epsilon), 1000)
    assert holds(boxes, width, Fraction(0), epsilon * Fraction(105, 100)).holds
    assert not holds(boxes, width, Fraction(0), epsilon * Fraction(999, 1000)).holds


def single(q: Fraction, other: Fraction, z: int, *, base: Fraction, grid: Fraction, gamma: str) -> float:
    """Straight from the definition: the ratio for one output, by the generic certifier on outer and inner cells."""
    depth = depth_for(Fraction(gamma), base * (abs(z) * grid + abs(q) + abs(other) + grid))
    low, high = (z - Fraction(1, 2)) * grid, (z + Fraction(1, 2)) * grid
    cells = [laplace_cell(base * (low - x), base * (high - x), depth) for x in (q, other)]
    return float(Pair(cells[0], cells[1], depth).bound(Fraction(gamma), 14)[0])


@pytest.mark.slow
@pytest.mark.parametrize("gamma", ["0.05", "0.3"])
def test_no_pair_of_inputs_and_no_output_exceeds_the_certificate(gamma: str) -> None:
    rng = random.Random(11)
    base, grid = Fraction(1, 5), Fraction(6)
    top = certify_laplace(base, grid, gamma).upper
    seen = 0.0
    for _ in range(120):
        q = Fraction(rng.randint(-600, 600), 100)
        other = q + rng.choice([-1, 1]) * rng.choice([Fraction(1), Fraction(rng.randint(1, 100), 100)])
        seen = max(seen, single(q, other, rng.randint(-6, 6), base=base, grid=grid, gamma=gamma))
    assert seen <= top
    assert seen > 0.8 * top  # the search is not blind


@pytest.mark.slow
def test_more_bias_and_more_sensitivity_never_cost_less() -> None:
    costs = [certify_laplace("0.2", 5, gamma) for gamma in ("0", "0.02", "0.1", "0.4")]
    assert all(a.upper <= b.upper for a, b in pairwise(costs))
    steps = [certify_laplace("0.2", 5, "0.1", sensitivity=d) for d in ("0.5", 1, 2)]
    assert all(a.upper <= b.upper for a, b in pairwise(steps))


@pytest.mark.slow
def test_a_high_bias_is_still_certified() -> None:
    found = certify_laplace("0.1", 10, "0.8")
    assert 5 < found.lower <= found.upper < 5.3


@pytest.mark.slow
def test_inputs_may_be_moved_by_the_grid() -> None:
    here, there = (certify_laplace("0.2", 5, "0.1", inputs=(q, q + 1)) for q in (2, 5 * 10**12 + 2))
    assert here == there


def test_equal_inputs_cost_nothing() -> None:
    assert certify_laplace("0.1", 10, "0.3", inputs=(3, 3)).upper == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"base_epsilon": 0, "grid": 1, "gamma": "0.1"},
        {"base_epsilon": 1, "grid": 0, "gamma": "0.1"},
        {"base_epsilon": 1, "grid": 1, "gamma": 1},
        {"base_epsilon": 1, "grid": 1, "gamma": "-0.1"},
        {"base_epsilon": 1, "grid": 100, "gamma": "0.1"},
        {"base_epsilon": 1, "grid": 1, "gamma": "0.1", "within": 3},
        {"base_epsilon": 1, "grid": 1, "gamma": "0.1", "sensitivity": 0},
        {"base_epsilon": 1, "grid": 1, "gamma": "0.1", "sensitivity": 100},
        {"base_epsilon": 1, "grid": 1, "gamma": "0.1", "inputs": (0, 100)},
        {"base_epsilon": 1, "grid": 1, "gamma": "0.1", "inputs": (0, 1), "within": 10**6},
    ],
)
def test_bad_parameters_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(BadParameter):
        certify_laplace(**arguments)  # type: ignore[arg-type]


# --- the tails -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_tails_repeat_themselves() -> None:
    """Beyond the boxes everything is a copy: a shift by ln 2 halves all lengths in the tail."""
    gamma, width, moved = Fraction(1, 5), Fraction(1), Fraction(1, 10)

    def at(s: Fraction) -> Fraction:
        depth = depth_for(gamma, abs(s) + 2)
        cells = laplace_cell(s, s + width, depth), laplace_cell(s + moved, s + moved + width, depth)
        return Pair(*cells, depth).bound(gamma)[0]

    ln2 = Fraction(math.log(2))
    for s in (Fraction(-12, 10), Fraction(-17, 10), Fraction(1, 10)):
        away = -ln2 if s < 0 else ln2
        assert abs(at(s) - at(s + away)) < 1e-6
        assert abs(at(s) - at(s + 5 * away)) < 1e-6


@pytest.mark.parametrize("x", ["-3", "-1/3", "0", "1/7", "5"])
def test_the_distribution_function_is_enclosed(x: str) -> None:
    value = float(Fraction(x))
    truth = math.exp(value) / 2 if value < 0 else 1 - math.exp(-value) / 2
    low, high = laplace_cdf(Fraction(x), 60)
    assert low <= high <= low + 2
    assert abs(low / 2**60 - truth) < 1e-15


# --- planted twins: each claims too little, and a look at one pair shows it -------------------------------------------


def test_the_twin_that_narrows_where_it_must_widen_is_caught() -> None:
    depth, gamma = 8, Fraction(1, 10)
    cells = laplace_cell(Fraction(-1), Fraction(-1, 5), depth), laplace_cell(Fraction(-9, 10), Fraction(-1, 10), depth)
    good = Pair(*cells, depth)
    twin = Pair((cells[0][1], cells[0][0]), (cells[1][1], cells[1][0]), depth)
    fine = 96
    truth = Pair(
        laplace_cell(Fraction(-1), Fraction(-1, 5), fine), laplace_cell(Fraction(-9, 10), Fraction(-1, 10), fine), fine
    ).bound(gamma)[0]
    good_upper, twin_upper = good.bound(gamma)[1], twin.bound(gamma)[1]
    assert good_upper is not None
    assert twin_upper is not None
    assert good_upper >= truth > twin_upper


def test_the_twin_that_ignores_one_direction_is_caught() -> None:
    base, grid, gamma = Fraction(1, 5), Fraction(5), "0.2"
    one_way = max(single(Fraction(0), Fraction(1), z, base=base, grid=grid, gamma=gamma) for z in range(4))
    other_way = max(single(Fraction(1), Fraction(0), z, base=base, grid=grid, gamma=gamma) for z in range(4))
    both = certify_laplace(base, grid, gamma, inputs=(0, 1), within=15)
    assert abs(one_way - other_way) > 0.01
    assert both.upper >= max(one_way, other_way)


@pytest.mark.slow
def test_the_twin_that_knows_one_alignment_only_is_caught() -> None:
    """What holds for the inputs 0 and 1 does not hold for q and q + 1."""
    base, grid, gamma = Fraction(1, 5), Fraction(5), "0.2"
    aligned = certify_laplace(base, grid, gamma, inputs=(0, 1), within=15).upper
    others = max(
        single(Fraction(q), Fraction(q + 1), z, base=base, grid=grid, gamma=gamma)
        for q in range(5)
        for z in range(-2, 3)
    )
    assert others > aligned + 0.01
    assert others <= certify_laplace(base, grid, gamma).upper
