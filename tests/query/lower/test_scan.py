"""Tables as they are read, and how each row finds its unit."""

import re
from collections import Counter
from random import Random

import pytest

from discreet.errors import BadQuestion
from discreet.query.lower.lower import UNIT, lower_relation
from discreet.query.plan.nodes import (
    Filter,
    How,
    Join,
    Project,
    Relation,
    Scan,
)
from discreet.query.plan.schema import Stored, StoredKind, resolve, table
from discreet.query.plan.types import Real
from tests.helpers.lowering import CATALOG, VISITS, call, col, rows
from tests.helpers.plans import data


def test_a_foreign_key_finds_the_unit_two_tables_away() -> None:
    tables = data(Random(0))
    tables |= {
        "orders": {"oid": [1, 2], "cust": [7, 8], "total": [None, None]},
        "items": {"iid": ["a", "b", "c"], "order_id": [1, 2, 9], "price": [1, 2, 3]},
        "parts": {"item": ["a", "a", "b", "c", None], "weight": [1, 2, 3, 4, 5]},
    }
    found = lower_relation(Project(Scan("parts"), (("w", col("weight")),)), CATALOG)
    assert rows(found.relation, tables) == Counter(
        [((UNIT, 7), ("w", 1)), ((UNIT, 7), ("w", 2)), ((UNIT, 8), ("w", 3))]
    )
    assert not any(field.is_unit for field in lower_relation(Scan("parts"), CATALOG).fields.values())


def test_a_foreign_key_to_the_unit_itself_needs_no_join() -> None:
    found = lower_relation(Project(Scan("notes"), (("stars", col("stars")),)), CATALOG)
    assert found.relation == Project(
        Scan("notes"), (("stars", call("read_integer", col("stars"), -(2**62), 2**62)), (UNIT, col("who")))
    )
    assert lower_relation(Scan("notes"), CATALOG).fields["who"].is_unit
    asked = Join(Scan("notes"), Scan("people"), (("who", "id"),))
    assert lower_relation(asked, CATALOG).fields["who"].is_unit
    tables = data(Random(0)) | {"notes": {"who": [1], "stars": [3]}, "people": {"id": [], "age": [], "city": []}}
    alone = lower_relation(Join(Scan("notes"), Scan("people"), (("who", "id"),), How.LEFT), CATALOG)
    assert sum(rows(alone.relation, tables).values()) == 1


LOOPS = {
    "a": resolve("a", table(None, unit="x -> b.y"), {"x": Stored(StoredKind.INTEGER)}),
    "b": resolve("b", table(None, unit="y -> a.x"), {"y": Stored(StoredKind.INTEGER)}),
    "c": resolve("c", table(None, unit="x -> d.y"), {"x": Stored(StoredKind.INTEGER)}),
    "d": resolve("d", table(None, public=True), {"y": Stored(StoredKind.INTEGER)}),
    "e": resolve("e", table(None, unit="x -> people.city"), {"x": Stored(StoredKind.INTEGER)}),
    "f": resolve("f", table(None, unit="x -> visits.nothing"), {"x": Stored(StoredKind.INTEGER)}),
}


def test_a_stored_column_with_the_name_of_the_carried_unit_cannot_replace_it() -> None:
    stored = {
        "who": Stored(StoredKind.INTEGER),
        "__unit": Stored(StoredKind.INTEGER),
        "__UNIT": Stored(StoredKind.TEXT),
    }
    tricky = resolve("tricky", table(None, unit="who"), stored)
    found = lower_relation(Scan("tricky"), {"tricky": tricky})
    assert list(found.fields) == ["who"]
    with pytest.raises(BadQuestion, match="no column __unit"):
        lower_relation(Filter(Scan("tricky"), call("eq", col("__unit"), 1)), {"tricky": tricky})


def test_floats_without_bounds_pass_through_as_they_are() -> None:
    found = lower_relation(Project(VISITS, (("r", col("raw")),)), CATALOG)
    assert isinstance(found.fields["r"].kind, Real)
    assert found.relation == Project(Scan("visits"), (("r", call("read_float", col("raw"))), (UNIT, col("pid"))))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Scan("visit"), "did you mean visits"),
        (Scan("a"), "circle"),
        (Scan("c"), "public and names nobody"),
        (Scan("e"), "another type"),
        (Scan("f"), "no column nothing"),
    ],
)  # fmt: skip
def test_refused_by_name(asked: Relation, words: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(words)):
        lower_relation(asked, {**CATALOG, **LOOPS})
