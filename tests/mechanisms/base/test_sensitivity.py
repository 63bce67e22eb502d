"""Norms: converted upwards, exactly where they can be, and refused where a norm must be named."""

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.base.sensitivity import L1, L2, Linf, as_l1, as_l2_squared

F = Fraction


def test_norms_are_converted_upwards() -> None:
    vectors = [(a, b, c) for a in range(-2, 3) for b in range(-2, 3) for c in range(-2, 3) if (a, b, c) != (0, 0, 0)]
    for v in vectors:
        l1, l2, linf = sum(map(abs, v)), sum(x * x for x in v), max(map(abs, v))
        assert as_l1(L2(squared=l2), 3, whole=True) >= l1
        assert as_l1(Linf(linf), 3, whole=True) >= l1
        assert as_l2_squared(L1(l1), 3) >= l2
        assert as_l2_squared(Linf(linf), 3) >= l2


@pytest.mark.parametrize(
    ("sensitivity", "dimension", "l1", "l2_squared"),
    [
        (L1(3), 10, F(3), F(9)),
        (L1("1/2"), 10, F(1, 2), F(1, 4)),
        (L2(2), 100, F(4), F(4)),  # whole numbers: L1 <= L2 squared
        (L2(2), 1, F(2), F(4)),
        (L2(squared=2), 3, F(2), F(2)),
        (L2(squared=50), 3, F(12), F(50)),  # the floor of √150
        (Linf(2), 10, F(20), F(40)),
        (3, 1, F(3), F(9)),
        ("1/2", 1, F(1, 2), F(1, 4)),
    ],
)
def test_by_hand(sensitivity: Any, dimension: int, l1: Fraction, l2_squared: Fraction) -> None:
    assert as_l1(sensitivity, dimension, whole=True) == l1
    assert as_l2_squared(sensitivity, dimension) == l2_squared


def test_for_reals_a_root_is_rounded_up() -> None:
    found = as_l1(L2(squared=2), 3, whole=False)
    assert found**2 >= 6
    assert float(found) == pytest.approx(math.sqrt(6), rel=1e-15)
    assert as_l1(L2(3), 4, whole=False) == 6


@pytest.mark.parametrize("dimension", [2, 10])
def test_a_vector_needs_a_norm(dimension: int) -> None:
    with pytest.raises(BadParameter, match="must say its norm"):
        as_l1(1, dimension, whole=True)
    with pytest.raises(BadParameter, match="must say its norm"):
        as_l2_squared(1, dimension)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", True])
def test_a_sensitivity_is_above_zero(bad: Any) -> None:
    makers: list[Any] = [L1, L2, Linf, lambda x: L2(squared=x), lambda x: as_l1(x, 1, whole=True)]
    for make in makers:
        with pytest.raises(BadParameter, match="sensitivity"):
            make(bad)


def test_a_length_or_its_square() -> None:
    assert L2(3) == L2(squared=9)
    for arguments in ({}, {"value": 1, "squared": 1}):
        with pytest.raises(BadParameter, match="not both"):
            L2(**arguments)
