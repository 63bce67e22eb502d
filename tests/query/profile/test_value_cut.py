"""What bounds cut of the values of a column: near the truth, and within its interval as often as it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet.query.answer.suggest import SIGNED_POWERS
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.value_cut import ValueCut, _cuts, value_cut
from tests.query.profile.test_choose_bounds import values

SAMPLE = np.ceil(np.random.default_rng(2).lognormal(3, 1.2, 20_000)) * np.where(np.arange(20_000) % 5, 1, -1)


def drawn(seed: int, scale: float) -> Histogram:
    return replace(values(SAMPLE, scale=1e-9), counts=tuple(
        np.array(values(SAMPLE, scale=1e-9).counts) + np.random.default_rng(seed).laplace(0, scale, 124)
    ), scale=scale)  # fmt: skip


def holds(cut: ValueCut, low: float, high: float) -> bool:
    inside = SAMPLE[(cut.reach[0] <= SAMPLE) & (cut.reach[1] >= SAMPLE)]
    truth = np.abs(inside - np.clip(inside, low, high)).sum() / np.abs(inside).sum()
    return bool(cut.low <= truth <= cut.high)


@pytest.mark.parametrize(("low", "high"), [(-64, 64), (0, 100), (-5000, 5000)])
def test_the_interval_holds(low: float, high: float) -> None:
    """60 draws; a 95 % interval that misses more than 16 of them has a chance of less than 1e-6."""
    found = [value_cut(drawn(seed, 20.0), low, high) for seed in range(60)]
    assert sum(one is None or not holds(one, low, high) for one in found) <= 16


def test_an_interval_of_one_class_without_noise_is_caught() -> None:
    """The planted twin: the share itself, which forgets the noise and the width of the classes."""
    found = [value_cut(drawn(seed, 20.0), 0, 100) for seed in range(60)]
    assert not any(holds(replace(one, low=one.share, high=one.share), 0, 100) for one in found if one is not None)


def test_of_values_that_noise_hides_it_says_how_many_there_are_at_most() -> None:
    """120 draws; a 95 % bound that misses more than 24 of them has a chance of less than 1e-8. The planted twin, which
    forgets the noise, misses half of them: 24 or fewer with a chance of less than 1e-10.
    """
    low, high = 0, 512
    missed = forgot = 0
    for seed in range(120):
        histogram = drawn(seed, 40.0)
        found = value_cut(histogram, low, high)
        assert found is not None
        assert found.reach[1] <= 512  # what lies beyond the bounds does not stand out
        rare = ((found.reach[0] > SAMPLE) | (found.reach[1] < SAMPLE)) & ((low > SAMPLE) | (high < SAMPLE))
        missed += int(rare.sum()) > found.beyond
        classes = len([1 for power in SIGNED_POWERS if _cuts(histogram, power, low, high)])
        forgot += int(rare.sum()) > found.beyond - histogram.error(np.ones(classes), 0.05)
    assert missed <= 24 < forgot


def test_what_is_unknown_is_not_called_nothing() -> None:
    """Values from 4 to 128 stand out, the bounds lie beyond: the estimate is about the others, and says so."""
    many = np.repeat([5.0, 20.0, 100.0, 3000.0], [2000, 2000, 2000, 60])
    rare = replace(values(many, scale=1e-9), scale=30.0)
    assert str(value_cut(rare, 0, 128)).startswith("of values from 4 to 128, bounds of x cut nothing; rarer values ")
    assert "weigh at most as much as" in str(value_cut(rare, 0, 128))
    sure = value_cut(values(many, scale=1e-9), -(2.0**70), 2.0**70)
    assert str(sure) == "of values from 4 to 4,096, bounds of x cut nothing"
    assert "cut about 29.3% of their total" in str(value_cut(values(np.repeat([96.0], 100), scale=1e-9), 0, 64))


def test_dates_and_noise_alone_have_none() -> None:
    assert value_cut(values(np.array([]), scale=50.0), 0, 1) is None
    years = Histogram(values(SAMPLE).about, "day", (1899, 1900, 1901), (5.0, 900.0, 0.0), 1.0, gaussian=False)
    assert value_cut(years, 0, 1) is None


def test_answers_tell_it_of_columns_that_are_summed_where_a_profile_is_there() -> None:
    table = dp.table(
        {"u": np.arange(5000), "x": np.abs(SAMPLE[:5000])}, unit="u", max_rows=1, columns={"x": dp.bounds(0, 16)}
    )
    own = dp.Session(t=table, budget=dp.Pure(200))
    words = "bounds of x cut about"
    assert not any(words in note for note in own.sql("SELECT SUM(x) AS s FROM t").release(epsilon=1).notes)
    own.profile("t", epsilon=100)
    (note,) = (note for note in own.sql("SELECT SUM(x) AS s FROM t").release(epsilon=1).notes if words in note)
    assert "not in the error bars" in note
    assert not any(words in note for note in own.sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1).notes)
    values_ = own.profile("t").values("x")
    assert values_ is not None
    truth = 1 - np.minimum(np.abs(SAMPLE[:5000]), 16).sum() / np.abs(SAMPLE[:5000]).sum()
    found = value_cut(values_, 0, 16, "0.999999999")
    assert found is not None
    assert found.low - 0.05 <= truth <= found.high + 0.05
