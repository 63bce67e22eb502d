"""Noisy gradients in a whitened space: each row's move in integers, and what is learned."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.learning.models.rows import DenseRows, OneHotRows
from discreet.learning.models.whitened import (
    _Gradient,
    _Whitening,
    fit_whitened,
    integer_product,
    linear,
    logistic,
    probabilities,
)
from discreet.learning.unit_weights import unit_weights

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("with_units", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("kind", ["one-hot", "dense"])
def test_no_row_moves_a_gradient_further_than_stated(outputs: int, kind: str, with_units: bool) -> None:
    """For every row (or unit) and hostile weights, |M x| |r| in Python's integers is at most what noise is bought
    for.
    """
    each = np.arange(60) // 3 if with_units else np.arange(60)
    units = unit_weights(each if with_units else None, 60)
    if kind == "one-hot":
        rows = OneHotRows(RNG.integers(0, 4, (60, 3)), (4, 4, 4), units)
    else:
        rows = DenseRows.of(RNG.uniform(-1, 1, (60, 11)), 1.5, units)  # type: ignore[assignment]
    matrix = RNG.normal(size=(12, 12)) * 10.0 ** RNG.uniform(-3, 3, (12, 1))
    for descent in (logistic(100.0, outputs), linear(100.0, 1), linear(1e9, 1)):
        numbers = descent.guess is not probabilities
        if numbers and outputs > 1:
            continue
        gradient = _Gradient.of(
            rows, _Whitening(matrix, 0.5, 60.0), mu_squared=Fraction(1), outputs=outputs, descent=descent
        )
        for weights in (np.zeros((12, outputs)), RNG.normal(size=(12, outputs)) * 1e4):
            guess = descent.guess(rows.scores(gradient.back(weights)))
            for label in range(outputs + (outputs == 1)):
                target = np.full((60, 1), float(label)) if outputs == 1 else np.eye(outputs)[np.full(60, label)]
                off = np.clip((guess - target) / descent.reach, -1, 1)
                residual = np.trunc(off * gradient.weights[:, None] * 2.0**15)
                for unit in range(each[-1] + 1):
                    alone = np.where((each == unit)[:, None], residual, 0.0)
                    move = integer_product(gradient.matrix, rows.weighted_sum(alone)).ravel().tolist()
                    assert sum(int(m) ** 2 for m in move) <= gradient.moves_squared


def test_a_gradient_is_the_sum_of_what_rows_add() -> None:
    """With next to no noise: M Σ w x r, r cut to the reach."""
    rows = OneHotRows(RNG.integers(0, 4, (60, 3)), (4, 4, 4))
    gradient = _Gradient.of(
        rows, _Whitening(np.eye(12), 9.0, 60.0), mu_squared=Fraction(10**12), outputs=1, descent=linear(1e9, 1)
    )
    target = RNG.uniform(-1, 1, (60, 1))
    assert np.allclose(
        gradient.noisy(np.full((12, 1), 0.9), target, None),
        rows.weighted_sum(np.rint((1.0 - target) * 2.0**20)) / 2.0**20, atol=1e-2,
    )  # fmt: skip


def test_probabilities_lie_between_0_and_1() -> None:
    for scores in (np.array([[1e308], [-1e308], [0.0]]), np.array([[1e308, 0.0, -1e308]]), np.zeros((1, 5))):
        p = probabilities(scores)
        assert np.all((p >= 0) & (p <= 1))


def test_products_beyond_64_bits_are_exact() -> None:
    big = integer_product(np.array([[2.0**40]]), np.array([[1 << 50]]))
    assert int(big[0, 0]) == 1 << 90


def test_it_learns_a_direction() -> None:
    codes = RNG.integers(0, 4, (5000, 3))
    target = (codes[:, :1] >= 2).astype(float)
    fitted = fit_whitened(OneHotRows(codes, (4, 4, 4)), target, Fraction(1, 10))
    assert fitted.weights[:2].max() < fitted.weights[2:4].min()
    assert fitted.rows == pytest.approx(5000, rel=0.05)
    assert fitted.noise > 0
