"""Who is who: owners, stewards and auditors; and what analysts request of budgets."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Path, Request

from discreet.curator.http import requests, responses
from discreet.curator.http.routes_look import caller_of
from discreet.curator.service import declarations
from discreet.curator.service.budget_requests import BudgetRequest
from discreet.curator.service.people import Role
from discreet.curator.service.service import Curator
from discreet.errors import NotRegistered

PersonName = Annotated[str, Path(min_length=1, max_length=100)]
RequestNumber = Annotated[str, Path(min_length=1, max_length=32, description="what identifies a request")]


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""
    _add_people(app, curator)
    _add_requests(app, curator)


def _add_people(app: FastAPI, curator: Curator) -> None:

    @app.get("/api/people")
    def people() -> list[responses.PersonOut]:
        """Owners, stewards and auditors who have a name, and their tokens without the secrets."""
        tokens = curator.access.tokens().values()
        return [
            responses.PersonOut(
                name=person.name,
                role=person.role.value,
                populations=None if person.populations is None else sorted(person.populations),
                reads_answers=person.reads_answers,
                left=person.left,
                tokens=[responses.token(token) for token in tokens if token.name == person.name],
            )
            for person in curator.people.all().values()
        ]

    @app.post("/api/people", status_code=201)
    def add(request: Request, body: requests.PersonIn) -> responses.Issued:
        """Add an owner, steward or auditor. The token is shown here and never again."""
        by, role = caller_of(request).name, Role(body.role)
        curator.people.add(body.name, role, body.populations, reads_answers=body.reads_answers, by=by)
        return responses.Issued(name=body.name, token=curator.access.issue(body.name, role, days=body.days, by=by))

    @app.post("/api/people/{person}/role")
    def change(request: Request, person: PersonName, body: requests.RoleIn) -> responses.Done:
        """Give somebody another role, or other populations: for their next request, on all servers."""
        by = caller_of(request).name
        done = curator.people.change(person, Role(body.role), body.populations, reads_answers=body.reads_answers, by=by)
        return responses.Done(sequence=done)

    @app.post("/api/people/{person}/tokens", status_code=201)
    def add_token(request: Request, person: PersonName, body: requests.TokenIn) -> responses.Issued:
        """One more token for a person, shown here and never again."""
        holder = curator.people.all().get(person)
        if holder is None or holder.left:
            raise NotRegistered("there is no such person")
        token = curator.access.issue(person, holder.role, days=body.days, by=caller_of(request).name)
        return responses.Issued(name=person, token=token)

    @app.post("/api/people/{person}/revoke")
    def leave(request: Request, person: PersonName, body: requests.ReasonIn) -> responses.Done:
        """Take a person's role away for good: none of their tokens is valid from now on."""
        done = curator.people.leave(person, reason=body.reason, by=caller_of(request).name)
        return responses.Done(sequence=done)


def _add_requests(app: FastAPI, curator: Curator) -> None:

    @app.get("/api/requests")
    def listed(request: Request) -> list[responses.BudgetRequestOut]:
        """Requests for budget, oldest first: one's own, or those for the budgets that one oversees."""
        return [_out(wanted) for wanted in curator.requests.visible(caller_of(request))]

    @app.post("/api/requests", status_code=201)
    def ask(request: Request, body: requests.BudgetRequestIn) -> responses.BudgetRequestOut:
        """Ask for a cap of one's own on a budget. Nothing changes until an owner or steward grants it."""
        cap = declarations.read_promise(body.cap.model_dump(exclude_none=True), "cap")
        return _out(curator.requests.ask(caller_of(request), body.population, cap, body.reason))

    @app.post("/api/requests/{request}/grant")
    def grant(http: Request, request: RequestNumber, body: requests.GrantRequestIn) -> responses.BudgetRequestOut:
        """Grant a request: the cap that was asked for, or another. It holds at once."""
        given = None if body.cap is None else declarations.read_promise(body.cap.model_dump(exclude_none=True), "cap")
        return _out(curator.requests.grant(caller_of(http), request, given, body.reason))

    @app.post("/api/requests/{request}/refuse")
    def refuse(http: Request, request: RequestNumber, body: requests.ReasonIn) -> responses.BudgetRequestOut:
        """Refuse a request, and say why."""
        return _out(curator.requests.refuse(caller_of(http), request, body.reason))


def _out(wanted: BudgetRequest) -> responses.BudgetRequestOut:
    return responses.BudgetRequestOut(
        request=wanted.request,
        analyst=wanted.analyst,
        population=wanted.population,
        cap=responses.amount(wanted.cap),
        reason=wanted.reason,
        time=wanted.time,
        state=wanted.state,
        granted=None if wanted.granted is None else responses.amount(wanted.granted),
        decided_by=wanted.decided_by,
        decided=wanted.decided,
        decision=wanted.decision,
    )
