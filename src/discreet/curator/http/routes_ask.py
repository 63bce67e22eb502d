"""What analysts ask: data sets, previews, questions and workloads."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Path, Request
from fastapi.responses import JSONResponse, Response

from discreet.curator import public_schema
from discreet.curator.http import requests, responses
from discreet.curator.http.middleware import BEGAN
from discreet.curator.http.routes_look import caller_of, sent
from discreet.curator.service.questions import Asked, Asking, Sizes, Together
from discreet.curator.service.service import Curator

DatasetName = Annotated[str, Path(min_length=1, max_length=100)]
_ASKING = 32
"""Questions of all analysts together that one server process works on at the same time."""


def exact(value: Any) -> Any:
    """A JSON number as the decimal that was written, text as it is."""
    if isinstance(value, dict):
        return {name: str(one) for name, one in value.items()}
    return None if value is None else str(value)


def asked(body: requests.Question, rows: int | None = None) -> Asked:
    """The question of a request."""
    return Asked(
        sql=body.sql,
        epsilon=exact(body.epsilon),
        delta=exact(body.delta),
        rho=exact(body.rho),
        error=exact(body.error),
        confidence=exact(body.confidence),
        rows=rows,
    )


def together(body: requests.Workload, rows: int | None = None) -> Together:
    """The questions of a request."""
    return Together(
        sqls=tuple(body.sqls),
        epsilon=exact(body.epsilon),
        delta=exact(body.delta),
        rho=exact(body.rho),
        confidence=exact(body.confidence),
        rows=rows,
    )


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""
    asking: list[CapacityLimiter] = []

    async def paid(request: Request, dataset: str, what: Asking, key: str | None) -> Response:
        """Pay and answer, in a thread of its own."""
        if not asking:  # a limiter belongs to the loop that makes it
            asking.append(CapacityLimiter(_ASKING))
        caller, began = caller_of(request), request.scope[BEGAN]
        charge = await run_sync(lambda: curator.ask(caller, dataset, what, key, began=began), limiter=asking[0])
        curator.at("sending")
        return sent(charge)

    @app.get("/api/datasets", response_model=list[responses.DatasetOut])
    def datasets(request: Request) -> Any:
        """The data sets that one may ask about."""
        people = curator.ledger.populations
        return JSONResponse(
            [
                {
                    "name": name,
                    "population": one.population,
                    "protects": people[one.population].unit,
                    "tables": sorted(one.about.get("tables", {})),
                }
                for name, one in curator.datasets(caller_of(request)).items()
            ]
        )

    @app.get("/api/datasets/{dataset}", response_model=responses.SchemaOut)
    def schema(request: Request, dataset: DatasetName) -> Any:
        """The public schema of a data set: nothing in it comes from a value of the data."""
        known, people = curator.dataset(caller_of(request), dataset)
        tables = {name: public_schema.written(one) for name, one in curator.room(known).session.schemas.items()}
        return JSONResponse(
            {
                "name": dataset,
                "population": people.name,
                "protects": people.unit,
                "neighbours": people.neighbours.name,
                "tables": tables,
            }
        )

    @app.post("/api/datasets/{dataset}/preview", response_model=responses.PreviewOut)
    def preview(request: Request, dataset: DatasetName, body: requests.PreviewIn) -> Any:
        """What a question would cost, its error bars, and what would be left. Free; no data is touched."""
        return JSONResponse(curator.preview(caller_of(request), dataset, asked(body, body.rows)))

    @app.post("/api/datasets/{dataset}/questions", response_model=responses.AnswerOut)
    async def ask(request: Request, dataset: DatasetName, body: requests.AskIn) -> Any:
        """Pay for a question and get its answer, with a signed receipt and release card."""
        return await paid(request, dataset, asked(body), body.key)

    @app.post("/api/datasets/{dataset}/workload/preview", response_model=responses.WorkloadPreviewOut)
    def preview_workload(request: Request, dataset: DatasetName, body: requests.WorkloadPreviewIn) -> Any:
        """What several questions would cost together, and their error bars. Free; no data is touched."""
        found = curator.preview_together(caller_of(request), dataset, together(body, body.rows))
        return JSONResponse({"questions": found})

    @app.post("/api/datasets/{dataset}/workload", response_model=responses.AnswerOut)
    async def ask_workload(request: Request, dataset: DatasetName, body: requests.WorkloadAskIn) -> Any:
        """Pay once for several questions and get all answers, with one signed receipt and release card."""
        return await paid(request, dataset, together(body), body.key)

    @app.post("/api/datasets/{dataset}/bounds", response_model=responses.AnswerOut)
    async def ask_bounds(request: Request, dataset: DatasetName, body: requests.BoundsIn) -> Any:
        """Pay for the sizes of a column: noisy counts by sign and power of two, from which bounds can be suggested."""
        what = Sizes(
            table=body.table,
            column=body.column,
            epsilon=exact(body.epsilon),
            delta=exact(body.delta),
            rho=exact(body.rho),
            confidence=exact(body.confidence),
        )
        return await paid(request, dataset, what, body.key)
