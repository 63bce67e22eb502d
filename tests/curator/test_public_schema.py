"""What is public about a table survives JSON, and nothing else is sent."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pytest

import discreet as dp
from discreet.curator.public_schema import MOST_KEYS, read, write
from discreet.query.plan.schema import Schema, Stored, StoredKind, resolve
from tests.helpers.shop import schemas

STORED = {
    "id": Stored(StoredKind.INTEGER),
    "cost": Stored(StoredKind.DECIMAL, 2),
    "name": Stored(StoredKind.TEXT),
    "at": Stored(StoredKind.TIMESTAMP),
    "day": Stored(StoredKind.DATE),
    "blob": Stored(StoredKind.OTHER, type="binary" + "y" * 100),
}


def schema(**columns: Any) -> Schema:
    return resolve("t", dp.table("secret/place.parquet", unit="id", columns=columns, max_rows=3), STORED)


def column(found: Schema, name: str) -> dict[str, Any]:
    (one,) = (one for one in write(found)["columns"] if one["name"] == name)
    return dict(one)


@pytest.mark.parametrize("name", list(schemas()))
def test_what_is_read_back_is_the_schema_without_its_source(name: str) -> None:
    ours = schemas()[name]
    theirs = read(json.loads(json.dumps({name: write(ours)})))[name]
    assert theirs.fields == ours.fields
    assert replace(theirs.table, columns={}) == replace(ours.table, columns={}, source=None)


def test_where_the_data_lies_is_not_sent() -> None:
    assert "secret" not in json.dumps(write(schema()))


def test_bounds_are_exact_and_moments_keep_their_time() -> None:
    found = schema(cost=dp.bounds("1/3", "99.5"), at=dp.bounds("2025-01-01", "2025-12-31T12:30:00"))
    assert column(found, "cost")["bounds"] == ["1/3", "199/2"]
    assert column(found, "at")["low"] == "2025-01-01T00:00:00"
    back = read({"t": write(found)})["t"].table.columns
    assert back["at"].high == datetime(2025, 12, 31, 12, 30)
    assert back == found.table.columns


def test_keys_of_dates_come_back_as_dates() -> None:
    found = schema(day=dp.keys([date(2025, 1, 2), None]))
    assert column(found, "day")["keys"] == ["2025-01-02", None]
    assert read({"t": write(found)})["t"].table.columns["day"].keys == (date(2025, 1, 2), None)


def test_a_long_list_of_keys_is_cut_and_then_unknown_to_the_client() -> None:
    whole, cut = (schema(name=dp.keys([f"k{i}" for i in range(n)])) for n in (MOST_KEYS, MOST_KEYS + 7))
    assert (len(column(cut, "name")["keys"]), column(cut, "name")["more_keys"]) == (MOST_KEYS, 7)
    assert column(whole, "name")["more_keys"] == 0
    read_whole, read_cut = (read({"t": write(one)})["t"].table.columns["name"] for one in (whole, cut))
    assert read_whole == whole.table.columns["name"]
    assert (read_cut.keys, read_cut.unknown) == (None, True)


def test_columns_of_other_types_are_named_with_a_short_type() -> None:
    assert write(schema())["unusable"] == {"blob": ("binary" + "y" * 100)[:60]}
    assert "blob" not in {one["name"] for one in write(schema())["columns"]}


def test_that_nothing_is_chosen_by_a_column_is_public() -> None:
    found = schema(cost=dp.bounds("never"), name=dp.bounds("never"))
    assert column(found, "cost")["bounds"] == "never"
    assert read({"t": write(found)})["t"].table.columns == found.table.columns
