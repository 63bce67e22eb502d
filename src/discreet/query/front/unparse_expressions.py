"""Expressions and aggregates as SQL of our own dialect, as ``expressions.py`` reads it.

Promise: a function that has no form is refused by name (its record in ``query/functions`` has it). Parentheses stand
where the reading would change without them, and nowhere else, so that long sums and long conditions stay flat.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction

from discreet.errors import Unsupported
from discreet.query.front.sql.functions import MEDIAN
from discreet.query.front.sql.syntax_tree import is_plain_name
from discreet.query.functions.aggregates import WRITTEN
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.functions.record import ATOM, FACTOR, Written, placed
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Measure

_LONGEST_NUMBER = 60

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
    return placed(ATOM, _written(expression, spelled))


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
            text = f"{WRITTEN[measure.aggregate]}({', '.join(inside)})"
    if measure.where is None:
        return text
    return f"{text} FILTER (WHERE {expressed(measure.where, spelled)})"


# --- expressions ------------------------------------------------------------------------------------------------------


def _written(expression: Expression, spelled: Spelled) -> Written:
    """The text, and how tightly it holds together."""
    match expression:
        case Column(name=name):
            return spelled[name], ATOM
        case Literal():
            text = _constant(expression)
            return text, FACTOR if text.startswith("-") else ATOM
        case Call(function=function, arguments=arguments):
            inside = [_written(a, spelled) for a in arguments]
            if function in FUNCTIONS:
                return FUNCTIONS[function].written(arguments, inside)
            if function == "grouping":
                return f"GROUPING({', '.join(text for text, _ in inside)})", ATOM
    raise Unsupported(f"the function {function} as SQL text", "ask it in SQL, in one text")


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
