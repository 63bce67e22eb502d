"""Units that the noise of a profile hides: guessed near their number, and every guess is a distribution of units."""

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.query.profile.classes import STARTS
from discreet.query.profile.sizes import UnitSizes
from discreet.query.profile.tails import tails
from tests.query.profile.test_sizes import KINDS, histogram

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("kind", ["heavy", "pareto", "light"])
def test_rows_beyond_the_last_known_class_are_guessed(kind: str) -> None:
    """The seed is fixed: nothing here is left to chance."""
    sizes = KINDS[kind](np.random.default_rng(3))
    noisy = histogram(sizes, 10.0, np.random.default_rng(5))
    last = UnitSizes(noisy)._last
    found = tails(noisy, last)
    truth = sizes[sizes >= STARTS[last + 1]].sum()
    guess = found.middle(found.units @ found.sizes)
    assert abs(guess - truth) < 0.06 * sizes.sum()


@pytest.mark.parametrize("sizes", [np.ones(5000, int), np.full(5000, 3), np.array([], int), KINDS["pareto"](RNG)])
@pytest.mark.parametrize("last", [0, 5, len(STARTS) - 1])
def test_a_guess_is_a_distribution_of_units(sizes: NDArray[np.int64], last: int) -> None:
    found = tails(histogram(sizes, 20.0, np.random.default_rng(7)), last)
    assert found.weights.sum() == pytest.approx(1)
    assert found.units.shape == (len(found.weights), len(STARTS) - 1 - last)
    assert len(found.sizes) == len(STARTS) - 1 - last
    assert (found.units >= 0).all()
    assert np.isfinite(found.units).all()


def test_a_middle_and_a_mean() -> None:
    found = tails(histogram(np.ones(5000, int), 20.0, np.random.default_rng(7)), 0)
    some: Floats = np.arange(len(found.weights), dtype=float)
    place = int(found.middle(some))
    assert found.weights[:place].sum() < 0.5 <= found.weights[: place + 1].sum()
    assert found.mean_by_ratio(np.full(len(some), 3.0)) == pytest.approx(3)
