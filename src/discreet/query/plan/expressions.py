"""Expressions: what is computed from the columns of one row. Three nodes, and names of functions.

The same nodes serve twice. On the *surface*, as an analyst wrote it, a Call names a function of ``catalogue.py`` and
columns have their declared meaning. *Lowered*, after typing, a Call names one of the few primitives that an engine
knows, all total, on 64-bit integers, text, truth, dates and times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from discreet.query.plan.types import Value


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the relation below, by its name there."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A public constant.

    >>> Literal(1) == Literal(True)
    False
    """

    value: Value

    def __eq__(self, other: object) -> bool:
        """The same value of the same kind: to Python, True is 1, but rows of one are not rows of the other."""
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[bool, Value]:
        return isinstance(self.value, bool), self.value


class Remembers:
    """A place for a hash. It is no field, so it is neither compared nor sent to another process, where it differs."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class Call(Remembers):
    """A function of other expressions. CASE is ``case(when1, then1, when2, then2, ..., otherwise)``."""

    function: str
    arguments: tuple[Expression, ...]

    def __hash__(self) -> int:
        """Computed once: plans are looked up by their expressions again and again, and some are long."""
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", hash((self.function, self.arguments)))
            return self._hash


Expression: TypeAlias = Column | Literal | Call


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all its parts, from the outside in.

    >>> [type(part).__name__ for part in walk(Call("add", (Column("x"), Literal(1))))]
    ['Call', 'Column', 'Literal']
    """
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from walk(argument)


def replace_columns(expression: Expression, by: Callable[[str], Expression]) -> Expression:
    """The same with something else in the place of each column, by its name.

    >>> replace_columns(Call("neg", (Column("x"),)), lambda name: Column(f"{name}_1"))
    Call(function='neg', arguments=(Column(name='x_1'),))
    """
    match expression:
        case Column(name):
            return by(name)
        case Call(function, arguments):
            return Call(function, tuple(replace_columns(argument, by) for argument in arguments))
        case _:
            return expression


def columns(expression: Expression) -> frozenset[str]:
    """The names of all columns that it reads."""
    return frozenset(part.name for part in walk(expression) if isinstance(part, Column))
