"""What one reads over HTTP: answers again, budgets, entries of the ledger."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import pytest

from tests.helpers.curator.town import COUNT, Town, charges, open_town


@pytest.mark.slow
def test_reading_an_answer_again_gives_the_same_bytes(town: Town) -> None:
    said = town.ask(COUNT).json()
    before = charges(town)
    assert town.get(f"/api/answers/{said['number']}", town.ann).json() == said
    assert charges(town) == before


@pytest.mark.slow
def test_a_paper_that_somebody_shows_can_be_checked(town: Town) -> None:
    said = town.ask(COUNT).json()
    for kind in ("receipt", "card"):
        shown = town.post("/api/papers/verify", {"text": said[kind]}, town.bob)
        assert shown.status_code == 200
        assert shown.json() | {"price": ""} == {
            "kind": kind, "number": said["number"], "dataset": "town", "query": COUNT, "price": "", "stands": True,
            "hash": town.curator.ledger.charge(said["number"]).entry.hash,
        }  # fmt: skip
        assert "epsilon" in shown.json()["price"]
        for false in (said[kind].replace("COUNT", "SUM"), "{}", "[" * 50_000, said[kind].replace(kind, "other")):
            refused = town.post("/api/papers/verify", {"text": false}, town.ann)
            assert (refused.status_code, refused.json()["error"]["kind"]) == (422, "BadSignature")
    assert town.post("/api/papers/verify", {"text": said["card"]}, "").status_code == 401


@pytest.mark.slow
def test_shares_of_a_budget_add_up(tmp_path: Path) -> None:
    with open_town(tmp_path / "town", epsilon="2") as town:
        for token, epsilon in ((town.ann, "1"), (town.bob, "0.5")):
            assert town.ask(COUNT, token, epsilon=epsilon).status_code == 200
        (whole, _) = town.get("/api/budget", town.owner).json()
        ann, bob = whole["analysts"]
        assert whole["share"] == pytest.approx(ann["share"] + bob["share"])
        assert whole["gone"] == pytest.approx(whole["share"])
        (mine,) = town.get("/api/budget", town.ann).json()
        assert mine["share"] == ann["share"] < mine["gone"] == whole["gone"]  # what bob spent is gone for ann too
        cap = {"population": "town", "cap": {"epsilon": "1", "delta": "1e-18"}}
        assert town.post("/api/analysts/ann/grant", cap, town.owner).status_code == 200
        (capped,) = town.get("/api/budget", town.ann).json()
        assert capped["share"] == capped["gone"] > mine["gone"]


def test_the_ledger_can_be_checked_from_what_the_owner_is_shown(town: Town) -> None:
    town.ask(COUNT)
    entries = town.get("/api/ledger?limit=1000", town.owner).json()["entries"]
    for before, after in pairwise(entries):
        assert after["previous"] == before["hash"] == hashlib.sha256(before["text"].encode()).hexdigest()
    assert town.get("/api/ledger/verify", town.owner).json()["ok"]
