"""Expressions before names are looked up: what both interfaces, SQL and verbs, hand to ``resolve.py``.

A name may still be ambiguous or unknown, and an aggregate may stand where none is allowed: ``resolve.py`` decides that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Rational
from typing import TypeAlias

from discreet.errors import BadQuestion
from discreet.query.plan.evaluate import is_plain_text
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import Aggregate

LONGEST_NAME = 60
_LONGEST_BITS = 400


@dataclass(frozen=True, slots=True)
class Name:
    """A column, perhaps with the name of its table."""

    column: str
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of other expressions; names of functions are those of the surface."""

    function: str
    arguments: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """An aggregate, with FILTER (WHERE ...) if any."""

    aggregate: Aggregate
    arguments: tuple[Said, ...] = ()
    where: Said | None = None
    level: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Windowed:
    """A window function over released rows: an aggregate's or a window function's name, arguments, and OVER."""

    function: str
    arguments: tuple[Said, ...] = ()
    partition: tuple[Said, ...] = ()
    order: tuple[tuple[Said, bool], ...] = ()
    rows: tuple[int | None, int | None] | None = None


Said: TypeAlias = Name | Literal | Apply | Total | Windowed


@dataclass(frozen=True, slots=True)
class Output:
    """One thing asked for, with the name that it was given, if any."""

    said: Said
    name: str | None = None


# --- making -----------------------------------------------------------------------------------------------------------


def apply(function: str, *arguments: Said) -> Said:
    """A function, in one form however it was written: -1 is a constant, and AND of AND is one AND.

    >>> apply("neg", Literal(Fraction(1)))
    Literal(value=Fraction(-1, 1))
    >>> apply("and", apply("and", Name("a"), Name("b")), Name("c")) == Apply("and", (Name("a"), Name("b"), Name("c")))
    True
    """
    if function == "neg" and isinstance(arguments[0], Literal) and isinstance(arguments[0].value, Fraction):
        return Literal(-arguments[0].value)
    if function in ("and", "or"):
        parts: list[Said] = []
        for argument in arguments:
            same = isinstance(argument, Apply) and argument.function == function
            parts += argument.arguments if same and isinstance(argument, Apply) else [argument]
        return Apply(function, tuple(parts))
    return Apply(function, arguments)


def count(*arguments: Said, where: Said | None = None) -> Total:
    """COUNT: of a constant that is not NULL, all rows."""
    if arguments and isinstance(arguments[0], Literal) and arguments[0].value is not None:
        arguments = ()
    return Total(Aggregate.COUNT, arguments, where)


def literal(value: object) -> Literal:
    """A constant: text, true or false, a date or time, None, or a number, kept exactly.

    A float means the shortest decimal that reads as it: 0.1 is one tenth, as it is in SQL.

    >>> literal(0.1)
    Literal(value=Fraction(1, 10))
    """
    if value is None or isinstance(value, bool | date):
        return Literal(value)
    if isinstance(value, str):
        return Literal(checked_text(value))
    if isinstance(value, Rational):
        return Literal(checked_number(Fraction(int(value.numerator), int(value.denominator))))
    if isinstance(value, float | Decimal) and isfinite(value):
        return Literal(checked_number(Fraction(str(float(value) if isinstance(value, float) else value))))
    raise BadQuestion("a constant must be a finite number, text, true or false, a date, a time, or None")


def checked_text(text: str) -> str:
    """Text that every engine can hold."""
    if not is_plain_text(text):
        raise BadQuestion("text must not hold NUL characters or halves of surrogate pairs")
    return text


def checked_number(value: Fraction) -> Fraction:
    """A number of a sensible length."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST_BITS:
        raise BadQuestion("a number here has too many digits; numbers have at most 60")
    return value


def over_parts(said: Said, change: Callable[[Said], Said]) -> Said:
    """The same with its parts changed; an aggregate is left as it is."""
    match said:
        case Apply(function=function, arguments=arguments):
            return apply(function, *map(change, arguments))
        case Windowed(arguments=arguments, partition=partition, order=order):
            arguments, partition = (tuple(map(change, parts)) for parts in (arguments, partition))
            ordered = tuple((change(by), down) for by, down in order)
            return replace(said, arguments=arguments, partition=partition, order=ordered)
        case _:
            return said


# --- looking ----------------------------------------------------------------------------------------------------------


def has_total(said: Said) -> bool:
    """Whether an aggregate stands in it."""
    match said:
        case Total() | Windowed():
            return True
        case Apply(arguments=arguments):
            return any(has_total(a) for a in arguments)
        case _:
            return False


MOST_PARTS = 50_000


def limited(said: Said) -> Said:
    """The expression, unless it is too large; one that stands in several places of another counts there each time.

    Whatever repeats an argument asks this: nested, it would grow exponentially.
    """
    if any(i >= MOST_PARTS for i, _ in enumerate(parts_of(said))):
        raise BadQuestion("this query is too large; ask for less at once")
    return said


def parts_of(said: Said) -> Iterator[Said]:
    """The expression and all its parts."""
    yield said
    inside: tuple[Said, ...] = ()
    match said:
        case Apply(arguments=arguments) | Total(arguments=arguments):
            inside = arguments
        case Windowed(arguments=arguments, partition=partition, order=order):
            inside = (*arguments, *partition, *(by for by, _ in order))
    for one in inside:
        yield from parts_of(one)


def guess(said: Said, spell: Callable[[Name], str]) -> str:
    """The name that an unnamed output gets: one that a stranger would guess. ``spell`` says how a column is spelled.

    >>> sum_cost, of_day = Total(Aggregate.SUM, (Name("cost"),)), Apply("year", (Name("day"),))
    >>> [guess(said, lambda name: name.column) for said in (sum_cost, count(), of_day)]
    ['sum_cost', 'count', 'year_day']
    """
    match said:
        case Name():
            return spell(said)
        case Literal():
            return "value"
        case Total(aggregate=aggregate, arguments=arguments, level=level):
            words = [aggregate.value if level is None else _quantile(level)]
        case Windowed(function=function, arguments=arguments):
            words = [function]
        case Apply(function=function, arguments=arguments):
            words = [function]
    return "_".join([*words, *_mentioned(arguments, spell)])[:LONGEST_NAME].rstrip("_")


def _quantile(level: Fraction) -> str:
    if level == Fraction(1, 2):
        return "median"
    return "p" + f"{float(level * 100):.6g}".replace(".", "_")


def _mentioned(parts: tuple[Said, ...], spell: Callable[[Name], str]) -> list[str]:
    """The columns and aggregates inside, each once, a few at most."""
    found: dict[str, None] = {}
    waiting = list(reversed(parts))
    while waiting and len(found) < 3:
        part = waiting.pop()
        if isinstance(part, Apply):
            waiting.extend(reversed(part.arguments))
        elif isinstance(part, Name | Total | Windowed):
            found[guess(part, spell)] = None
    return list(found)
