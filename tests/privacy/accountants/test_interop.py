"""interop.py: to dp_accounting and back."""

import sys
from fractions import Fraction
from typing import Any

import pytest
from dp_accounting import dp_event

from discreet.errors import MissingExtra, NoPrice
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.interop import from_dp_accounting, to_dp_accounting
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Sampling


@pytest.mark.parametrize(
    "event",
    [
        events.Gaussian(2), events.Laplace("0.5"), events.DiscreteLaplace(2, 3), events.ZCDP("0.5"),
        events.Repeat(events.Gaussian(2), 7), events.Composed([events.Gaussian(2), events.Laplace(1)]),
        events.Subsampled(events.Gaussian(1), "0.25"), events.Composed([]),
        events.Subsampled(events.Laplace(1), "1/3", Sampling.WITHOUT_REPLACEMENT),
    ],
)  # fmt: skip
def test_there_and_back(event: Any) -> None:
    assert from_dp_accounting(to_dp_accounting(event)) == event


@pytest.mark.parametrize(
    "event",
    [events.Gaussian(sigma_squared=2), events.Laplace("1/3"), events.DiscreteLaplace("3/10"), events.ZCDP("0.1")],
)
def test_rounding_is_against_us(event: Any) -> None:
    assert price_zcdp(event) < price_zcdp(from_dp_accounting(to_dp_accounting(event)))


def test_randomized_response() -> None:
    event = events.RandomizedResponse(1, 4)
    there = to_dp_accounting(event)
    assert there.num_buckets == 4
    back = from_dp_accounting(there)
    assert 1 <= price_basic(back).epsilon < 1 + Fraction(1, 10**12)


@pytest.mark.parametrize(
    "event",
    [
        events.DiscreteGaussian(1), events.Pure(1), events.Approx(1, "1e-6"), events.Parallel([events.Gaussian(1)]),
        events.PermuteAndFlip(1), events.ZCDP(1, "1e-6"),
    ],
)  # fmt: skip
def test_no_counterpart_there(event: Any) -> None:
    with pytest.raises(NoPrice):
        to_dp_accounting(event)


def test_no_counterpart_here() -> None:
    gaussian = dp_event.GaussianDpEvent(1.0)
    for event in (
        dp_event.NonPrivateDpEvent(), dp_event.UnsupportedDpEvent(), dp_event.ZCDpEvent(1.0, 0.5), object(),
        dp_event.SampledWithReplacementDpEvent(10, 2, gaussian), dp_event.RandomizedResponseDpEvent(0.0, 2),
        dp_event.ComposedDpEvent([dp_event.NonPrivateDpEvent()]),
    ):  # fmt: skip
        with pytest.raises(NoPrice):
            from_dp_accounting(event)
    assert from_dp_accounting(dp_event.NoOpDpEvent()) == events.Composed([])


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dp_accounting", "dp_accounting.dp_event"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match="accounting"):
        to_dp_accounting(events.Gaussian(1))
