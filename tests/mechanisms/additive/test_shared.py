"""Additive mechanisms: exact reading, real values on a grid, accuracy, solving for the third, bad input."""

from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadData, BadParameter
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import Laplace, laplace
from discreet.mechanisms.additive.shared import Trunc, in_cells
from discreet.mechanisms.base.sensitivity import L1, L2
from discreet.randomness import SystemBits

reals = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**70), 2**70),
    st.fractions(max_denominator=10**6),
)


@pytest.mark.slow
@given(reals, st.floats(-1, 1), st.sampled_from(["1e-6", "0.3", 1, 2**40]))
@settings(max_examples=400, deadline=None)
def test_a_move_within_the_sensitivity_stays_within_the_cells(x: Any, share: float, sensitivity: Any) -> None:
    """For one real number: |x - y| <= sensitivity implies that the cells move by at most ``moves``."""
    m = laplace(sensitivity=sensitivity, epsilon=1, real=True)
    y = Fraction(x) + Fraction(share) * Fraction(sensitivity)
    a, b = m.read(x), m.read(y)
    assert isinstance(a, int)
    assert isinstance(b, int)
    assert abs(a - b) <= m.moves


@pytest.mark.slow
@given(st.lists(st.tuples(reals, st.integers(-8, 8)), min_size=1, max_size=6))
@settings(max_examples=300, deadline=None)
def test_vectors_move_within_the_cells_in_both_norms(entries: list[tuple[Any, int]]) -> None:
    x = [Fraction(value) for value, _ in entries]
    y = [value + Fraction(step, 16) for value, (_, step) in zip(x, entries, strict=True)]
    l1 = sum(abs(a - b) for a, b in zip(x, y, strict=True))
    l2 = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    if not l1:
        return
    for m, moved in (
        (laplace(sensitivity=L1(l1), epsilon=1, real=True, dimension=len(x)), 1),
        (gaussian(sensitivity=L2(squared=l2), rho=1, real=True, dimension=len(x)), 2),
    ):
        a, b = (in_cells(m.read(v if len(v) > 1 else v[0])) for v in (x, y))
        distance = sum(abs(p - q) ** moved for p, q in zip(a, b, strict=True))
        assert distance <= (m.moves if isinstance(m, Laplace) else m.moves_squared)


def test_big_integers_do_not_detour_through_doubles() -> None:
    """Two integers one apart, beyond 2^53: as doubles they would be two apart or none, 2^40 cells either way."""
    m = laplace(sensitivity=L1(1), epsilon=1, real=True, dimension=2)
    for kind in (list, lambda v: np.array(v, dtype=np.int64)):
        a, b = (m.read(kind([2**55 + 1, 0])), m.read(kind([2**55 + 2, 0])))
        assert sum(abs(p - q) for p, q in zip(in_cells(a), in_cells(b), strict=True)) <= m.moves
        assert in_cells(a) != in_cells(b)  # not because both were cut off


def test_a_planted_detour_would_be_seen() -> None:
    m = laplace(sensitivity=L1(1), epsilon=1, real=True, dimension=2)
    a, b = (np.ldexp(np.array([x, 0.0]), 40) for x in (float(2**55 + 3), float(2**55 + 5)))
    assert abs(a - b).sum() > 2 * m.moves


def test_huge_values_saturate_and_never_wrap() -> None:
    m = laplace(sensitivity=L1(1), epsilon=1, dimension=3)
    noisy = m.draw(m.read([2**63, -(2**80), 5]), SystemBits())
    assert isinstance(noisy, np.ndarray)
    assert noisy[0] > 2**60 > 0 > -(2**60) > noisy[1]
    assert laplace(sensitivity=1, epsilon=1).draw(2**80, SystemBits()) > 2**79


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_error_bars_cover_and_are_the_least(kind: str, confidence: str) -> None:
    """From the law itself: enough mass within, and not enough within one less."""
    m: Any = laplace(sensitivity=1, epsilon="1/3") if kind == "laplace" else gaussian(sensitivity=1, sigma=5)
    error = int(m.error_at(confidence))
    inside = sum(m.pmf(k)[0] for k in range(-error, error + 1))
    less = sum(m.pmf(k)[1] for k in range(-error + 1, error))
    assert inside >= Fraction(confidence) > less


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_error_bars_hold_for_all_entries_at_once(kind: str) -> None:
    """Coverage of 2,000 vectors of 50: binomial(2000, 0.9) is below 1,700 with probability under 1e-12."""
    m: Any = (
        laplace(sensitivity=L1(1), epsilon=1, dimension=50)
        if kind == "laplace"
        else gaussian(sensitivity=L2(1), sigma=5, dimension=50)
    )
    error = m.error_at("0.9")
    noise = np.array([m.noise(50, SystemBits()) for _ in range(2000)])
    assert (np.abs(noise).max(axis=1) <= error).sum() >= 1700
    assert (np.abs(noise).max(axis=1) <= error / 2).sum() < 1700  # the planted twin: half the bar does not cover


