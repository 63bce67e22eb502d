"""Groups that agree with a total: multiplied by one factor, with an interval that holds whatever is cut of each."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.query.estimate.estimators import Estimate, Estimates, Plain
from discreet.query.estimate.statistics import ONE, Rows
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.predict import Known
from discreet.query.profile.questions import About
from discreet.query.profile.rescale import (
    Compositions,
    Rescaled,
    Wider,
    bounded_cut,
    can_rescale,
    compositions,
    expected_error,
    moved,
)
from discreet.query.profile.sizes import UnitSizes
from tests.query.profile.test_sizes import histogram

COUNT = Rows(ONE, 1, 1)  # type: ignore[arg-type]
PLAIN = Plain(COUNT, is_whole=True)
RNG = np.random.default_rng(4)


def noisy(values: list[float], error: float) -> Estimates:
    return {COUNT: Estimate(np.array(values), lambda _: error)}


ONES = UnitSizes(histogram(np.full(1000, 8), 0.01, np.random.default_rng(1)))
"""Units with 8 rows each, hardly any noise: a cap of 8 cuts nothing of units within the reach."""


def rescaled(factor: float, wide: list[float], error: float, cap: int = 4, sizes: UnitSizes = ONES) -> Rescaled:
    """Groups counted with a cap of 4, and once more with a cap as large as units are."""
    return Rescaled(PLAIN, factor, cap / sizes.reach, Wider(PLAIN, noisy(wide, error), sizes.reach, sizes, 1.0))


def test_values_are_multiplied_and_the_interval_is_what_holds_whatever_is_cut() -> None:
    """From what counts, or what the larger cap has surely, to what that has at most."""
    found = rescaled(1.5, [150.0, 15.0], 30.0)
    estimates = noisy([100.0, 10.0], 5.0)
    assert found.value(estimates).tolist() == [150.0, 15.0]
    low, high = found.ends(estimates, 0.05)
    assert low.tolist() == [120.0, 5.0]
    assert high.tolist() == [180.0, pytest.approx(15.0 * ONES.reach / 4)]


def test_a_group_that_was_cut_unlike_the_others_is_moved_to_what_the_larger_cap_says() -> None:
    """Nine groups that are not cut at all and one that is cut by much: the common factor is wrong for each."""
    kept, every = np.full(10, 100.0), np.array([*[100.0] * 9, 1000.0])
    factor = float(every.sum() / kept.sum())
    found = rescaled(factor, every.tolist(), 30.0, sizes=UnitSizes(histogram(np.full(1000, 90), 0.01, RNG)))
    values, (low, high) = found.value(noisy(kept.tolist(), 5.0)), found.ends(noisy(kept.tolist(), 5.0), 0.05)
    assert np.all((low <= every) & (every <= high))
    assert np.all(np.abs(values / every - 1) < 0.35)
    assert abs(kept[-1] * factor / every[-1] - 1) > 0.5  # what one factor for all would say
    assert high[-1] > kept[-1] * factor**2  # beyond the square of the factor, where intervals ended before


def test_a_group_that_lies_below_zero_has_an_interval_around_it() -> None:
    low, high = rescaled(2.0, [-3.0], 5.0).ends(noisy([-10.0], 5.0), 0.05)
    assert low[0] <= -20.0 < 0 <= high[0]


def test_noise_beyond_its_bar_leaves_no_point_that_looks_certain() -> None:
    """What counts and what the larger cap has contradict each other: the interval is all between them."""
    low, high = rescaled(1.0, [10.0], 5.0).ends(noisy([100.0], 5.0), 0.05)
    assert low[0] <= 15.0
    assert high[0] >= 95.0


def test_sums_below_zero_are_the_mirror_image() -> None:
    up, down = rescaled(1.5, [150.0], 30.0), replace(rescaled(1.5, [-150.0], 30.0), sign=-1.0)
    (low, high), (first, last) = up.ends(noisy([100.0], 5.0), 0.05), down.ends(noisy([-100.0], 5.0), 0.05)
    assert (low[0], high[0]) == (-last[0], -first[0])
    assert down.value(noisy([-100.0], 5.0))[0] == -up.value(noisy([100.0], 5.0))[0]


def test_what_the_larger_cap_cuts_is_in_the_interval() -> None:
    """Of 1,000 units with 8 rows a cap of 6 cuts 2,000 rows: they may all be of one large group."""
    cut = bounded_cut(ONES, 6, 1.0, np.array([1e6, 6.0, -1.0]), 0.05)
    most = ONES.rows_beyond(6, 0.05)
    assert most >= 2000
    assert cut.tolist() == [most, pytest.approx(6.0 * (ONES.reach / 6 - 1)), 0.0]
    assert bounded_cut(ONES, ONES.reach, 1.0, np.array([1e6]), 0.05).tolist() == [0.0]


def test_the_largest_numbers_that_are_summed_are_moved_like_others() -> None:
    """Their fourth powers are beyond the floats."""
    made, wide, variance = np.array([1.0, 2.0, 3.0]), np.array([9.0, 0.5, 2.0]), np.full(3, 0.01)
    assert moved(1e100 * made, 1e100 * wide, 1e200 * variance) == pytest.approx(1e100 * moved(made, wide, variance))


def test_only_what_adds_up_and_keeps_its_sign_is_multiplied() -> None:
    assert can_rescale(PLAIN)
    assert can_rescale(Plain(COUNT, is_whole=False, is_count=False, sign=1))
    assert not can_rescale(Plain(COUNT, is_whole=False, is_count=False, sign=0))


def test_the_interval_that_a_preview_expects_is_the_one_that_comes() -> None:
    found = rescaled(1.5, [150.0], 30.0)
    low, high = found.ends(noisy([100.0], 5.0), 0.05)
    assert expected_error(150.0, 1.5, 5.0, 30.0, 0.0) == max(150.0 - float(low[0]), float(high[0]) - 150.0)


# --- groups whose units differ ----------------------------------------------------------------------------------------

GROUPS = 30
Floats = NDArray[np.float64]


def town(rng: np.random.Generator, larger: float, many: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Units that each have one group; in the last so many groups they are larger by so many powers of e."""
    home = rng.integers(0, GROUPS, 12_000)
    return np.ceil(rng.lognormal(1 + larger * (home >= GROUPS - many), 0.9)).astype(int), home


