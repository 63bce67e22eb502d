"""Every event is checked when it is made; no noise, no event."""

import math
from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.promises import events
from discreet.privacy.promises.events.base import restated
from discreet.privacy.promises.neighbours import Neighbours, RelationName

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


@pytest.mark.parametrize("relation", [*Neighbours, "one row changed in place"])
def test_an_event_is_stated_for_one_relation(relation: RelationName) -> None:
    plain = events.Laplace(scale=2)
    named = plain.about(relation)
    assert (plain.neighbours, named.neighbours) == (None, relation)
    assert named != plain
    assert named == named.about(relation) == named.about(None) == plain.about(relation)
    assert price_basic(named) == price_basic(plain)
    assert eval(repr(named), vars(events) | {"Neighbours": Neighbours}) == named  # noqa: S307
    for other in {*Neighbours, "one row changed in place"} - {relation}:
        with pytest.raises(BadParameter, match="stated for"):
            named.about(other)
    assert restated(named, None) == plain


def test_some_kinds_are_about_one_relation_by_definition() -> None:
    """A report of one's own value says nothing of who reports at all."""
    report = events.RandomizedResponse(1)
    assert events.stated_for(report) is Neighbours.CHANGE_ONE
    for call in (
        lambda: report.about(Neighbours.ADD_REMOVE),
        lambda: events.Composed([report, events.Parallel([events.Pure(1)])]),
        lambda: events.Subsampled(report, "1/2"),
    ):
        with pytest.raises(BadParameter, match="stated for"):
            call()
