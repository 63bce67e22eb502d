"""Requests for budget: who sees them, and that each is decided once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.service.access import Caller
from discreet.curator.service.budget_requests import DAY, OPEN
from discreet.curator.service.opening import open_curator
from discreet.curator.service.people import Role
from discreet.errors import BadParameter
from discreet.privacy.promises.measures import Approx, Pure
from tests.helpers.curator.town import Town

pytestmark = pytest.mark.slow
CAP = Approx("1/2", "1e-19")


def callers(town: Town) -> tuple[Caller, Caller, Caller]:
    """An analyst, the owner, and a steward of somebody else."""
    town.curator.people.add("bea", Role.STEWARD, ["other"], by="owner")
    steward = town.curator.access.issue("bea", Role.STEWARD)
    ann, owner, bea = (town.curator.access.who(f"Bearer {token}") for token in (town.ann, town.owner, steward))
    return ann, owner, bea


def test_a_grant_holds_at_once_and_a_request_is_decided_once(new_town: Town) -> None:
    curator = new_town.curator
    ann, owner, bea = callers(new_town)
    asked = curator.requests.ask(ann, "town", CAP, "a report")
    assert asked.state == "open"
    assert curator.requests.visible(bea) == []
    with pytest.raises(Refusal, match="nothing here"):
        curator.requests.grant(bea, asked.request)
    done = curator.requests.grant(owner, asked.request, Approx("1/4", "1e-19"), "a start")
    assert (done.state, done.granted, done.decided_by) == ("granted", Approx("1/4", "1e-19"), "owner")
    assert curator.ledger.analysts["ann"].caps["town"] == Approx("1/4", "1e-19")
    head = curator.ledger.head
    with pytest.raises(Refusal, match="granted by owner already"):
        curator.requests.grant(owner, asked.request)
    with pytest.raises(Refusal, match="granted by owner already"):
        curator.requests.refuse(owner, asked.request, "late")
    assert curator.ledger.head == head


def test_what_cannot_be_granted_is_refused_whole(new_town: Town) -> None:
    """Fails where a decision is recorded before the grant that it is for."""
    curator = new_town.curator
    ann, owner, _ = callers(new_town)
    with pytest.raises(BadParameter):
        curator.requests.ask(ann, "town", Approx(1, "1e-9"), "much")
    nowhere = curator.requests.ask(ann, "nowhere", Pure(1), "a guess")
    head = curator.ledger.head
    with pytest.raises(Exception, match="no budget for"):
        curator.requests.grant(owner, nowhere.request)
    asked = curator.requests.ask(ann, "town", CAP, "a report")
    with pytest.raises(BadParameter):
        curator.requests.grant(owner, asked.request, Approx(1, "1e-9"))
    assert curator.ledger.head.sequence == head.sequence + 1
    assert {one.state for one in curator.requests.visible(ann)} == {"open"}


def test_two_servers_decide_a_request_once(new_town: Town) -> None:
    ann, owner, _ = callers(new_town)
    second = open_curator(new_town.config, clock=new_town.clock)
    try:
        for _ in range(5):
            asked = new_town.curator.requests.ask(ann, "town", CAP, "a report")

            def decide(place: int, request: str = asked.request) -> bool:
                requests = (new_town.curator, second)[place % 2].requests
                try:
                    if place < 4:
                        requests.grant(owner, request)
                    else:
                        requests.refuse(owner, request, "no")
                except Refusal:
                    return False
                return True

            before = len(new_town.curator.ledger.entries(limit=10_000))
            with ThreadPoolExecutor(8) as pool:
                assert sum(pool.map(decide, range(8))) == 1
            (done,) = [one for one in second.requests.visible(ann) if one.request == asked.request]
            written = len(second.ledger.entries(limit=10_000)) - before
            assert written == (2 if done.state == "granted" else 1)
    finally:
        second.close()


def test_an_analyst_cannot_fill_the_ledger(new_town: Town) -> None:
    curator = new_town.curator
    ann, owner, _ = callers(new_town)
    for sent in range(DAY):
        if sent >= OPEN:
            curator.requests.refuse(owner, curator.requests.visible(ann)[sent - OPEN].request, "no")
        curator.requests.ask(ann, "town", CAP, "more")
    with pytest.raises(Refusal, match="wait for a decision"):
        curator.requests.ask(ann, "town", CAP, "more")
    for one in curator.requests.visible(ann):
        if one.state == "open":
            curator.requests.refuse(owner, one.request, "no")
    with pytest.raises(Refusal, match="within a day"):
        curator.requests.ask(ann, "town", CAP, "more")
    new_town.clock.now += timedelta(days=1, seconds=1)
    assert curator.requests.ask(ann, "town", CAP, "more").state == "open"
