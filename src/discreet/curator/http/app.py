"""The HTTP service: routes, the page, the description in OpenAPI.

Promise: every route stands in the table of access.py; every refusal has the one shape of error_replies.py; the page
needs nothing from elsewhere.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from discreet.errors import DiscreetError, MissingExtra

try:
    from fastapi import Depends, FastAPI, Query, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse, Response
    from fastapi.security import HTTPBearer
    from starlette.exceptions import HTTPException
except ImportError as missing:
    raise MissingExtra("the service", extra="server") from missing

from discreet.curator import logs
from discreet.curator.error_replies import Refusal, fault, reply
from discreet.curator.http import (
    responses,
    routes_ask,
    routes_boards,
    routes_jobs,
    routes_look,
    routes_operate,
    routes_owner,
    routes_people,
    routes_publication,
    routes_schedules,
    routes_sign_on,
    routes_synthetic,
    teaching,
)
from discreet.curator.http.connections import LimitedConnection, Places
from discreet.curator.http.metrics import Metrics
from discreet.curator.http.middleware import CALLER, AccessMiddleware, interface_of
from discreet.curator.malformed import in_words
from discreet.curator.service.access import ANYBODY, TABLE
from discreet.curator.service.config import read_config
from discreet.curator.service.copies.repeat import Repeat
from discreet.curator.service.jobs import Jobs
from discreet.curator.service.long_questions import LongQuestions
from discreet.curator.service.opening import open_curator
from discreet.curator.service.scheduler import EVERY, DueRuns
from discreet.curator.service.service import Curator

CONFIG = "DISCREET_CONFIG"
"""The environment variable through which the processes of one service learn where their curator.toml is."""
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_ALWAYS = {408: "too slow", 413: "too large", 415: "not JSON", 422: "cannot be asked", 429: "too many", 500: "failed",
           503: "not now"}  # fmt: skip
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": responses.Error, "description": text}
    for status, text in {400: "not JSON", 401: "no valid token", 402: "over budget", 403: "not allowed",
                         404: "nothing here", 405: "not this method", 409: "in conflict"}.items()
}  # fmt: skip
_ERRORS |= {status: {"model": responses.Error, "description": text} for status, text in _ALWAYS.items()}
_NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)
"""Newer versions of FastAPI measure times and record the messages of errors, if an environment variable asks for it."""
_LOOK = 30.0
"""Seconds after which it is looked again whether the data sets can be asked."""
Small = Annotated[str, Query(min_length=1, max_length=40)]


def create_app(curator: Curator) -> FastAPI:
    """The application for one curator. It closes the curator when it ends."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        stopped = threading.Event()
        threading.Thread(target=_watch, args=(curator, stopped), daemon=True).start()
        scheduler = Repeat(EVERY, DueRuns(curator).run)
        yield
        stopped.set()
        curator.readiness.stopping = True
        scheduler.close()
        curator.close()

    app = FastAPI(
        title="discreet",
        summary="Query sensitive data; publish the answers safely.",
        version=metadata.version("discreet"),
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        responses=_ERRORS,
        telemetry=_NO_TELEMETRY,
        dependencies=[Depends(HTTPBearer(auto_error=False, description="a token that the owner gave out"))],
    )
    metrics = Metrics()
    app.add_middleware(AccessMiddleware, curator=curator, metrics=metrics)
    app.add_exception_handler(DiscreetError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _fault)
    routes_look.add_routes(app, curator)
    long_questions = LongQuestions(curator)
    routes_ask.add_routes(app, curator, long_questions)
    routes_jobs.add_routes(app, long_questions)
    routes_boards.add_routes(app, curator)
    routes_owner.add_routes(app, curator)
    routes_people.add_routes(app, curator)
    routes_schedules.add_routes(app, curator)
    routes_sign_on.add_routes(app, curator)
    routes_operate.add_routes(app, curator, metrics)
    jobs = Jobs(curator)
    routes_synthetic.add_routes(app, jobs)
    routes_publication.add_routes(app, curator, jobs)
    _add_public(app, curator)
    return app


