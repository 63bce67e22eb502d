"""Expressions and aggregates as SQL of our own dialect, as ``expressions.py`` reads it.

Promise: a function that has no form there is refused by name. Parentheses stand where the reading would change
without them, and nowhere else, so that long sums and long conditions stay flat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction

from discreet.errors import Unsupported
from discreet.query.front.sql.functions import MEDIAN
from discreet.query.front.sql.syntax_tree import is_plain_name
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Measure

_LONGEST_NUMBER = 60
_ATOM, _FACTOR, _TERM, _COMPARED, _NOT, _AND, _OR = range(7)
"""How tightly parts hold together: a part that is looser than its place wants stands in parentheses."""

Spelled = Mapping[str, str]
"""Columns of the plan, and how they are written."""


def identified(name: str) -> str:
    """A name, in quotes where it needs them.

    >>> identified("clinic"), identified("order"), identified("total cost")
    ('clinic', '"order"', '"total cost"')
    """
    return name if is_plain_name(name) else '"' + name.replace('"', '""') + '"'


def expressed(expression: Expression, spelled: Spelled) -> str:
    """An expression as text.

    >>> both = Call("mul", (Call("add", (Column("x"), Literal(Fraction(1)))), Column("y")))
    >>> expressed(both, {"x": "x", "y": "t.y"})
    '(x + 1) * t.y'
    """
    return _written(expression, spelled)[0]


def tight(expression: Expression, spelled: Spelled) -> str:
    """An expression as text that may stand beside any operator."""
    return _in(_ATOM, _written(expression, spelled))


def aggregated(measure: Measure, spelled: Spelled) -> str:
    """An aggregate as text, with FILTER (WHERE ...) if it has one."""
    inside = [expressed(a, spelled) for a in measure.arguments]
    match measure.aggregate:
        case Aggregate.COUNT if not inside:
            text = "COUNT(*)"
        case Aggregate.COUNT_DISTINCT | Aggregate.COUNT_UNITS:
            text = f"COUNT(DISTINCT {', '.join(inside)})"
        case Aggregate.QUANTILE if measure.level == MEDIAN:
            text = f"MEDIAN({', '.join(inside)})"
        case Aggregate.QUANTILE:
            level = _constant(Literal(measure.level))
            text = f"QUANTILE({', '.join([*inside, level])})"
        case _:
            text = f"{_AGGREGATES[measure.aggregate]}({', '.join(inside)})"
    if measure.where is None:
        return text
    return f"{text} FILTER (WHERE {expressed(measure.where, spelled)})"


_AGGREGATES = {
    Aggregate.COUNT: "COUNT",
    Aggregate.SUM: "SUM",
    Aggregate.AVG: "AVG",
    Aggregate.VARIANCE: "VARIANCE",
    Aggregate.STDDEV: "STDDEV",
    Aggregate.COVARIANCE: "COVAR_SAMP",
    Aggregate.CORRELATION: "CORR",
    Aggregate.MIN: "MIN",
    Aggregate.MAX: "MAX",
}

# --- expressions ------------------------------------------------------------------------------------------------------

_Written = tuple[str, int]


def _written(expression: Expression, spelled: Spelled) -> _Written:
    """The text, and how tightly it holds together."""
    match expression:
        case Column(name=name):
            return spelled[name], _ATOM
        case Literal():
            text = _constant(expression)
            return text, _FACTOR if text.startswith("-") else _ATOM
        case Call(function=function, arguments=arguments):
            inside = [_written(a, spelled) for a in arguments]
            if function in _FORMS:
                return _FORMS[function](arguments, inside)
            if function in _BINARY and len(inside) == 2:
                return _binary(function, *inside)
            if function in _CALLS:
                return f"{_CALLS[function]}({', '.join(text for text, _ in inside)})", _ATOM
    raise Unsupported(f"the function {function} as SQL text", "ask it in SQL, in one text")


def _in(place: int, part: _Written) -> str:
    """A part where nothing looser than ``place`` may stand."""
    text, holds = part
    return text if holds <= place else f"({text})"


_BINARY: dict[str, tuple[str, int]] = {
    "mul": ("*", _FACTOR),
    "div": ("/", _FACTOR),
    "quotient": ("//", _FACTOR),
    "mod": ("%", _FACTOR),
    "add": ("+", _TERM),
    "sub": ("-", _TERM),
    **{name: (sign, _COMPARED) for name, sign in
       (("eq", "="), ("ne", "<>"), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))},
}  # fmt: skip


def _binary(function: str, left: _Written, right: _Written) -> _Written:
    """Sums and products are read from the left; comparisons have nothing like them beside them."""
    sign, place = _BINARY[function]
    tight = place if place in (_FACTOR, _TERM) and not left[0].startswith("-") else place - 1
    return f"{_in(tight, left)} {sign} {_in(place - 1, right)}", place


Arguments = tuple[Expression, ...]
_Form = Callable[[Arguments, list[_Written]], _Written]


def _chained(word: str, place: int, parts: int) -> _Form:
    def write(_: Arguments, inside: list[_Written]) -> _Written:
        if len(inside) < 2:
            raise Unsupported(f"{word} of one thing as SQL text", "leave it out")
        return f" {word} ".join(_in(parts, part) for part in inside), place

    return write


def _neg(_: Arguments, inside: list[_Written]) -> _Written:
    return f"-{_in(_ATOM, inside[0])}", _FACTOR


def _not(_: Arguments, inside: list[_Written]) -> _Written:
    return f"NOT {_in(_ATOM, inside[0])}", _NOT


def _is_null(_: Arguments, inside: list[_Written]) -> _Written:
    return f"{_in(_ATOM, inside[0])} IS NULL", _COMPARED


def _like(word: str) -> _Form:
    def write(_: Arguments, inside: list[_Written]) -> _Written:
        x, pattern = inside
        return f"{_in(_ATOM, x)} {word} {_in(_ATOM, pattern)}", _COMPARED

    return write


def _is_in(_: Arguments, inside: list[_Written]) -> _Written:
    x, *listed = inside
    return f"{_in(_ATOM, x)} IN ({', '.join(text for text, _ in listed)})", _COMPARED


def _case(_: Arguments, inside: list[_Written]) -> _Written:
    *pairs, otherwise = [text for text, _ in inside]
    whens = " ".join(f"WHEN {when} THEN {then}" for when, then in zip(pairs[::2], pairs[1::2], strict=True))
    return f"CASE {whens} ELSE {otherwise} END", _ATOM


def _cast(kind: str) -> _Form:
    def write(arguments: Arguments, inside: list[_Written]) -> _Written:
        text = inside[0][0]
        if isinstance(arguments[0], Literal):  # CAST('2024-01-31' AS DATE) is a constant, and this is a function
            text = f"({text})"
        if len(inside) > 1:
            return f"CAST({text} AS {kind}(18, {inside[1][0]}))", _ATOM
        return f"CAST({text} AS {kind})", _ATOM

    return write


def _unit_first(word: str) -> _Form:
    def write(arguments: Arguments, inside: list[_Written]) -> _Written:
        if not isinstance(arguments[0], Literal) or not isinstance(arguments[0].value, str):
            raise Unsupported(f"{word} of no fixed unit", "name a unit, such as 'month'")
        return f"{word}({', '.join(text for text, _ in inside)})", _ATOM

    return write


_FORMS: dict[str, _Form] = {
    "and": _chained("AND", _AND, _NOT),
    "or": _chained("OR", _OR, _AND),
    "concat": _chained("||", _COMPARED, _ATOM),
    "neg": _neg,
    "not": _not,
    "is_null": _is_null,
    "like": _like("LIKE"),
    "ilike": _like("ILIKE"),
    "in": _is_in,
    "case": _case,
    "cast_integer": _cast("BIGINT"),
    "cast_decimal": _cast("DECIMAL"),
    "cast_real": _cast("DOUBLE"),
    "cast_text": _cast("TEXT"),
    "cast_date": _cast("DATE"),
    "cast_timestamp": _cast("TIMESTAMP"),
    "cast_boolean": _cast("BOOLEAN"),
    "date_trunc": _unit_first("DATE_TRUNC"),
    "date_diff": _unit_first("DATE_DIFF"),
}
_CALLS: dict[str, str] = {
    name: name.upper()
    for name in (
        "abs", "add_days", "ceil", "clamp", "coalesce", "contains", "day", "day_of_week", "day_of_year", "days_between",
        "ends_with", "floor", "greatest", "grouping", "hour", "least", "left", "length", "lower", "ltrim", "minute",
        "month", "nullif", "power", "quarter", "round", "rtrim", "second", "seconds_between", "sign", "starts_with",
        "substring", "trim", "trunc", "upper", "week", "width_bucket", "year",
    )
}  # fmt: skip

# --- constants --------------------------------------------------------------------------------------------------------


def _constant(literal: Literal) -> str:
    match literal.value:
        case None:
            return "NULL"
        case bool() as truth:
            return "TRUE" if truth else "FALSE"
        case str() as text:
            return "'" + text.replace("'", "''") + "'"
        case datetime() as moment if moment.tzinfo is None:
            return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
        case datetime():
            raise Unsupported("a time with a zone as SQL text", "write it as UTC, without a zone")
        case date() as day:
            return f"DATE '{day.isoformat()}'"
        case number:
            return _decimal(Fraction(number))


def _decimal(value: Fraction) -> str:
    """A number with all its digits; one that has no end is refused, as it would be another number."""
    shift, rest = 0, value.denominator
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        shift = max(shift, power)
    digits = str(abs(value.numerator) * 10**shift // value.denominator)
    text = digits if not shift else f"{digits[:-shift] or '0'}.{digits[-shift:].rjust(shift, '0')}"
    if len(text) > _LONGEST_NUMBER:
        short = digits.rstrip("0")
        text = f"{short}e{len(digits) - len(short) - shift}"
    if rest != 1 or len(text) > _LONGEST_NUMBER:
        raise Unsupported("a number without a short decimal form as SQL text", "write it as a decimal, such as 0.3333")
    return f"-{text}" if value < 0 else text
