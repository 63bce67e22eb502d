"""Totals that agree: the closed form is the weighted least-squares fit, by exact algebra."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.arrays import Floats
from discreet.query.answer.least_squares import Totals, on_grid, whole_in_turn

ROLLUP = Totals((2, 3), ((0, 1), (0,), ()), (Fraction(4), Fraction(9), Fraction(1, 2)))
CUBE = Totals((2, 3), ((0, 1), (0,), (1,), ()), (Fraction(4), Fraction(9), Fraction(2), Fraction(1, 2)))
DEEP = Totals((2, 3, 2), ((0, 1, 2), (1, 2), (0,), (2,)), (Fraction(3), Fraction(1, 3), Fraction(5), Fraction(7, 2)))
ALL = pytest.mark.parametrize("totals", [ROLLUP, CUBE, DEEP], ids=["rollup", "cube", "deep"])
Row = list[Fraction]


def cells(totals: Totals, which: int) -> list[tuple[int, ...]]:
    return list(product(*(range(totals.sizes[i]) for i in totals.sets[which])))


def summing(totals: Totals, which: int) -> list[Row]:
    """The matrix that makes a grouping set of the finest table."""
    axes = totals.sets[which]
    return [
        [Fraction(int(tuple(cell[i] for i in axes) == group)) for cell in cells(totals, 0)]
        for group in cells(totals, which)
    ]


def solved(matrix: list[Row], right: list[Row]) -> list[Row]:
    """matrix⁻¹ right, by elimination, exactly."""
    rows = [[*a, *b] for a, b in zip(matrix, right, strict=True)]
    n = len(rows)
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i]:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[n:] for row in rows]


def times(a: list[Row], b: list[Row]) -> list[Row]:
    return [
        [sum((x * y for x, y in zip(row, col, strict=True)), Fraction(0)) for col in zip(*b, strict=True)] for row in a
    ]


def estimator(totals: Totals) -> list[list[Row]]:
    """For each grouping set, the matrix from its noisy numbers to the fitted finest table, by the normal equations."""
    n = len(cells(totals, 0))
    normal = [[Fraction(0)] * n for _ in range(n)]
    for which, v in enumerate(totals.variances):
        m = summing(totals, which)
        square = times([list(c) for c in zip(*m, strict=True)], m)
        normal = [[x + y / v for x, y in zip(a, b, strict=True)] for a, b in zip(normal, square, strict=True)]
    out = []
    for which, v in enumerate(totals.variances):
        m = summing(totals, which)
        out.append(solved(normal, [[x / v for x in c] for c in zip(*m, strict=True)]))
    return out


@ALL
def test_the_fit_solves_the_normal_equations(totals: Totals) -> None:
    noisy = [np.arange(len(cells(totals, i)), dtype=float) ** 2 - 7 * i for i in range(len(totals.sets))]
    fitted = totals.fit([y.reshape([totals.sizes[a] for a in s]) for y, s in zip(noisy, totals.sets, strict=True)])
    right = sum(
        np.array([[float(x) for x in row] for row in matrix]) @ y
        for matrix, y in zip(estimator(totals), noisy, strict=True)
    )
    assert np.allclose(fitted.reshape(-1), right, rtol=1e-12, atol=1e-12)


@ALL
def test_the_law_of_a_cell_is_that_of_the_estimator(totals: Totals) -> None:
    parts = estimator(totals)
    for which in range(len(totals.sets)):
        row = [times(summing(totals, which)[:1], part)[0] for part in parts]
        wanted = sorted((i, x) for i, some in enumerate(row) for x in some if x)
        found = sorted((t.set, t.coefficient) for t in totals.law(which) for _ in range(t.many))
        assert found == wanted


@ALL
def test_each_grouping_set_becomes_less_noisy(totals: Totals) -> None:
    for which, before in enumerate(totals.variances):
        assert totals.variance(which) < before


@ALL
def test_no_other_weights_are_better(totals: Totals) -> None:
    """The planted twin: a fit that takes all noises for alike is worse, and the variances tell."""
    alike = replace(totals, variances=(Fraction(1),) * len(totals.sets))
    for which in range(len(totals.sets)):
        blind = sum((t.many * t.coefficient**2 * totals.variances[t.set] for t in alike.law(which)), Fraction(0))
        assert totals.variance(which) < blind


@ALL
def test_a_fit_of_totals_that_agree_changes_nothing(totals: Totals) -> None:
    table = np.arange(float(np.prod(totals.sizes))).reshape(totals.sizes)
    again = totals.fit([totals.totals(table, i) for i in range(len(totals.sets))])
    assert np.allclose(again, table, rtol=1e-12, atol=1e-9)


def objective(totals: Totals, table: Floats, noisy: list[Floats]) -> float:
    return sum(
        float(((totals.totals(table, i) - y) ** 2).sum()) / float(v)
        for i, (y, v) in enumerate(zip(noisy, totals.variances, strict=True))
    )


@ALL
def test_between_is_inside_and_nearest(totals: Totals) -> None:
    noisy = [np.cos(7.0 * np.arange(len(cells(totals, i)))).reshape([totals.sizes[a] for a in s]) * 9
             for i, s in enumerate(totals.sets)]  # fmt: skip
    fitted = totals.fit(noisy)
    assert fitted.min() < 0
    found = totals.between(fitted, np.zeros_like(fitted), np.full_like(fitted, np.inf))
    assert found.min() >= 0
    best = objective(totals, found, noisy)
    for place in np.ndindex(*totals.sizes):  # no step along an axis that stays inside is downhill
        for step in (-0.05, 0.05):
            other = found.copy()
            other[place] = max(float(other[place]) + step, 0.0)
            assert objective(totals, other, noisy) >= best - 1e-2
    assert best < objective(totals, np.maximum(fitted, 0.0), noisy) + 1e-3  # plain clipping is no better


def test_values_on_the_grid_add_up_exactly_in_any_order() -> None:
    values = np.random.default_rng(5).normal(0, 1e6, 1000)
    found = on_grid(values)
    exact = sum(Fraction(x) for x in found.tolist())
    assert Fraction(float(found.sum())) == exact == Fraction(float(found[::-1].cumsum()[-1]))
    assert np.abs(found - values).max() < 1e-6
    assert Fraction(float(values.sum())) != sum(Fraction(x) for x in values.tolist())  # as they are, they do not


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_whole_numbers_in_turn_move_no_block_by_more_than_one(values: list[float]) -> None:
    whole = whole_in_turn(np.array(values))
    assert np.array_equal(whole, np.round(whole))
    assert whole.min() >= 0
    for first in range(len(values)):
        for last in range(first, len(values)):
            assert abs(whole[first : last + 1].sum() - sum(values[first : last + 1])) <= 1 + 1e-6
