"""Pieces of SQL, and the scope in which they are written.

A piece that is needed twice gets a name in an inner SELECT, so that the text grows with the question and no faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction

from discreet.engines.sql.dialects import Dialect, Sort
from discreet.query.plan.types import Value

UNBOUNDED = 1 << 63


@dataclass(frozen=True, slots=True)
class Piece:
    """SQL for a value, and what is known of it."""

    sql: str
    sort: Sort
    reach: int = UNBOUNDED
    """No integer here is farther from 0 than this."""
    simple: bool = False
    """A column or a constant: it may be written twice."""
    level: int = 0
    """How many inner SELECTs it builds on."""
    condition: bool = False
    """A condition where conditions are no values."""


NOTHING = Piece("NULL", Sort.NULL, 0, simple=True)
"""NULL of no particular kind. Engines disagree on what functions of it are, so none is ever called with it."""


def truth(sql: str, dialect: Dialect) -> Piece:
    """What a comparison gives: a value, or a condition where these are two things."""
    return Piece(sql, Sort.BOOLEAN, condition=not dialect.truths)


def typed(piece: Piece, dialect: Dialect) -> str:
    """The SQL of a column: one of nothing but NULL needs a type."""
    return dialect.cast(piece.sql, Sort.INTEGER) if piece.sort is Sort.NULL else as_value(piece, dialect).sql


def as_value(piece: Piece, dialect: Dialect) -> Piece:
    """The piece as something that can be kept in a column."""
    if not piece.condition:
        return piece
    return replace(piece, sql=dialect.call("truth", piece.sql), condition=False)


def as_condition(piece: Piece, dialect: Dialect) -> str:
    """The piece as something that can be asked: it may be unknown."""
    return piece.sql if dialect.truths or piece.condition else dialect.call("holds", piece.sql)


def condition(piece: Piece, dialect: Dialect) -> str:
    """The SQL of a condition: NULL of no particular kind is never true, and some engines want a truth."""
    return never(dialect) if piece.sort is Sort.NULL else as_condition(piece, dialect)


def never(dialect: Dialect) -> str:
    """A condition that is false."""
    return "FALSE" if dialect.truths else "(1 = 0)"


class Scope:
    """Where expressions over one relation are written."""

    def __init__(self, dialect: Dialect, columns: Mapping[str, Piece]) -> None:
        self.dialect = dialect
        self.columns = columns
        self._levels: list[dict[str, str]] = []
        self._prefix = free_prefix("x", (piece.sql.strip(dialect.quote) for piece in columns.values()))

    def named(self, piece: Piece) -> Piece:
        """The same value under a name, so that it can be written twice."""
        if piece.simple:
            return piece
        piece = as_value(piece, self.dialect)
        while len(self._levels) <= piece.level:
            self._levels.append({})
        level = self._levels[piece.level]
        name = level.setdefault(piece.sql, f"{self._prefix}{piece.level}_{len(level)}")
        return replace(piece, sql=self.dialect.identifier(name), simple=True, level=piece.level + 1)

    def around(self, source: str) -> str:
        """The FROM item with all named pieces as further columns."""
        for level in self._levels:
            if level:
                extra = ", ".join(f"{sql} AS {self.dialect.identifier(name)}" for sql, name in level.items())
                source = f"(SELECT t.*, {extra} FROM {source} AS t{self.dialect.fence})"
        return source


def free_prefix(prefix: str, taken: Iterable[str]) -> str:
    """A prefix with which none of the names starts: names that differ only in case are one name to some engines.

    >>> free_prefix("x", ["X0", "y"])
    'x_'
    """
    names = [name.lower() for name in taken]
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def constant(value: Value, dialect: Dialect) -> Piece:
    """A literal. A whole Fraction is an integer.

    >>> from discreet.engines.sql.dialects import DUCKDB
    >>> constant(-7, DUCKDB).reach
    7
    """
    if value is None:
        return NOTHING
    if isinstance(value, Fraction) and value.denominator == 1:
        value = value.numerator
    reach = abs(value) if isinstance(value, int) else UNBOUNDED
    return Piece(dialect.literal(value), _sort_of(value), reach, simple=True)


def _sort_of(value: Value) -> Sort:
    pairs: tuple[tuple[type, Sort], ...] = (  # the first that fits: True is an int, a datetime is a date
        (bool, Sort.BOOLEAN),
        (int, Sort.INTEGER),
        (str, Sort.TEXT),
        (datetime, Sort.TIMESTAMP),
        (date, Sort.DATE),
        (Fraction, Sort.REAL),
    )
    return next((sort for kind, sort in pairs if isinstance(value, kind)), Sort.NULL)
