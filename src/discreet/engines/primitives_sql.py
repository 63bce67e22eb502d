"""Lowered expressions as SQL. Promise: every primitive means what ``table/primitives.py`` says, and none can fail.

No argument can make one of them raise: divisors are made NULL where they are 0, text is matched before it is cast, and
typing has proven that integers stay within 64 bits. GREATEST and LEAST are never used, since they skip NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from discreet.engines import reading_sql as reading
from discreet.engines.dialects import Sort
from discreet.engines.scope import NOTHING, UNBOUNDED, Piece, Scope, condition, constant
from discreet.table.expressions import Call, Column, Expression, Literal
from discreet.table.kinds import Value

_INTEGER = "[+-]?[0-9]{1,18}"
_LEAP = "(?:0[48]|[2468][048]|[13579][26])"
_DATE = (  # a real day of the years 1 to 9999
    "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-"
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|(?:[0-9]{{2}}{_LEAP}|{_LEAP}00)-02-29"
)
_LONGEST = 1 << 30  # no text has more characters
_MANY = 1000


def write(expression: Expression, scope: Scope) -> Piece:
    """The SQL of a lowered expression.

    >>> from discreet.engines.dialects import DUCKDB
    >>> scope = Scope(DUCKDB, {"a": Piece('"c0"', Sort.INTEGER)})
    >>> write(Call("div", (Column("a"), Literal(2))), scope).sql
    '("c0" // NULLIF(CAST(2 AS BIGINT), 0))'
    """
    match expression:
        case Column(name):
            return NOTHING if scope.columns[name].sort is Sort.NULL else scope.columns[name]
        case Literal(value):
            return constant(value, scope.dialect)
        case Call(function, arguments) if function in _WITH_LITERALS:
            first, *others = arguments
            if function == "date_trunc":  # the literal comes first
                first, others = arguments[1], [first]
            piece = write(first, scope)
            if piece.sort is Sort.NULL:
                return NOTHING
            found = _WITH_LITERALS[function](scope, piece, *(_known(other) for other in others))
            return replace(found, level=max(piece.level, found.level))
        case Call(function, arguments):
            pieces = [write(argument, scope) for argument in arguments]
            if function not in _LENIENT and any(piece.sort is Sort.NULL for piece in pieces):
                return NOTHING
            found = _SPECIAL[function](scope, pieces) if function in _SPECIAL else _plain(function, scope, pieces)
            return replace(found, level=max([found.level, *(piece.level for piece in pieces)]))


_LENIENT = frozenset({"is_null", "and", "or", "not", "case", "coalesce"})
"""What may be asked of NULL; everything else of NULL is NULL."""


def _known(expression: Expression) -> Value:
    if not isinstance(expression, Literal):
        raise TypeError("this argument must be a literal")
    value = expression.value
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


# --- what a template says -------------------------------------------------------------------------------------------

Reach: TypeAlias = Callable[..., int]


def _fixed(reach: int) -> Reach:
    return lambda *_: reach


_DAYS = (date.max - date.min).days
_ANY = _fixed(UNBOUNDED)
_TRUTH = (Sort.BOOLEAN, _ANY)
_TEXT = (Sort.TEXT, _ANY)
_RESULTS: Mapping[str, tuple[Sort, Reach]] = {
    "add": (Sort.INTEGER, lambda x, y: x + y),
    "sub": (Sort.INTEGER, lambda x, y: x + y),
    "mul": (Sort.INTEGER, lambda x, y: x * y),
    "neg": (Sort.INTEGER, lambda x: x),
    "abs": (Sort.INTEGER, lambda x: x),
    "sign": (Sort.INTEGER, _fixed(1)),
    "div": (Sort.INTEGER, lambda x, _: x),
    "mod": (Sort.INTEGER, min),
    "eq": _TRUTH,
    "ne": _TRUTH,
    "lt": _TRUTH,
    "le": _TRUTH,
    "gt": _TRUTH,
    "ge": _TRUTH,
    "is_null": _TRUTH,
    "not": _TRUTH,
    "lower": _TEXT,
    "upper": _TEXT,
    "trim": _TEXT,
    "ltrim": _TEXT,
    "rtrim": _TEXT,
    "length": (Sort.INTEGER, _fixed(1 << 32)),
    "starts_with": _TRUTH,
    "ends_with": _TRUTH,
    "contains": _TRUTH,
    "integer_to_text": _TEXT,
    "date_to_text": _TEXT,
    "boolean_to_integer": (Sort.INTEGER, _fixed(1)),
    "timestamp_to_date": (Sort.DATE, _ANY),
    "date_to_timestamp": (Sort.TIMESTAMP, _ANY),
    "year": (Sort.INTEGER, _fixed(9999)),
    "quarter": (Sort.INTEGER, _fixed(4)),
    "month": (Sort.INTEGER, _fixed(12)),
    "day": (Sort.INTEGER, _fixed(31)),
    "day_of_week": (Sort.INTEGER, _fixed(7)),
    "day_of_year": (Sort.INTEGER, _fixed(366)),
    "hour": (Sort.INTEGER, _fixed(23)),
    "minute": (Sort.INTEGER, _fixed(59)),
    "second": (Sort.INTEGER, _fixed(59)),
    "days_between": (Sort.INTEGER, _fixed(_DAYS)),
    "seconds_between": (Sort.INTEGER, _fixed((_DAYS + 1) * 86_400)),
}


def _plain(function: str, scope: Scope, pieces: Sequence[Piece]) -> Piece:
    ordered = function in ("lt", "le", "gt", "ge") and any(piece.sort is Sort.TEXT for piece in pieces)
    sort, reach = _RESULTS[function]
    sql = scope.dialect.call(f"text_{function}" if ordered else function, *(piece.sql for piece in pieces))
    return Piece(sql, sort, min(reach(*(piece.reach for piece in pieces)), UNBOUNDED))


# --- any number of arguments ----------------------------------------------------------------------------------------


def _same(pieces: Sequence[Piece], sql: str) -> Piece:
    """One of several values of one kind."""
    real = [piece for piece in pieces if piece.sort is not Sort.NULL]
    return Piece(sql, real[0].sort, max(piece.reach for piece in real)) if real else NOTHING


def _case(scope: Scope, pieces: Sequence[Piece]) -> Piece:
    whens, thens, otherwise = pieces[:-1:2], pieces[1:-1:2], pieces[-1]
    branches = " ".join(f"WHEN {condition(when)} THEN {then.sql}" for when, then in zip(whens, thens, strict=True))
    return _same([*thens, otherwise], f"CASE {branches} ELSE {otherwise.sql} END" if branches else otherwise.sql)


def _coalesce(scope: Scope, pieces: Sequence[Piece]) -> Piece:
    return _same(pieces, f"coalesce({', '.join(piece.sql for piece in pieces)})")


def _joined(word: str) -> Callable[[Scope, Sequence[Piece]], Piece]:
    return lambda _, pieces: Piece(f"({f' {word} '.join(piece.sql for piece in pieces)})", Sort.BOOLEAN)


def _extreme(order: str) -> Callable[[Scope, Sequence[Piece]], Piece]:
    """The least or greatest, NULL if any is: neither WHEN is true of NULL."""

    def one(scope: Scope, a: Piece, b: Piece) -> Piece:
        x, y = scope.named(a), scope.named(b)
        first, second = _plain(order, scope, [x, y]), _plain("not", scope, [_plain(order, scope, [x, y])])
        sql = f"CASE WHEN {first.sql} THEN {x.sql} WHEN {second.sql} THEN {y.sql} END"
        return replace(_same([x, y], sql), level=max(x.level, y.level))

    return lambda scope, pieces: reduce(lambda a, b: one(scope, a, b), pieces)


def _concat(scope: Scope, pieces: Sequence[Piece]) -> Piece:
    return Piece(reduce(lambda a, b: scope.dialect.call("concat", a, b), [piece.sql for piece in pieces]), Sort.TEXT)


_SPECIAL: Mapping[str, Callable[[Scope, Sequence[Piece]], Piece]] = {
    "case": _case,
    "coalesce": _coalesce,
    "and": _joined("AND"),
    "or": _joined("OR"),
    "least": _extreme("le"),
    "greatest": _extreme("ge"),
    "concat": _concat,
}


# --- with literal arguments -----------------------------------------------------------------------------------------


def is_one_of(scope: Scope, x: Piece, *values: Value) -> Piece:
    """Whether a value is one of these constants, none of which is NULL; NULL if it is NULL.

    Many of them travel as one text, since reading a million literals would take longer than the question.
    """
    d = scope.dialect
    if not values:
        return Piece(f"CASE WHEN {x.sql} IS NOT NULL THEN FALSE END", Sort.BOOLEAN)
    if len(values) <= _MANY or "in_many" not in d.templates:
        return Piece(d.call("in", x.sql, ", ".join(d.literal(value) for value in values)), Sort.BOOLEAN)
    texts = [value if isinstance(value, str) else _plain_text(value) for value in values]
    between = next(mark for mark in map(chr, range(0xE000, 0xF8FF)) if not any(mark in text for text in texts))
    return Piece(d.call("in_many", x.sql, d.text(between.join(texts)), d.text(between), d.types[x.sort]), Sort.BOOLEAN)


def _plain_text(value: Value) -> str:
    return value.isoformat(*([" "] if isinstance(value, datetime) else [])) if isinstance(value, date) else str(value)


def _like(scope: Scope, x: Piece, pattern: str) -> Piece:
    """Where backslash is LIKE's own escape, it is escaped by itself."""
    d = scope.dialect
    return Piece(d.call("like", x.sql, d.text(pattern.replace("\\", "\\\\") if d.escapes else pattern)), Sort.BOOLEAN)


