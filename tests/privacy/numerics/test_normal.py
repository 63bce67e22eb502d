"""normal.py against python-flint's ball arithmetic."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpq
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter
from discreet.privacy.numerics import normal


@pytest.fixture(autouse=True, scope="module")
def _precise() -> Iterator[None]:
    before, ctx.prec = ctx.prec, 12_000  # erfc at the edge of the tail is relative, 1 - erfc is not
    yield
    ctx.prec = before


def ball(x: Fraction) -> Any:
    return arb(fmpq(x.numerator, x.denominator))


def phi(x: Fraction) -> Any:
    return (-ball(x) / arb(2).sqrt()).erfc() / 2


def encloses(x: Fraction, bits: int, low: Fraction, high: Fraction) -> None:
    truth = phi(x)
    assert ball(low) <= truth or low == high
    assert truth <= ball(high) or low == high
    assert high - low <= Fraction(2) ** (4 - bits) * min(high, 1 - low)


points = st.builds(Fraction, st.integers(-(10**7), 10**7), st.integers(10**5, 10**8))


@pytest.mark.slow
@given(points, st.sampled_from([64, 128, 200]))
@example(Fraction(0), 128)
@example(Fraction(3), 128)
@example(Fraction(-3), 128)
@example(Fraction(299999, 100000), 128)
@example(Fraction(-1, 10**30), 128)
@example(Fraction(-60), 128)
@example(Fraction(50), 64)
@settings(max_examples=150, deadline=None)
def test_cdf_encloses(x: Fraction, bits: int) -> None:
    encloses(x, bits, normal.cdf_down(x, bits), normal.cdf_up(x, bits))


def test_sides_swapped_would_be_caught() -> None:
    for x in (Fraction(1), Fraction(-5)):
        with pytest.raises(AssertionError):
            encloses(x, 128, normal.cdf_up(x), normal.cdf_down(x))


@pytest.mark.slow
@given(st.fractions(min_value=0, max_value=1, max_denominator=10**9))
@example(Fraction(1, 2))
@example(Fraction(1, 10**400))
@example(1 - Fraction(1, 10**60))
@settings(max_examples=40, deadline=None)
def test_quantile_encloses(p: Fraction) -> None:
    if p in (0, 1):
        for quantile in (normal.quantile_down, normal.quantile_up):
            with pytest.raises(BadParameter):
                quantile(p)
        return
    low, high = normal.quantile_down(p), normal.quantile_up(p)
    assert phi(low) <= ball(p) <= phi(high)
    assert high - low < Fraction(1, 2**50)


def test_pi() -> None:
    for bits in (8, 64, 1000):
        low, high = normal.pi_bounds(bits)
        assert ball(low) < arb.pi() < ball(high)
        assert high - low < Fraction(1, 2**bits)
    assert float(normal.pi_bounds(64)[0]) == math.pi
