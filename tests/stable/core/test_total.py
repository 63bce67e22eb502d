"""Functions of one row that have an answer for every row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadParameter
from discreet.stable.core.total import attempt, check_field, plain_number, reader, show_field, whole, wholes


class Nasty(int):
    def __int__(self) -> int:
        raise SystemExit

    def __ge__(self, other: object) -> bool:
        raise MemoryError


class Strange(float):
    def __round__(self, digits: Any = None) -> Any:
        raise RecursionError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5), (-9, -2), (99, 7), (True, 1), (np.int64(3), 3), (np.uint64(2**64 - 1), 7), (np.bool_(True), 1),
        (2.5, 2), (3.5, 4), (-0.0, 0), (math.inf, 7), (-math.inf, -2), (math.nan, 4), (np.float32("nan"), 4),
        (np.float64(6.9), 7), (np.float16(1.5), 2), (np.longdouble(1.5), 2), (Fraction(7, 2), 4), (Decimal("2.5"), 2),
        (Decimal("nan"), 4), (Decimal("snan"), 4), (Decimal("inf"), 7), (Decimal("-inf"), -2),
        (Decimal("1e999999"), 7), (Decimal("-1e999999"), -2), (Decimal("1e-999999"), 0), (2**5000, 7), (-(2**5000), -2),
        (None, 4), ("5", 4), ([5], 4), (1j, 4), (object(), 4), (Nasty(5), 4), (Strange(1.5), 4), (np.array([1]), 4),
        (5e-324, 0), (1.7e308, 7),
    ],
)  # fmt: skip
def test_whole_numbers(value: Any, expected: int) -> None:
    result = whole(value, -2, 7, 4)
    assert type(result) is int
    assert result == expected


@pytest.mark.parametrize("value", [math.inf, -math.inf, Decimal("inf"), Decimal("1e99999"), np.float64("inf")])
def test_without_bounds_what_is_beyond_writing_is_missing(value: Any) -> None:
    assert whole(value, None, None, 4) == 4


def test_bounds_are_not_rounded_to_the_type_of_the_value() -> None:
    assert whole(np.float32(2**24), 0, 2**24 + 1, 0) == 2**24
    assert whole(np.float64(2**53), 0, 2**53 + 1, 0) == whole(float(2**53), 0, 2**53 + 1, 0) == 2**53
    assert whole(np.float16(2048), 0, 2049, 0) == 2048
    assert whole(np.longdouble(2**53) + 1, 0, 2**60, 0) in (2**53, 2**53 + 1)  # as wide as the platform's
    assert whole(np.int8(-128), -(2**70), 2**70, 0) == -128
    assert whole(np.float16(1), -(2**70), 2**70, 0) == 1


def test_many_are_as_one() -> None:
    values: list[Any] = [5, -9, 99, True, 2.5, math.nan, None, 2**70, np.int64(3), Nasty(5)]
    assert wholes(values, -2, 7, 4) == [whole(value, -2, 7, 4) for value in values]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_is_exact(x: float) -> None:
    assert whole(x, None, None, 0) == round(Fraction(x))
    assert whole(Fraction(x), None, None, 0) == whole(x, None, None, 0)


def test_only_the_operator_interrupts() -> None:
    def stop(row: Any) -> Any:
        raise row

    for error in (ValueError, SystemExit, GeneratorExit, MemoryError, RecursionError):
        assert attempt(stop, error, "no") == "no"
    with pytest.raises(KeyboardInterrupt):
        attempt(stop, KeyboardInterrupt, "no")


@dataclass
class Visit:
    cost: int

    @property
    def trap(self) -> int:
        raise AssertionError("only fields are read")


def test_fields() -> None:
    assert attempt(reader("cost"), {"cost": 3}, None) == 3
    assert attempt(reader("cost"), Visit(4), None) == 4
    assert attempt(reader("trap"), Visit(4), "none") == "none"
    assert attempt(reader(1), (5, 6), None) == 6
    assert attempt(reader(0), "text", None) is None
    assert attempt(reader(-1), (5, 6), None) is None
    assert attempt(reader(9), (5, 6), None) is None
    assert attempt(reader(None), 7, None) == 7
    assert attempt(reader(abs), -7, None) == 7
    assert [show_field(f) for f in ("a", 0, None, abs)] == ["'a'", "0", "the row", "abs"]


@pytest.mark.parametrize("field", [1.5, True, ["a"], b"a"])
def test_what_is_no_field_is_refused(field: Any) -> None:
    with pytest.raises(BadParameter, match="must be a name"):
        check_field(field, "by")


def test_plain_numbers() -> None:
    assert [plain_number(v) for v in (1, 1.5, True, "1", None, 1j)] == [1, 1.5, True, None, None, None]
    assert plain_number(Nasty(1)) is None
    assert plain_number(np.float32(1)) == 1
    assert plain_number(np.str_("1")) is None
