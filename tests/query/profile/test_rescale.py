"""Groups that agree with a total: multiplied by one factor, with an interval for groups that are cut unlike."""

import numpy as np

from discreet.query.estimate.estimators import Estimate, Estimates, Plain
from discreet.query.estimate.statistics import ONE, Rows
from discreet.query.profile.rescale import Rescaled, can_rescale, expected_error

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