def test_expected_error_is_the_mean_of_the_law() -> None:
    k = np.arange(1, 20_000)
    for sigma in (3, 600):
        weight = np.exp(-(k**2) / (2 * sigma**2))
        exact = float(2 * (k * weight).sum() / (1 + 2 * weight.sum()))
        assert exact * (1 - 1e-9) <= gaussian(sensitivity=1, sigma=sigma).expected_error <= exact * 1.002
    weight = np.exp(-k[:500].astype(float))
    exact = float(2 * (k[:500] * weight).sum() / (1 + 2 * weight.sum()))
    assert exact * (1 - 1e-9) <= laplace(sensitivity=1, epsilon=1).expected_error <= exact * (1 + 1e-9)


def test_truncation_is_post_processing() -> None:
    answer = laplace(sensitivity=1, epsilon="1/100").release(0).then(Trunc(0, 10))
    assert 0 <= answer.value <= 10
    assert answer.cost == "epsilon 0.01"
    assert "truncated to [0, 10]" in answer.story
    assert np.array_equal(Trunc(0, 1)(np.array([-5, 0, 7])), [0, 0, 1])


@pytest.mark.parametrize(
    "make",
    [
        laplace,
        lambda: laplace(sensitivity=1),
        lambda: laplace(sensitivity=1, epsilon=1, scale=1),
        lambda: laplace(sensitivity=0, epsilon=1),
        lambda: laplace(sensitivity=1, epsilon=0),
        lambda: laplace(sensitivity=1, epsilon=float("nan")),
        lambda: laplace(sensitivity="0.5", epsilon=1, real=False),
        lambda: laplace(sensitivity=1, epsilon=1, dimension=3),
        lambda: laplace(sensitivity=1, epsilon=1, dimension=0),
        lambda: laplace(scale="1/2", epsilon=1),
        gaussian,
        lambda: gaussian(sensitivity=1),
        lambda: gaussian(sensitivity=1, epsilon=1),
        lambda: gaussian(sensitivity=1, delta="1e-6"),
        lambda: gaussian(sensitivity=1, rho=1, epsilon=1, delta="1e-6"),
        lambda: gaussian(sensitivity=1, rho=1, sigma=1),
        lambda: gaussian(sensitivity=1, sigma=1, sigma_squared=1),
        lambda: gaussian(sensitivity=1, epsilon=1, delta=0),
        lambda: L2(1, squared=1),
        lambda: L1(-1),
        lambda: laplace.for_error(0, "0.95", 1),
        lambda: laplace.for_error(5, 1, 1),
        lambda: Trunc(1, 0),
    ],
)
def test_bad_parameters(make: Any) -> None:
    with pytest.raises(BadParameter):
        make()


SECRET = 987654321


@pytest.mark.parametrize(
    ("mechanism", "value"),
    [
        (laplace(sensitivity=1, epsilon=1), SECRET + 0.5),
        (laplace(sensitivity=1, epsilon=1), f"{SECRET}"),
        (laplace(sensitivity=1, epsilon=1), True),
        (laplace(sensitivity=1, epsilon=1), None),
        (laplace(sensitivity=1, epsilon=1), [SECRET, SECRET]),
        (laplace(sensitivity=1, epsilon=1, real=True), float("nan")),
        (laplace(sensitivity=1, epsilon=1, real=True), float("inf")),
        (laplace(sensitivity=L1(1), epsilon=1, dimension=2), [SECRET]),
        (laplace(sensitivity=L1(1), epsilon=1, dimension=2), [SECRET, 0.5]),
        (laplace(sensitivity=L1(1), epsilon=1, dimension=2), [[SECRET, 1]] * 2),
        (laplace(sensitivity=L1(1), epsilon=1, dimension=2, real=True), [float(SECRET), float("nan")]),
        (laplace(sensitivity=L1(1), epsilon=1, dimension=2, real=True), ["a", SECRET]),
    ],
)
def test_bad_values_are_refused_without_being_named(mechanism: Laplace, value: Any) -> None:
    with pytest.raises(BadData) as caught:
        mechanism.release(value)
    assert str(SECRET) not in str(caught.value)


