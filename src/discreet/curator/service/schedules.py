"""Questions and dashboards that are run again and again: every Monday at 06:00, at one price each, until a day.

Promise: a schedule is an entry of the ledger, and so is its end. Nothing is paid when it is set: each run is a question
of the analyst who set it, under a key that names the schedule and the day, so it is paid once at most, whichever
servers run it and however they end. A run that is refused is recorded, and is not tried again.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from discreet.curator.error_replies import Refusal
from discreet.curator.service.access import Caller
from discreet.curator.service.boards import find_board
from discreet.curator.service.people import Role, read_act
from discreet.curator.service.questions import SqlQuestion, WorkloadQuestion
from discreet.curator.service.service import Curator
from discreet.errors import BadParameter
from discreet.ledger.entries import Json
from discreet.ledger.owner_acts import check_reason
from discreet.ledger.record_base import Record
from discreet.ledger.state import State
from discreet.session.price import Price

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
EVERY = ("day", *WEEKDAYS, "month")
"""How often: every day, every Monday, ..., on the first of every month. All times are UTC."""
OPEN = 20
"""Schedules of one analyst that go on."""
LONGEST = timedelta(days=5 * 366)


@dataclass(frozen=True, slots=True)
class ScheduleRecord(Record):
    """An analyst sets a schedule: of questions with a price each, or of a dashboard that is paid already."""

    KIND = "schedule.set"
    schedule: str
    dataset: str
    query: tuple[str, ...]
    board: str | None
    price: Json
    every: str
    at: str
    start: str
    until: str


@dataclass(frozen=True, slots=True)
class ScheduleEndRecord(Record):
    """A schedule ends before its time."""

    KIND = "schedule.ended"
    schedule: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunRefusedRecord(Record):
    """A run could not be asked; nothing was spent."""

    KIND = "schedule.refused"
    schedule: str
    day: str
    error: str


@dataclass(frozen=True, slots=True)
class RunSchedule:
    """A schedule, and which of its runs were refused."""

    analyst: str
    record: ScheduleRecord
    ended: bool
    refused: Mapping[date, str]

    def question(self) -> SqlQuestion | WorkloadQuestion:
        """What each run asks."""
        price, texts = Price(**self.record.price), self.record.query
        return SqlQuestion(sql=texts[0], price=price) if len(texts) == 1 else WorkloadQuestion(sqls=texts, price=price)

    def key(self, day: date) -> str:
        """The key of a run: no two runs share one."""
        return f"schedule {self.record.schedule} {day.isoformat()}"

    def moment(self, day: date) -> datetime:
        """When a run is due."""
        return datetime.combine(day, time.fromisoformat(self.record.at), UTC)

    def days(self, first: date | None = None) -> list[date]:
        """The days of all runs, those that are over too; or those from one day on."""
        start, last = datetime.fromisoformat(self.record.start), date.fromisoformat(self.record.until)
        day = max(start.date(), first or date.min)
        days = (day + timedelta(days=i) for i in range((last - day).days + 1))
        return [day for day in days if self._fits(day) and self.moment(day) >= start]

    def due(self, now: datetime) -> list[date]:
        """The runs that should have begun and were not refused: of questions the last one, of a dashboard all."""
        days = [] if self.ended else [day for day in self.days() if self.moment(day) <= now]
        wanted = days if self.record.board is not None else days[-1:]
        return [day for day in wanted if day not in self.refused]

    def following(self, now: datetime) -> datetime | None:
        """When the next run is due, if there is one."""
        return (
            None if self.ended else next((self.moment(d) for d in self.days(now.date()) if self.moment(d) > now), None)
        )

    def _fits(self, day: date) -> bool:
        every = self.record.every
        return every == "day" or (day.day == 1 if every == "month" else WEEKDAYS[day.weekday()] == every)


def schedules_of(state: State) -> Mapping[str, RunSchedule]:
    """All schedules, oldest first, as the ledger has them."""
    schedules: dict[str, RunSchedule] = {}
    for act in state.acts.get(ScheduleRecord.KIND, ()):
        record = read_act(ScheduleRecord, act)
        schedules[record.schedule] = RunSchedule(act.by, record, ended=False, refused={})
    for act in state.acts.get(RunRefusedRecord.KIND, ()):
        refused = read_act(RunRefusedRecord, act)
        before = schedules[refused.schedule]
        day = {date.fromisoformat(refused.day): refused.error}
        schedules[refused.schedule] = replace(before, refused={**before.refused, **day})
    for act in state.acts.get(ScheduleEndRecord.KIND, ()):
        ended = read_act(ScheduleEndRecord, act).schedule
        schedules[ended] = replace(schedules[ended], ended=True)
    return schedules


class Schedules:
    """The schedules of one curator: setting, listing and ending them."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator

    def visible(self, caller: Caller) -> list[RunSchedule]:
        """An analyst's own, or those about people that one oversees."""
        state = self._curator.ledger.look()
        return [each for each in schedules_of(state).values() if _may_see(caller, each, state)]

    def preview(self, caller: Caller, schedule: RunSchedule) -> list[dict[str, Any]]:
        """What each run costs and how far off it will be; what cannot be asked is refused. Free."""
        name, board = schedule.record.dataset, schedule.record.board
        if board is not None:
            find_board(self._curator, caller, name, board)
            return []
        return self._curator.preview(caller, name, schedule.question())

    def set(self, caller: Caller, schedule: RunSchedule) -> None:
        """Let it begin. Nothing is paid before its first run."""
        self.preview(caller, schedule)

        def check(state: State) -> None:
            own = [each for each in schedules_of(state).values() if each.analyst == caller.name]
            if sum(each.following(self._curator.now()) is not None for each in own) >= OPEN:
                raise Refusal(409, "TooManySchedules", f"{OPEN} of your schedules go on already; end one first")

        record = schedule.record
        self._curator.ledger.owner.record(record.kind, record.body(), by=caller.name, check=check)

    def end(self, caller: Caller, identity: str, reason: str) -> RunSchedule:
        """Let it end before its time. What was paid stays paid."""
        state = self._curator.ledger.look()
        schedule = schedules_of(state).get(identity)
        if schedule is None or not _may_see(caller, schedule, state):
            raise Refusal.nothing_here()
        record = ScheduleEndRecord(identity, check_reason(reason))
        self._curator.ledger.owner.record(record.kind, record.body(), by=caller.name)
        return replace(schedule, ended=True)


