"""The plan: what is asked, as small immutable nodes. Both interfaces, SQL and DataFrame, build these and nothing else.

A *relation* is rows in, rows out, each row belonging to one unit (or public). A *question* asks for aggregates of one
relation, by group; what follows it (``Outcome``) is post-processing of released numbers.

Names: the columns of a relation have unique names. Where a join meets a name twice, the right one gets ``_2`` (then
``_3`` and so on) appended; aliases of an SQL text never appear in a plan, so equal questions are equal plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from discreet.query.plan.expressions import Expression


@dataclass(frozen=True, slots=True)
class Scan:
    """A table of the session, all of its columns; ``numbered``, with a number of its own for each row as ``#row``.

    Which number a row has is nobody's business: it may differ each time the table is read. ``lists``: each row comes
    once for each element of these columns.
    """

    table: str
    numbered: bool = False
    lists: tuple[Elements, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether its rows are those of the table, as they are stored."""
        return not self.numbered and not self.lists


@dataclass(frozen=True, slots=True)
class Elements:
    """UNNEST of a column of lists: each element is in a column ``name``. An empty list, or NULL, is no row at all; or
    with ``outer`` one row, in which the element is NULL. Numbers are given to rows before.
    """

    column: str
    name: str
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which the predicate is true (not false, not NULL)."""

    source: Relation
    predicate: Expression


@dataclass(frozen=True, slots=True)
class Project:
    """New columns from old ones, row by row. The unit is carried along, whether or not it is among them."""

    source: Relation
    columns: tuple[tuple[str, Expression], ...]


class How(Enum):
    """Which rows of a join are kept."""

    INNER = "inner"
    LEFT = "left"
    FULL = "full"  # of released rows only


@dataclass(frozen=True, slots=True)
class Join:
    """Rows of left and right with equal columns (NULL equals nothing): ``on`` holds pairs (left name, right name).

    Left is private or public. Right is public; or private, and then ``on`` must pair the two units, or the pair that
    a declared foreign key names; units are compared in either case, so all rows joined belong to one unit.
    Columns: those of left, then those of right, renamed where a name is taken.
    """

    left: Relation
    right: Relation
    on: tuple[tuple[str, str], ...]
    how: How = How.INNER

    def __post_init__(self) -> None:
        assert self.how is not How.FULL  # noqa: S101 - rows that nobody has a unit for


@dataclass(frozen=True, slots=True)
class UnionAll:
    """The rows of all parts, which have the same number of columns of the same kinds; names are those of the first."""

    parts: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class PerUnit:
    """One row for each unit (and each combination of ``keys`` that the unit has): a summary of its rows.

    Exact, and a function of the unit's own rows alone. The columns are the keys, then the measures; the unit itself
    is carried along as everywhere. A key that is the unit column keeps its lineage.
    """

    source: Relation
    keys: tuple[tuple[str, Expression], ...]
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True)
class UnitWindows:
    """The rows of the source, each with further columns: window functions over rows of its own unit, or of public rows.

    Each ``partition`` holds the unit; so what a row gets is a function of the rows of its unit alone. NULLs come last.
    On the surface, rows that ORDER BY leaves equal are ordered by all columns of the source; lowered, ``order`` has it.
    """

    source: Relation
    windows: tuple[Window, ...]


Relation: TypeAlias = Scan | Filter | Project | Join | UnionAll | PerUnit | UnitWindows


def parts_of(relation: Relation) -> Iterator[Relation]:
    """The relation and all that it is made of."""
    yield relation
    match relation:
        case Filter(source=source) | Project(source=source) | PerUnit(source=source) | UnitWindows(source=source):
            yield from parts_of(source)
        case Join(left=left, right=right):
            yield from parts_of(left)
            yield from parts_of(right)
        case UnionAll(parts=parts):
            for part in parts:
                yield from parts_of(part)
        case Scan():
            pass


def scans(relation: Relation) -> list[Scan]:
    """The readings of tables that it is made of; a table that is read twice is there twice."""
    return [part for part in parts_of(relation) if isinstance(part, Scan)]


class Aggregate(Enum):
    """What can be asked of a group."""

    COUNT = "count"  # rows; with an argument, rows where it is not NULL
    COUNT_UNITS = "count_units"  # COUNT(DISTINCT unit)
    COUNT_DISTINCT = "count_distinct"
    SUM = "sum"
    AVG = "avg"
    VARIANCE = "variance"  # sample variance, as VAR_SAMP
    STDDEV = "stddev"
    COVARIANCE = "covariance"  # COVAR_SAMP
    CORRELATION = "correlation"
    QUANTILE = "quantile"  # argument and a fraction in ``level``; MEDIAN is level 1/2
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate: its name in the outcome, its arguments, and FILTER (WHERE ...) if any."""

    name: str
    aggregate: Aggregate
    arguments: tuple[Expression, ...] = ()
    where: Expression | None = None
    level: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """A group key: its name and what it is computed from."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Order:
    """ORDER BY one released expression. NULLs come last."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """A window function: over released rows, one value for each row that HAVING keeps; or over rows of one unit.

    ``rows`` is a frame of rows around each one, as offsets of its first and last (None: to the end of the part).
    Without one, an aggregate is of the whole part, or with an order of all rows up to this one and its equals.
    """

    name: str
    function: str
    arguments: tuple[Expression, ...] = ()
    partition: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()
    rows: tuple[int | None, int | None] | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that it reads: arguments, PARTITION BY and ORDER BY."""
        return (*self.arguments, *self.partition, *(o.expression for o in self.order))