def _substring(scope: Scope, x: Piece, start: int, count: int) -> Piece:
    return Piece(
        scope.dialect.call("substring", x.sql, str(min(start, _LONGEST)), str(min(count, _LONGEST))), Sort.TEXT
    )


def _round_div(scope: Scope, piece: Piece, n: int) -> Piece:
    half = (n + 1) // 2
    return _divided(scope, piece, n, f"WHEN {{0}} >= {half} THEN 1 WHEN {{0}} <= -{half} THEN -1")


def _floor_div(scope: Scope, piece: Piece, n: int) -> Piece:
    return _divided(scope, piece, n, "WHEN {0} < 0 THEN -1")


def _ceil_div(scope: Scope, piece: Piece, n: int) -> Piece:
    return _divided(scope, piece, n, "WHEN {0} > 0 THEN 1")


def _divided(scope: Scope, piece: Piece, n: int, correction: str) -> Piece:
    """The quotient towards zero, corrected by what the remainder says; nothing here can overflow."""
    x, d, by = scope.named(piece), scope.dialect, scope.dialect.literal(n)
    change = correction.format(f"({x.sql} % {by})")
    sql = f"({d.call('quotient', x.sql, by)} + CASE {change} ELSE 0 END)"
    return Piece(sql, Sort.INTEGER, x.reach // n + 1, level=x.level)


def _matching(scope: Scope, x: Piece, pattern: str, sort: Sort) -> Piece:
    d = scope.dialect
    return Piece(d.cast(d.call("matching", x.sql, d.text(d.whole_text.format(pattern))), sort), sort, 10**18)


def _date_trunc(scope: Scope, x: Piece, unit: str) -> Piece:
    allowed = ["year", "quarter", "month", "week", "day", *(["hour", "minute"] if x.sort is Sort.TIMESTAMP else [])]
    if unit not in allowed:
        raise ValueError("no such unit of time")
    d = scope.dialect
    return Piece(d.cast(d.call("date_trunc", d.text(unit), x.sql), x.sort), x.sort)


def _add_days(scope: Scope, piece: Piece, n: int) -> Piece:
    """Compared before the addition, so that no day outside the years 1 to 9999 is ever made."""
    x, d = scope.named(piece), scope.dialect
    n = max(-_DAYS, min(n, _DAYS))
    sign, last = (">=", date.max) if n >= 0 else ("<=", date.min)
    edge = d.literal(last - timedelta(days=n))
    sql = f"CASE WHEN {x.sql} {sign} {edge} THEN {d.literal(last)} ELSE {d.call('add_days', x.sql, str(n))} END"
    return Piece(sql, Sort.DATE, level=x.level)


_WITH_LITERALS: Mapping[str, Callable[..., Piece]] = {
    "read_integer": reading.read_integer,
    "read_decimal": reading.read_decimal,
    "read_real": reading.read_real,
    "read_text": reading.read_text,
    "read_boolean": reading.read_boolean,
    "read_date": reading.read_date,
    "read_timestamp": reading.read_timestamp,
    "read_float": reading.read_float,
    "in": is_one_of,
    "like": _like,
    "substring": _substring,
    "round_div": _round_div,
    "floor_div": _floor_div,
    "ceil_div": _ceil_div,
    "text_to_integer": lambda scope, x: _matching(scope, x, _INTEGER, Sort.INTEGER),
    "text_to_date": lambda scope, x: _matching(scope, x, _DATE, Sort.DATE),
    "date_trunc": _date_trunc,
    "add_days": _add_days,
}

WRITTEN = frozenset(_RESULTS) | frozenset(_SPECIAL) | frozenset(_WITH_LITERALS)
"""All primitives that can be written."""
