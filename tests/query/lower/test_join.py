"""Joins compare units, and unions bring kinds together."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.memory.engine import memory
from discreet.errors import BadQuestion, Unsupported
from discreet.query.lower.lower import lower_relation
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import (
    Aggregate,
    How,
    Join,
    Measure,
    PerUnit,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from discreet.query.plan.schema import Caps, Stored, StoredKind, resolve, table
from discreet.query.plan.types import LARGEST, Number
from tests.helpers.lowering import CATALOG, CITIES, HUMANS, VISITS, call, col


def test_names_that_meet_twice_are_numbered() -> None:
    found = lower_relation(Join(Scan("visits"), Scan("visits"), (("pid", "pid"),)), CATALOG)
    assert "pid_2" in found.fields
    assert found.fields["pid_2"].is_unit
    twice = Join(Join(Scan("visits"), Scan("visits"), (("pid", "pid"),)), Scan("visits"), (("pid_2", "pid"),))
    assert "pid_3" in lower_relation(twice, CATALOG).fields


def test_union_brings_kinds_together() -> None:
    first = Project(Scan("people"), (("x", col("age")), ("who", col("id"))))
    second = Project(Scan("orders"), (("y", col("total")), ("cust", col("cust"))))
    found = lower_relation(UnionAll((first, second)), CATALOG)
    assert list(found.fields) == ["x", "who"]
    assert found.fields["who"].is_unit
    assert found.fields["x"].kind == Number(Fraction(1, 100), -LARGEST, LARGEST)
    laundered = Project(Scan("orders"), (("y", col("total")), ("cust", call("add", col("cust"), 0))))
    assert not lower_relation(UnionAll((first, laundered)), CATALOG).fields["who"].is_unit


MODULO = Project(VISITS, (("pid", call("mod", col("pid"), 1)), ("clinic", col("clinic"))))


CONSTANT = Project(VISITS, (("pid", Literal(1)),))


FILLED = Project(VISITS, (("pid", call("coalesce", col("pid"), 0)),))


CLINICS = Project(VISITS, (("x", col("clinic")),))


CAST = Project(VISITS, (("pid", call("cast_integer", col("pid"))),))


EXTENDED = Join(VISITS, HUMANS, (("pid", "id"),), How.LEFT)


TEXT_UNIT = resolve(
    "letters", table(None, unit="who"), {"who": Stored(StoredKind.TEXT), "n": Stored(StoredKind.INTEGER)}
)


def test_refusals_say_unsupported_where_a_construct_is_meant() -> None:
    with pytest.raises(Unsupported):
        lower_relation(Join(VISITS, HUMANS, (("clinic", "city"),)), CATALOG)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Join(VISITS, HUMANS, (("clinic", "city"),)), "different people"),
        (Join(VISITS, VISITS, (("clinic", "clinic"),)), "different people"),
        (Join(MODULO, HUMANS, (("pid", "id"),)), "different people"),
        (Join(CONSTANT, HUMANS, (("pid", "id"),)), "different people"),
        (Join(FILLED, HUMANS, (("pid", "id"),)), "different people"),
        (Join(CAST, HUMANS, (("pid", "id"),)), "different people"),
        (Join(EXTENDED, HUMANS, (("id", "id"),)), "different people"),
        (Join(VISITS, CITIES, ()), "without equal columns"),
        (Join(VISITS, CITIES, (("clinic", "town"),)), "no column town"),
        (Join(VISITS, CITIES, (("cost", "size"),)), "another step"),
        (Join(VISITS, CITIES, (("raw", "size"),)), "floats"),
        (Join(VISITS, CITIES, (("clinic", "size"),)), "CAST"),
        (Join(VISITS, Scan("letters"), (("pid", "who"), ("clinic", "n"))), "store both as one type"),
        (UnionAll((CLINICS, Project(CITIES, (("x", col("city")),)))), "private and public"),
        (UnionAll((HUMANS, VISITS)), "same number of columns"),
        (UnionAll((CLINICS, Project(VISITS, (("x", col("pid")),)))), "mix"),
        (UnionAll((Project(VISITS, (("x", col("raw")),)), Project(VISITS, (("x", col("cost")),)))), "CLAMP"),
        (UnionAll((CLINICS, Project(Scan("letters"), (("x", col("who")),)))), "different kinds"),
        (UnionAll(()), "parts"),
    ],
)  # fmt: skip
def test_refused_by_name(asked: Relation, words: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(words)):
        lower_relation(asked, {**CATALOG, "letters": TEXT_UNIT})


def _summary(*keys: str) -> Relation:
    return PerUnit(Scan("visits"), tuple((key, col(key)) for key in ("pid", *keys)), (Measure("n", Aggregate.COUNT),))


ONE, FIFTY = Caps(max_rows=1), Caps(max_rows=50)


def _caps(relation: Relation) -> Caps | None:
    """What is joined counts, where a unit has one row among the people and fifty among the visits."""
    caps = {"people": ONE, "visits": FIFTY}
    declared = {
        name: replace(CATALOG[name], table=replace(CATALOG[name].table, caps=cap)) for name, cap in caps.items()
    }
    return lower_relation(relation, {**CATALOG, **declared}).caps


def test_a_side_with_one_row_for_each_partner_repeats_nothing_so_the_caps_are_those_of_the_other() -> None:
    assert _caps(Join(Scan("people"), Scan("visits"), (("id", "pid"),))) == FIFTY
    assert _caps(Join(Scan("people"), _summary(), (("id", "pid"),))) == ONE
    assert _caps(Join(_summary(), Scan("people"), (("pid", "id"),), How.LEFT)) == ONE
    assert _caps(Join(_summary(), _summary(), (("pid", "pid"),))) == ONE
    assert _caps(Join(Scan("visits"), _summary(), (("pid", "pid"),))) == FIFTY
    assert _caps(Join(Scan("visits"), _summary("clinic"), (("pid", "pid"), ("clinic", "clinic")))) == FIFTY


def test_a_summary_by_more_than_what_is_compared_has_several_rows_for_one() -> None:
    assert _caps(Join(Scan("people"), _summary("clinic"), (("id", "pid"),))) == FIFTY
    by_both = (("id", "pid"), ("clinic", "clinic"))
    named = Project(Scan("people"), (("id", col("id")), ("clinic", Literal("north"))))
    assert _caps(Join(named, _summary("clinic"), by_both)) == ONE
    lower = Project(_summary("clinic"), (("pid", col("pid")), ("clinic", call("lower", col("clinic")))))
    assert _caps(Join(named, lower, by_both)) == FIFTY  # two clinics may be the same in small letters


@pytest.mark.slow
@pytest.mark.parametrize("engine", [duckdb, memory])
@pytest.mark.parametrize("how", ["JOIN", "LEFT JOIN"])
def test_units_that_are_text_in_one_table_and_integers_in_the_other_are_compared_as_text(engine: Any, how: str) -> None:
    """As in a CSV file beside a Parquet file: it was refused with a hint to CAST, which no join takes."""
    letters = {"who": ["1", "2", "2", "02", "x", None, "-3"], "n": [1] * 7}
    people = {"id": [1, 2, -3, 9, None], "age": [10, 20, 30, 40, 50]}
    session = dp.Session(
        letters=dp.table(pa.table(letters), unit="who", max_rows=9),
        people=dp.table(pa.table(people), unit="id", max_rows=9, columns={"age": dp.bounds(0, 100)}),
        budget=dp.Pure(10**6), engine=engine(),
    )  # fmt: skip
    joined = session.sql(f"SELECT SUM(p.age) AS s, COUNT(p.age) AS n FROM letters l {how} people p ON l.who = p.id")
    turned = session.sql(f"SELECT COUNT(l.n) AS n FROM people p {how} letters l ON l.who = p.id")
    assert joined.release(epsilon=100_000).rows == [{"s": 10 + 20 + 20 + 30, "n": 4}]
    assert turned.release(epsilon=100_000).rows == [{"n": 4}]
    inside = session.sql("SELECT COUNT(*) AS n FROM letters WHERE who IN (SELECT id FROM people WHERE age > 15)")
    assert inside.release(epsilon=100_000).rows == [{"n": 3}]


@pytest.mark.parametrize("engine", [duckdb, memory])
@pytest.mark.parametrize("unit", ["p.id", "l.who"])
def test_a_summary_by_units_that_are_compared_as_text(engine: Any, unit: str) -> None:
    """The integer was read from the unit that is carried, which is text there: a failure after the payment."""
    session = dp.Session(
        letters=dp.table(pa.table({"who": ["1", "2", "2", "x", None]}), unit="who", max_rows=9),
        people=dp.table(pa.table({"id": [1, 2, 9, None]}), unit="id", max_rows=9),
        budget=dp.Pure(10**6), engine=engine(),
    )  # fmt: skip
    both = f"SELECT {unit} AS u FROM letters l JOIN people p ON l.who = p.id"
    text = f"SELECT u, COUNT(*) AS n FROM ({both}) AS t GROUP BY u"
    number = "CLAMP(CAST(u AS BIGINT), 0, 9)"
    sums = f"SELECT SUM({number} * CLAMP(n, 0, 9)) AS s, COUNT(*) AS n FROM ({text}) AS t"
    assert session.sql(sums).release(epsilon=100_000).rows == [{"s": 1 + 4, "n": 2}]


def test_no_unit_reaches_the_rows_of_another_through_text() -> None:
    """Exactly: with a person's rows and without, only rows of that person change."""
    session = dp.Session(
        letters=dp.table({"who": ["1", "01", "1"], "n": [1, 1, 1]}, unit="who", max_rows=2),
        people=dp.table({"id": [1, 10], "age": [1, 2]}, unit="id", max_rows=1),
        budget=dp.Pure(10**6), engine=memory(),
    )  # fmt: skip
    counted = session.sql("SELECT COUNT(DISTINCT l.who) AS n FROM letters l JOIN people p ON l.who = p.id")
    assert counted.release(epsilon=100_000).rows == [{"n": 1}]
