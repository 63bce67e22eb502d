"""Owners, stewards and auditors: what each sees of a service with two populations."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.service.people import Role
from discreet.errors import BadParameter, NotRegistered
from tests.helpers.curator.town import COUNT, Town

pytestmark = pytest.mark.slow


def person(town: Town, name: str, role: Role, populations: list[str] | None = None, **more: Any) -> str:
    town.curator.people.add(name, role, populations, by="owner", **more)
    return town.curator.access.issue(name, role)


def test_a_name_is_for_one_person_and_what_it_oversees_is_there(new_town: Town) -> None:
    people = new_town.curator.people
    person(new_town, "bea", Role.STEWARD, ["town"])
    for name in ("bea", "ann", "owner", "Owner", "monitor"):
        with pytest.raises(BadParameter):
            people.add(name, Role.AUDITOR, None, by="owner")
    with pytest.raises(BadParameter):
        people.add("eve", Role.ANALYST, None, by="owner")
    with pytest.raises(BadParameter):
        people.add("eve", Role.STEWARD, [], by="owner")
    with pytest.raises(BadParameter):
        people.add("eve", Role.STEWARD, None, reads_answers=True, by="owner")
    with pytest.raises(NotRegistered):
        people.add("eve", Role.STEWARD, ["nowhere"], by="owner")
    with pytest.raises(NotRegistered):
        people.change("eve", Role.STEWARD, None, by="owner")
    with pytest.raises(BadParameter):
        new_town.curator.access.issue("bea", Role.OWNER)
    body = {"name": "bea", "grants": []}
    assert new_town.post("/api/analysts", body, new_town.owner).status_code == 422
    assert set(people.all()) == {"bea"}


def test_what_was_recorded_last_holds_whatever_the_token_was_issued_for(new_town: Town) -> None:
    token = person(new_town, "bea", Role.AUDITOR)
    assert new_town.get("/api/ledger/verify", token).status_code == 200
    new_town.curator.people.change("bea", Role.STEWARD, ["other"], by="owner")
    me = new_town.get("/api/me", token).json()
    assert (me["role"], me["populations"], me["reads_answers"]) == ("steward", ["other"], False)
    assert new_town.get("/api/ledger/verify", token).status_code == 403
    new_town.curator.people.leave("bea", reason="left", by="owner")
    assert new_town.get("/api/me", token).status_code == 401
    with pytest.raises(Refusal):
        new_town.curator.access.who(f"Bearer {token}")
    with pytest.raises(NotRegistered):
        new_town.curator.people.leave("bea", reason="again", by="owner")


def test_an_auditor_sees_spending_and_receipts_and_answers_only_where_an_owner_allows_it(town: Town) -> None:
    number = town.ask(COUNT).json()["number"]
    strict = person(town, "strict", Role.AUDITOR)
    trusted = person(town, "trusted", Role.AUDITOR, ["town"], reads_answers=True)
    other = person(town, "elsewhere", Role.AUDITOR, ["other"], reads_answers=True)
    steward = person(town, "stewart", Role.STEWARD, ["town"])
    answers = ("", "/card", "/parquet")
    for token in (strict, trusted, steward):
        assert number in [one["number"] for one in town.get("/api/answers", token).json()["charges"]]
        assert town.get(f"/api/answers/{number}/receipt", token).status_code == 200
        (budget,) = [one for one in town.get("/api/budget", token).json() if one["population"] == "town"]
        assert {one["analyst"] for one in budget["analysts"]} == {"ann", "bob"}
    for part in answers:
        assert town.get(f"/api/answers/{number}{part}", strict).status_code == 404
        assert town.get(f"/api/answers/{number}{part}", trusted).status_code == 200
        assert town.get(f"/api/answers/{number}{part}", steward).status_code == 403
        assert town.get(f"/api/answers/{number}{part}", other).status_code == 404
    assert town.get("/api/answers", other).json()["charges"] == []
    assert town.get(f"/api/answers/{number}/receipt", other).status_code == 404
    stored = town.curator.ledger.charge(number).answer
    assert stored is not None
    for path in ("/api/answers", "/api/ledger?limit=1000", "/api/audit", f"/api/answers/{number}/receipt"):
        assert "errors" not in town.get(path, strict).text


def test_whoever_oversees_one_population_sees_nothing_of_another(town: Town) -> None:
    token = person(town, "half", Role.OWNER, ["other"])
    assert [one["name"] for one in town.get("/api/datasets", token).json()] == ["other"]
    assert [one["population"] for one in town.get("/api/budget", token).json()] == ["other"]
    assert town.get("/api/datasets/town", token).status_code == 404
    assert town.post("/api/datasets/town/retire", {"reason": "mine"}, token).status_code == 404
    assert town.get("/api/populations/town/household", token).status_code == 404
    assert town.get("/api/populations/other/household", token).status_code == 200
    budget = {"budget": {"epsilon": "9", "delta": "1e-9"}, "reason": "mine"}
    assert town.post("/api/populations/town/budget", budget, token).status_code == 404
    grant = {"population": "town"}
    assert town.post("/api/analysts/ann/grant", grant, token).status_code == 404
    assert town.get("/api/analysts", token).json() == []
    seen = town.get("/api/ledger?limit=1000", token).json()["entries"]
    assert seen
    assert {one["body"].get("population") for one in seen} == {"other"}
