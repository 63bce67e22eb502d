"""Errors of weighted sums by their exact law, and intervals of ratios that hold every value that passes the test."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.estimate.inversion import Line, _laplace, _solved, combined_error, ratio
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.statistics import Rows
from discreet.query.plan.expressions import Column
from discreet.randomness import SystemBits


def noised(scale: int, kind: str = "Laplace") -> Noised:
    noise: Laplace | Gaussian = Laplace(Fraction(scale), 1) if kind == "Laplace" else Gaussian(Fraction(scale**2), 1)
    return Noised(Rows(Column("x"), 1, Fraction(1)), None, noise)


def tail(scales: list[float], t: float) -> float:
    """P[|Σ X_i| > t] for scales that differ, by mixing: X_i is the difference of two exponentials."""
    from mpmath import mp

    with mp.workdps(60):
        total = mp.mpf(0)
        for i, s in enumerate(scales):
            share = mp.mpf(1)
            for j, other in enumerate(scales):
                if i != j:
                    share *= mp.mpf(s) ** 2 / (mp.mpf(s) ** 2 - mp.mpf(other) ** 2)
            total += share * mp.exp(-mp.mpf(t) / mp.mpf(s))
        return float(total)


@pytest.mark.slow
@given(
    scales=st.lists(st.floats(0.01, 10), min_size=1, max_size=6, unique=True),
    miss=st.sampled_from([0.4, 0.05, 1e-3, 1e-7, 1e-12]),
)
def test_the_tail_at_the_error_is_the_miss_or_little_less(scales: list[float], miss: float) -> None:
    (t,) = _laplace(np.array(scales)[:, None], miss)
    apart = sorted(scales)
    if all(b / a > 1.0001 for a, b in pairwise(apart)):
        assert tail(scales, float(t)) <= miss * (1 + 1e-6)
    if miss >= 1e-7:
        longer = math.prod([1.02] * len(scales))
        assert tail([s * (1 + 1e-9 * i) for i, s in enumerate(scales)], float(t) * longer) <= miss


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.3), (0.2, 0.0), (-1.0, 0.98)])
@pytest.mark.parametrize("miss", [0.2, 0.05, 1e-4])
def test_it_agrees_with_the_law_of_the_sum(kind: str, weights: tuple[float, float], miss: float) -> None:
    one, two = noised(1000, kind), noised(1700, kind)
    shares = [Share(n, w, 1) for n, w in zip((one, two), weights, strict=True) if w]
    (found,) = combined_error([one, two], [np.array([w]) for w in weights], miss)
    assert sum_error(shares, miss) * 0.9999 <= found <= sum_error(shares, miss) * 1.025


def test_it_grows_with_each_weight() -> None:
    noises = [noised(1000), noised(1010), noised(5)]
    grid = [np.array(w) for w in np.meshgrid(*[np.linspace(-2, 2, 9)] * 3)]
    found = combined_error(noises, [g.reshape(-1) for g in grid], 0.05).reshape(grid[0].shape)
    for axis in range(3):
        upper = np.take(found, range(4, 9), axis=axis)
        assert (np.diff(upper, axis=axis) >= -1e-9 * upper.max()).all()


@pytest.mark.slow
@given(start=st.floats(-10, 10), slope=st.floats(-10, 10), error=st.floats(0, 5), at=st.floats(0, 1))
def test_what_passes_on_a_piece_is_found(start: float, slope: float, error: float, at: float) -> None:
    first, last = _solved(*(np.array([x]) for x in (start, slope, 2.0, 3.0, error)))
    theta = 2 + at
    if abs(start + slope * theta) <= error:
        assert first[0] - 1e-9 <= theta <= last[0] + 1e-9
    elif first[0] <= last[0]:
        assert 2 <= first[0] <= last[0] <= 3


@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
@pytest.mark.parametrize(("top", "bottom"), [(3000, 10_000), (-40_000, 50_000), (200, 1500), (0, 100_000)])
def test_intervals_of_ratios_hold_as_often_as_said(kind: str, top: int, bottom: int) -> None:
    """4,000 draws; a false alarm has probability below 1e-8. Planted twin: noise that is a fifth larger is found."""
    runs, noises = 4000, (noised(700, kind), noised(400, kind))
    lines, between = (Line(1.0, 0.0), Line(0.0, -1.0)), (-1.0, 1.0)
    drawn = [
        np.asarray(n.noise.draw(np.full(runs, v), SystemBits()), dtype=float)
        for n, v in zip(noises, (top, bottom), strict=True)
    ]
    low, high = ratio((drawn[0], drawn[1]), noises, lines, between, 0.05)
    missed = int(((top / bottom < low) | (top / bottom > high)).sum())
    assert missed <= binom.isf(1e-8, runs, 0.05)
    if bottom > 5000:
        assert missed >= binom.ppf(1e-8, runs, 0.04)
        more = [v + 0.35 * (d - v) for d, v in zip(drawn, (top, bottom), strict=True)]
        low, high = ratio((drawn[0] + more[0] - top, drawn[1] + more[1] - bottom), noises, lines, between, 0.05)
        assert int(((top / bottom < low) | (top / bottom > high)).sum()) > binom.isf(1e-8, runs, 0.05)


def test_numbers_that_cannot_be_say_nothing() -> None:
    noises = (noised(10), noised(10))
    low, high = ratio((np.array([1e6]), np.array([5.0])), noises, (Line(1.0, 0.0), Line(0.0, -1.0)), (-1.0, 2.0), 0.05)
    assert (low[0], high[0]) == (-1.0, 2.0)


def test_noise_beyond_its_bar_gives_the_interval_of_a_rarer_miss() -> None:
    """At an end of what is possible that happens to one release in forty, and all that is possible tells nothing."""
    noises, lines = (noised(1000), noised(1000)), (Line(1.0, 0.0), Line(0.0, -1.0))
    top, bottom = np.array([-5000.0, 0.0]), np.array([100_000.0, 100_000.0])  # five scales below the least possible
    low, high = ratio((top, bottom), noises, lines, (0.0, 1.0), 0.05)
    rarer = ratio((top, bottom), noises, lines, (0.0, 1.0), 0.05 / 1000)
    assert (low[0], high[0]) == (rarer[0][0], rarer[1][0])
    assert 0 < high[0] < 0.1
    assert high[1] < rarer[1][1]  # where there is something, nothing changes


@pytest.mark.parametrize(("squares", "normal"), [((1, 4), True), ((1, 1), True), ((Fraction(99, 100), 4), False),
                                                 ((4, Fraction(1, 2)), False)])  # fmt: skip
def test_the_normal_law_is_taken_for_deviations_of_a_cell_or_more(squares: tuple[Fraction, ...], normal: bool) -> None:
    """Below, discrete noise is only known to be sub-Gaussian; one such noise is enough."""
    noises = [Noised(Rows(Column("x"), 1, Fraction(1)), None, Gaussian(Fraction(one), 1)) for one in squares]
    (error,) = combined_error(noises, [np.array([3.0]), np.array([-2.0])], 0.05)
    deviation = math.sqrt(9 * squares[0] + 4 * squares[1])
    expected = deviation * 1.959963984540054 + 5 if normal else deviation * math.sqrt(2 * math.log(40))
    assert error == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("start", "slope", "found"),
    [
        (0.0, 0.0, (2.0, 5.0)),  # the same everywhere: all of the piece, or nothing
        (-1.0, 0.0, (2.0, 5.0)),
        (1.0 + 1e-8, 0.0, (math.inf, -math.inf)),
        (-1.5, 0.0, (math.inf, -math.inf)),
        (-3.0, 1.0, (2.0, 4.0)),
        (3.0, -1.0, (2.0, 4.0)),
        (-4.0, 1.0, (3.0, 5.0)),
        (-3.5, 1.0, (2.5, 4.5)),
        (-6.0, 1.0, (5.0, 5.0)),
        (-6.1, 1.0, (math.inf, -math.inf)),
        (-0.9, 1.0, (math.inf, -math.inf)),
        (-35.0, 10.0, (3.4, 3.6)),
    ],
)
def test_where_a_line_is_near_0_on_a_piece(start: float, slope: float, found: tuple[float, float]) -> None:
    """|start + slope θ| <= 1 for θ from 2 to 5."""
    one = [np.array([value]) for value in (start, slope, 2.0, 5.0, 1.0)]
    first, last = _solved(*one)
    assert (float(first[0]), float(last[0])) == pytest.approx(found)
