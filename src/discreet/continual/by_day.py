"""A question about a table, asked of the rows of one day at a time.

Promise: the condition stands right above the table, before anything else of the question, and nothing but the day in it
changes from day to day: noise, price and groups are those of every day. What the day would change is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from discreet.errors import BadParameter, BadQuestion
from discreet.query.plan.evaluate import text_to_moment
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    PerUnit,
    Project,
    Question,
    Relation,
    Scan,
    UnionAll,
    UnitWindows,
    scans,
)
from discreet.query.plan.schema import Schema
from discreet.query.plan.types import Date, Temporal

ADDED = frozenset({Aggregate.COUNT, Aggregate.SUM, Aggregate.AVG})
"""What can be added up over days."""


@dataclass(frozen=True, slots=True)
class ByDay:
    """A question, and the column of its private table that says which day a row belongs to."""

    question: Question
    table: str
    column: str
    kind: Temporal

    def on(self, day: date) -> Question:
        """The question, of the rows of this day alone."""
        return replace(self.question, source=_within(self.question.source, self.table, self._is(day)))

    def _is(self, day: date) -> Expression:
        column = Column(self.column)
        if isinstance(self.kind, Date):
            return Call("eq", (column, Literal(day)))
        first, last = datetime.combine(day, time.min), datetime.combine(day, time.max)
        return Call("and", (Call("ge", (column, Literal(first))), Call("le", (column, Literal(last)))))

    def check(self, day: date) -> None:
        """Refuse a day that no row can have."""
        low, high = self.kind.low, self.kind.high
        if self.kind != type(self.kind)() and not _day(low) <= day <= _day(high):
            raise BadParameter("day", day.isoformat(), f"must be within the bounds of {self.column}, {low} to {high}")

    @property
    def any_two(self) -> tuple[date, date]:
        """Two days that rows can have, to see whether the day makes a difference."""
        bounded = self.kind != type(self.kind)()
        return (_day(self.kind.low), _day(self.kind.high)) if bounded else (date(2000, 1, 1), date(2003, 11, 30))


def by_day(question: Question, column: str, schemas: Mapping[str, Schema]) -> ByDay:
    """The question by day; refuses, by public things alone, what cannot be added up over days."""
    if not isinstance(column, str):
        raise BadParameter("by", column, "must be the name of the column that holds the day")
    private = [scan.table for scan in scans(question.source) if not schemas[scan.table].table.public]
    if len(private) != 1:
        raise BadQuestion("a dashboard reads one private table, once: join it with public tables only")
    field = schemas[private[0]].fields.get(column)
    if field is None or not isinstance(field.kind, Temporal):
        raise BadParameter("by", column, f"must be a column of dates or times of {private[0]}")
    if len(question.sets) != 1:
        raise BadQuestion("a dashboard has one grouping: ask ROLLUP, CUBE and GROUPING SETS as dashboards of their own")
    for measure in question.measures:
        if measure.aggregate not in ADDED:
            raise BadQuestion(
                f"{measure.name}: over days only COUNT, SUM and AVG can be added up; people, distinct values and "
                "quantiles of two days are not those of both"
            )
    return ByDay(question, private[0], column, field.kind)


def read_day(day: object) -> date:
    """A day, also one that is written.

    >>> read_day("2026-11-15")
    datetime.date(2026, 11, 15)
    """
    read = text_to_moment(day) if isinstance(day, str) else day
    if not isinstance(read, date) or isinstance(read, datetime):
        raise BadParameter("day", day, 'must be a date, such as "2026-11-15"')
    return read


def _day(moment: date) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _within(relation: Relation, table: str, condition: Expression) -> Relation:
    match relation:
        case Scan(name):
            return Filter(relation, condition) if name == table else relation
        case Filter(source) | Project(source, _) | PerUnit(source, _, _) | UnitWindows(source, _):
            return replace(relation, source=_within(source, table, condition))
        case Join(left, right, _, _):
            return replace(relation, left=_within(left, table, condition), right=_within(right, table, condition))
        case UnionAll(parts):
            return UnionAll(tuple(_within(part, table, condition) for part in parts))