@dataclass(frozen=True, slots=True)
class Regrouped:
    """GROUP BY over released rows: one row for each combination of keys; measures are windows without OVER."""

    keys: tuple[tuple[str, Expression], ...]
    measures: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class ReleasedUnion:
    """The released rows of all parts, which have as many columns; names are those of the first."""

    parts: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class ReleasedJoin:
    """Released rows of left and right with equal columns (NULL equals nothing); without ``on``, every pair.

    Columns: those of left, then those of right, renamed where a name is taken, as in ``Join``.
    """

    left: Outcome
    right: Outcome
    on: tuple[tuple[str, str], ...]
    how: How = How.INNER


@dataclass(frozen=True, slots=True)
class Outcome:
    """Post-processing of released values only: HAVING, windows, QUALIFY, computed columns, ORDER BY, LIMIT, OFFSET.

    ``columns`` are expressions over the names of keys, measures and windows. Without an order, rows come sorted by key.
    What it is computed from are the released rows of a question; or, with ``below``, what other outcomes make of them;
    in either case grouped once more if ``regroup`` says so.
    """

    columns: tuple[tuple[str, Expression], ...]
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    windows: tuple[Window, ...] = ()
    qualify: Expression | None = None
    below: Outcome | ReleasedUnion | ReleasedJoin | None = None
    regroup: Regrouped | None = None
    question: int = 0
    """Without ``below``, whose released rows: 0 for the question itself, then those ``beside`` it."""
    asked_at: datetime | None = None
    """The moment that stands for CURRENT_DATE and the like, if the text names it."""

    @property
    def is_nested(self) -> bool:
        """Whether its rows are not released rows of one question, each for itself."""
        return self.below is not None or self.regroup is not None

    @property
    def needs_all_rows(self) -> bool:
        """Whether a row of the result depends on other rows."""
        return bool(self.order or self.limit is not None or self.offset or self.windows or self.is_nested)


def outcomes_below(outcome: Outcome) -> tuple[Outcome, ...]:
    """What an outcome is computed from."""
    match outcome.below:
        case None:
            return ()
        case Outcome() as below:
            return (below,)
        case ReleasedUnion(parts=parts):
            return parts
        case ReleasedJoin(left=left, right=right):
            return left, right


@dataclass(frozen=True, slots=True)
class Question:
    """Aggregates of one relation by group. ``sets`` are the grouping sets (ROLLUP, CUBE): which keys each one has.

    A plain GROUP BY has one set, all keys; no GROUP BY has one set, no keys. Equal measures appear once.
    """

    source: Relation
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    outcome: Outcome
    sets: tuple[tuple[str, ...], ...]
    beside: tuple[Question, ...] = ()
    """Further questions whose released rows the outcome uses; their own outcomes are plain."""
