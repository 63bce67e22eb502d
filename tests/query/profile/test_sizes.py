"""What a cap cuts, from noisy sizes: near the truth, and within its interval as often as it says."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.query.profile.classes import STARTS
from discreet.query.profile.histogram import UnitHistogram
from discreet.query.profile.questions import About
from discreet.query.profile.sizes import UnitSizes


def histogram(sizes: NDArray[np.int64], scale: float, rng: np.random.Generator) -> UnitHistogram:
    places = np.searchsorted(STARTS, sizes, side="right") - 1
    counts = np.bincount(places, minlength=len(STARTS)) + rng.laplace(0, scale, len(STARTS))
    return UnitHistogram(About.ROWS, "", tuple(range(len(STARTS))), tuple(counts.tolist()), scale, gaussian=False)


KINDS: dict[str, Callable[[np.random.Generator], NDArray[np.int64]]] = {
    "light": lambda rng: rng.poisson(5, 20_000) + 1,
    "heavy": lambda rng: np.ceil(rng.lognormal(2, 1.3, 20_000)).astype(int),
    "one row": lambda rng: np.ones(20_000, dtype=int),
    "pareto": lambda rng: np.minimum(np.ceil(rng.pareto(1.5, 20_000) * 3 + 1), 60_000).astype(int),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_of_a_cut_holds(kind: str) -> None:
    """60 draws; a 95 % interval that misses more than 16 of them has a chance of less than 1e-6."""
    rng = np.random.default_rng(3)
    sizes = KINDS[kind](rng)
    missed = 0
    for _ in range(60):
        found = UnitSizes(histogram(sizes, 20.0, rng))
        cut = found.cut(12)
        near = sizes[sizes <= cut.reach]
        truth = np.maximum(near - 12, 0).sum() / near.sum()
        missed += not cut.low <= truth <= cut.high
    assert missed <= 16
    assert abs(cut.share - truth) < 0.1


@pytest.mark.slow
def test_a_cut_that_forgets_the_noise_is_caught() -> None:
    """The planted twin: an interval without noise misses nearly always."""
    rng = np.random.default_rng(3)
    sizes = KINDS["heavy"](rng)
    missed = 0
    for _ in range(60):
        noisy = histogram(sizes, 400.0, rng)
        forgetful = UnitHistogram(noisy.about, "", noisy.labels, noisy.counts, 1e-9, gaussian=False)
        cut = UnitSizes(forgetful).cut(12)
        near = sizes[sizes <= cut.reach]
        missed += not cut.low <= np.maximum(near - 12, 0).sum() / near.sum() <= cut.high
    assert missed > 16


def test_more_units_may_be_beyond_the_reach_than_are() -> None:
    rng = np.random.default_rng(3)
    sizes = np.concatenate([KINDS["light"](rng), [50_000]])
    cut = UnitSizes(histogram(sizes, 20.0, rng)).cut(12)
    assert cut.reach < 1000
    assert cut.beyond >= 1
    assert f"at most {cut.beyond} units have more" in str(cut)


def test_units_that_are_alike_stand_out_of_noise_that_hides_them_among_all_classes() -> None:
    """3,000 units of 3 rows; the noise of one class has a scale of 70, that of all a deviation of 550: 1e-6 is far."""
    rng = np.random.default_rng(3)
    found = UnitSizes(histogram(np.full(3000, 3), 70.0, rng))
    assert found.reach == 3
    low, high = found.rows_between()
    assert low <= 9000 <= high < 11000
    assert found.kept(3) >= 0.75 * found.kept(1 << 40), "and a larger cap would keep little more"


def test_a_cap_that_no_unit_reaches_cuts_nothing_and_hidden_units_are_spoken_of() -> None:
    """The noise of all classes together has a deviation of about 150: beside 5,000 units little, beside 300 much."""
    rng = np.random.default_rng(3)
    ones = UnitSizes(histogram(np.ones(5000, dtype=int), 20.0, rng)).cut(1)
    assert (ones.share, ones.low, ones.high) == (0, 0, 0)
    assert "of units with up to 1 row, a cap of 1 row cuts nothing; at most" in str(ones)
    assert "most of the table" not in str(ones)
    few = UnitSizes(histogram(np.ones(300, dtype=int), 20.0, rng)).cut(1)
    assert few.beyond > 100
    assert "they may hold most of the table" in str(few)


def test_nothing_stands_out_of_an_empty_table() -> None:
    rng = np.random.default_rng(3)
    found = UnitSizes(histogram(np.array([], dtype=int), 20.0, rng))
    assert found.empty
    assert found.reach == 1
    assert not UnitSizes(histogram(np.ones(5000, dtype=int), 20.0, rng)).empty
