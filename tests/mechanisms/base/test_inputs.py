"""Numbers and keys from data: exactly, or not at all."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData
from discreet.mechanisms.base.inputs import can_be_looked_up, finite_real, least_whole, whole


@pytest.mark.parametrize("edge", [-3, 0, 1, 2, 3, 4, 5, 100, 1023, 1024, 1025])
def test_the_least_whole_number(edge: int) -> None:
    tried: list[int] = []

    def fits(k: int) -> bool:
        tried.append(k)
        return k >= edge

    assert least_whole(fits, start=-3) == edge
    assert edge in tried
    assert edge == -3 or edge - 1 in tried


@pytest.mark.parametrize("value", [1.0, "1", None, True, float("nan"), Fraction(1, 2)])
def test_what_is_not_whole(value: Any) -> None:
    with pytest.raises(BadData):
        whole(value, "it")
    assert whole(np.int8(3), "it") == 3


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (3, Fraction(3)), (0.1, Fraction(0.1)), (Fraction(1, 3), Fraction(1, 3)), (10**400, Fraction(10**400)),
        (np.int64(2**62 + 1), Fraction(2**62 + 1)), (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (np.float32(0.1), Fraction(13421773, 2**27)), (5e-324, Fraction(1, 2**1074)), (-0.0, Fraction(0)),
    ],
    ids=range(9),
)  # fmt: skip
def test_a_finite_real_number_is_read_exactly(value: Any, exact: Fraction) -> None:
    assert finite_real(value) == exact


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, np.float64("nan"), True, "1", None, 1j, Decimal(1), [1], np.timedelta64(5, "D"),
     np.timedelta64("NaT"), np.longdouble("inf")],
)  # fmt: skip
def test_what_is_no_finite_real_number(value: Any) -> None:
    assert finite_real(value) is None


class Hostile:
    """Raises when it is compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("key", "found"),
    [("a", True), (None, True), (1.5, True), (("a", (1, None)), True), ((), True), (frozenset({1}), True),
     (math.nan, False), (("a", math.nan), False), ((((math.nan,),),), False), (frozenset({math.nan}), False),
     (["a"], False), ({}, False), (("a", []), False), (Hostile(), False), ((Hostile(),), False)],
)  # fmt: skip
def test_keys_that_an_equal_value_finds(key: Any, found: bool) -> None:
    assert can_be_looked_up(key) is found


def test_the_message_about_a_bad_value_does_not_name_it() -> None:
    with pytest.raises(BadData, match=r"^a score must be an integer$"):
        whole(987654321.5, "a score")
