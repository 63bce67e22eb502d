"""Jobs over HTTP: questions that take longer than their asker waits."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Path, Request

from discreet.curator.http import requests, responses
from discreet.curator.http.routes_look import answer_out, caller_of
from discreet.curator.service.long_questions import LongQuestions

JobNumber = Annotated[int, Path(ge=1, le=10**15)]


def add_routes(app: FastAPI, questions: LongQuestions) -> None:
    """Add the routes, for the jobs of one curator."""

    def out(request: Request, number: int) -> responses.JobOut:
        caller = caller_of(request)
        state, charge = questions.state(caller, number)
        return responses.JobOut(
            number=number, state=state, answer=None if charge is None else answer_out(charge, caller)
        )

    @app.get("/api/jobs/{number}")
    def look(request: Request, number: JobNumber) -> responses.JobOut:
        """How a question stands: running, done, failed, cancelled, or lost; with its answer once it is done."""
        return out(request, number)

    @app.post("/api/jobs/{number}/cancel")
    def cancel(request: Request, number: JobNumber, body: requests.In) -> responses.JobOut:
        """Wait for the answer no more, and end the engine. It stays charged."""
        _ = body  # nothing, but it must be JSON, as everywhere
        questions.cancel(caller_of(request), number)
        return out(request, number)
