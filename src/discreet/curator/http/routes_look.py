"""What one looks at: who one is, answers, budgets, one's part of the ledger."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import JSONResponse, Response

from discreet.curator.error_replies import Refusal, reply
from discreet.curator.http import responses
from discreet.curator.http.middleware import CALLER
from discreet.curator.service import serialize
from discreet.curator.service.access import Caller
from discreet.curator.service.service import Curator, read_answer
from discreet.errors import EngineFailed, LedgerUnavailable
from discreet.ledger.charges import Charge
from discreet.ledger.records import ChargeRecord

Number = Annotated[int, Path(ge=1, le=10**15)]
After = Annotated[int, Query(ge=0, le=10**15, description="entries after this number")]
Limit = Annotated[int, Query(ge=1, le=1000, description="at most so many")]


def caller_of(request: Request) -> Caller:
    """Who is asking; the gate has checked them."""
    found = request.scope.get(CALLER)
    if not isinstance(found, Caller):
        raise Refusal.unauthorised()
    return found


def sent(charge: Charge) -> Response:
    """A stored answer as it leaves: also a stored failure, which is the same each time."""
    found = read_answer(charge)
    if "error" in found:
        return JSONResponse(found, reply(EngineFailed())[0])
    record = charge.record
    return JSONResponse(
        {
            "number": charge.sequence,
            "dataset": record.dataset,
            "query": record.query,
            "parameters": record.parameters,
            "price": serialize.promise(charge.price),
            "answer": found,
            "receipt": charge.proof,
            "card": charge.card,
        }
    )


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""

    @app.get("/api/me", response_model=responses.Me)
    def me(request: Request) -> Any:
        """Who the token belongs to."""
        caller = caller_of(request)
        return JSONResponse(
            {"name": caller.name, "role": caller.role.value, "expires": caller.expires.isoformat(timespec="seconds")}
        )

    @app.get("/api/answers", response_model=responses.Charges)
    def answers(request: Request, after: After = 0, limit: Limit = 100) -> Any:
        """Questions that were paid: one's own; the owner sees all."""
        caller = caller_of(request)
        found = curator.ledger.entries(
            after=after, limit=limit, kind=ChargeRecord.KIND, analyst=None if caller.owner else caller.name
        )
        return JSONResponse(
            {
                "charges": [
                    {
                        "number": line.entry.sequence,
                        "by": line.entry.by,
                        "time": line.entry.time,
                        "dataset": record.dataset,
                        "query": record.query,
                        "parameters": record.parameters,
                        "answered": line.answered,
                    }
                    for line, record in ((line, ChargeRecord.read(line.entry)) for line in found)
                ]
            }
        )

    @app.get("/api/answers/{number}", response_model=responses.AnswerOut)
    def answer(request: Request, number: Number) -> Any:
        """A stored answer. Reading it again costs nothing and draws nothing."""
        charge = curator.answer(caller_of(request), number)
        if charge.pending:
            raise LedgerUnavailable("this question was paid, and has no stored answer")
        return sent(charge)

    @app.get("/api/answers/{number}/receipt", response_model=dict[str, Any])
    def receipt(request: Request, number: Number) -> Any:
        """The signed receipt of a charge, to be kept and checked offline with `discreet receipt verify`."""
        charge = curator.answer(caller_of(request), number)
        return _download(charge.proof, f"receipt-{number}.json")

    @app.get("/api/answers/{number}/card", response_model=dict[str, Any])
    def card(request: Request, number: Number) -> Any:
        """The signed release card of an answer: unit, neighbours, event, totals, versions, accuracy."""
        charge = curator.answer(caller_of(request), number)
        if charge.card is None:
            raise Refusal.nothing_here()
        return _download(charge.card, f"card-{number}.json")

    @app.get("/api/budget", response_model=list[responses.Standing])
    def budget(request: Request) -> Any:
        """Where the budgets stand: one's own; the owner sees all, with each analyst's share."""
        return JSONResponse(curator.budget(caller_of(request)))

    @app.get("/api/ledger", response_model=responses.Entries)
    def ledger(request: Request, after: After = 0, limit: Limit = 100) -> Any:
        """Entries of the ledger: those about oneself; the owner sees all."""
        caller = caller_of(request)
        found = curator.ledger.entries(after=after, limit=limit, analyst=None if caller.owner else caller.name)
        return JSONResponse({"entries": [serialize.line(line) for line in found]})

    @app.get("/api/ledger/head", response_model=responses.HeadOut)
    def head() -> Any:
        """The last entry of the ledger. Keep it: a ledger that was rolled back no longer has it."""
        found = curator.ledger.head
        return JSONResponse({"ledger": found.ledger, "sequence": found.sequence, "hash": found.hash})


def _download(text: str, name: str) -> Response:
    return Response(
        text, media_type="application/json", headers={"content-disposition": f'attachment; filename="{name}"'}
    )
