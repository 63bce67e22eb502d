"""Codes of rows: injective, blind to memory and order of arrival, and never failing."""

from __future__ import annotations

import datetime
import math
import struct
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.stable.core.canonical import code, shuffled_place
from tests.helpers.stability import what
from tests.stable.cases import Sulks


@dataclass(frozen=True)
class Visit:
    person: int
    cost: float


@dataclass(frozen=True)
class Stay:
    person: int
    cost: float


class Colour(Enum):
    RED = 1
    BLUE = 2


Point = namedtuple("Point", ["x", "y"])
OTHER_NAN = struct.unpack("d", struct.pack("Q", 0x7FF8000000000001))[0]
DIFFERENT: list[Any] = [
    None, True, False, 0, 1, -1, 0.0, -0.0, 1.0, math.nan, OTHER_NAN, math.inf, -math.inf, 2**63, 2**53 + 1,
    float(2**53), "", "a", "1", b"", b"a", b"1", (), [], {}, (1,), [1], (1, 2), ((1,), 2), (1, (2,)), {"a": 1},
    {"a": 1, "b": 2}, {"b": 2, "a": 1}, Fraction(1, 2), Fraction(1), Decimal(1), Decimal("1.0"), Decimal("nan"),
    datetime.date(2025, 1, 1), datetime.datetime(2025, 1, 1), datetime.datetime(2025, 1, 1, fold=1),
    datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC), datetime.time(1), datetime.timedelta(1), Visit(1, 2.0),
    Stay(1, 2.0), Visit(1, 2), Colour.RED, Colour.BLUE, Point(1, 2), np.int64(1), np.int32(1), np.float64(1.0),
    np.float32(1.0), np.bool_(True), np.str_("a"), np.datetime64("2025-01-01"), "\ud800", "aa", ("a", ""), ("", "a"),
]  # fmt: skip


def test_rows_that_differ_have_different_codes() -> None:
    codes = [code(row) for row in DIFFERENT]
    assert None not in codes
    for (a, x), (b, y) in combinations(zip(DIFFERENT, codes, strict=True), 2):
        assert x != y, f"{a!r} and {b!r} have one code"


def test_a_code_is_not_a_place_in_memory() -> None:
    assert code((1, "a", float("nan"))) == code((1, "a", float("nan")))
    assert code({"a": [1]}) == code({"a": [1]})
    assert code(Visit(1, 2.5)) == code(Visit(1, 2.5))


rows = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)


@pytest.mark.slow
@given(rows, rows)
def test_codes_agree_exactly_where_rows_do(a: Any, b: Any) -> None:
    assert (code(a) == code(b)) == (what(a) == what(b))


@dataclass
class Hides:
    x: int = 1


def hiding() -> Hides:
    row = Hides()
    row.secret = 5  # type: ignore[attr-defined]
    return row


def endless() -> list[Any]:
    row: list[Any] = []
    row.append(row)
    return row


def test_what_cannot_be_told_apart_has_no_code() -> None:
    for row in [object(), Sulks(), hiding(), endless(), len, np.longdouble(1), {1: object()}, int, 1j]:
        assert code(row) is None


def test_the_salt_chooses_the_order() -> None:
    codes = [c for i in range(50) if (c := code(i)) is not None]
    plain = sorted(codes, key=lambda c: shuffled_place(c, b""))
    salted = sorted(codes, key=lambda c: shuffled_place(c, b"x"))
    assert plain != codes != salted != plain


def test_lists_and_tuples_differ_and_what_is_too_deep_has_no_code() -> None:
    assert code([1, 2]) != code((1, 2))
    assert code(((1,), 2)) != code(((1, 2),))
    deep: Any = 7
    for _ in range(50):
        deep = (deep,)
    for wrap in (lambda row: (row,), lambda row: [row], lambda row: {"a": row}):
        assert code(wrap(deep)) is not None
        assert code(wrap(wrap(deep))) is None