def new_schedule(
    caller: Caller,
    dataset: str,
    query: tuple[str, ...],
    price: Price,
    *,
    board: str | None,
    every: str,
    at: str,
    until: str,
    now: datetime,
) -> RunSchedule:
    """A schedule that begins now, if its parts make sense."""
    if every not in EVERY:
        raise BadParameter("every", every, f"must be one of {', '.join(EVERY)}")
    try:
        if len(at) != len("00:00"):
            raise ValueError
        time.fromisoformat(at)
    except ValueError:
        raise BadParameter("at", at, "must be a time of day (UTC) such as 06:00") from None
    try:
        last = date.fromisoformat(until)
    except ValueError:
        raise BadParameter("until", until, "must be a day such as 2027-12-31") from None
    if not now.date() <= last <= now.date() + LONGEST:
        raise BadParameter("until", until, "must be a day from today on, within five years")
    if (board is None) == (not query):
        raise BadParameter("board", board, "must be the name of a dashboard, or left out where there are queries")
    written = {} if board is not None else price.texts()
    record = ScheduleRecord(
        secrets.token_hex(8), dataset, query, board, written, every, at, now.isoformat(timespec="seconds"), until
    )
    made = RunSchedule(caller.name, record, ended=False, refused={})
    if not made.days():
        raise BadParameter("until", until, "must leave time for one run")
    return made


def _may_see(caller: Caller, schedule: RunSchedule, state: State) -> bool:
    if caller.role is Role.ANALYST:
        return schedule.analyst == caller.name
    dataset = state.datasets.get(schedule.record.dataset)
    return dataset is not None and caller.oversees(dataset.population)
