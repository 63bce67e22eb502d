"""Stored values as engine values, in SQL: integers on the public grid, text, truth, dates and times of years 1 to 9999.

Promise: total. Everything is clamped before it is cast or multiplied, so nothing can overflow, and NaN becomes NULL:
it is above infinity in these engines, or compares with nothing, so it falls through every WHEN. Whatever the arguments,
a column is read only here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.scope import Piece, Scope
from discreet.query.plan.schema import Stored, StoredKind

_LARGEST_DOUBLE = Fraction(1.7976931348623157e308)
_POWER = 1000  # 2^1000 is still a double
_NARROW = 18  # digits of a DECIMAL in 64 bits


def read_integer(scope: Scope, column: Piece, low: int, high: int) -> Piece:
    """A stored integer of any width, or any other integer, clamped."""
    if -low >= column.reach <= high:  # the stored type has no room for more
        return Piece(scope.dialect.cast(column.sql, Sort.INTEGER), Sort.INTEGER, column.reach)
    x = scope.named(column)
    inside = scope.dialect.cast(x.sql, Sort.INTEGER)
    reach = max(abs(low), abs(high))
    return Piece(clamped(x.sql, low, high, inside, scope.dialect), Sort.INTEGER, reach, level=x.level)


def clamped(sql: str, low: int, high: int, inside: str, dialect: Dialect) -> str:
    """The nearest integer of low to high; ``inside`` is the value where it already is one. NULL stays NULL."""
    a, b = dialect.literal(low), dialect.literal(high)
    return f"CASE WHEN {sql} < {a} THEN {a} WHEN {sql} > {b} THEN {b} ELSE {inside} END"


def read_decimal(scope: Scope, column: Piece, digits: int, low: int, high: int) -> Piece:
    """Clamped first, so that all that follows has at most 20 digits; then times 10^digits, nine zeros at a time."""
    d, x, reach = scope.dialect, column.sql, max(abs(low), abs(high))
    width = max(len(str(reach)), digits) + 1
    a, b = (d.call("decimal", f"'{_decimal(end, digits)}'", str(width), str(digits)) for end in (low, high))
    sql = f"CASE {d.call('decimal_nan', x)}WHEN {x} < {a} THEN {a} WHEN {x} > {b} THEN {b} ELSE {x} END"
    return Piece(d.cast(_shifted(sql, width, digits, d), Sort.INTEGER), Sort.INTEGER, reach)


def _shifted(sql: str, width: int, digits: int, d: Dialect) -> str:
    """Times 10^digits. DuckDB keeps a product of narrow decimals in 64 bits, and fails where it has over 18 digits."""
    left = digits
    while left:
        step = min(left, 9)
        width = width if width - 1 + step <= _NARROW else max(width, _NARROW + 1)
        zeros = d.call("decimal", str(10**step), str(step + 1), "0")
        sql = f"({d.call('decimal', sql, str(width), str(left))} * {zeros})"
        left -= step
    return sql


def read_coarse(scope: Scope, column: Piece, scale: int, power: int, *ends: int) -> Piece:
    """Clamped first, so that it has at most 38 digits; then rounded to its digits, or divided as 127 bits."""
    column = column if column.simple else scope.named(column)
    d, x, reach = scope.dialect, column.sql, max(map(abs, ends))
    own = (end * 10 ** (power + scale) for end in ends)
    a, b = (
        d.call("decimal", f"'{_decimal(end, scale)}'", "38", str(scale)) if scale else f"CAST({end} AS {d.wide})"
        for end in own
    )
    nan = d.call("decimal_nan", x) if scale else ""
    sql = f"CASE {nan}WHEN {x} < {a} THEN {a} WHEN {x} > {b} THEN {b} ELSE {x} END"
    if power <= 0:
        width = max(len(str(reach)), -power) + 1
        sql = _shifted(sql, width, -power, d) if power else d.call("decimal", sql, str(width), "0")
    else:
        whole = d.call("decimal", sql, "38", "0") if scale else sql
        sql = d.call("wide_quotient", f"CAST({whole} AS {d.wide})", str(10**power))
    return Piece(d.cast(sql, Sort.INTEGER), Sort.INTEGER, reach, level=column.level)


def _decimal(cells: int, digits: int) -> str:
    """cells / 10^digits in plain notation.

    >>> _decimal(-5, 2), _decimal(1234, 2), _decimal(7, 0)
    ('-0.05', '12.34', '7')
    """
    sign, text = "-" if cells < 0 else "", str(abs(cells)).rjust(digits + 1, "0")
    return f"{sign}{text[: len(text) - digits]}.{text[len(text) - digits :]}".rstrip(".")


def read_real(scope: Scope, column: Piece, exponent: int, low: int, high: int) -> Piece:
    """floor(y + 1/2) for y = x / 2^exponent is (floor(2y) + 1) / 2, rounded down: exact, since 2y is a double."""
    d, x, reach = scope.dialect, scope.dialect.cast(column.sql, Sort.REAL), max(abs(low), abs(high))
    step, infinity = Fraction(2) ** exponent, d.real(float("inf"))
    a, b = _double(low * step), _double(high * step)
    if reach < 1 << 60 and a is not None and b is not None:
        zero = _near_zero(x, exponent, d.real(0.0), d) if a <= 0 <= b else ""
        bounded = (
            f"CASE WHEN {x} <= {d.real(a)} THEN {d.real(a)} {zero}"
            f"WHEN {x} <= {d.real(b)} THEN {x} WHEN {x} <= {infinity} THEN {d.real(b)} END"
        )
        return Piece(_nearest(bounded, exponent, d), Sort.INTEGER, reach)
    # The ends are no doubles, or the cells too many to be doubled: find the cell first, then clamp it.
    far, exact = float(min(step * 2**62, _LARGEST_DOUBLE)), d.real(2.0**52)
    y = _times(x, -exponent, d)
    cell = (
        f"CASE WHEN {y} > -{exact} AND {y} < {exact} THEN {_nearest(x, exponent, d)} ELSE {d.cast(y, Sort.INTEGER)} END"
    )
    sql = (
        f"CASE WHEN {x} < {d.real(-far)} THEN {d.literal(low)} {_near_zero(x, exponent, d.literal(0), d)}"
        f"WHEN {x} <= {d.real(far)} THEN {cell} WHEN {x} <= {infinity} THEN {d.literal(high)} END"
    )
    rounded = scope.named(Piece(sql, Sort.INTEGER, 1 << 62))
    return replace(rounded, sql=clamped(rounded.sql, low, high, rounded.sql, d), reach=reach, simple=False)


def read_whole(scope: Scope, column: Piece) -> Piece:
    """NULL unless it is a whole number between ±2^53."""
    return Piece(_whole(column.sql, scope.dialect), Sort.INTEGER, 1 << 53)


def read_id(column: str, stored: Mapping[str, Stored], dialect: Dialect) -> str:
    """A unit as it is compared with others: a whole number where it is stored as a float."""
    name = dialect.identifier(column)
    return _whole(name, dialect) if stored[column].kind is StoredKind.REAL else name


def _whole(sql: str, d: Dialect) -> str:
    """It is looked at only between ±2^53, since floors may be of 64 bits."""
    x = d.cast(sql, Sort.REAL)
    whole = f"CASE WHEN {d.call('floor', x)} = {x} THEN {d.cast(x, Sort.INTEGER)} END"
    return f"CASE WHEN {x} > {d.real(-(2.0**53))} AND {x} < {d.real(2.0**53)} THEN {whole} END"


def _nearest(x: str, exponent: int, d: Dialect) -> str:
    twice = d.cast(d.call("floor", _times(x, 1 - exponent, d)), Sort.INTEGER)
    return d.call("half", f"({twice} + 1)")


def _times(x: str, power: int, d: Dialect) -> str:
    """x * 2^power, in steps that doubles can hold."""
    while power:
        step = max(-_POWER, min(power, _POWER))
        x, power = f"({x} * {d.real(2.0**step)})", power - step
    return x


def _near_zero(x: str, exponent: int, zero: str, d: Dialect) -> str:
    """PostgreSQL calls it an error when a product of doubles is too small; but then the nearest cell is 0."""
    near = _double(min(Fraction(2) ** exponent / 4, Fraction(2) ** 1023))
    if exponent < 1 or near is None:
        return ""
    return f"WHEN {x} > {d.real(-near)} AND {x} < {d.real(near)} THEN {zero} "


def _double(value: Fraction) -> float | None:
    """The value as a double, if it is one."""
    if abs(value) > _LARGEST_DOUBLE:
        return None
    double = float(value)
    return double if double == value else None


def read_text(scope: Scope, column: Piece) -> Piece:
    """Text, compared by code point from here on."""
    d = scope.dialect
    return Piece(d.call("binary", d.cast(column.sql, Sort.TEXT)), Sort.TEXT)


def read_boolean(scope: Scope, column: Piece) -> Piece:
    """As it is."""
    return Piece(scope.dialect.cast(column.sql, Sort.BOOLEAN), Sort.BOOLEAN)


def read_float(scope: Scope, column: Piece) -> Piece:
    """As it is, in double precision."""
    return Piece(scope.dialect.cast(column.sql, Sort.REAL), Sort.REAL)


def read_date(scope: Scope, column: Piece) -> Piece:
    """Days before year 1 and after year 9999, and the infinities, are the first and the last day."""
    return _read_time(scope, column, Sort.DATE, date.min, date.max)


def read_timestamp(scope: Scope, column: Piece) -> Piece:
    """The same for moments; those with a time zone are read as UTC."""
    return _read_time(scope, column, Sort.TIMESTAMP, datetime.min, datetime.max)


def _read_time(scope: Scope, column: Piece, sort: Sort, first: date, last: date) -> Piece:
    d, x = scope.dialect, scope.dialect.cast(column.sql, sort)
    a, b = d.literal(first), d.literal(last)
    return Piece(f"CASE WHEN {x} < {a} THEN {a} WHEN {x} > {b} THEN {b} ELSE {x} END", sort)
