"""People and requests for budget over HTTP."""

from __future__ import annotations

import pytest

from tests.helpers.curator.town import Town

pytestmark = pytest.mark.slow


def test_people_are_added_changed_and_taken_away(new_town: Town) -> None:
    owner = new_town.owner
    body = {"name": "bea", "role": "steward", "populations": ["town"]}
    token = new_town.post("/api/people", body, owner).json()["token"]
    assert new_town.post("/api/people", body, owner).status_code == 422
    assert new_town.get("/api/me", token).json()["populations"] == ["town"]
    second = new_town.post("/api/people/bea/tokens", {"days": 1}, owner).json()["token"]
    assert new_town.post("/api/people/bea/role", {"role": "auditor"}, owner).status_code == 200
    (bea,) = new_town.get("/api/people", owner).json()
    assert (bea["role"], bea["populations"], len(bea["tokens"])) == ("auditor", None, 2)
    assert token.split("_")[2] not in str(bea)
    assert new_town.post("/api/people/bea/revoke", {"reason": "left"}, owner).status_code == 200
    for gone in (token, second):
        assert new_town.get("/api/me", gone).status_code == 401
    assert new_town.post("/api/people/bea/tokens", {}, owner).status_code == 404
    assert new_town.post("/api/people", {"name": "eve", "role": "analyst"}, owner).status_code == 422


def test_a_named_owner_acts_under_their_own_name(new_town: Town) -> None:
    token = new_town.post("/api/people", {"name": "olga", "role": "owner"}, new_town.owner).json()["token"]
    assert new_town.post("/api/datasets/other/retire", {"reason": "moved"}, token).status_code == 200
    acts = new_town.get("/api/audit", token).json()["acts"]
    assert [one["by"] for one in acts if one["kind"] == "retire"] == ["olga"]


def test_a_request_is_granted_by_a_steward(new_town: Town) -> None:
    person = {"name": "bea", "role": "steward", "populations": ["town"]}
    steward = new_town.post("/api/people", person, new_town.owner).json()["token"]
    body = {"population": "town", "cap": {"epsilon": "1/2", "delta": "1e-19"}, "reason": "a report"}
    sent = new_town.post("/api/requests", body, new_town.ann)
    assert sent.status_code == 201
    identity = sent.json()["request"]
    assert new_town.get("/api/requests", new_town.bob).json() == []
    assert [one["analyst"] for one in new_town.get("/api/requests", steward).json()] == ["ann"]
    assert new_town.post(f"/api/requests/{identity}/grant", {}, new_town.ann).status_code == 403
    done = new_town.post(f"/api/requests/{identity}/grant", {}, steward).json()
    assert (done["state"], done["decided_by"], done["granted"]["epsilon"]) == ("granted", "bea", "1/2")
    late = new_town.post(f"/api/requests/{identity}/refuse", {"reason": "late"}, steward)
    assert (late.status_code, late.json()["error"]["kind"]) == (409, "AlreadyDecided")
    (budget,) = new_town.get("/api/budget", new_town.ann).json()
    assert budget["budget"]["epsilon"] == "1/2"
    assert new_town.post("/api/requests/x/grant", {}, steward).status_code == 404
    assert new_town.post("/api/requests", body | {"cap": {}}, new_town.ann).status_code == 422
