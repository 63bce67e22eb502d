"""Groups that agree with a total: multiplied by one factor, with an interval for groups that are cut unlike."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.query.estimate.estimators import Estimate, Estimates, Plain
from discreet.query.estimate.statistics import ONE, Rows
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.predict import Known
from discreet.query.profile.questions import About
from discreet.query.profile.rescale import Compositions, Rescaled, can_rescale, compositions, expected_error
from discreet.query.profile.sizes import UnitSizes
from tests.query.profile.test_sizes import histogram

COUNT = Rows(ONE, 1, 1)  # type: ignore[arg-type]
PLAIN = Plain(COUNT, is_whole=True)


def noisy(values: list[float], error: float) -> Estimates:
    return {COUNT: Estimate(np.array(values), lambda _: error)}


def test_values_are_multiplied_and_the_interval_reaches_from_no_cut_to_twice_the_cut() -> None:
    found = Rescaled(PLAIN, 1.5, 1.6)
    estimates = noisy([100.0, 10.0], 5.0)
    assert found.value(estimates).tolist() == [150.0, 15.0]
    low, high = found.ends(estimates, 0.05)
    assert low.tolist() == [95.0, 5.0]
    assert np.allclose(high, [105.0 * 1.6**2, 15.0 * 1.6**2])


def test_a_group_that_lies_below_zero_has_an_interval_around_it() -> None:
    low, high = Rescaled(PLAIN, 2.0, 2.0).ends(noisy([-10.0], 5.0), 0.05)
    assert low[0] <= -20.0 <= high[0]


def test_only_what_adds_up_and_keeps_its_sign_is_multiplied() -> None:
    assert can_rescale(PLAIN)
    assert can_rescale(Plain(COUNT, is_whole=False, is_count=False, sign=1))
    assert not can_rescale(Plain(COUNT, is_whole=False, is_count=False, sign=0))


def test_the_interval_that_a_preview_expects_is_the_one_that_comes() -> None:
    low, high = Rescaled(PLAIN, 1.5, 1.6).ends(noisy([100.0], 5.0), 0.05)
    noise = 100.0 - float(low[0])
    assert expected_error(noise, 150.0, 1.5, 1.6) == max(150.0 - float(low[0]), float(high[0]) - 150.0)


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


def test_the_interval_of_a_group_with_large_units_holds_and_that_of_one_factor_does_not() -> None:
    """The planted twin: from no cut to twice the common cut, which leaves out the groups that are cut most."""
    every, kept, found = seen(1.5, 12, 3.0, many=3)
    assert found is not None
    factor = every.sum() / kept.sum()
    own = Rescaled(PLAIN, factor, factor, found)
    estimates = noisy(kept.tolist(), 12 * 3.0 * 3)
    (low, high), (first, last) = own.ends(estimates, 0.05), replace(own, groups=None).ends(estimates, 0.05)
    assert np.mean((low <= every) & (every <= high)) >= 0.95
    assert np.mean((first <= every) & (every <= last)) <= 0.9
    assert (high >= own.value(estimates)).all()
