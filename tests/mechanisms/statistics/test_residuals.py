"""Residuals: differences of noisy tables, their exact laws on small tables, and the certified price."""

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.residuals import (
    differences,
    interaction,
    kept_share,
    noisy_differences,
    residual_moves,
    residual_rho,
)
from discreet.randomness import SystemBits

ONE = Moves(1, 1)
ORDERS = (1.0001, 1.01, 1.5, 2.0, 4.0, 8.0)


def law(sizes: tuple[int, ...], sigma_squared: float) -> dict[tuple[int, ...], float]:
    """The exact law of the differences of noise, cell by cell; what is left out is below 1e-30."""
    reach = int(12 * sigma_squared**0.5) + 2
    chances = {z: exp(-z * z / (2 * sigma_squared)) for z in range(-reach, reach + 1)}
    total = sum(chances.values())
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for cell in np.ndindex(*sizes):
        moved = differences_of(sizes, cell)
        added: dict[tuple[int, ...], float] = {}
        for (at, p), (z, weight) in product(found.items(), chances.items()):
            if p * weight > 1e-32:
                where = tuple(z * m + (at[i] if at else 0) for i, m in enumerate(moved))
                added[where] = added.get(where, 0.0) + p * weight / total
        found = added
    return found


def differences_of(sizes: tuple[int, ...], cell: tuple[int, ...]) -> list[int]:
    table = np.zeros(sizes, dtype=np.int64)
    table[cell] = 1
    return [int(v) for v in differences(table).ravel()]


def divergence(chances: dict[tuple[int, ...], float], moved: list[int], order: float) -> float:
    """D_α between the law shifted by a cell and the law."""
    pairs = ((p, chances.get(tuple(a + m for a, m in zip(at, moved, strict=True)), 0.0)) for at, p in chances.items())
    both = ((log(p), log(q)) for p, q in pairs if q > 0 and p > 0)
    return log(sum(exp(order * p + (1 - order) * q) for p, q in both)) / (order - 1)


@pytest.mark.parametrize(
    ("sizes", "sigma_squared"),
    [((2,), 3), ((2,), Fraction(1, 10)), ((3,), 4), ((2, 2), 6), ((2, 2), 1), ((2, 2, 2), 12)],
)
def test_no_order_of_divergence_is_above_the_certified_price(sizes: tuple[int, ...], sigma_squared: Fraction) -> None:
    chances = law(sizes, float(sigma_squared))
    price = float(residual_rho(sizes, ONE, Fraction(sigma_squared)))
    for cell in np.ndindex(*sizes):
        moved = differences_of(sizes, cell)
        worst = max(divergence(chances, moved, order) / order for order in ORDERS)
        assert worst <= price * (1 + 1e-6)
        if sigma_squared >= 3:  # and not far below: a price of half as much is refuted
            assert worst > 0.9 * price


def test_the_price_without_the_correction_is_refuted_where_noise_is_tiny() -> None:
    """The planted twin: the continuous formula on the lattice."""
    tiny = Fraction(1, 10)
    chances = law((2,), float(tiny))
    worst = max(divergence(chances, differences_of((2,), (0,)), order) / order for order in ORDERS)
    assert worst > 1.05 * float(residual_moves((2,), ONE) / (2 * tiny))


def test_all_moves_of_one_or_two_rows_are_within_the_bound() -> None:
    for sizes in ((2,), (3,), (2, 3), (3, 4), (2, 2, 3)):
        cells = [interaction(differences(_cell(sizes, cell))) for cell in np.ndindex(*sizes)]
        assert max(float((c**2).sum()) for c in cells) == pytest.approx(float(kept_share(sizes)))
        for a, b in product(cells, cells):
            assert float(((a + b) ** 2).sum()) <= float(residual_moves(sizes, Moves(2, 4))) + 1e-9
            assert float(((a - b) ** 2).sum()) <= float(residual_moves(sizes, Moves(2, 2))) + 1e-9
    assert residual_moves((1, 5), ONE) == 0


def _cell(sizes: tuple[int, ...], cell: tuple[int, ...]) -> NDArray[np.int64]:
    table = np.zeros(sizes, dtype=np.int64)
    table[cell] = 1
    return table


def test_the_interaction_is_the_projection() -> None:
    table = np.random.default_rng(3).integers(-(10**6), 10**6, size=(3, 4, 2))
    dense = np.ones((1, 1))
    for n in table.shape:
        dense = np.kron(dense, np.eye(n) - 1 / n)
    assert np.allclose(interaction(differences(table)).ravel(), dense @ table.ravel())
    assert np.allclose(interaction(differences(np.array(7))), 7)


def test_nothing_of_what_is_not_released_can_be_seen() -> None:
    """Tables that differ by sums along an axis have the same differences, so the same law."""
    table = np.random.default_rng(4).integers(0, 100, size=(3, 5))
    other = table + np.arange(5) * 2**40 + np.arange(3)[:, None] * 10**9
    assert (differences(table) == differences(other)).all()


def test_noise_is_on_every_cell() -> None:
    """The variance of 20,000 differences of four cells is 4 σ² = 400; off by 10 % with probability below 1e-9."""
    tables = [np.zeros((2, 2), dtype=np.int64)] * 20_000
    drawn = np.concatenate([d.ravel() for d in noisy_differences(tables, Fraction(100), SystemBits())])
    assert drawn.shape == (20_000,)
    assert 360 < drawn.var() < 440


def test_the_price_never_rises_with_noise_and_never_exceeds_that_of_the_cells() -> None:
    for sizes in ((2,), (50, 50), (3, 3, 3), (101, 7)):
        prices = [residual_rho(sizes, ONE, Fraction(s)) for s in (1, 4, 30, 100, 1000, 10**6)]
        assert prices == sorted(prices, reverse=True)
        assert all(p <= Fraction(1, 2 * s) for p, s in zip(prices, (1, 4, 30, 100, 1000, 10**6), strict=True))
        assert prices[-1] < kept_share(sizes) / (2 * 10**6) * (1 + Fraction(1, 10**6))
