"""Kinds of values: a number is a count of steps between two ends."""

from dataclasses import FrozenInstanceError
from datetime import date, datetime
from fractions import Fraction

import pytest

from discreet.query.plan.types import LARGEST, Boolean, Date, Number, Real, Text, Timestamp


def test_ends_are_exact() -> None:
    assert Number(Fraction(1, 3), -2, 7).ends == (Fraction(-2, 3), Fraction(7, 3))
    assert Number(Fraction(1, 100), -LARGEST, LARGEST).ends[1] == Fraction(1 << 62, 100)


def test_two_of_the_largest_numbers_add_up_within_64_bits() -> None:
    assert LARGEST + LARGEST - 1 < 1 << 63
    assert -LARGEST - LARGEST >= -(1 << 63)


def test_kinds_are_values_and_never_change() -> None:
    kinds = [Number(Fraction(1), 0, 1), Real(), Text(), Boolean(), Date(), Timestamp()]
    assert len(set(kinds)) == len(kinds)
    assert Date() == Date(date.min, date.max)
    assert Timestamp() == Timestamp(datetime.min, datetime.max)
    with pytest.raises(FrozenInstanceError):
        Number(Fraction(1), 0, 1).low = 5  # type: ignore[misc]
