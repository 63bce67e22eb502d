"""Keys from public tables."""

from pathlib import Path
from random import Random

import pytest

import discreet as dp
from discreet.engines.memory.engine import Memory
from discreet.errors import BadQuestion
from discreet.query.lower.public_keys import public_values, with_public_keys
from discreet.query.plan.nodes import (
    Filter,
    How,
    Join,
    Key,
    Scan,
)
from tests.helpers.lowering import ask, call, col
from tests.helpers.plans import catalog, data


def test_keys_of_a_public_table() -> None:
    joined = Join(Scan("people"), Scan("cities"), (("city", "city"),))
    found = ask(joined, keys=(Key("country", col("country")), Key("city", col("city"))))
    assert [key.typed.keys_from for key in found.keys] == [("cities", "country"), ("cities", "city")]
    left = ask(Join(Scan("people"), Scan("cities"), (("city", "city"),), How.LEFT), keys=(Key("city", col("city")),))
    assert left.keys[0].typed.keys_from is None
    listed = ask(Filter(joined, call("in", col("country"), "X", "Z")), keys=(Key("country", col("country")),))
    assert listed.keys[0].typed.keys == ("X", "Z")


def test_values_of_a_public_column_are_listed_as_they_are_now() -> None:
    tables = data(Random(0)) | {"cities": {"city": ["b", "a", None, "a"], "country": ["X"] * 4, "size": [1, 2, 3, 4]}}
    schemas, engine = catalog(tables), Memory()
    assert public_values("cities", "city", engine, schemas) == ("a", "b")
    joined = Join(Scan("people"), Scan("cities"), (("city", "city"),))
    asked = ask(joined, keys=(Key("city", col("city")),))
    assert with_public_keys(asked, engine, schemas).keys[0].typed.keys == ("a", "b")
    changed = catalog(tables | {"cities": {"city": ["z"], "country": ["X"], "size": [1]}})
    assert with_public_keys(asked, engine, changed).keys[0].typed.keys == ("z",)


@pytest.mark.slow
def test_a_public_table_that_changed_is_noticed_before_anything_is_paid(tmp_path: Path) -> None:
    """Once the keys of the first question were kept as long as the session."""
    file = tmp_path / "cities.csv"
    file.write_text("city\na\nb\n")
    visits = dp.table({"id": [1, 2], "city": ["a", "c"]}, unit="id")
    session = dp.Session(visits=visits, cities=dp.table(str(file), public=True), budget=dp.Pure(100))
    text = "SELECT cities.city, COUNT(*) AS n FROM visits JOIN cities ON visits.city = cities.city GROUP BY cities.city"
    query = session.sql(text)
    assert query.release(epsilon=1)["city"] == ["a", "b"]
    file.write_text("city\na\nc\n")
    for asked in (query, session.workload([query])):
        with pytest.raises(BadQuestion, match="ask it again"):
            asked.release(epsilon=1)
    assert session.remaining == dp.Pure(99)
    assert session.sql(text).release(epsilon=1)["city"] == ["a", "c"]


def test_keys_of_a_private_table_are_never_listed() -> None:
    with pytest.raises(BadQuestion, match="private"):
        public_values("people", "city", Memory(), catalog(data(Random(0))))


def test_an_empty_public_table_has_no_group() -> None:
    schemas = catalog(data(Random(0)) | {"cities": {"city": [None], "country": [None], "size": [None]}})
    asked = ask(Join(Scan("people"), Scan("cities"), (("city", "city"),)), keys=(Key("city", col("city")),))
    with pytest.raises(BadQuestion, match=r"cities\.city is empty"):
        with_public_keys(asked, Memory(), schemas)


def test_conditions_that_leave_no_public_row_are_refused() -> None:
    asked = ask(
        Filter(Join(Scan("people"), Scan("cities"), (("city", "city"),)), call("eq", col("country"), "nowhere")),
        keys=(Key("city", col("city")),),
    )
    with pytest.raises(BadQuestion, match="leave no row of a public table with a key of"):
        with_public_keys(asked, Memory(), catalog(data(Random(0))))
