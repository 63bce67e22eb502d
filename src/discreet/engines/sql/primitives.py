"""Lowered expressions as SQL. Promise: every primitive means what ``query/plan/primitives.py`` says, and none can fail.

No argument can make one of them raise: divisors are made NULL where they are 0, text is matched before it is cast, and
typing has proven that integers stay within 64 bits. GREATEST and LEAST are never used, since they skip NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from discreet.engines.sql import reading
from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.scope import (
    NOTHING,
    UNBOUNDED,
    Piece,
    Scope,
    as_condition,
    as_value,
    condition,
    constant,
    truth,
)
from discreet.errors import Unsupported
from discreet.query.plan.evaluate import DIGITS
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.types import Value

_INTEGER = "[+-]?[0-9]{1,18}"
_DECIMAL = "[+-]?(?:[0-9]{1,18}(?:[.][0-9]{0,20})?|[0-9](?:[.][0-9]{0,17})?[eE](?:[+]?(?:0?[0-9]|1[0-7])|-[0-9]{1,2}))"
_LEAP = "(?:0[48]|[2468][048]|[13579][26])"
_DATE = (  # a real day of the years 1 to 9999
    "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-"
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|(?:[0-9]{{2}}{_LEAP}|{_LEAP}00)-02-29"
)
_CLOCK = "(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,6})?)?)?"
_LONGEST = 1 << 30  # no text has more characters
_MANY = 1000


def write(expression: Expression, scope: Scope) -> Piece:
    """The SQL of a lowered expression.

    >>> from discreet.engines.sql.dialects import DUCKDB
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
            written = _WITH_LITERALS[function](scope, piece, *(_literal(other) for other in others))
            return replace(written, level=max(piece.level, written.level))
        case Call(function, arguments):
            pieces = [write(argument, scope) for argument in arguments]
            if function not in _LENIENT and any(piece.sort is Sort.NULL for piece in pieces):
                return NOTHING
            written = _SPECIAL[function](scope, pieces) if function in _SPECIAL else _plain(function, scope, pieces)
            return replace(written, level=max([written.level, *(piece.level for piece in pieces)]))


_LENIENT = frozenset({"is_null", "and", "or", "not", "case", "coalesce"})
"""What may be asked of NULL; everything else of NULL is NULL."""


def _literal(expression: Expression) -> Value:
    if not isinstance(expression, Literal):
        raise TypeError("this argument must be a literal")
    value = expression.value
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


# --- by a template --------------------------------------------------------------------------------------------------

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
    texts = function in _COMPARED and any(piece.sort is Sort.TEXT for piece in pieces)
    sort, reach = _RESULTS[function]
    filled = _filled(f"text_{function}" if texts else function, scope, pieces)
    condition = sort is Sort.BOOLEAN and not scope.dialect.truths
    reached = min(reach(*(piece.reach for piece in pieces)), UNBOUNDED)
    return replace(filled, sort=sort, reach=reached, condition=condition)


_COMPARED = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def _filled(operation: str, scope: Scope, pieces: Sequence[Piece], *more: str) -> Piece:
    """The template with its arguments; what it uses twice gets a name first."""
    template = scope.dialect.templates.get(operation, "")
    used, level = [], 0
    for i, piece in enumerate(pieces):
        named = scope.named(piece) if template.count(f"{{{i}}}") > 1 else piece
        used.append(as_condition(named, scope.dialect) if operation == "not" else as_value(named, scope.dialect).sql)
        level = max(level, named.level)
    return Piece(scope.dialect.call(operation, *used, *more), Sort.NULL, level=level)


# --- any number of arguments ----------------------------------------------------------------------------------------


def _same(pieces: Sequence[Piece], sql: str) -> Piece:
    """One of several values of one kind."""
    real = [piece for piece in pieces if piece.sort is not Sort.NULL]
    return Piece(sql, real[0].sort, max(piece.reach for piece in real)) if real else NOTHING


def _case(scope: Scope, pieces: Sequence[Piece]) -> Piece:
    d = scope.dialect
    whens, thens, otherwise = pieces[:-1:2], [as_value(p, d) for p in pieces[1:-1:2]], as_value(pieces[-1], d)
    branches = " ".join(f"WHEN {condition(when, d)} THEN {then.sql}" for when, then in zip(whens, thens, strict=True))
    return _same([*thens, otherwise], f"CASE {branches} ELSE {otherwise.sql} END" if branches else otherwise.sql)