class Unlikely(float):
    """A float of its own kind."""


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (np.int64(1 - 2**57), 1 - 2**57),
        (np.uint8(200), 200),
        (np.float32(0.1), Fraction(float(np.float32(0.1)))),
        (np.longdouble(2**53) + np.longdouble(1) / 2, None),
        (10**2000, 2**100 * Fraction(1, 2**41)),
        (-(10**2000), -(2**100) * Fraction(1, 2**41)),
        (1e308, 2**100 * Fraction(1, 2**41)),
        (Fraction(1, 3**5000), 0),
        (Unlikely(2.5), Fraction(5, 2)),
    ],
)
def test_every_finite_real_is_read_whatever_its_type_and_size(value: Any, exact: Fraction | None) -> None:
    """Numpy's integers, wider floats, and numbers of thousands of digits: none fails, none is named in a message."""
    m = laplace(sensitivity="0.5", epsilon=1)
    wanted = Fraction(*map(int, value.as_integer_ratio())) if exact is None else exact
    cells = m.read(value)
    assert isinstance(cells, int)
    assert abs(cells * m.cell - wanted) <= m.cell / 2
    vector = laplace(sensitivity=L1("0.5"), epsilon=1, dimension=2)
    assert in_cells(vector.read([value, 0.0])) == [cells, 0]
    assert isinstance(m.release(value).value, float)


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("value", [2e6, -1e9, 1e15, 12345678.25])
def test_error_bars_hold_far_from_zero(dimension: int, value: float) -> None:
    """A million sensitivities away the answer is still where the error bar says; false alarm 1e-12."""
    m = laplace(sensitivity=L1("0.5"), epsilon=1, dimension=dimension)
    released = np.atleast_1d(m.release([value] * dimension if dimension > 1 else value).value)
    assert (np.abs(released - value) <= m.error_at(1 - Fraction(1, 10**12)) + abs(value) * 2.0**-50).all()


@pytest.mark.slow
@given(st.lists(st.floats(-1e30, 1e30), min_size=2, max_size=6), st.integers(-(2**61), 2**61))
@settings(max_examples=200, deadline=None)
def test_two_limbs_give_the_float_of_the_noisy_cells(values: list[float], drawn: int) -> None:
    """What comes out is a function of value plus noise alone, and correctly rounded below 2^93 cells."""
    m = laplace(sensitivity=L1(1), epsilon=1, dimension=len(values), real=True)
    read = m.read(values)
    assert in_cells(read) == in_cells(m.read([Fraction(v) for v in values]))  # the slow way, entry by entry
    with patch.object(Laplace, "noise", lambda self, size, bits: np.full(size, drawn)):
        out = m.draw(read, SystemBits())
    assert isinstance(out, np.ndarray)
    for cells, told in zip(in_cells(read), out.tolist(), strict=True):
        noisy = (cells + drawn) * m.cell
        if abs(cells + drawn) < 2**93:
            assert told == float(noisy)
        assert abs(Fraction(told) - noisy) <= abs(noisy) / 2**52


def test_a_mask_never_comes_out() -> None:
    """Numpy adds noise to masked arrays and keeps the mask: which entries are masked would be told exactly."""
    masked: Any = np.ma.MaskedArray([1, 2], mask=[True, False])
    for m in (
        laplace(sensitivity=L1(1), epsilon=1, dimension=2),
        laplace(sensitivity=L1("0.5"), epsilon=1, dimension=2),
        gaussian(sensitivity=L2(1), rho=1, dimension=2),
    ):
        for value in (masked, masked.astype(float)):
            with pytest.raises(BadData):
                m.release(value)


def test_a_waiting_mechanism_takes_no_dimension() -> None:
    for make in (lambda: laplace(epsilon=1, dimension=3), lambda: gaussian(rho=1, dimension=3)):  # type: ignore[call-overload]
        with pytest.raises(BadParameter, match="dimension"):
            make()


def test_bounds_of_a_truncation_may_be_text() -> None:
    assert Trunc("0", "1/2")(7) == 0.5
    assert np.array_equal(Trunc("0", "10")(np.array([-5, 70])), [0, 10])


@pytest.mark.parametrize("noise", [laplace(sensitivity=1, epsilon=1), gaussian(sensitivity=2, rho="1/2")])
def test_an_interval_is_as_long_to_both_sides_as_the_error(noise: Any) -> None:
    for confidence in ("0.5", "0.95"):
        error = noise.error_at(confidence)
        assert noise.interval(confidence) == (-error, error)
        assert error > 0
