"""Events: checked when they are made, frozen, and stated for one relation between neighbours."""

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Sampling
from discreet.privacy.promises.neighbours import Neighbours

F = Fraction
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


def test_squares_allow_roots() -> None:
    assert events.Gaussian(sigma=10) == events.Gaussian(10, 1) == events.Gaussian(sigma_squared=100)
    assert events.Gaussian(sigma=1, sensitivity_squared=2).mu_squared == 2
    assert events.DiscreteGaussian(sigma=1, dimension=2, sensitivity_squared=2).shift is None
    assert events.DiscreteGaussian(sigma=1, dimension=5).shift == 1
    assert events.DiscreteGaussian(sigma=1, sensitivity=3).shift == 3
    assert events.DiscreteGaussian(sigma_squared=2).sigma ** 2 >= 2


def test_defaults_of_sampling() -> None:
    assert events.Subsampled(PURE, 1).neighbours is Neighbours.ADD_REMOVE
    assert events.Subsampled(PURE, 1, Sampling.WITHOUT_REPLACEMENT).neighbours is Neighbours.CHANGE_ONE


def test_laplace_on_the_line_dominates_any_direction() -> None:
    """Discrete Laplace in two coordinates, moved by (1, 1), against one coordinate moved by 2: exact enumeration."""
    a, cut = Fraction(1, 2), 40  # P(z) ∝ a^|z|, tails lumped at ±cut
    weight = {z: a ** abs(z) for z in range(-cut, cut + 1)}
    total = sum(weight.values())
    p = {z: w / total for z, w in weight.items()}

    def ratio(x: int, shift: int) -> Fraction:
        return Fraction(1) / a ** (abs(x - shift) - abs(x))  # Q/P as a power of a

    for x in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)):
        one = sum(p[z] * max(Fraction(0), 1 - x / ratio(z, 2)) for z in p)
        two = sum(p[y] * p[z] * max(Fraction(0), 1 - x / (ratio(y, 1) * ratio(z, 1))) for y in p for z in p)
        assert two <= one + Fraction(1, 2**30)


def test_relations_do_not_mix() -> None:
    """A price for one relation says nothing under another, so parts that name different ones are refused."""
    added = events.Subsampled(events.Pure(1), "1/2")
    changed = events.Subsampled(events.Pure(1), "1/2", Sampling.WITHOUT_REPLACEMENT)
    parts = events.Parallel([events.Pure(1), events.Pure(1)])
    for relation, event in (
        (None, events.Pure(1)), (Neighbours.ADD_REMOVE, added), (Neighbours.CHANGE_ONE, events.Repeat(changed, 2)),
        (Neighbours.ADD_REMOVE, events.Composed([events.Pure(1), parts, added])), (None, events.Composed([])),
    ):  # fmt: skip
        assert events.stated_for(event) is relation
    bad_calls: list[Any] = [
        lambda: events.Composed([added, events.Repeat(changed, 3)]),
        lambda: events.Composed([changed, parts]),
        lambda: events.Parallel([changed]),
        lambda: events.Subsampled(added, "1/2", Sampling.WITHOUT_REPLACEMENT),
        lambda: events.Subsampled(changed, "1/2"),
        # under a change a unit may leave one part and enter the other: max(ε) would be half of the truth
        lambda: events.Subsampled(parts, "1/2", Sampling.WITHOUT_REPLACEMENT),
    ]
    for call in bad_calls:
        with pytest.raises(BadParameter, match="stated for"):
            call()


def test_a_trade_off_is_a_convex_curve_and_its_mirror_image() -> None:
    curve = events.TradeOff({0: "0.9", "0.1": "0.6"})
    assert curve == events.TradeOff([(0, Fraction(9, 10)), ("1/10", "0.6")])
    assert curve.line == ((F(0), F(9, 10)), (F(1, 10), F(3, 5)), (F(3, 5), F(1, 10)), (F(9, 10), F(0)))
    assert (curve.steepest, curve.lost) == (F(3), F(1, 10))
    meets = events.TradeOff({0: 1, "1/4": "1/4"})
    assert meets.line == ((F(0), F(1)), (F(1, 4), F(1, 4)), (F(1), F(0)))
    assert events.TradeOff({0: "0.9"}).steepest == 1  # (0, 0.1)-differential privacy


@pytest.mark.parametrize(
    "knots",
    [
        {}, {"0.1": "0.5"}, {0: 0}, {0: 1, "0.1": "0.95"}, {0: 1, "0.6": "0.4"}, {0: 1, "0.1": "0.8", "0.2": "0.3"},
        {0: 1, "0.1": "0.5", "0.2": "0.6"}, {0: 1, "0.4": "0.2"}, {0: 2}, "curve", [0, 1], [(0, 1, 2)], 3, {0: "nan"},
        [(0, 1), (0, "0.5")], {0: 1, "0.01": "0.5", "0.4": "0.45"},
    ],
)  # fmt: skip
def test_what_is_no_trade_off_is_refused(knots: Any) -> None:
    with pytest.raises(BadParameter):
        events.TradeOff(knots)