def _coalesce(scope: Scope, pieces: Sequence[Piece]) -> Piece:
    return _same(pieces, f"coalesce({', '.join(as_value(piece, scope.dialect).sql for piece in pieces)})")


def _joined(word: str) -> Callable[[Scope, Sequence[Piece]], Piece]:
    def all_of_it(scope: Scope, pieces: Sequence[Piece]) -> Piece:
        d = scope.dialect
        return truth(f"({f' {word} '.join(as_condition(piece, d) for piece in pieces)})", d)

    return all_of_it


def _extreme(order: str) -> Callable[[Scope, Sequence[Piece]], Piece]:
    """The least or greatest, NULL if any is: neither WHEN is true of NULL."""

    def extreme_of_two(scope: Scope, a: Piece, b: Piece) -> Piece:
        x, y = scope.named(a), scope.named(b)
        first = _plain(order, scope, [x, y])
        second = _plain("not", scope, [first])
        sql = f"CASE WHEN {first.sql} THEN {x.sql} WHEN {second.sql} THEN {y.sql} END"
        return replace(_same([x, y], sql), level=max(x.level, y.level))

    return lambda scope, pieces: reduce(lambda a, b: extreme_of_two(scope, a, b), pieces)


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
        return truth(_filled("in_none", scope, [x]).sql, d)
    if len(values) <= _MANY or "in_many" not in d.templates:
        listed = (d.text(value + d.mark) if isinstance(value, str) else d.literal(value) for value in values)
        return truth(d.call("in", x.sql, ", ".join(listed)), d)
    texts = [value if isinstance(value, str) else _plain_text(value) for value in values]
    between = next(mark for mark in map(chr, range(0xE000, 0xF8FF)) if not any(mark in text for text in texts))
    return truth(d.call("in_many", x.sql, d.text(between.join(texts)), d.text(between), d.types[x.sort]), d)


def _in(scope: Scope, x: Piece, *values: Value) -> Piece:
    d = scope.dialect
    return is_one_of(scope, replace(x, sql=d.marked(x.sql)) if x.sort is Sort.TEXT else as_value(x, d), *values)


def _plain_text(value: Value) -> str:
    return value.isoformat(*([" "] if isinstance(value, datetime) else [])) if isinstance(value, date) else str(value)


def _like(scope: Scope, x: Piece, pattern: str) -> Piece:
    """LIKE's own escape is escaped by itself: it is a character like any other. So is [, where it begins a set."""
    d = scope.dialect
    if "like_set" in d.templates:
        if "_" in pattern:
            raise Unsupported(f"LIKE with _ on {d.name}", "use SUBSTRING, or compute it in a view")
        pattern = "".join(d.call("like_set", c) if c == "[" else c for c in pattern) + d.mark
        return truth(d.call("like", d.marked(x.sql), d.text(pattern)), d)
    plain = pattern.replace(d.like_escape, d.like_escape * 2) if d.like_escape else pattern
    return truth(d.call("like", x.sql, d.text(plain)), d)


def _substring(scope: Scope, x: Piece, start: int, count: int) -> Piece:
    return Piece(
        scope.dialect.call("substring", x.sql, str(min(start, _LONGEST)), str(min(count, _LONGEST))), Sort.TEXT
    )


def _split_part(scope: Scope, x: Piece, separator: str, n: int) -> Piece:
    d = scope.dialect
    return replace(_filled("split_part", scope, [x], d.text(separator), str(n)), sort=Sort.TEXT)


def _right(scope: Scope, x: Piece, count: int) -> Piece:
    return replace(_filled("right", scope, [x], str(min(count, _LONGEST))), sort=Sort.TEXT)


def _replace(scope: Scope, x: Piece, old: str, new: str) -> Piece:
    d = scope.dialect
    return replace(_filled("replace", scope, [x], d.text(old), d.text(new)), sort=Sort.TEXT)


def _regexp_extract(scope: Scope, x: Piece, pattern: str) -> Piece:
    d = scope.dialect
    return replace(_filled("regexp_extract", scope, [x], d.text(d.pattern(pattern))), sort=Sort.TEXT)


