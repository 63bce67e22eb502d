"""The float filter against ball arithmetic: its error must stay below 2^-45, though 2^-41 would do."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.noise import filter as filter_module
from discreet.noise.filter import LARGEST, MARGIN, near_exp, near_exp_array
from tests.helpers.truth import ball, exp_minus, precise

BOUND = Fraction(1, 1 << 45)
ArrayFilter = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def points() -> list[float]:
    found = [
        0.0,
        5e-324,
        1e-308,
        2.0**-60,
        2.0**-53,
        1e-9,
        63.999,
        64 - 2.0**-46,
        64.0,
        64 + 2.0**-46,
        65.0,
        1e3,
        1e300,
    ]
    for k in range(8 * LARGEST + 1):  # both sides of every cut, by one step and by a few
        cut = k / 8
        below = math.nextafter(cut, -1)
        found += [cut, math.nextafter(cut, 100), cut + 2.0**-40, cut + 1 / 16]
        found += [x for x in (below, math.nextafter(below, -1), cut - 2.0**-40) if x >= 0]
    found += np.random.default_rng(1).uniform(0, 66, 3000).tolist()
    found += (10.0 ** np.random.default_rng(2).uniform(-12, 2, 1000)).tolist()
    return found


POINTS = points()


def worst(answers: list[float], xs: list[Fraction]) -> Fraction:
    """An upper bound of the largest error."""
    largest = Fraction(0)
    with precise(160):
        for answer, x in zip(answers, xs, strict=True):
            error = abs(ball(Fraction(answer)) - exp_minus(min(x, Fraction(200))))
            largest = max(largest, Fraction(float(error.upper())) * Fraction(1001, 1000))
    return largest


def scalar(xs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([near_exp(x) for x in xs.tolist()])


@pytest.mark.slow
@pytest.mark.parametrize("answer", [scalar, near_exp_array])
def test_the_error_is_below_the_bound(answer: ArrayFilter) -> None:
    assert worst(answer(np.array(POINTS)).tolist(), [Fraction(x) for x in POINTS]) < BOUND


@pytest.mark.slow
@pytest.mark.parametrize("answer", [scalar, near_exp_array])
@pytest.mark.parametrize("side", [-1, 1])
def test_the_error_is_below_the_bound_when_x_is_off_by_2_to_the_minus_48(answer: ArrayFilter, side: int) -> None:
    true = [Fraction(x) * (1 + side * Fraction(1, 1 << 48)) for x in POINTS]
    assert worst(answer(np.array(POINTS)).tolist(), true) < BOUND


def test_the_bound_leaves_room_within_the_margin() -> None:
    assert Fraction(MARGIN) / 2 > 8 * BOUND


def test_both_filters_give_zero_beyond_the_largest() -> None:
    assert near_exp(64.0) == near_exp(1e300) == 0.0
    assert (near_exp_array(np.array([64.0, 70.0, 1e300, np.inf])) < 2.0**-90).all()


@pytest.mark.slow
def test_a_filter_with_one_term_too_few_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: degree 7 instead of 10 is off by up to 2^-39."""
    shorter = [*filter_module._COEFFICIENTS[:8], 0.0, 0.0, 0.0]
    monkeypatch.setattr(filter_module, "_COEFFICIENTS", shorter)
    for answer in (scalar, near_exp_array):
        assert worst(answer(np.array(POINTS)).tolist(), [Fraction(x) for x in POINTS]) > BOUND


@pytest.mark.slow
def test_a_filter_that_reads_the_wrong_entry_at_a_cut_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    spoilt = list(filter_module._TABLE)
    spoilt[17] = math.nextafter(spoilt[17], 0) * (1 - 2.0**-40)
    monkeypatch.setattr(filter_module, "_TABLE", spoilt)
    assert worst(scalar(np.array(POINTS)).tolist(), [Fraction(x) for x in POINTS]) > BOUND
