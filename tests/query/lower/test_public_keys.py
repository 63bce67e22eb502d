"""Keys from public tables."""

from random import Random

import pytest

from discreet.engines.memory.engine import Memory
from discreet.errors import BadQuestion
from discreet.query.lower.public_keys import Listed, public_values, with_public_keys
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


def test_values_of_a_public_column_are_listed_once_and_remembered() -> None:
    tables = data(Random(0)) | {"cities": {"city": ["b", "a", None, "a"], "country": ["X"] * 4, "size": [1, 2, 3, 4]}}
    schemas, engine = catalog(tables), Memory()
    assert public_values("cities", "city", engine, schemas) == ("a", "b")
    joined = Join(Scan("people"), Scan("cities"), (("city", "city"),))
    asked, known = ask(joined, keys=(Key("city", col("city")),)), Listed()
    assert with_public_keys(asked, engine, schemas, known).keys[0].typed.keys == ("a", "b")
    assert known == {("cities", "city"): ("a", "b")}
    known[("cities", "city")] = ("z",)
    assert with_public_keys(asked, engine, schemas, known).keys[0].typed.keys == ("z",)


def test_keys_of_a_private_table_are_never_listed() -> None:
    with pytest.raises(BadQuestion, match="private"):
        public_values("people", "city", Memory(), catalog(data(Random(0))))


def test_an_empty_public_table_has_no_group() -> None:
    schemas = catalog(data(Random(0)) | {"cities": {"city": [None], "country": [None], "size": [None]}})
    asked = ask(Join(Scan("people"), Scan("cities"), (("city", "city"),)), keys=(Key("city", col("city")),))
    with pytest.raises(BadQuestion, match=r"cities\.city is empty"):
        with_public_keys(asked, Memory(), schemas, {})