def _regexp_replace(scope: Scope, x: Piece, pattern: str, new: str, every: bool) -> Piece:
    """Where all matches are replaced or none, the first one takes the text before it along."""
    d, shift = scope.dialect, 0
    operation = f"regexp_replace_{'all' if every else 'first'}"
    if not every and operation not in d.templates:
        operation, shift = "regexp_replace_all", 1
        pattern = pattern if pattern.startswith("^") else f"^(.*?){pattern}"
        shift = int(pattern.startswith("^(.*?)"))
    parts = (d.capture + str(int(digit) + shift) if digit else "".join(map(d.replacement, plain.replace("\\\\", "\\")))
             for digit, plain in re.findall(r"\\(\d)|(\\\\|[^\\]+)", new))  # fmt: skip
    text = (d.capture + "1") * shift + "".join(parts)
    return replace(_filled(operation, scope, [x], d.text(d.pattern(pattern)), d.text(text)), sort=Sort.TEXT)


def _round_div(scope: Scope, piece: Piece, n: int) -> Piece:
    half = (n + 1) // 2
    return _divided(scope, piece, n, f"WHEN {{0}} >= {half} THEN 1 WHEN {{0}} <= -{half} THEN -1")


def _floor_div(scope: Scope, piece: Piece, n: int) -> Piece:
    """Most arguments are never below 0: a remainder is computed for those that are, and no others."""
    down = _divided(scope, piece, n, "WHEN {0} < 0 THEN -1")
    x = scope.named(piece).sql
    quotient = scope.dialect.call("quotient", x, scope.dialect.literal(n))
    return replace(down, sql=f"CASE WHEN {x} < 0 THEN {down.sql} ELSE {quotient} END")


def _ceil_div(scope: Scope, piece: Piece, n: int) -> Piece:
    return _divided(scope, piece, n, "WHEN {0} > 0 THEN 1")


