"""One record for each function of the query language: SQL, verbs, typing, SQL text and documentation are read from it.

Promise: every function is total: on every row it gives a value or NULL, never an error. ``rule`` types it and lowers it
to the primitives of ``plan/primitives.py``, so that an engine needs to know nothing of it; ``meaning`` is its value on
plain Python values, for released ones. Tests hold the two, the examples and every engine against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions.typed_values import Typed
from discreet.query.plan.expressions import Expression, Literal

ATOM, FACTOR, TERM, COMPARED, NOT, AND, OR = range(7)
"""How tightly parts of a text hold together: a part that is looser than its place allows stands in parentheses."""
Written: TypeAlias = tuple[str, int]
"""A text, and how tightly it holds together."""
Arguments: TypeAlias = tuple[Expression, ...]
Form: TypeAlias = Callable[[Arguments, list[Written]], Written]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one row."""

    name: str
    usage: str
    """How it is written in SQL."""
    doc: str
    rule: Callable[..., Typed]
    """The type rule of typed arguments: kind, range, NULL, and the lowered form."""
    example: tuple[str, Any]
    """SQL of constants, and its value."""
    arguments: tuple[int, int | None] = (1, 1)
    """The least and largest number of arguments (None: any)."""
    meaning: Callable[..., Any] | None = None
    """Its value on plain Python values. None: it is refused of released values."""
    strict: bool = True
    """Whether it is NULL when an argument is, so that ``meaning`` never sees None."""
    sql: tuple[str, ...] | None = None
    """Its names in SQL, in small letters; without any here, its own name."""
    parts: tuple[str, ...] = ()
    """What EXTRACT calls it."""
    types: tuple[str, ...] = ()
    """The types that CAST turns into it."""
    unit_first: bool = False
    """Whether the first argument is a unit of time, which may be a bare word."""
    sign: tuple[str, int] = ("", ATOM)
    """The operator between two arguments, and how tightly it holds."""
    form: Form | None = None
    """How it is printed, where neither as a call nor with its sign."""
    method: str = ""
    """The method of ``Expr``: with parentheses, its parameters, and ``front/methods.py`` is written from it."""
    more: tuple[tuple[str, Any], ...] = ()
    """Further examples, for the tests."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its names in SQL."""
        return (self.name,) if self.sql is None else self.sql

    def written(self, arguments: Arguments, inside: list[Written]) -> Written:
        """Its text over the texts of its arguments."""
        if self.form is not None:
            return self.form(arguments, inside)
        if self.sign[0] and len(inside) == 2:
            return _binary(self.sign, *inside)
        if not self.names:
            raise Unsupported(f"the function {self.name} as SQL text", "ask it in SQL, in one text")
        return f"{self.name.upper()}({', '.join(text for text, _ in inside)})", ATOM


class Build(Protocol[T]):
    """What makes a call, before names are resolved."""

    def __call__(self, function: str, *arguments: T | Literal) -> T:
        """A function of these arguments."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A name of SQL that stands for a combination of functions: ``build(apply, *arguments)`` makes it."""

    usage: str
    doc: str
    arguments: tuple[int, int | None]
    build: Callable[..., Any]
    unit_first: bool = False


def check_count(name: str, given: int, wanted: tuple[int, int | None]) -> None:
    """Refuses a wrong number of arguments."""
    fewest, most = wanted
    if given < fewest or (most is not None and given > most):
        words = f"at least {fewest}" if most is None else str(fewest) if fewest == most else f"{fewest} to {most}"
        raise BadQuestion(f"{name} takes {words} arguments, not {given}")


# --- printed forms ----------------------------------------------------------------------------------------------------


def placed(place: int, part: Written) -> str:
    """A part where nothing looser than ``place`` may stand."""
    text, holds = part
    return text if holds <= place else f"({text})"


def _binary(sign: tuple[str, int], left: Written, right: Written) -> Written:
    """Sums and products are read from the left; comparisons have nothing like them beside them."""
    word, place = sign
    tight = place if place in (FACTOR, TERM) and not left[0].startswith("-") else place - 1
    return f"{placed(tight, left)} {word} {placed(place - 1, right)}", place


def chained(word: str, place: int, parts: int) -> Form:
    """Any number of parts with a word between them."""

    def write(_: Arguments, inside: list[Written]) -> Written:
        if len(inside) < 2:
            raise Unsupported(f"{word} of one thing as SQL text", "leave it out")
        return f" {word} ".join(placed(parts, part) for part in inside), place

    return write


def pattern(text: str, place: int) -> Form:
    """A text with a hole for each argument, in parentheses where needed."""
    return lambda _, inside: (text.format(*(placed(ATOM, part) for part in inside)), place)


def unit_call(word: str) -> Form:
    """A call whose first argument is a fixed unit."""

    def write(arguments: Arguments, inside: list[Written]) -> Written:
        if not isinstance(arguments[0], Literal) or not isinstance(arguments[0].value, str):
            raise Unsupported(f"{word} of no fixed unit", "name a unit, such as 'month'")
        return f"{word}({', '.join(text for text, _ in inside)})", ATOM

    return write
