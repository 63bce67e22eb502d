"""What an operator's tools use: whether the service lives, whether it can answer, and its counters."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from discreet.curator.http import responses
from discreet.curator.http.connections import LimitedConnection
from discreet.curator.http.metrics import Metrics
from discreet.curator.service.service import Curator


def add_routes(app: FastAPI, curator: Curator, metrics: Metrics) -> None:
    """Add the routes, for one curator."""

    @app.get("/healthz")
    async def alive() -> responses.Health:
        """Whether the process lives. Nothing is looked at."""
        return responses.Health(ok=True)

    @app.get("/readyz", responses={503: {"model": responses.Health, "description": "cannot answer now"}})
    def ready() -> Response:
        """Whether questions can be answered now: 200, or 503. What is wrong is in the owner's log and `discreet_*`."""
        good = curator.readiness.check().good
        return JSONResponse({"ok": good}, 200 if good else 503)

    @app.get("/api/health", responses={503: {"model": responses.Health, "description": "cannot answer now"}})
    def health() -> Response:
        """The same as /readyz."""
        return ready()

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    def numbers() -> Response:
        """Counters for Prometheus, of this server process."""
        return PlainTextResponse(metrics.text(curator, len(LimitedConnection.places)))
