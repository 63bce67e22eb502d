"""The Laplace mechanism: prices by hand, its law against the closed form, refusals."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp

from discreet.errors import BadParameter
from discreet.mechanisms.additive.laplace import LaplaceFor, laplace
from discreet.mechanisms.base.sensitivity import L1, L2, Linf
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure

F = Fraction


def test_two_of_three_give_the_third() -> None:
    assert laplace(sensitivity=3, epsilon="1/2").scale == 6
    assert laplace(sensitivity=3, scale=6).epsilon == F(1, 2)
    assert laplace(scale=6, epsilon="1/2").moves == 3
    assert laplace(scale="13/2", epsilon="1/2").moves == 3  # the largest whole sensitivity that fits
    assert laplace(epsilon=1) == LaplaceFor(F(1), None)
    assert laplace(epsilon=1).at(3).scale == 3
    assert laplace(scale=4).at(2).epsilon == F(1, 2)


@pytest.mark.parametrize(
    ("sensitivity", "moves"), [(L1(3), 3), (L2(2), 4), (L2(squared=50), 14), (Linf(2), 8)], ids=str
)
def test_norms_of_a_vector_of_four_whole_numbers(sensitivity: L1 | L2 | Linf, moves: int) -> None:
    m = laplace(sensitivity=sensitivity, epsilon=1, dimension=4)
    assert (m.moves, m.scale, m.price) == (moves, F(moves), Pure(1))


def test_a_real_answer_pays_for_its_rounding() -> None:
    """Scale 1/2: cells of 2^-41, so a sensitivity of 1/2 is 2^40 cells, and one more for rounding each entry."""
    m = laplace(sensitivity="1/2", epsilon=1)
    assert (m.exponent, m.moves, m.price) == (-41, 2**40 + 1, Pure(1))
    three = laplace(sensitivity=L1("1/2"), epsilon=1, dimension=3)
    assert three.moves == 2**40 + 3


def test_the_event_at_another_distance() -> None:
    m = laplace(sensitivity=2, epsilon=1)
    assert m.event == events.DiscreteLaplace(scale=2, sensitivity=2)
    assert m.event_at(6) == events.DiscreteLaplace(scale=2, sensitivity=6)
    with pytest.raises(BadParameter, match="integer"):
        m.event_at("1/2")


@pytest.mark.parametrize("scale", [F(1, 2), F(3), F(100)])
def test_the_law_is_the_closed_form(scale: Fraction) -> None:
    """P[Z = k] = (1 - q)/(1 + q) q^|k|, P[|Z| > k] = 2q^(k+1)/(1 + q), E|Z| = 2q/(1 - q²), with q = e^(-1/scale)."""
    m, q = laplace(sensitivity=1, scale=scale), math.exp(-1 / scale)
    for k in (0, 1, -1, 5, -17):
        low, high = m.pmf(k)
        assert low <= high
        assert float(low) == pytest.approx((1 - q) / (1 + q) * q ** abs(k), rel=1e-12)
    for k in (0, 1, 9):
        assert float(m.tail_up(k)) == pytest.approx(2 * q ** (k + 1) / (1 + q), rel=1e-12)
    assert float(m.expected_size_up()) == pytest.approx(2 * q / (1 - q * q), rel=1e-12)


def test_noise_that_is_almost_never_there() -> None:
    """e^(-10^9) is not written out: the bounds stay bounds, and the error bar is 0."""
    m = laplace(sensitivity=1, epsilon=10**9)
    assert m.pmf(0)[0] > 1 - F(1, 2**4000)
    assert 0 == m.pmf(1)[0] < m.pmf(1)[1] < F(1, 2**4000)
    assert m.error_at("0.99") == 0.0


def test_what_waits_for_its_sensitivity_releases_nothing() -> None:
    with pytest.raises(BadParameter, match="sensitivity"):
        laplace(epsilon=1).release(5)


def test_a_model_of_the_source_must_be_one() -> None:
    with pytest.raises(BadParameter, match="randomness"):
        laplace(sensitivity=1, epsilon=1, randomness="dice")


@pytest.mark.slow
@pytest.mark.parametrize("error", [100, 25, "1e6"])
def test_for_error_is_the_cheapest(error: Any) -> None:
    m = laplace.for_error(error, "0.95", 1)
    assert F(99, 100) * F(error) - 1 <= m.error_at("0.95") <= F(error)


def test_wider_floats_do_not_detour_through_doubles() -> None:
    """Two long doubles one sensitivity apart; as doubles they would be a cell or more further apart."""
    m = laplace(sensitivity=1, epsilon=1, real=True)
    base = np.longdouble(2**53)
    if base + np.longdouble("0.5") == base:
        pytest.skip("long doubles are doubles here")
    x, y = base + np.longdouble("0.5"), base + np.longdouble("1.5")
    assert abs(float(x) - float(y)) == 2.0  # the planted detour
    a, b = m.read(x), m.read(y)
    assert isinstance(a, int)
    assert isinstance(b, int)
    assert abs(a - b) <= m.moves


def test_an_l2_sensitivity_that_is_not_whole_means_reals() -> None:
    m = laplace(sensitivity=L2("0.5"), epsilon=1, dimension=3)
    assert m.exponent is not None
    assert m.scale > 0
    assert isinstance(m.release([0.25, 0.5, 0.75]).value, np.ndarray)
    assert laplace(sensitivity=L2(squared=2), epsilon=1, dimension=3).exponent is None


@pytest.mark.parametrize("k", [0, 1, -7])
def test_both_ends_of_a_probability_are_close_to_the_closed_form(k: int) -> None:
    """q = e^(-1/3); an end on the wrong side, or far away, would be seen."""
    low, high = laplace(sensitivity=1, scale=3).pmf(k)
    with mp.workdps(50):
        q = mp.e ** (-mp.mpf(1) / 3)
        exact = (1 - q) / (1 + q) * q ** abs(k)
        assert mp.mpf(low.numerator) / low.denominator <= exact <= mp.mpf(high.numerator) / high.denominator
    assert high / low < 1 + Fraction(1, 10**12)
