"""Every event is checked when it is made; no noise, no event."""

import math
from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.privacy.promises import events

PURE: Any = events.Pure(1)
ONE: Any = 1
HALF: Any = 0.5
WORD: Any = "laplace"
POSITIVE: list[Any] = [
    events.Laplace, lambda x: events.Laplace(1, x), events.DiscreteLaplace,
    lambda x: events.DiscreteLaplace(1, x), events.Gaussian, lambda x: events.Gaussian(1, x),
    lambda x: events.Gaussian(sigma_squared=x), lambda x: events.Gaussian(1, sensitivity_squared=x),
    events.DiscreteGaussian, lambda x: events.DiscreteGaussian(1, x), lambda x: events.Subsampled(PURE, x),
    events.RandomizedResponse, events.Exponential, events.PermuteAndFlip,
    events.NoisyMax, events.AboveThreshold, lambda x: events.Repeat(PURE, x),
    lambda x: events.RandomizedResponse(1, x), lambda x: events.DiscreteGaussian(1, dimension=x),
]  # fmt: skip


@pytest.mark.parametrize("make", POSITIVE)
@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "zero", None.__class__, True, "1e9999999"])
def test_no_noise_no_event(make: Any, bad: Any) -> None:
    with pytest.raises(BadParameter):
        make(bad)


@pytest.mark.parametrize(
    "make",
    [
        lambda: events.Pure(-1), lambda: events.Approx(1, 1), lambda: events.Approx(1, -1), lambda: events.ZCDP(-1),
        lambda: events.Threshold(1, 1), lambda: events.DiscreteLaplace(1, "0.5"), lambda: events.Subsampled(PURE, 2),
        lambda: events.DiscreteGaussian(1, "1.5"), lambda: events.DiscreteGaussian(1, sensitivity_squared=2),
        lambda: events.DiscreteGaussian(1, dimension=2, sensitivity_squared="1.5"), events.Gaussian,
        lambda: events.Gaussian(1, sigma_squared=1), lambda: events.Gaussian(1, 1, sensitivity_squared=1),
        lambda: events.Composed(PURE), lambda: events.Composed([ONE]), lambda: events.Composed(WORD),
        lambda: events.Repeat(ONE, 1), lambda: events.NoisyMax(1, WORD), lambda: events.Repeat(PURE, HALF),
        lambda: events.Subsampled(PURE, 1, WORD), lambda: events.RandomizedResponse(1, 1),
    ],
)  # fmt: skip
def test_bad_events(make: Any) -> None:
    with pytest.raises(BadParameter):
        make()
