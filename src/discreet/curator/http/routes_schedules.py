"""Schedules over HTTP: set, look, end."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Path, Request
from pydantic import BaseModel, Field, StrictStr

from discreet.curator.http import requests, responses
from discreet.curator.http.requests import Name, Priced, Text
from discreet.curator.http.routes_look import DatasetName, caller_of
from discreet.curator.service.schedules import RunSchedule, Schedules, new_schedule
from discreet.curator.service.service import Curator

_SHOWN = 30
"""Runs of a schedule that are listed, the last ones."""
ScheduleName = Annotated[str, Path(min_length=1, max_length=32, description="what identifies a schedule")]


class ScheduleIn(Priced):
    """Queries with a price for each run, or a dashboard that is paid already; and when."""

    sqls: Annotated[tuple[Text, ...], Field(max_length=100)] = ()
    board: Name | None = None
    every: Annotated[StrictStr, Field(min_length=1, max_length=20)]
    """day, monday, ..., sunday or month (its first day)."""
    at: Annotated[StrictStr, Field(min_length=5, max_length=5)] = "06:00"
    """The time of day, in UTC."""
    until: Annotated[StrictStr, Field(min_length=10, max_length=10)]
    """The last day."""


class RunOut(BaseModel):
    """A run that was due: its charge, or why it was refused; neither if it is still to come, or was left out."""

    day: str
    number: int | None = None
    refused: str | None = None


class ScheduleOut(BaseModel):
    """A schedule and its last runs."""

    schedule: str
    analyst: str
    dataset: str
    sqls: list[str]
    board: str | None
    price: dict[str, str]
    every: str
    at: str
    until: str
    ended: bool
    next: str | None
    left: int
    """Runs that are to come."""
    runs: list[RunOut]


class ScheduledOut(ScheduleOut):
    """A schedule with what each of its runs costs."""

    previews: list[responses.PreviewOut]


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""
    schedules = Schedules(curator)

    def parts(schedule: RunSchedule) -> ScheduleOut:
        record, now = schedule.record, curator.now()
        days = schedule.days()
        over = [day for day in days if schedule.moment(day) <= now]
        runs = []
        for day in over[-_SHOWN:]:
            charge = None if record.board else curator.ledger.charge_of(schedule.analyst, schedule.key(day))
            number = None if charge is None else charge.sequence
            runs.append(RunOut(day=day.isoformat(), number=number, refused=schedule.refused.get(day)))
        following = schedule.following(now)
        return ScheduleOut(
            schedule=record.schedule, analyst=schedule.analyst, dataset=record.dataset, sqls=list(record.query),
            board=record.board, price={name: str(value) for name, value in record.price.items()}, every=record.every,
            at=record.at, until=record.until, ended=schedule.ended,
            next=None if following is None else following.isoformat(),
            left=0 if schedule.ended else len(days) - len(over), runs=runs,
        )  # fmt: skip

    def wanted(request: Request, dataset: str, body: ScheduleIn) -> RunSchedule:
        return new_schedule(
            caller_of(request), dataset, body.sqls, body.price(), board=body.board, every=body.every, at=body.at,
            until=body.until, now=curator.now(),
        )  # fmt: skip

    def with_previews(request: Request, schedule: RunSchedule) -> ScheduledOut:
        shown = [responses.PreviewOut(**each) for each in schedules.preview(caller_of(request), schedule)]
        return ScheduledOut(**parts(schedule).model_dump(), previews=shown)

    @app.get("/api/schedules")
    def listed(request: Request) -> list[ScheduleOut]:
        """Schedules, oldest first: one's own, or those about people that one oversees."""
        return [parts(schedule) for schedule in schedules.visible(caller_of(request))]

    @app.post("/api/datasets/{dataset}/schedules/preview")
    def preview(request: Request, dataset: DatasetName, body: ScheduleIn) -> ScheduledOut:
        """How many runs there would be, and what each costs. Free."""
        return with_previews(request, wanted(request, dataset, body))

    @app.post("/api/datasets/{dataset}/schedules", status_code=201)
    def begin(request: Request, dataset: DatasetName, body: ScheduleIn) -> ScheduledOut:
        """Set a schedule. Nothing is paid now: each run is paid when it is due, once."""
        schedule = wanted(request, dataset, body)
        schedules.set(caller_of(request), schedule)
        return with_previews(request, schedule)

    @app.post("/api/schedules/{schedule}/end")
    def end(request: Request, schedule: ScheduleName, body: requests.ReasonIn) -> ScheduleOut:
        """Let a schedule end before its time. What was paid stays paid."""
        return parts(schedules.end(caller_of(request), schedule, body.reason))
