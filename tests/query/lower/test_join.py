"""Joins compare units, and unions bring kinds together."""

import re
from fractions import Fraction

import pytest

from discreet.errors import BadQuestion, Unsupported
from discreet.query.lower.lower import lower_relation
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import (
    How,
    Join,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from discreet.query.plan.schema import Stored, StoredKind, resolve, table
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
        (Join(CITIES, VISITS, (("city", "clinic"),), How.LEFT), "LEFT JOIN from a public"),
        (Join(VISITS, CITIES, ()), "without equal columns"),
        (Join(VISITS, CITIES, (("clinic", "town"),)), "no column town"),
        (Join(VISITS, CITIES, (("cost", "size"),)), "another step"),
        (Join(VISITS, CITIES, (("raw", "size"),)), "floats"),
        (Join(VISITS, CITIES, (("clinic", "size"),)), "CAST"),
        (Join(VISITS, Scan("letters"), (("pid", "who"),)), "CAST"),
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