def from_environment() -> FastAPI:
    """The application of the curator.toml that the environment names: one in each server process."""
    config = read_config(Path(os.environ[CONFIG]))
    logs.set_up(as_json=config.log == "json")
    LimitedConnection.places = Places(trusted=config.proxies)
    curator = open_curator(config, create=True)
    try:
        curator.serve()
    except BaseException:
        curator.close()
        raise
    return create_app(curator)


# --- what everybody may see -----------------------------------------------------------------------------------------


def _add_public(app: FastAPI, curator: Curator) -> None:
    page = _page()

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return Response(page["index.html"], media_type="text/html")

    @app.get("/web/{name}", include_in_schema=False)
    def web(name: str) -> Response:
        if name not in page:
            raise Refusal.nothing_here()
        return Response(page[name], media_type=_TYPES[Path(name).suffix])

    @app.get("/api/openapi.json", include_in_schema=False)
    def description() -> Response:
        return JSONResponse(described(app))

    @app.get("/api/key")
    def key() -> responses.PublicKey:
        """The public key of the ledger, with which receipts and release cards can be checked."""
        curator.ledger.look()  # another process may have rotated it
        return responses.PublicKey(public_key=curator.ledger.public_key)

    @app.get("/api/learn/attacker")
    def attacker(epsilon: Small = "1", delta: Small = "1e-6") -> responses.Attacker:
        """The best that any attacker can do: true positives for each rate of false positives."""
        return responses.Attacker(**teaching.attacker(epsilon, delta))

    @app.get("/api/learn/composition")
    def composition(
        epsilon: Small = "0.1", delta: Small = "1e-6", questions: Annotated[int, Query(ge=1, le=10_000)] = 100
    ) -> responses.Composition:
        """What many questions cost together: by adding up, and by zCDP."""
        return responses.Composition(**teaching.composition(epsilon, delta, questions))

    @app.get("/api/learn/noise")
    def noise(epsilon: Small = "1") -> responses.NoiseSample:
        """Fresh draws of noise, and their law."""
        return responses.NoiseSample(**teaching.noise(epsilon))


def described(app: FastAPI) -> dict[str, Any]:
    """The service in OpenAPI: routes for everybody need no token."""
    found = app.openapi()
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            if TABLE.get((method.upper(), path)) is ANYBODY:
                operation.pop("security", None)
    return found


def _page() -> dict[str, bytes]:
    folder = files("discreet.curator") / "web"
    return {one.name: one.read_bytes() for one in folder.iterdir() if Path(one.name).suffix in _TYPES}


def _watch(curator: Curator, stopped: threading.Event) -> None:
    """Open the data sets before the first question comes, and go on looking whether they can be asked."""
    while True:
        with suppress(DiscreetError):  # the ledger is away: that is noticed elsewhere
            curator.look_at_datasets()
        if stopped.wait(_LOOK):
            return


# --- refusals -------------------------------------------------------------------------------------------------------


def _refused(request: Request, error: Exception) -> Response:
    caller = request.scope.get(CALLER)
    owner = caller is not None and caller.owner
    if not isinstance(error, DiscreetError):
        return _fault(request, error)
    status, body = reply(error, to_owner=owner, interface=interface_of(request.scope))
    return JSONResponse(body, status)


def _invalid(_: Request, error: Exception) -> Response:
    """Names where a request is wrong and what it must be; what was sent is not repeated."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    words = "; ".join(dict.fromkeys(in_words(one["loc"], one["msg"]) for one in found[:5]))
    status, body = reply(Refusal(422, "Malformed", words[:1000] or "the request cannot be understood"))
    return JSONResponse(body, status)


def _http(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    kinds = {400: ("Malformed", "the body cannot be read as JSON"), 404: ("NotFound", "there is nothing here")}
    kind, message = kinds.get(status, ("Refused", "this cannot be done here"))
    return JSONResponse(reply(Refusal(status, kind, message))[1], status)


def _fault(_: Request, error: Exception) -> Response:
    status, body = fault(error)
    return JSONResponse(body, status)
