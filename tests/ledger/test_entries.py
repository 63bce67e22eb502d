"""entries.py: canonical text, links, amounts, and the fields of records as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadParameter
from discreet.ledger.entries import (
    BEFORE_ALL,
    Broken,
    Entry,
    Json,
    amounts_text,
    canonical,
    digest,
    follows,
    read_amounts,
    read_entry,
    read_fields,
    write_entry,
    write_fields,
)
from discreet.privacy.budgets.filters import Amounts
from discreet.privacy.promises.measures import Measure, Pure
from tests.helpers.ledger_places import Place, prepared

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(plain)
@settings(max_examples=200, deadline=None)
def test_canonical_text_is_read_back(value: Any) -> None:
    text = canonical(value)
    assert text.isascii()
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text


@pytest.mark.parametrize("value", [0.5, {"a": 1.0}, {1: "x"}, b"x", {1, 2}, object(), float("nan")])
def test_what_has_no_one_text_is_refused(value: Any) -> None:
    with pytest.raises(BadParameter):
        canonical(value)


@pytest.mark.slow
def test_what_is_too_deep_or_too_long_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadParameter):
        canonical(deep)
    with pytest.raises(BadParameter):
        canonical(10**5000)


@pytest.mark.slow
@given(st.lists(st.fractions(min_value=0), max_size=4))
@settings(max_examples=100, deadline=None)
def test_amounts_are_read_back(amounts: list[Fraction]) -> None:
    assert read_amounts(amounts_text(tuple(amounts))) == tuple(amounts)


@pytest.mark.parametrize(
    "texts", ["1", ["-1"], ["2/4"], ["1/0"], ["0.1"], [" 1"], ["1/1"], ["+1"], ["1_0"], [1], ["٣"]]
)
def test_amounts_have_one_way_to_be_written(texts: Any) -> None:
    with pytest.raises(Broken):
        read_amounts(texts)


def entry(after: Entry | None = None, **changes: Any) -> Entry:
    before = {"sequence": 1, "previous": BEFORE_ALL} if after is None else _next(after)
    fields = {"ledger": "x", "kind": "a.b", "by": "owner", "time": "", "body": {}}
    return write_entry(**{**fields, **before, **changes})


def _next(after: Entry) -> dict[str, Any]:
    return {"sequence": after.sequence + 1, "previous": after.hash}


def test_links() -> None:
    first = entry()
    second = entry(first)
    follows(second, sequence=1, previous=first.hash, ledger="x")
    for bad in (entry(first, sequence=3), entry(first, previous=BEFORE_ALL), entry(first, ledger="y"), entry(second)):
        with pytest.raises(Broken):
            follows(bad, sequence=1, previous=first.hash, ledger="x")
    assert first.hash == digest(first.text)
    assert entry().hash != entry().hash  # the salt: nobody can guess an entry from its hash


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "x", '{"sequence": 1}', "[" * 100_000])
def test_what_is_no_entry(text: str) -> None:
    with pytest.raises(Broken):
        read_entry(text)


# --- fields -------------------------------------------------------------------------------------------------------


class Colour(Enum):
    RED = "r"


@dataclass(frozen=True, slots=True)
class Inner:
    price: Amounts
    note: str | None


@dataclass(frozen=True, slots=True)
class Outer:
    number: int
    share: Fraction
    budget: Measure
    colour: Colour | None
    names: tuple[str, ...]
    about: Json
    inner: Inner


OUTER = Outer(7, Fraction(1, 3), Pure("1/10"), Colour.RED, ("a", "b"), {"x": [1]}, Inner((Fraction(2),), None))
WRITTEN: dict[str, Any] = {
    "number": 7,
    "share": "1/3",
    "budget": {"version": 1, "promise": {"kind": "Pure", "epsilon": "1/10"}},
    "colour": "RED",
    "names": ["a", "b"],
    "about": {"x": [1]},
    "inner": {"price": ["2"], "note": None},
}


def test_fields_are_written_by_their_annotations_and_read_back() -> None:
    assert write_fields(OUTER) == WRITTEN
    assert json.loads(canonical(write_fields(OUTER))) == WRITTEN
    assert read_fields(Outer, WRITTEN) == OUTER


@pytest.mark.parametrize(
    "change",
    [
        {"number": True},
        {"number": "7"},
        {"share": "2/6"},
        {"share": "-1/3"},
        {"budget": None},
        {"colour": "r"},
        {"names": "ab"},
        {"names": ["a", 1]},
        {"about": []},
        {"inner": {"price": ["2"]}},
        {"inner": {"price": ["2"], "note": None, "more": 1}},
        {"more": 1},
    ],
)
def test_fields_that_are_not_as_they_would_be_written(change: dict[str, Any]) -> None:
    with pytest.raises((Broken, KeyError, TypeError, ValueError)):
        read_fields(Outer, WRITTEN | change)


def test_the_first_entry_names_a_hash_of_zeros(lite: Place) -> None:
    with prepared(lite) as ledger:
        first = ledger.entries()[0].entry
        assert first.previous == BEFORE_ALL == "0" * len(first.hash)
