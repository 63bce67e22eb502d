"""What the owner does over HTTP: data sets, analysts, the ledger."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.curator.town import COUNT, Town

pytestmark = pytest.mark.slow


def test_registering_the_same_data_again_takes_a_decision(new_town: Town) -> None:
    town = new_town
    table = {"people": {"source": "people.parquet", "unit": "person_id"}}
    fresh = {"name": "again", "budget": {"epsilon": 5}, "tables": table}
    refused = town.post("/api/datasets", fresh, town.owner)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "AlreadyProtected")
    assert "again" not in town.curator.ledger.populations
    shared = {"name": "again", "population": "town", "tables": table}
    assert town.post("/api/datasets", shared, town.owner).status_code == 201
    assert town.post("/api/datasets/again/questions", {"sql": COUNT, "epsilon": 1}, town.ann).status_code == 200
    decided = fresh | {"name": "third", "decision": "the people agreed to a second budget"}
    assert town.post("/api/datasets", decided, town.owner).status_code == 201
    assert "agreed to a second budget" in town.get("/api/audit", town.owner).text


@pytest.mark.parametrize(
    "change",
    [
        {"tables": {"people": {"source": "people.parquet", "unit": "nowhere"}}},
        {"tables": {"people": {"source": "trips.parquet", "unit": "day"}}},
        {"tables": {"people": {"source": "people.parquet"}}},
        {"tables": {"people": {"source": "people.parquet", "unit": "person_id", "columns": {"x": {"keys": ["a"]}}}}},
        {
            "tables": {
                "people": {"source": "people.parquet", "unit": "person_id", "columns": {"name": {"bounds": [0, 1]}}}
            }
        },
        {"tables": {"a b": {"source": "people.parquet", "unit": "person_id"}}},
        {"name": "a/b"},
        {"name": ".."},
        {"name": "x\u202e"},
        {"budget": None},
        {"budget": {"epsilon": 1, "rho": 1}},
        {"population": "town"},
    ],
)
def test_a_registration_that_does_not_fit_records_nothing(town: Town, change: dict[str, Any]) -> None:
    before = town.curator.ledger.head
    body = {"name": "bad", "budget": {"epsilon": 5}, "decision": "why not"}
    body["tables"] = {"people": {"source": "people.parquet", "unit": "person_id"}}
    reply = town.post("/api/datasets", body | change, town.owner)
    assert reply.status_code in (409, 422), reply.text
    assert town.curator.ledger.head == before


def test_an_analyst_who_cannot_be_added_whole_is_not_added_at_all(new_town: Town) -> None:
    before = new_town.curator.ledger.head
    for change in (
        {"grants": [{"population": "other"}, {"population": "town", "cap": {"epsilon": "1"}}]},  # not as the budget is
        {"grants": [{"population": "other"}, {"population": "nowhere"}]},
        {"name": "owner"},
        {"name": "Owner"},
        {"name": "a/b"},
        {"days": 100_000},
    ):
        assert new_town.post("/api/analysts", {"name": "zoe", **change}, new_town.owner).status_code in (404, 422)
    assert new_town.curator.ledger.head == before
    assert new_town.post("/api/analysts", {"name": "zoe"}, new_town.owner).status_code == 201


def test_a_retired_data_set_answers_no_more(new_town: Town) -> None:
    assert new_town.ask(COUNT).status_code == 200
    assert new_town.post("/api/datasets/town/retire", {"reason": "over"}, new_town.owner).status_code == 200
    assert new_town.ask(COUNT).status_code == 404
    assert new_town.get("/api/datasets/town", new_town.owner).status_code == 404


def test_columns_of_a_source_are_names_and_types(town: Town) -> None:
    said = town.post("/api/sources/columns", {"source": "people.parquet"}, town.owner).json()
    assert {one["name"]: one["kind"] for one in said} == {
        "person_id": "integer",
        "name": "text",
        "city": "text",
        "pay": "real",
        "secret": "text",
        "big": "integer",
    }
    assert town.get("/api/sources", town.owner).json() == ["notes.csv", "people.parquet", "trips.parquet"]


def test_after_a_rollback_nothing_is_answered_until_the_owner_acts(new_town: Town) -> None:
    town = new_town
    town.ask(COUNT)
    head = Path(f"{town.config.ledger}.head")
    later = head.read_bytes()
    again = town.ask(COUNT, key="k")
    assert again.status_code == 200
    head.write_bytes(later.replace(later[:4096], later[:4096]))  # the same bytes: no mismatch
    assert town.ask(COUNT).status_code == 200
    text = json.loads(head.read_bytes()[:4096])
    forged = {"ledger": text["ledger"], "sequence": 10_000, "hash": "0" * 64}
    canonical = json.dumps(forged, sort_keys=True, separators=(",", ":"))
    line = json.dumps(forged | {"sum": hashlib.sha256(canonical.encode()).hexdigest()}, sort_keys=True)
    head.write_bytes((line.encode().ljust(4095) + b"\n") * 2)
    refused = town.ask(COUNT)
    assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "LedgerMismatch")
    assert "entry" not in refused.json()["error"]["message"]
    assert "rolled back" in town.get("/api/audit", town.owner).json()["trouble"]
    assert town.post("/api/ledger/acknowledge", {"reason": "a test wrote the head file"}, town.ann).status_code == 403
    done = town.post("/api/ledger/acknowledge", {"reason": "a test wrote the head file"}, town.owner)
    assert done.status_code == 200
    assert town.ask(COUNT).status_code == 200
    assert "a test wrote the head file" in town.get("/api/audit", town.owner).text
