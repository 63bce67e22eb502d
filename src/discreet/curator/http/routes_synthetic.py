"""Synthetic rows: begin, watch, cancel, download."""

from __future__ import annotations

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import FastAPI, Path, Request
from fastapi.responses import Response

from discreet.curator.http import requests, responses
from discreet.curator.http.routes_look import DatasetName, caller_of
from discreet.curator.service.jobs import Jobs

KIND = "synthetic"
PARQUET = "application/vnd.apache.parquet"
Number = Annotated[int, Path(ge=1, le=10**15)]


def add_routes(app: FastAPI, jobs: Jobs) -> None:
    """Add the routes, for the jobs of one curator."""

    @app.post("/api/datasets/{dataset}/synthetic")
    async def begin(request: Request, dataset: DatasetName, body: requests.SyntheticIn) -> responses.SyntheticOut:
        """Pay for synthetic rows of a table and begin to make them. With a ``key``, asking again is the same job."""
        caller = caller_of(request)

        def started() -> responses.SyntheticOut:
            charge = jobs.start(caller, dataset, body.question(), body.key)
            return responses.SyntheticOut(**jobs.state(caller, charge.sequence, KIND))

        return await run_sync(started)

    @app.get("/api/synthetic/{number}")
    def state(request: Request, number: Number) -> responses.SyntheticOut:
        """How far a job is: running, done, failed, or lost with a server that ended."""
        return responses.SyntheticOut(**jobs.state(caller_of(request), number, KIND))

    @app.post("/api/synthetic/{number}/cancel")
    def cancel(request: Request, number: Number, body: requests.In) -> responses.SyntheticOut:
        """Stop a job after the round that is under way. What was measured is kept; nothing is given back."""
        _ = body  # nothing, but it must be JSON, as everywhere
        caller = caller_of(request)
        jobs.cancel(caller, number, KIND)
        return responses.SyntheticOut(**jobs.state(caller, number, KIND))

    @app.get("/api/synthetic/{number}/rows", response_class=Response, responses={200: {"content": {PARQUET: {}}}})
    def rows(request: Request, number: Number) -> Response:
        """The rows of a job that is done, as a Parquet file."""
        return Response(
            jobs.file(caller_of(request), number, KIND),
            media_type=PARQUET,
            headers={"content-disposition": f'attachment; filename="synthetic-{number}.parquet"'},
        )
