"""malformed.py: a person reads a sentence, not the names of types."""

from __future__ import annotations

import pytest

from discreet.curator.malformed import in_words
from tests.helpers.curator.town import Town


def registered(town: Town, **column: object) -> str:
    """What the owner reads who describes a column so."""
    table = {"source": "people.parquet", "unit": "person_id", "columns": {"pay": column}}
    body = {"name": "new", "tables": {"people": table}, "budget": {"epsilon": "1"}}
    reply = town.post("/api/datasets", body, town.owner)
    assert reply.status_code == 422
    assert reply.json()["error"]["kind"] == "Malformed"
    return str(reply.json()["error"]["message"])


@pytest.mark.parametrize("bounds", [["0"], ["0", "1", "2"], "0 to 5", [None, None], 7, [[0], [1]]])
def test_bounds_that_are_none_are_told_in_one_sentence(town: Town, bounds: object) -> None:
    """It said body.tables.people.columns.pay.bounds.list[union[constrained-str,..."""
    assert registered(town, bounds=bounds) == "Bounds of `pay`: write two numbers, for example 0 and 5000."


def test_other_parts_are_named_without_types(town: Town) -> None:
    assert registered(town, keys="North") == "Keys of `pay`: write a list, for example North, South."
    unknown = registered(town, colour="red")
    assert unknown.startswith("`colour` of `pay` of `people`: ")
    missing = town.post("/api/datasets/town/preview", {"epsilon": "1"}, town.ann).json()["error"]["message"]
    assert missing == "`sql`: Field required"


def test_a_request_without_any_part_is_named_too() -> None:
    assert in_words(("body",), "JSON decode error") == "the request: JSON decode error"
    assert in_words(("body", "tables", "t", "max_rows", "constrained-int"), "x").startswith("Rows per unit of `t`: ")
    assert (
        in_words(("body", "budget", "epsilon"), "x") == "Epsilon of `budget`: write a number above 0, for example 0.5."
    )
    assert in_words(("body", "epsilon"), "x") == "Epsilon: write a number above 0, for example 0.5."
