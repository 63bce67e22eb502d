"""Every route × role × state of the token; and what tokens are."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.service.access import ANALYSTS, ANYBODY, DAYS, PAID, TABLE, WHOLE, check_allowed
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import NAMED, Role
from discreet.errors import BadParameter, NotRegistered
from tests.helpers.curator.town import Town, bearer, charges

ROUTES = sorted(TABLE)
PARTS = {
    "{dataset}": "town",
    "{number}": "1",
    "{population}": "town",
    "{analyst}": "ann",
    "{token}": "x",
    "{name}": "x",
    "{board}": "x",
    "{request}": "x",
    "{schedule}": "x",
    "{person}": "x",
}


def address(path: str) -> str:
    return re.sub(r"\{\w+\}", lambda m: PARTS[m[0]], path)


def send(town: Town, method: str, path: str, headers: dict[str, str]) -> int:
    body: dict[str, Any] = {} if method == "GET" else {"json": {"nothing": "known"}}  # no route knows it
    return int(town.http.request(method, address(path), headers=headers, **body).status_code)


@pytest.mark.slow
def test_every_route_stands_in_the_table(town: Town) -> None:
    found = {(method, route.path) for route in town.http.app.routes for method in route.methods}  # type: ignore[attr-defined]
    assert found == set(TABLE)


def test_what_only_analysts_may_do_is_free_or_is_paid_now_or_later_or_asks_for_budget() -> None:
    own = {(method, path) for (method, path), roles in TABLE.items() if roles == ANALYSTS}
    assert {route for route in own if not route[1].endswith("/preview")} == PAID | {
        ("POST", "/api/requests"),
        ("POST", "/api/datasets/{dataset}/schedules"),
        ("POST", "/api/datasets/{dataset}/derived"),
    }


def test_only_routes_of_the_table_concern_the_whole_service() -> None:
    assert set(TABLE) > WHOLE
    per_population = {route for route in TABLE if "{dataset}" in route[1] or "{population}" in route[1]}
    assert not WHOLE & per_population


@pytest.mark.slow
def test_what_is_not_in_the_table_is_refused_to_everybody(new_town: Town) -> None:
    new_town.http.app.add_api_route("/api/forgotten", lambda: {"leak": True})  # type: ignore[attr-defined]
    for token in (None, new_town.owner, new_town.ann):
        assert new_town.get("/api/forgotten", token).status_code == 403


@pytest.fixture(scope="module")
def team(town: Town) -> list[tuple[Role, bool, str]]:
    """Everybody: their role, whether it is for the whole service, and a token."""
    tokens = [
        (Role.OWNER, True, town.owner),
        (Role.ANALYST, True, town.ann),
        (Role.MONITOR, True, town.curator.access.issue("monitor", Role.MONITOR)),
    ]
    for role in NAMED:
        for whole in (True, False):
            name = f"{role.value} {'of all' if whole else 'of the town'}"
            town.curator.people.add(name, role, None if whole else ["town"], by="owner")
            tokens.append((role, whole, town.curator.access.issue(name, role)))
    return tokens


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_each_role_gets_what_the_table_allows(
    town: Town, team: list[tuple[Role, bool, str]], method: str, path: str
) -> None:
    roles = TABLE[method, path]
    before = charges(town)
    for role, whole, token in team:
        status = send(town, method, path, bearer(token))
        if roles is None or (role in roles and (whole or (method, path) not in WHOLE)):
            assert status not in (401, 403), (role, whole, status)
        else:
            assert status == 403, (role, whole)
    assert charges(town) == before


@pytest.fixture(scope="module")
def dead(town: Town) -> list[str]:
    """Tokens that were good once: expired, revoked, and of somebody who was revoked."""
    access, ledger = town.curator.access, town.curator.ledger
    ledger.owner.add_analyst("gone")
    town.clock.now -= timedelta(days=2)
    expired = [access.issue("owner", Role.OWNER, days=1), access.issue("ann", Role.ANALYST, days=1)]
    town.clock.now += timedelta(days=2)
    revoked = [access.issue("owner", Role.OWNER), access.issue("ann", Role.ANALYST)]
    for token in revoked:
        access.revoke(token.split("_")[1], reason="lost")
    left = access.issue("gone", Role.ANALYST)
    ledger.owner.revoke_analyst("gone", reason="left")
    return [*expired, *revoked, left]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if TABLE[route] is not ANYBODY])
def test_without_a_good_token_nothing_opens(town: Town, dead: list[str], method: str, path: str) -> None:
    good = town.owner
    prefix, identity, secret = good.split("_", 2)
    other = "A" if secret[-3] != "A" else "B"
    bad = [
        {},
        bearer(""),
        bearer(f"{prefix}_{identity}_{secret[:-3]}{other}{secret[-2:]}"),
        bearer(f"{prefix}_{identity}_"),
        bearer(f"{prefix}_{'0' * 16}_{secret}"),
        bearer(f"{identity}_{secret}"),
        bearer(good + "x"),
        bearer(" " + good),
        {"authorization": good},
        {"authorization": f"Basic {good}"},
        {"authorization": "Bearer \xff\xfe"},
        {"cookie": f"token={good}"},
        {"x-token": good},
        *map(bearer, dead),
    ]
    said = set()
    for headers in bad:
        raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
        body: dict[str, Any] = {} if method == "GET" else {"json": {}}
        reply = town.http.request(method, address(path), headers=raw, **body)
        assert reply.status_code == 401, headers
        said.add(reply.text)
    assert len(said) == 1  # no word tells what was wrong


def test_a_token_in_the_address_is_no_token(town: Town) -> None:
    assert town.get(f"/api/me?token={town.owner}&access_token={town.owner}").status_code == 401


@pytest.mark.slow
def test_a_token_expires(new_town: Town) -> None:
    assert new_town.get("/api/me", new_town.ann).status_code == 200
    new_town.clock.now += timedelta(days=DAYS, seconds=1)
    assert new_town.get("/api/me", new_town.ann).status_code == 401


@pytest.mark.slow
def test_a_revoked_token_is_worthless_and_the_others_stay(new_town: Town) -> None:
    second = new_town.post("/api/analysts/ann/tokens", {}, new_town.owner).json()["token"]
    identity = new_town.ann.split("_")[1]
    reply = new_town.post(f"/api/tokens/{identity}/revoke", {"reason": "lost"}, new_town.owner)
    assert reply.status_code == 200
    assert new_town.get("/api/me", new_town.ann).status_code == 401
    assert new_town.get("/api/me", second).json()["name"] == "ann"


@pytest.mark.slow
def test_a_revoked_analyst_has_no_good_token(new_town: Town) -> None:
    assert new_town.post("/api/analysts/bob/revoke", {"reason": "left"}, new_town.owner).status_code == 200
    assert new_town.get("/api/me", new_town.bob).status_code == 401
    assert new_town.post("/api/analysts/bob/tokens", {}, new_town.owner).status_code == 404
    assert new_town.get("/api/me", new_town.ann).status_code == 200


@pytest.mark.slow
def test_tokens_are_kept_as_hashes_only(new_town: Town) -> None:
    secrets = [token.split("_", 2)[2] for token in (new_town.owner, new_town.ann, new_town.bob)]
    for path in new_town.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not [secret for secret in secrets if secret.encode() in content], path


@pytest.mark.slow
def test_a_token_is_for_somebody_who_is_known(new_town: Town) -> None:
    with pytest.raises(BadParameter):
        new_town.curator.access.issue("nobody", Role.ANALYST)
    with pytest.raises(BadParameter):
        new_town.curator.access.issue("owner", Role.OWNER, days=100_000)
    with pytest.raises(NotRegistered):
        new_town.curator.access.revoke("0123", reason="why")


def test_deny_by_default() -> None:
    for method, path in (("GET", "/api/elsewhere"), ("DELETE", "/api/me"), ("POST", "/")):
        with pytest.raises(Refusal):
            check_allowed(method, path, None)


@pytest.mark.slow
def test_receipts_of_others_are_invisible_and_shared_answers_are_not(town: Town) -> None:
    """Where answers are kept apart, they are invisible too: test_library.py."""
    mine = town.ask("SELECT COUNT(*) AS n FROM people WHERE secret = 'Bob'").json()["number"]
    for what in ("", "/receipt", "/card"):
        assert town.get(f"/api/answers/{mine}{what}", town.ann).status_code == 200
        assert town.get(f"/api/answers/{mine}{what}", town.owner).status_code == 200
    hidden = town.get(f"/api/answers/{mine}/receipt", town.bob)
    absent = town.get("/api/answers/999999/receipt", town.bob)
    assert (hidden.status_code, hidden.text) == (absent.status_code, absent.text)
    assert hidden.status_code == 404
    assert town.get(f"/api/answers/{mine}", town.bob).json()["receipt"] is None
    for path in ("/api/answers?limit=1000", "/api/ledger?limit=1000"):
        assert "'Bob'" in town.get(path, town.ann).text
        assert "'Bob'" in town.get(path, town.owner).text
        assert "'Bob'" not in town.get(path, town.bob).text


@pytest.mark.slow
def test_a_data_set_without_permission_is_not_there(town: Town) -> None:
    assert [one["name"] for one in town.get("/api/datasets", town.ann).json()] == ["town"]
    assert {one["name"] for one in town.get("/api/datasets", town.owner).json()} == {"town", "other"}
    for path in ("other", "nowhere"):
        replies = [
            town.get(f"/api/datasets/{path}", town.ann),
            town.post(f"/api/datasets/{path}/preview", {"sql": "SELECT COUNT(*) FROM notes", "epsilon": 1}, town.ann),
            town.post(f"/api/datasets/{path}/questions", {"sql": "SELECT COUNT(*) FROM notes", "epsilon": 1}, town.ann),
            *(
                town.post(
                    f"/api/datasets/{path}/{what}", {"sqls": ["SELECT COUNT(*) FROM notes"], "epsilon": 1}, town.ann
                )
                for what in ("workload", "workload/preview", "plan", "plan/preview")
            ),
            town.post(f"/api/datasets/{path}/bounds", {"table": "notes", "column": "who", "epsilon": 1}, town.ann),
        ]
        assert {reply.status_code for reply in replies} == {404}
        assert len({reply.text for reply in replies}) == 1


@pytest.mark.slow
def test_a_request_is_decided_by_what_was_in_the_ledger_when_it_came(new_town: Town) -> None:
    """Fails where a busy server answers from what it read before: new tokens were refused, revoked ones good."""
    second = open_curator(new_town.config, clock=new_town.clock)
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_: object) -> None:
        begun.set()
        assert go_on.wait(60)

    busy = threading.Thread(target=second.ledger._journal.append, args=(slow,))

    def decided(token: str) -> list[bool]:
        def good(_: int) -> bool:
            try:
                return second.access.who(f"Bearer {token}") is not None
            except Refusal:
                return False

        with ThreadPoolExecutor(40) as pool:
            return list(pool.map(good, range(40)))

    try:
        # it holds the ledger, so what follows is written first; SQLite lets one write at a time
        token = new_town.curator.access.issue("ann", Role.ANALYST)
        revoked = new_town.curator.access.issue("ann", Role.ANALYST)
        new_town.curator.access.revoke(revoked.split("_", 2)[1], reason="lost")
        busy.start()
        assert begun.wait(60)
        assert decided(token) == [True] * 40
        assert decided(revoked) == [False] * 40
    finally:
        go_on.set()
        busy.join()
        second.close()
