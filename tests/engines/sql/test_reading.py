"""Stored values as engine values, on DuckDB: exact, clamped, never an error."""

from __future__ import annotations

import math
import sys
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb as driver
import pytest

from discreet.engines.sql import reading
from discreet.engines.sql.dialects import DUCKDB, Sort
from discreet.engines.sql.scope import UNBOUNDED, Piece, Scope
from discreet.query.lower.scan import DECIMAL_ROOM

LARGEST = sys.float_info.max
ODD = [0.0, -0.0, 0.5, -0.5, 1.5, -2.5, 0.1, 0.49999999999999994, 5e-324, -5e-324, 4503599627370497.0, 2.0**62,
       -(2.0**63), LARGEST, -LARGEST, math.inf, -math.inf, math.nan, None]  # fmt: skip


def values(how: Any, kind: str, given: list[Any], *arguments: Any) -> list[Any]:
    """What is read from a stored column of a type."""
    scope = Scope(DUCKDB, {"v": Piece('"v"', Sort.OTHER, UNBOUNDED << 64, simple=True)})
    piece = how(scope, scope.columns["v"], *arguments)
    texts = ", ".join("(NULL)" if one is None else f"('{one}')" for one in given)
    rows = f"(SELECT CAST(v AS {kind}) AS v FROM (VALUES {texts}) AS t(v))"
    return [one for (one,) in driver.execute(f"SELECT {piece.sql} FROM {scope.around(rows)} AS t").fetchall()]


def nearest(x: float | None, exponent: int, low: int, high: int) -> int | None:
    """The nearest cell of width 2^exponent, halves up, clamped: in fractions."""
    if x is None or math.isnan(x):
        return None
    if math.isinf(x):
        return high if x > 0 else low
    return min(max(math.floor(Fraction(x) / Fraction(2) ** exponent + Fraction(1, 2)), low), high)


@pytest.mark.parametrize("exponent", [-1074, -60, -3, 0, 1, 40, 1000])
@pytest.mark.parametrize("ends", [(-9, 9), (0, 1), (3, 8), (-(1 << 62), 1 << 62)], ids=str)
def test_floats_go_to_the_nearest_cell(exponent: int, ends: tuple[int, int]) -> None:
    found = values(reading.read_real, "DOUBLE", ODD, exponent, *ends)
    assert found == [nearest(x, exponent, *ends) for x in ODD]


def test_integers_of_every_width_are_clamped() -> None:
    given = [0, -7, 8, (1 << 127) - 1, -(1 << 127) + 1, None]
    assert values(reading.read_integer, "HUGEINT", given, -5, 7) == [0, -5, 7, 7, -5, None]


def test_a_type_without_room_beyond_the_bounds_is_not_clamped() -> None:
    scope = Scope(DUCKDB, {})
    for low, high, clamped in ((-128, 128, False), (-128, 127, True), (-127, 128, True)):
        piece = reading.read_integer(scope, Piece("v", Sort.INTEGER, 128, simple=True), low, high)
        assert ("CASE" in piece.sql) is clamped
        assert piece.reach == 128


@pytest.mark.parametrize("digits", [0, 2, 9, 10, 18])
def test_decimals_are_whole_cells(digits: int) -> None:
    step = Decimal(1).scaleb(-digits)
    given = [Decimal(0), step, -step, 7 * step, -1000 * step, 1000 * step, None]
    found = values(reading.read_decimal, f"DECIMAL(38, {digits})", given, digits, -50, 500)
    assert found == [0, 1, -1, 7, -50, 500, None]


@pytest.mark.parametrize("digits", range(19))
def test_no_decimal_of_18_digits_is_an_error(digits: int) -> None:
    """DuckDB multiplies narrow decimals in 64 bits: one person's large number would fail a question of everybody."""
    step, room = Decimal(1).scaleb(-digits), DECIMAL_ROOM
    cells = [10**n for n in range(18)] + [10**18 - 1, room - 1, room, room + 1]
    given = [sign * n * step for n in cells for sign in (1, -1)]
    found = values(reading.read_decimal, f"DECIMAL(18, {digits})", [f"{x:f}" for x in given], digits, -room, room)
    assert found == [sign * min(n, room) for n in cells for sign in (1, -1)]


def test_days_and_moments_outside_the_years_1_to_9999_are_the_first_and_last() -> None:
    days = values(
        reading.read_date, "DATE", ["infinity", "-infinity", "10000-01-01", "0001-01-01 (BC)", "2024-02-29", None]
    )
    assert days == [date.max, date.min, date.max, date.min, date(2024, 2, 29), None]
    moments = values(reading.read_timestamp, "TIMESTAMP", ["infinity", "-infinity", "2024-02-29 13:05:00.000001", None])
    assert moments == [datetime.max, datetime.min, datetime(2024, 2, 29, 13, 5, 0, 1), None]


def test_text_and_truth_are_read_as_they_are() -> None:
    assert values(reading.read_text, "VARCHAR", ["a ", "", "é", None]) == ["a ", "", "é", None]
    assert values(reading.read_boolean, "BOOLEAN", ["true", "false", None]) == [True, False, None]
    assert values(reading.read_float, "FLOAT", ["0.5", "inf", None]) == [0.5, math.inf, None]
