"""What analysts ask: data sets, previews, questions, workloads and plans."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel

from discreet.curator import public_schema
from discreet.curator.http import requests, responses
from discreet.curator.http.middleware import BEGAN
from discreet.curator.http.routes_look import DatasetName, answer_out, caller_of
from discreet.curator.service.long_questions import LongQuestions
from discreet.curator.service.service import Curator
from discreet.ledger.charges import Charge

R = TypeVar("R")
_ASKING = 32
"""Questions of all analysts together that one server process works on at the same time."""
_PLANNING = 32
"""Previews of several questions that wait for a place in one server process, beside all other requests."""
_JOB: dict[int | str, dict[str, Any]] = {202: {"model": responses.JobOut, "description": "charged, and still running"}}
_LOOK = 0.1
"""Seconds after which it is looked again whether a client is still there."""


def _json(reply: BaseModel) -> Response:
    """A reply that is written once: FastAPI would check and copy it before."""
    status = 202 if isinstance(reply, responses.JobOut) else 200
    return Response(reply.model_dump_json(), status, media_type="application/json")


async def _while_there(request: Request, make: Callable[[Event], R], limiter: CapacityLimiter | None = None) -> R:
    """What a thread makes; it is told when the client has left."""
    left = Event()

    async def watch() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(_LOOK)
        left.set()

    watching = asyncio.create_task(watch())
    try:
        return await run_sync(make, left, limiter=limiter)
    finally:
        watching.cancel()


def add_routes(app: FastAPI, curator: Curator, long_questions: LongQuestions) -> None:
    """Add the routes, for one curator."""
    _add_datasets(app, curator)
    asking: list[CapacityLimiter] = []
    planning: list[CapacityLimiter] = []

    def limiter() -> CapacityLimiter:
        if not planning:  # a limiter belongs to the loop that makes it
            planning.append(CapacityLimiter(_PLANNING))
        return planning[0]

    async def paid(request: Request, dataset: str, body: requests.AnyPaid) -> responses.AnswerOut | responses.JobOut:
        """Pay and answer, in a thread of its own; a job, if it takes longer than its asker waits."""
        if not asking:  # a limiter belongs to the loop that makes it
            asking.append(CapacityLimiter(_ASKING))
        caller, began, what = caller_of(request), request.scope[BEGAN], body.question()

        def answered() -> responses.AnswerOut | responses.JobOut:
            if body.wait is None:
                charge: Charge | int = curator.ask(caller, dataset, what, body.key, fresh=body.fresh, began=began)
            else:
                charge = long_questions.ask(
                    caller, dataset, what, body.key, fresh=body.fresh, wait=body.wait, began=began
                )
            curator.at("sending")
            if isinstance(charge, int):
                return responses.JobOut(number=charge, state="running")
            return answer_out(charge, caller)

        return await run_sync(answered, limiter=asking[0])

    @app.post("/api/datasets/{dataset}/preview", response_model=responses.PreviewOut)
    async def preview(request: Request, dataset: DatasetName, body: requests.PreviewIn) -> Response:
        """What a question would cost, its error bars, and what would be left. Free; no data is touched."""
        caller, asked = caller_of(request), body.question(body.rows)
        if curator.previews_at_once(caller, dataset, asked):
            return _json(responses.PreviewOut(**curator.preview(caller, dataset, asked)[0]))

        def made(left: Event) -> responses.PreviewOut:
            with curator.planning.limited(left):
                return responses.PreviewOut(**curator.preview(caller, dataset, asked)[0])

        return _json(await _while_there(request, made))

    @app.post("/api/datasets/{dataset}/questions", response_model=responses.AnswerOut, responses=_JOB)
    async def ask(request: Request, dataset: DatasetName, body: requests.AskIn) -> Response:
        """Pay for a question and get its answer, with a signed receipt and release card.

        Contribution bounds, value bounds and groups that nobody declared are chosen within its price.
        """
        return _json(await paid(request, dataset, body))

    @app.post("/api/datasets/{dataset}/workload/preview")
    async def preview_workload(
        request: Request, dataset: DatasetName, body: requests.WorkloadPreviewIn
    ) -> responses.WorkloadPreviewOut:
        """What several questions would cost together, and their error bars. Free; no data is touched."""
        caller, asked = caller_of(request), body.question(body.rows)

        def made(left: Event) -> responses.WorkloadPreviewOut:
            with curator.planning.place(caller.name, left):
                previews = curator.preview(caller, dataset, asked)
            return responses.WorkloadPreviewOut(questions=[responses.PreviewOut(**one) for one in previews])

        return await _while_there(request, made, limiter())

    @app.post("/api/datasets/{dataset}/workload", response_model=responses.AnswerOut, responses=_JOB)
    async def ask_workload(request: Request, dataset: DatasetName, body: requests.WorkloadAskIn) -> Response:
        """Pay once for several questions and get all answers, with one signed receipt and release card."""
        return _json(await paid(request, dataset, body))

    @app.post("/api/datasets/{dataset}/plan/preview")
    async def preview_plan(
        request: Request, dataset: DatasetName, body: requests.PlanPreviewIn
    ) -> responses.PlanPreviewOut:
        """What each question of a plan gets, and what all cost together. Free; no data is touched."""
        caller, asked = caller_of(request), body.question()

        def made(left: Event) -> responses.PlanPreviewOut:
            with curator.planning.place(caller.name, left):
                return responses.PlanPreviewOut(**curator.preview_plan(caller, dataset, asked))

        return await _while_there(request, made, limiter())

    @app.post("/api/datasets/{dataset}/plan", response_model=responses.AnswerOut, responses=_JOB)
    async def ask_plan(request: Request, dataset: DatasetName, body: requests.PlanAskIn) -> Response:
        """Pay once for a plan and get all answers, with one signed receipt and release card.

        It is planned as its preview is. What nobody declared is chosen within the price.
        """
        return _json(await paid(request, dataset, body))

    @app.post("/api/datasets/{dataset}/bounds", response_model=responses.AnswerOut, responses=_JOB)
    async def ask_bounds(request: Request, dataset: DatasetName, body: requests.BoundsIn) -> Response:
        """Pay for the sizes of a column: noisy counts by sign and power of two, from which bounds can be suggested."""
        return _json(await paid(request, dataset, body))

    @app.post("/api/datasets/{dataset}/profile", response_model=responses.AnswerOut, responses=_JOB)
    async def ask_profile(request: Request, dataset: DatasetName, body: requests.ProfileIn) -> Response:
        """Pay once for a private profile of a table: histograms of rows per unit, groups, keys and values."""
        return _json(await paid(request, dataset, body))


def _add_datasets(app: FastAPI, curator: Curator) -> None:

    @app.post("/api/datasets/{dataset}/derived")
    async def derive(request: Request, dataset: DatasetName, body: requests.DerivedIn) -> responses.AnswerOut | None:
        """What follows from a stored answer alone: fewer columns, another order, sums of its groups. Free; or null."""
        caller, question = caller_of(request), body.question()

        def made(left: Event) -> responses.AnswerOut | None:
            with curator.planning.limited(left):
                follows = curator.derived(caller, dataset, question)
            if follows is None:
                return None
            charge, answer = follows
            update: dict[str, Any] = {"query": question.query, "parameters": question.parameters, "receipt": None}
            update |= {"card": None, "answer": responses.AnswerTable(**answer), "paid_before": True, "derived": True}
            return answer_out(charge, caller).model_copy(update=update)

        return await _while_there(request, made)

    @app.get("/api/datasets")
    def datasets(request: Request) -> list[responses.DatasetOut]:
        """The data sets that one may ask about."""
        people = curator.ledger.populations
        return [
            responses.DatasetOut(
                name=name,
                population=one.population,
                protects=people[one.population].unit,
                tables=sorted(one.about.get("tables", {})),
            )
            for name, one in curator.datasets(caller_of(request)).items()
        ]

    @app.get("/api/datasets/{dataset}")
    def schema(request: Request, dataset: DatasetName) -> responses.SchemaOut:
        """The public schema of a data set: nothing in it comes from a value of the data."""
        known, people = curator.dataset(caller_of(request), dataset)
        schemas = curator.open(known).session.schemas
        return responses.SchemaOut(
            name=dataset,
            population=people.name,
            protects=people.unit,
            neighbours=people.neighbours.name,
            replies=curator.grid_of(dataset).words,
            tables={name: responses.TableOut(**public_schema.write(one)) for name, one in schemas.items()},
        )
