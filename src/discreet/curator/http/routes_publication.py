"""Tables that add up: preview their errors, pay, watch, download."""

from __future__ import annotations

from anyio.to_thread import run_sync
from fastapi import FastAPI, Request
from fastapi.responses import Response

from discreet.curator.http import requests, responses
from discreet.curator.http.routes_look import DatasetName, caller_of
from discreet.curator.http.routes_synthetic import Number
from discreet.curator.service.jobs import Jobs
from discreet.curator.service.service import Curator

KIND = "published"
ZIP = "application/zip"


def add_routes(app: FastAPI, curator: Curator, jobs: Jobs) -> None:
    """Add the routes, for one curator and its jobs."""

    @app.post("/api/datasets/{dataset}/publication/preview")
    async def preview(
        request: Request, dataset: DatasetName, body: requests.PublicationIn
    ) -> responses.PublicationPreviewOut:
        """The error of each table and level of a publication, and what it would cost. Free; no data is touched."""
        caller = caller_of(request)

        def made() -> responses.PublicationPreviewOut:
            with curator.planning.place(caller.name):
                shown = curator.preview_publication(caller, dataset, body.question())
            return responses.PublicationPreviewOut(**shown)

        return await run_sync(made)

    @app.post("/api/datasets/{dataset}/publication")
    async def begin(request: Request, dataset: DatasetName, body: requests.PublicationIn) -> responses.PublicationOut:
        """Pay once for tables that add up, and begin to make them. With a ``key``, asking again is the same job."""
        caller = caller_of(request)

        def started() -> responses.PublicationOut:
            charge = jobs.start(caller, dataset, body.question(), body.key)
            return responses.PublicationOut(**jobs.state(caller, charge.sequence, KIND))

        return await run_sync(started)

    @app.get("/api/published/{number}")
    def state(request: Request, number: Number) -> responses.PublicationOut:
        """How far a job is: running, done with its release card, failed, or lost with a server that ended."""
        return responses.PublicationOut(**jobs.state(caller_of(request), number, KIND))

    @app.get("/api/published/{number}/files", response_class=Response, responses={200: {"content": {ZIP: {}}}})
    def files(request: Request, number: Number) -> Response:
        """The tables of a job that is done, with their release card, as one archive."""
        return Response(
            jobs.file(caller_of(request), number, KIND),
            media_type=ZIP,
            headers={"content-disposition": f'attachment; filename="tables-{number}.zip"'},
        )
