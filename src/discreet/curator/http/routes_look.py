"""What one looks at: who one is, answers, budgets, one's part of the ledger."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import Response

from discreet.curator.error_replies import Refusal
from discreet.curator.http import requests, responses
from discreet.curator.http.middleware import CALLER
from discreet.curator.parquet import write_parquet
from discreet.curator.service import serialize
from discreet.curator.service.access import Caller
from discreet.curator.service.library import SAME, Sameness, check_no_job, read_answer
from discreet.curator.service.people import Role
from discreet.curator.service.service import Curator
from discreet.errors import BadQuestion, EngineFailed
from discreet.ledger.charges import Charge
from discreet.ledger.records import ChargeRecord

_PARQUET = "application/vnd.apache.parquet"
Number = Annotated[int, Path(ge=1, le=10**15)]
After = Annotated[int, Query(ge=0, le=10**15, description="entries after this number")]
Before = Annotated[int | None, Query(ge=1, le=10**15, description="answers before this number")]
Search = Annotated[str, Query(max_length=200, description="words that the query has")]
FewAnswers = Annotated[int, Query(ge=1, le=200, description="at most so many")]
DatasetName = Annotated[str, Path(min_length=1, max_length=100)]
Limit = Annotated[int, Query(ge=1, le=1000, description="at most so many")]


def caller_of(request: Request) -> Caller:
    """Who is asking; the middleware has checked them."""
    found = request.scope.get(CALLER)
    if not isinstance(found, Caller):
        raise Refusal.unauthorised()
    return found


def asked_with(record: ChargeRecord) -> dict[str, Any]:
    """The parameters that were asked for, without what the service has noted."""
    return {name: value for name, value in record.parameters.items() if name != SAME}


def data_of(record: ChargeRecord) -> str | None:
    """Which data a charge is about, if that is known."""
    same = Sameness.read(record.parameters)
    return None if same is None else same.data


def answer_out(charge: Charge, caller: Caller) -> responses.AnswerOut:
    """A stored answer as it is sent; a stored failure is raised, the same each time.

    The receipt of another analyst's charge stays theirs: it says what they may spend.
    """
    stored = read_answer(charge)
    if stored.get("error", {}).get("kind") == BadQuestion.__name__:  # it names what was released
        raise BadQuestion(str(stored["error"]["message"]))
    if stored.get("error", {}).get("kind") == "Cancelled":
        raise Refusal(409, "Cancelled", str(stored["error"]["message"]))
    if "error" in stored:
        raise EngineFailed
    check_no_job(stored)
    record = charge.record
    return responses.AnswerOut(
        number=charge.sequence,
        dataset=record.dataset,
        query=record.query,
        parameters=asked_with(record),
        price=responses.amount(charge.price),
        answer=responses.read_answer(stored),
        by=charge.entry.by,
        time=charge.entry.time,
        data=data_of(record),
        receipt=charge.proof if charge.entry.by == caller.name or caller.role is not Role.ANALYST else None,
        card=charge.card,
        paid_before=charge.again,
    )


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""

    @app.get("/api/me")
    def me(request: Request) -> responses.Me:
        """Who the token belongs to."""
        caller = caller_of(request)
        expires = caller.expires.isoformat(timespec="seconds")
        populations = None if caller.populations is None else sorted(caller.populations)
        return responses.Me(
            name=caller.name,
            role=caller.role.value,
            expires=expires,
            populations=populations,
            reads_answers=caller.owner or caller.reads_answers,
        )

    @app.get("/api/answers")
    def answers(request: Request, after: After = 0, limit: Limit = 100) -> responses.Charges:
        """Questions that were paid: one's own, or those that drew on the budgets that one oversees."""
        found = curator.entries(caller_of(request), after=after, limit=limit, kind=ChargeRecord.KIND)
        charges = [
            responses.ChargeOut(
                number=line.entry.sequence,
                by=line.entry.by,
                time=line.entry.time,
                dataset=record.dataset,
                key=record.key,
                query=record.query,
                parameters=asked_with(record),
                answered=line.answered,
            )
            for line, record in ((line, ChargeRecord.read(line.entry)) for line in found)
        ]
        return responses.Charges(charges=charges)

    @app.get("/api/datasets/{dataset}/answers")
    def library(
        request: Request, dataset: DatasetName, search: Search = "", before: Before = None, limit: FewAnswers = 100
    ) -> responses.LibraryOut:
        """The answers about a data set that are there for nothing, the newest first.

        One's own and those of other analysts, unless the owner keeps answers apart.
        """
        data, charges = curator.shared_answers(caller_of(request), dataset, search, before)
        lines = [responses.LibraryLine(**serialize.library_line(charge)) for charge in islice(charges, limit)]
        return responses.LibraryOut(data=data, answers=lines)

    @app.get("/api/answers/{number}")
    def answer(request: Request, number: Number) -> responses.AnswerOut:
        """A stored answer: one's own, or one that is shared. Reading it again costs nothing and draws nothing."""
        charge = curator.shown_answer(caller_of(request), number)
        curator.check_answered(charge)
        return answer_out(charge, caller_of(request))

    @app.get("/api/answers/{number}/receipt", response_model=dict[str, Any])
    def receipt(request: Request, number: Number) -> Response:
        """The signed receipt of a charge, to be kept and checked offline with `discreet receipt verify`."""
        charge = curator.receipt(caller_of(request), number)
        return _download(charge.proof, f"receipt-{number}.json")

    @app.get("/api/answers/{number}/card", response_model=dict[str, Any])
    def card(request: Request, number: Number) -> Response:
        """The signed release card of an answer: unit, neighbours, event, totals, versions, accuracy."""
        charge = curator.shown_answer(caller_of(request), number)
        if charge.card is None:
            raise Refusal.nothing_here()
        return _download(charge.card, f"card-{number}.json")

    @app.get("/api/answers/{number}/parquet", response_class=Response)
    def parquet(request: Request, number: Number, part: Annotated[int, Query(ge=1, le=10_000)] = 1) -> Response:
        """The rows of a stored answer with their errors, as a Parquet file; ``part`` is which one of a workload."""
        charge = curator.shown_answer(caller_of(request), number)
        curator.check_answered(charge)
        found = answer_out(charge, caller_of(request)).answer
        tables = found.answers if isinstance(found, responses.AnswerTables) else [found]
        if part > len(tables):
            raise Refusal.nothing_here()
        one = tables[part - 1]
        return _download(write_parquet(one.columns, one.rows, one.errors), f"answer-{number}.parquet", _PARQUET)

    @app.post("/api/papers/verify")
    def verify(paper: requests.PaperIn) -> responses.PaperOut:
        """Whether a receipt or release card was signed by this ledger, and whether its charge stands there."""
        return responses.PaperOut(**curator.verify_paper(paper.text))

    @app.get("/api/budget")
    def budget(request: Request) -> list[responses.Standing]:
        """Where the budgets stand: one's own, or those that one oversees, with each analyst's share."""
        return [responses.Standing(**one) for one in curator.budget(caller_of(request))]

    @app.get("/api/ledger")
    def ledger(request: Request, after: After = 0, limit: Limit = 100) -> responses.Entries:
        """Entries of the ledger: those about oneself, or about the budgets that one oversees."""
        found = curator.entries(caller_of(request), after=after, limit=limit)
        people = curator.ledger.populations
        return responses.Entries(entries=[responses.EntryOut(**serialize.entry(line, people)) for line in found])

    @app.get("/api/ledger/head")
    def head() -> responses.HeadOut:
        """The last entry of the ledger. Keep it: a ledger that was rolled back no longer has it."""
        return responses.HeadOut.model_validate(curator.ledger.head, from_attributes=True)


def _download(content: str | bytes, name: str, kind: str = "application/json") -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})
