"""Bounds and caps from the data, as a *paid* private estimate: nothing about the data is free.

The values of a column are counted by sign and power of two, 123 listed groups, with noise. The suggested bounds are the
outermost groups that surely hold something.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TypeVar

from discreet.errors import BadParameter, NoEstimate
from discreet.exact import Number as ExactNumber
from discreet.exact import integer, number
from discreet.query.answer.answer_base import Answered
from discreet.query.choose.classes import POWERS, SIGNED_POWERS, power_of_two
from discreet.query.front.frame import Frame
from discreet.query.front.verbs import count
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import UNIT, LoweredKey, LoweredMeasure, LoweredQuestion, lower_relation
from discreet.query.lower.relation_facts import ONE_ROW
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Measure, Outcome, Project, Relation, Scan
from discreet.query.plan.schema import EACH_ROW, Declared, Schema, Table, bounds
from discreet.query.plan.types import Number, Real

Q = TypeVar("Q")

CELLS = "cells"
_ROUND = (1, 2, 3, 4, 5, 6, 8)
FINE = -20
"""Floats are looked at from 2^-20 up to 2^40 in size."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Bounds for a column that all but stray values keep, and the declaration to put into ``dp.table``."""

    column: str
    low: Fraction
    high: Fraction

    @property
    def declared(self) -> Declared:
        """What to write for the column."""
        return bounds(self.low, self.high)

    def __str__(self) -> str:
        return f"dp.bounds({_short(self.low)}, {_short(self.high)})"


def _short(x: Fraction) -> str:
    return str(x.numerator) if x.denominator == 1 else f"{float(x)!r}"


def find_column(column: str, schemas: Mapping[str, Schema]) -> tuple[str, str]:
    """The table and the column that "cost" or "visits.cost" names."""
    table, dot, name = column.rpartition(".")
    tables = [table] if dot else [t for t, s in schemas.items() if name in s.fields]
    if len(tables) != 1 or tables[0] not in schemas or name not in schemas[tables[0]].fields:
        raise BadParameter("column", column, "must be a column of one table here, written as table.column")
    return tables[0], name


def bounds_words(name: str, column: str) -> str:
    """What is asked when bounds are suggested, as a ledger keeps it: there is no SQL for it."""
    return f"suggest_bounds({name}.{column})"


def sizes_question(name: str, column: str, schemas: Mapping[str, Schema]) -> tuple[LoweredQuestion, Fraction]:
    """How many values of a column have which sign and power of two; and what one step is worth."""
    field = schemas[name].fields.get(column) if name in schemas else None
    if field is None or not isinstance(field.kind, Number | Real):
        raise BadParameter("column", f"{name}.{column}", "must be a column of numbers")
    source = lower_relation(Scan(name), schemas)
    if not source.private or source.caps is None or source.unit_kind is None:
        raise BadParameter("column", f"{name}.{column}", "must be in a private table; look at a public one yourself")
    step = field.kind.step if isinstance(field.kind, Number) else Fraction(2) ** FINE
    rows = signed_cells(source.relation, column, field.kind)
    key = Typed(Number(Fraction(1), -POWERS - 1, POWERS + 1), keys=SIGNED_POWERS, lowered=power_of_two(Column(CELLS)))
    measure = LoweredMeasure(Measure("n", Aggregate.COUNT), (), None)
    question = LoweredQuestion(
        source=rows,
        whole=rows,
        keys=(LoweredKey("power", key),),
        measures=(measure,),
        outcome=Outcome((("power", Column("power")), ("n", Column("n")))),
        sets=(("power",),),
        caps=ONE_ROW if source.caps.auto else source.caps,
        unit_kind=source.unit_kind,
        tables=source.tables,
    )
    return question, step


def signed_cells(source: Relation, column: str, kind: Number | Real) -> Relation:
    """The rows of a column of numbers as whole cells, in a step of its own: reading then stands there once."""
    cells: Expression = Column(column)
    if isinstance(kind, Real):
        cells = Call("read_real", (cells, Literal(FINE), Literal(-(1 << POWERS)), Literal(1 << POWERS)))
    return Project(source, ((CELLS, cells), (UNIT, Column(UNIT))))


SURE = "0.9999999"
"""How sure it is that no count is farther off than its error bar, all of them together."""


def suggested(column: str, step: Fraction, answer: Answered) -> Suggestion:
    """The outermost powers of two whose noisy count is above the error; the answer is to ``sizes_question``."""
    error = max(e or 0.0 for e in answer.errors(SURE, simultaneous=True)["n"])
    there = [power for power, n in zip(answer["power"], answer["n"], strict=True) if n > error]
    if not there:
        raise NoEstimate
    low, high = min(0, *there, 0), max(0, *there, 0)
    return Suggestion(column, -_end(-low, step), _end(high, step) if high or low else step)


def _end(power: int, step: Fraction) -> Fraction:
    return (1 << power) * step if power > 0 else Fraction(0)


def rows_question(frame: Frame[Q], table: str, given: Table, level: ExactNumber, most: int) -> Q:
    """How many units have up to 1, 2, 3, ... rows, in classes that grow: noise hides much less of it than of a quantile
    among a thousand values.
    """
    if given.unit is None:
        raise BadParameter("table", table, "must be private: a public one has no units")
    if given.unit == EACH_ROW:
        raise BadParameter("table", table, "must name its unit: where each row is a person, each has one row")
    if not 0 < number(level, "level") < 1:
        raise BadParameter("level", level, "must be between 0 and 1")
    last = integer(most, "most", at_least=2)
    classes = [upper * 10**power for power in range(len(str(last))) for upper in _ROUND if upper * 10**power < last]
    upto = "".join(f" WHEN rows_of_one <= {upper} THEN {upper}" for upper in classes)
    rows = frame.per_unit(given.unit).agg(rows_of_one=count())
    return rows.group_by(upto=f"CASE{upto} ELSE {last} END").agg(units=count())


def suggested_rows(answer: Answered, level: ExactNumber) -> int:
    """The first class such that no larger share of units than 1 - level has more rows: of those beyond a class, so many
    as noise alone may look like are not counted.
    """
    classes = sorted(zip(answer["upto"], answer["units"], answer.errors()["units"], strict=True))
    left = max(0.0, (1 - float(number(level, "level"))) * sum(units for _, units, _ in classes))
    beyond, squares, cap = 0.0, 0.0, classes[-1][0]
    for upto, units, error in reversed(classes):
        if beyond > left + sqrt(squares):
            break
        cap, beyond, squares = upto, beyond + units, squares + float(error or 0) ** 2
    return int(cap)
