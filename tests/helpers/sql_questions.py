"""Questions in SQL about three small tables, and the parts of their plans."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.query.front.sql.parse import question
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import (
    Filter,
    Measure,
    Question,
    Scan,
)

TABLES = {
    "visits": ["patient_id", "clinic", "cost", "year", "day", "note", "paid", "at", "Name"],
    "patients": ["id", "age", "city"],
    "regions": ["city", "region"],
}


VISITS = Scan("visits")


def read(text: str) -> Question:
    return question(text, TABLES)


def where(condition: str) -> Expression:
    source = read(f"SELECT COUNT(*) FROM visits WHERE {condition}").source
    assert isinstance(source, Filter)
    assert source.source == VISITS
    return source.predicate


def measures(select: str) -> tuple[Measure, ...]:
    return read(f"SELECT {select} FROM visits").measures


def number(value: int | str) -> Literal:
    return Literal(Fraction(value))


def call(function: str, *arguments: Expression | int | str) -> Call:
    """Texts are columns, integers are numbers."""
    return Call(
        function,
        tuple(number(a) if isinstance(a, int) else Column(a) if isinstance(a, str) else a for a in arguments),
    )


COST, CLINIC = Column("cost"), Column("clinic")


def source(text: str) -> Any:
    return read(f"SELECT COUNT(*) FROM {text}").source


V = "SELECT COUNT(*) FROM visits"
