"""When runs are due, and what may be scheduled."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from discreet.curator.error_replies import Refusal
from discreet.curator.service.access import Caller
from discreet.curator.service.people import Role
from discreet.curator.service.schedules import OPEN, Schedules, new_schedule, schedules_of
from discreet.errors import BadParameter, BadQuestion
from discreet.session.price import Price
from tests.helpers.curator.town import COUNT, Town, charges

MONDAY = datetime(2026, 11, 16, 5, 0, tzinfo=UTC)
ANN = Caller("ann", Role.ANALYST, "", MONDAY)


def made(now: datetime = MONDAY, **more: Any) -> Any:
    options: dict[str, Any] = {"board": None, "every": "monday", "at": "06:00", "until": "2026-12-31"} | more
    return new_schedule(ANN, "town", options.pop("query", (COUNT,)), Price("0.05"), now=now, **options)


def test_every_monday_until_a_day() -> None:
    schedule = made()
    mondays = [date(2026, 11, 16) + timedelta(weeks=i) for i in range(7)]
    assert schedule.days() == mondays
    assert schedule.due(MONDAY) == []
    assert schedule.due(MONDAY + timedelta(hours=1)) == mondays[:1]
    assert schedule.due(MONDAY + timedelta(weeks=3)) == [mondays[2]]  # of those that were missed, the last
    assert schedule.following(MONDAY) == MONDAY + timedelta(hours=1)
    assert schedule.following(MONDAY + timedelta(hours=1)) == MONDAY + timedelta(weeks=1, hours=1)
    assert schedule.following(datetime(2026, 12, 28, 6, tzinfo=UTC)) is None
    assert made(MONDAY + timedelta(hours=2)).days() == mondays[1:]  # too late for the first one


def test_every_day_and_every_month() -> None:
    assert made(every="day", until="2026-11-18").days() == [date(2026, 11, day) for day in (16, 17, 18)]
    assert made(every="month").days() == [date(2026, 12, 1)]
    assert made(every="month", until="2027-02-28").days()[-1] == date(2027, 2, 1)


def test_a_dashboard_misses_no_day() -> None:
    schedule = made(query=(), board="b", every="day")
    assert len(schedule.due(MONDAY + timedelta(days=3, hours=1))) == 4
    assert schedule.record.price == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"every": "hour"},
        {"at": "6:00"},
        {"at": "25:00"},
        {"at": "06:00Z"},
        {"until": "2026-11-15"},
        {"until": "2036-01-01"},
        {"until": "soon"},
        {"every": "tuesday", "until": "2026-11-16"},
        {"board": "b"},
        {"query": ()},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        made(**wrong)


@pytest.mark.slow
def test_schedules_are_in_the_ledger_and_cost_nothing(new_town: Town) -> None:
    ann, bob = (new_town.curator.access.who(f"Bearer {token}") for token in (new_town.ann, new_town.bob))
    owner = new_town.curator.access.who(f"Bearer {new_town.owner}")
    schedules, now = Schedules(new_town.curator), new_town.clock.now
    until = (now.date() + timedelta(days=30)).isoformat()
    mine = made(now, until=until)
    schedules.set(ann, mine)
    assert [one.record for one in schedules.visible(ann)] == [mine.record]
    assert not schedules.visible(bob)
    assert [one.analyst for one in schedules.visible(owner)] == ["ann"]
    assert charges(new_town) == 0
    with pytest.raises(Refusal, match="nothing here"):
        schedules.end(bob, mine.record.schedule, "no")
    assert schedules.end(ann, mine.record.schedule, "enough").due(now + timedelta(days=8)) == []
    assert schedules_of(new_town.curator.ledger.look())[mine.record.schedule].ended
    with pytest.raises(BadQuestion):
        schedules.set(ann, made(now, query=("SELECT nothing FROM people",), until=until))
    with pytest.raises(Refusal, match="nothing here"):
        schedules.set(ann, made(now, query=(), board="none", until=until))
    for _ in range(OPEN):
        schedules.set(ann, made(now, until=until))
    with pytest.raises(Refusal, match="go on already"):
        schedules.set(ann, made(now, until=until))
