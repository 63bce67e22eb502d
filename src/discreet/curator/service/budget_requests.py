"""Requests for budget: an analyst asks for a cap, an owner or steward grants or refuses it.

Promise: each request, and who decided it when and why, is an entry of the ledger. A request is decided once, whichever
servers are asked at the same time, and a grant takes effect in the same step. A request for a population that is not
there is kept like any other: the reply tells nobody what exists.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from discreet.curator.error_replies import Refusal
from discreet.curator.service.access import Caller
from discreet.curator.service.declarations import read_name
from discreet.curator.service.people import Role, read_act
from discreet.ledger.journal import Clock
from discreet.ledger.owner_acts import check_cap, check_reason
from discreet.ledger.record_base import CustomRecord, Record
from discreet.ledger.state import State
from discreet.ledger.store import Ledger
from discreet.privacy.promises.measures import Measure

OPEN = 10
"""Requests of one analyst that may wait for a decision."""
DAY = 20
"""Requests of one analyst within 24 hours."""


@dataclass(frozen=True, slots=True)
class RequestRecord(Record):
    """An analyst asks for a cap."""

    KIND = "access.request"
    request: str
    population: str
    cap: Measure
    reason: str


@dataclass(frozen=True, slots=True)
class DecisionRecord(Record):
    """What was decided about a request; ``cap`` is what was granted, None for a refusal."""

    KIND = "access.decision"
    request: str
    cap: Measure | None
    reason: str


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """A request, and what came of it."""

    request: str
    analyst: str
    population: str
    cap: Measure
    reason: str
    time: str
    state: Literal["open", "granted", "refused"] = "open"
    granted: Measure | None = None
    decided_by: str | None = None
    decided: str | None = None
    decision: str | None = None
    """The reason of whoever decided."""


def requests_of(state: State) -> Mapping[str, BudgetRequest]:
    """All requests, oldest first, as the ledger has them."""
    requests: dict[str, BudgetRequest] = {}
    for act in state.acts.get(RequestRecord.KIND, ()):
        record = read_act(RequestRecord, act)
        requests[record.request] = BudgetRequest(
            record.request, act.by, record.population, record.cap, record.reason, act.time
        )
    for act in state.acts.get(DecisionRecord.KIND, ()):
        decision = read_act(DecisionRecord, act)
        requests[decision.request] = replace(
            requests[decision.request],
            state="refused" if decision.cap is None else "granted",
            granted=decision.cap,
            decided_by=act.by,
            decided=act.time,
            decision=decision.reason,
        )
    return requests


class BudgetRequests:
    """The requests of one ledger."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def visible(self, caller: Caller) -> list[BudgetRequest]:
        """An analyst's own requests, or those for the budgets that one oversees."""
        return [each for each in requests_of(self._ledger.look()).values() if _may_see(caller, each)]

    def ask(self, caller: Caller, population: str, cap: Measure, reason: str) -> BudgetRequest:
        """Ask for a cap; nothing changes until it is granted."""
        identity = secrets.token_hex(8)
        record = RequestRecord(identity, read_name(population, "population"), cap, check_reason(reason))
        day_ago = self._clock() - timedelta(days=1)

        def check(state: State) -> None:
            own = [each for each in requests_of(state).values() if each.analyst == caller.name]
            if sum(each.state == "open" for each in own) >= OPEN:
                raise Refusal(409, "TooManyRequests", f"{OPEN} of your requests wait for a decision already")
            if sum(datetime.fromisoformat(each.time) > day_ago for each in own) >= DAY:
                raise Refusal(409, "TooManyRequests", f"you sent {DAY} requests within a day; send another one later")
            if population in state.analysts[caller.name].caps:
                check_cap(state.populations[population], cap)

        self._ledger.owner.record(record.kind, record.body(), by=caller.name, check=check)
        return requests_of(self._ledger.look())[identity]

    def grant(self, caller: Caller, identity: str, cap: Measure | None = None, reason: str = "") -> BudgetRequest:
        """Give what was asked for, or another cap; at once, on all servers."""
        wanted = self._seen(caller, identity)
        record = DecisionRecord(identity, wanted.cap if cap is None else cap, reason)

        def also(state: State) -> Record:
            _check_open(state, identity)
            return CustomRecord(record.kind, record.body())

        self._ledger.owner.grant(wanted.analyst, wanted.population, record.cap, by=caller.name, also=also)
        return requests_of(self._ledger.look())[identity]

    def refuse(self, caller: Caller, identity: str, reason: str) -> BudgetRequest:
        """Refuse it; nothing changes."""
        self._seen(caller, identity)
        record = DecisionRecord(identity, None, check_reason(reason))
        self._ledger.owner.record(
            record.kind, record.body(), by=caller.name, check=lambda state: _check_open(state, identity)
        )
        return requests_of(self._ledger.look())[identity]

    def _seen(self, caller: Caller, identity: str) -> BudgetRequest:
        wanted = requests_of(self._ledger.look()).get(identity)
        if wanted is None or not _may_see(caller, wanted):
            raise Refusal.nothing_here()
        return wanted


def _may_see(caller: Caller, wanted: BudgetRequest) -> bool:
    if caller.role is Role.ANALYST:
        return wanted.analyst == caller.name
    return caller.oversees(wanted.population)


def _check_open(state: State, identity: str) -> None:
    wanted = requests_of(state)[identity]
    if wanted.state != "open":
        raise Refusal(409, "AlreadyDecided", f"this request was {wanted.state} by {wanted.decided_by} already")