def seen(
    larger: float, cap: int, scale: float, many: int = 6, seed: int = 5
) -> tuple[Floats, Floats, Compositions | None]:
    """All rows of each group, those that count under a cap, and what noisy numbers say about the groups."""
    rng = np.random.default_rng(seed)
    sizes, home = town(rng, larger, many)
    every, kept, units = (
        np.bincount(home, weights=w, minlength=GROUPS).astype(float)
        for w in (sizes, np.minimum(sizes, cap), np.ones(len(home)))
    )
    noise = rng.laplace(0, scale, (2, GROUPS))
    keys = Histogram(About.KEYS, "g", tuple(range(GROUPS)), tuple(units + noise[0]), scale, gaussian=False)
    known = Known(UnitSizes(histogram(sizes, scale, rng)), UnitSizes(histogram(0 * sizes + 1, scale, rng)), keys=keys)
    deviation = np.full(GROUPS, cap * scale * 2**0.5)
    return every, kept, compositions(kept + cap * noise[1], deviation, units + noise[0], known, cap)


def test_groups_with_larger_units_get_larger_factors_and_all_agree_with_the_total() -> None:
    every, kept, found = seen(1.5, 8, 3.0)
    assert found is not None
    common = every.sum() / kept.sum()
    factors = found.of_groups(common, kept)
    own, one = (np.abs(factor * kept / every - 1) for factor in (factors, common))
    assert np.median(own) < np.median(one) / 2
    assert (factors * kept).sum() == pytest.approx(every.sum())
    assert factors.min() >= 1


def test_groups_that_are_alike_or_hidden_by_noise_keep_one_factor() -> None:
    assert seen(0.0, 12, 3.0)[2] is None
    assert seen(2.0, 12, 300.0)[2] is None