def _divided(scope: Scope, piece: Piece, n: int, correction: str) -> Piece:
    """The quotient towards zero, corrected by the remainder; nothing here can overflow."""
    x, d, by = scope.named(piece), scope.dialect, scope.dialect.literal(n)
    change = correction.format(d.call("remainder", x.sql, by))
    sql = f"({d.call('quotient', x.sql, by)} + CASE {change} ELSE 0 END)"
    return Piece(sql, Sort.INTEGER, x.reach // n + 1, level=x.level)


def _root(scope: Scope, piece: Piece) -> Piece:
    """A float guesses the root, at most 1 off; integers decide. No square passes 63 bits: x is below 2^62."""
    x, d = scope.named(piece), scope.dialect
    guess = Piece(d.cast(d.call("root", x.sql), Sort.INTEGER), Sort.INTEGER, (1 << 31) + 1, level=x.level)
    g = scope.named(guess)
    sql = (
        f"({g.sql} + CASE WHEN {g.sql} * {g.sql} > {x.sql} THEN -1"
        f" WHEN ({g.sql} + 1) * ({g.sql} + 1) <= {x.sql} THEN 1 ELSE 0 END)"
    )
    return Piece(sql, Sort.INTEGER, 1 << 31, level=max(x.level, g.level))


def _curve(scope: Scope, piece: Piece, *literals: int) -> Piece:
    """A tree of comparisons finds the piece: as many as the number of pieces has bits."""
    x = scope.named(piece)
    pieces = [literals[i : i + 6] for i in range(0, len(literals), 6)]
    reach = max(abs(part[1]) for part in pieces)
    sql = f"CASE WHEN {x.sql} IS NOT NULL THEN {_piece_sql(scope.dialect, x.sql, pieces)} END"
    return Piece(sql, Sort.INTEGER, reach, level=x.level)


def _piece_sql(d: Dialect, x: str, pieces: Sequence[tuple[int, ...]]) -> str:
    if len(pieces) > 1:
        middle = len(pieces) // 2
        before, after = _piece_sql(d, x, pieces[:middle]), _piece_sql(d, x, pieces[middle:])
        return f"CASE WHEN {x} < {pieces[middle][0]} THEN {before} ELSE {after} END"
    start, value, slope, bend, divisor, by = map(d.literal, pieces[0])
    if pieces[0][2] == pieces[0][3] == 0:
        return value
    i = f"({x} - {start})" if pieces[0][5] == 1 else d.call("quotient", f"({x} - {start})", by)
    rise = f"({i} * ({slope} - {bend} * {i}))" if pieces[0][3] else f"({i} * {slope})"
    return f"({value} + {d.call('quotient', rise, divisor)})"


def _matching(scope: Scope, x: Piece, pattern: str, sort: Sort) -> Piece:
    d, own = scope.dialect, f"text_to_{sort.value}"
    if own in d.templates:  # no regular expression is needed there, or there is none
        return replace(_filled(own, scope, [x]), sort=sort, reach=10**18)
    matched = _filled("matching", scope, [x], d.text(d.whole_text.format(pattern)))
    cast = d.call("decimal", matched.sql, "38", str(DIGITS)) if sort is Sort.DECIMAL else d.cast(matched.sql, sort)
    return replace(matched, sql=cast, sort=sort, reach=10**18)


def _date_trunc(scope: Scope, x: Piece, unit: str) -> Piece:
    allowed = ["year", "quarter", "month", "week", "day", *(["hour", "minute"] if x.sort is Sort.TIMESTAMP else [])]
    if unit not in allowed:
        raise ValueError("no such unit of time")
    d, own = scope.dialect, f"date_trunc_{unit}"
    truncated = (
        _filled(own, scope, [x]) if own in d.templates else Piece(d.call("date_trunc", d.text(unit), x.sql), x.sort)
    )
    return replace(truncated, sql=d.cast(truncated.sql, x.sort), sort=x.sort)


def _add_days(scope: Scope, piece: Piece, n: int) -> Piece:
    """Compared before the addition, so that no day outside the years 1 to 9999 is ever made."""
    x, d = scope.named(piece), scope.dialect
    n = max(-_DAYS, min(n, _DAYS))
    sign, last = (">=", date.max) if n >= 0 else ("<=", date.min)
    edge = d.literal(last - timedelta(days=n))
    sql = f"CASE WHEN {x.sql} {sign} {edge} THEN {d.literal(last)} ELSE {d.call('add_days', x.sql, str(n))} END"
    return Piece(sql, Sort.DATE, level=x.level)


def _add_seconds(scope: Scope, piece: Piece, n: int) -> Piece:
    """Compared before the addition, as days are; the days of it and the seconds that are left, towards zero."""
    x, d = scope.named(piece), scope.dialect
    n = max(-(_DAYS + 1) * 86_400, min(n, (_DAYS + 1) * 86_400))
    last, sign = (datetime.max, ">=") if n >= 0 else (datetime.min, "<=")
    try:
        edge = d.literal(last - timedelta(seconds=n))
    except OverflowError:
        return Piece(f"CASE WHEN {x.sql} IS NOT NULL THEN {d.literal(last)} END", Sort.TIMESTAMP, level=x.level)
    days = abs(n) // 86_400 * (1 if n >= 0 else -1)
    moved = d.call("add_seconds", x.sql, str(days), str(n - days * 86_400))
    sql = f"CASE WHEN {x.sql} {sign} {edge} THEN {d.literal(last)} ELSE {d.cast(moved, Sort.TIMESTAMP)} END"
    return Piece(sql, Sort.TIMESTAMP, level=x.level)


_WITH_LITERALS: Mapping[str, Callable[..., Piece]] = {
    "read_integer": reading.read_integer,
    "read_decimal": reading.read_decimal,
    "read_coarse": reading.read_coarse,
    "read_real": reading.read_real,
    "read_whole": reading.read_whole,
    "read_text": reading.read_text,
    "read_boolean": reading.read_boolean,
    "read_date": reading.read_date,
    "read_timestamp": reading.read_timestamp,
    "read_float": reading.read_float,
    "in": _in,
    "like": _like,
    "substring": _substring,
    "split_part": _split_part,
    "right": _right,
    "replace": _replace,
    "regexp_extract": _regexp_extract,
    "regexp_replace": _regexp_replace,
    "round_div": _round_div,
    "floor_div": _floor_div,
    "ceil_div": _ceil_div,
    "root": _root,
    "curve": _curve,
    "text_to_integer": lambda scope, x: _matching(scope, x, _INTEGER, Sort.INTEGER),
    "text_to_decimal": lambda scope, x: _matching(scope, x, _DECIMAL, Sort.DECIMAL),
    "text_to_date": lambda scope, x: _matching(scope, x, _DATE, Sort.DATE),
    "text_to_timestamp": lambda scope, x: _matching(scope, x, f"(?:{_DATE}){_CLOCK}", Sort.TIMESTAMP),
    "date_trunc": _date_trunc,
    "add_days": _add_days,
    "add_seconds": _add_seconds,
}

WRITTEN = frozenset(_RESULTS) | frozenset(_SPECIAL) | frozenset(_WITH_LITERALS)
"""All primitives that can be written."""
