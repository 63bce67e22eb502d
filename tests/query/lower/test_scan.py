"""Tables as they are read, and how each row finds its unit."""

import re
from collections import Counter
from datetime import date
from random import Random

import pyarrow as pa
import pytest

import discreet as dp
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


def test_a_unit_of_floats_is_carried_and_read_as_whole_numbers() -> None:
    floats = resolve("floats", table(None, unit="who"), {"who": Stored(StoredKind.REAL)})
    whole = call("read_whole", col("who"))
    found = lower_relation(Scan("floats"), {"floats": floats})
    assert found.relation == Project(Scan("floats"), (("who", whole), (UNIT, whole)))
    other = resolve("other", table(None, unit="who"), {"who": Stored(StoredKind.INTEGER)})
    assert found.fields["who"].kind == lower_relation(Scan("other"), {"other": other}).fields["who"].kind


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Scan("visit"), "did you mean visits"),
        (Scan("a"), "circle"),
        (Scan("c"), "public and has no unit"),
        (Scan("e"), "another type"),
        (Scan("f"), "no column nothing"),
    ],
)  # fmt: skip
def test_refused_by_name(asked: Relation, words: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(words)):
        lower_relation(asked, {**CATALOG, **LOOPS})


NULLS = {
    "who": [1, 2, 3, 4],
    "v": [10, None, 30, None],
    "far": [10, None, 30, None],
    "t": [date(2024, 1, 3), None, date(2024, 1, 3), None],
}
DECLARED = {
    "v": dp.bounds(0, 100, nullable=False),
    "far": dp.bounds(8, 100, nullable=False),
    "t": dp.bounds("2024-01-01", "2024-01-31", nullable=False),
}


def _exactly(asked: str) -> dict[str, object]:
    """An answer whose noise is far below what is printed."""
    people = dp.table(pa.table(NULLS), unit="who", columns=DECLARED, max_rows=1)
    return next(iter(dp.Session(people=people, budget=dp.Pure(10**9)).sql(asked).release(epsilon=10**8).rows))


@pytest.mark.parametrize("beside", ["", ", COUNT(*) AS n", ", COUNT(v) AS n", ", VARIANCE(v) AS q, AVG(far) AS p"])
def test_a_null_that_is_declared_away_is_one_value_in_every_aggregate_whatever_is_beside_it(beside: str) -> None:
    found = _exactly(f"SELECT SUM(v) AS s, AVG(v) AS m, SUM(far) AS f, AVG(t) AS d {beside} FROM people")
    assert found["s"] == pytest.approx(40, abs=1e-3)
    assert found["m"] == pytest.approx(10, abs=1e-3)
    assert found["f"] == pytest.approx(10 + 8 + 30 + 8, abs=1e-3)
    assert str(found["d"]).startswith("2024-01-02 00:00") or str(found["d"]).startswith("2024-01-01 23:59")
    assert found.get("n", 4) == 4


@pytest.mark.parametrize("one", ["SUM(v) AS x", "AVG(v) AS x", "COUNT(v) AS x", "COUNT(*) AS x"])
def test_it_is_so_for_an_aggregate_asked_alone(one: str) -> None:
    wanted = {"S": 40, "A": 10, "C": 4}[one[0]]
    assert _exactly(f"SELECT {one} FROM people")["x"] == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("AVG(CLAMP(v, 0, 1.5))", 1.5),
        ("AVG(CLAMP(v * 1000, 0, 1500))", 1500),
        ("AVG(LEAST(v * 1000, 1500))", 1500),
        ("SUM(CLAMP(v, 0.5, 1.5))", 4.5),
        ("AVG(CLAMP(w, 0, 0.7))", 0.7),
    ],
)
def test_clamp_keeps_its_ends(asked: str, wanted: float) -> None:
    two = pa.table({"who": [1, 2, 3], "v": [2, 2, 2], "w": [2.0, 2.0, 2.0]})
    people = dp.table(two, unit="who", columns={"v": dp.bounds(0, 10)}, max_rows=1)
    found = dp.Session(people=people, budget=dp.Pure(10**9)).sql(f"SELECT {asked} AS x FROM people")
    assert next(iter(found.release(epsilon=10**8).rows))["x"] == pytest.approx(wanted, abs=1e-3)
