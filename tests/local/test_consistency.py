"""The nearest shares: checked by the conditions that characterise the projection, and against all points of a grid."""

from itertools import product

import numpy as np
import pytest

from discreet.local.consistency import on_simplex


@pytest.mark.parametrize("seed", range(20))
def test_the_conditions_of_the_nearest_point(seed: int) -> None:
    """Positive shares are all lowered by one number, and no other one would be positive after it."""
    values = np.random.default_rng(seed).normal(0.2, 0.5, 2 + seed % 7)
    found = on_simplex(values)
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    lowered = (values - found)[found > 0]
    assert lowered == pytest.approx(lowered[0])
    assert (values[found == 0] <= lowered[0] + 1e-12).all()


def test_no_point_of_a_grid_is_nearer() -> None:
    values = np.array([0.9, 0.4, -0.3])
    best = ((values - on_simplex(values)) ** 2).sum()
    for a, b in product(range(51), repeat=2):
        if a + b <= 50:
            point = np.array([a, b, 50 - a - b]) / 50
            assert ((values - point) ** 2).sum() >= best - 1e-12


def test_shares_that_make_sense_stay_as_they_are() -> None:
    assert on_simplex(np.array([0.5, 0.3, 0.2])) == pytest.approx([0.5, 0.3, 0.2])
    assert on_simplex(np.array([-5.0, -7.0])).tolist() == [1.0, 0.0]
