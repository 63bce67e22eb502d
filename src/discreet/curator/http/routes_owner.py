"""What the owner uses: registering data sets, analysts and their tokens, budgets, the audit trail."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request

from discreet.curator.engine_process.process import Isolated
from discreet.curator.error_replies import Refusal
from discreet.curator.http import requests, responses
from discreet.curator.http.routes_look import DatasetName, caller_of
from discreet.curator.service import declarations, serialize
from discreet.curator.service.access import check_analyst
from discreet.curator.service.people import Role
from discreet.curator.service.service import Curator
from discreet.engines import data_paths
from discreet.errors import NotRegistered
from discreet.ledger.owner_acts import check_cap
from discreet.query.plan.schema import UNIT_KINDS

Name = Annotated[str, Path(min_length=1, max_length=100)]
_MOST_SOURCES = 1000


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""
    _add_data(app, curator)
    _add_analysts(app, curator)
    _add_ledger(app, curator)


def _add_data(app: FastAPI, curator: Curator) -> None:
    owner = curator.ledger.owner

    @app.get("/api/sources")
    def sources() -> list[str]:
        """The files below the folder of the data."""
        return list(islice(data_paths.listed(curator.config.data), _MOST_SOURCES))

    @app.post("/api/sources/columns")
    def columns(body: requests.SourceIn) -> list[responses.StoredColumn]:
        """The columns of a file: names and stored types, and nothing of its values."""
        files = [str(path) for path in data_paths.find(curator.config.data, body.source)]
        engine = Isolated(curator.config.limits)
        try:
            found = engine.columns(files)
        finally:
            engine.close()
        return [
            responses.StoredColumn(name=name, kind=one.kind.value, may_be_unit=one.kind in UNIT_KINDS)
            for name, one in found.items()
        ]

    @app.post("/api/datasets", status_code=201)
    def register(request: Request, body: requests.RegisterIn) -> responses.Done:
        """Register a data set, and a budget for its people if they have none yet."""
        name = declarations.read_name(body.name, "name")
        tables = {table: one.model_dump(exclude_unset=True) for table, one in body.tables.items()}
        done = curator.register(
            name,
            declarations.read({"tables": tables, "version": body.version, "answers_apart": body.answers_apart}, name),
            declarations.read_name(body.population or name, "population"),
            budget=None if body.budget is None else _promise(body.budget, "budget"),
            protects=body.protects,
            rule=declarations.read_rule(body.rule, "rule"),
            neighbours=declarations.read_neighbours(body.neighbours, "neighbours"),
            decision=body.decision,
            by=caller_of(request).name,
        )
        return responses.Done(sequence=done)

    @app.post("/api/datasets/{dataset}/retire")
    def retire(request: Request, dataset: DatasetName, body: requests.ReasonIn) -> responses.Done:
        """Close a data set for questions. What was spent stays spent."""
        done = owner.retire(dataset, reason=body.reason, by=caller_of(request).name)
        return responses.Done(sequence=done.sequence)

    @app.post("/api/populations/{population}/budget")
    def set_budget(request: Request, population: Name, body: requests.BudgetIn) -> responses.Done:
        """Raise or lower a budget; recorded with its reason."""
        promise = _promise(body.budget, "budget")
        done = owner.set_budget(population, promise, reason=body.reason, by=caller_of(request).name)
        return responses.Done(sequence=done.sequence)

    @app.get("/api/populations/{population}/household")
    def household(population: Name, people: Annotated[int, Query(ge=1, le=1000)] = 4) -> responses.HouseholdOut:
        """What a group of people has lost so far, and at most."""
        found = curator.ledger.household(population, people)
        return responses.HouseholdOut(
            people=people, charged=responses.amount(found.charged), promised=responses.amount(found.promised)
        )


def _add_analysts(app: FastAPI, curator: Curator) -> None:
    owner = curator.ledger.owner

    @app.get("/api/analysts")
    def analysts(request: Request) -> list[responses.AnalystOut]:
        """Analysts and what they may spend of the budgets that one oversees; for owners, tokens without the secrets."""
        caller, tokens = caller_of(request), curator.access.tokens().values()
        overseen = [
            (analyst, {name: cap for name, cap in analyst.caps.items() if caller.oversees(name)})
            for analyst in curator.ledger.analysts.values()
        ]
        return [
            responses.AnalystOut(
                name=analyst.name,
                revoked=analyst.revoked,
                caps={name: responses.amount(cap) for name, cap in caps.items()},
                tokens=[
                    responses.token(token)
                    for token in tokens
                    if caller.owner and token.name == analyst.name and token.role is Role.ANALYST
                ],
            )
            for analyst, caps in overseen
            if caps or caller.oversees_all
        ]

    @app.post("/api/analysts", status_code=201)
    def add_analyst(request: Request, body: requests.AnalystIn) -> responses.Issued:
        """Add an analyst, with permission to ask about some populations. The token is shown here and never again."""
        name, by = check_analyst(body.name), caller_of(request).name
        curator.access.check_free(name)
        caps = [
            (curator.population(one.population), None if one.cap is None else _promise(one.cap, "cap"))
            for one in body.grants
        ]
        for population, cap in caps:  # a name is for good: nothing is recorded unless all can be
            if cap is not None:
                check_cap(population, cap)
        owner.add_analyst(name, by=by)
        for population, cap in caps:
            owner.grant(name, population.name, cap, by=by)
        token = curator.access.issue(name, Role.ANALYST, days=body.days, by=by)
        return responses.Issued(name=name, token=token)

    @app.post("/api/analysts/{analyst}/grant")
    def grant(request: Request, analyst: Name, body: requests.GrantIn) -> responses.Done:
        """Let an analyst ask about a population, up to a cap; or change that cap."""
        curator.check_overseen(caller_of(request), None, body.population)
        cap = None if body.cap is None else _promise(body.cap, "cap")
        done = owner.grant(analyst, body.population, cap, by=caller_of(request).name)
        return responses.Done(sequence=done.sequence)

    @app.post("/api/analysts/{analyst}/tokens", status_code=201)
    def add_token(request: Request, analyst: Name, body: requests.TokenIn) -> responses.Issued:
        """One more token for an analyst, shown here and never again."""
        known = curator.ledger.analysts.get(analyst)
        if known is None or known.revoked:
            raise NotRegistered("there is no such analyst")
        token = curator.access.issue(analyst, Role.ANALYST, days=body.days, by=caller_of(request).name)
        return responses.Issued(name=analyst, token=token)

    @app.post("/api/analysts/{analyst}/revoke")
    def revoke_analyst(request: Request, analyst: Name, body: requests.ReasonIn) -> responses.Done:
        """Revoke an analyst: none of their tokens is valid from now on."""
        done = owner.revoke_analyst(analyst, reason=body.reason, by=caller_of(request).name)
        return responses.Done(sequence=done.sequence)

    @app.post("/api/tokens/{token}/revoke")
    def revoke_token(request: Request, token: Name, body: requests.ReasonIn) -> responses.Done:
        """Revoke one token, named by its public part."""
        done = curator.access.revoke(token, reason=body.reason, by=caller_of(request).name)
        return responses.Done(sequence=done)


def _add_ledger(app: FastAPI, curator: Curator) -> None:

    @app.get("/api/audit")
    def audit(after: Annotated[int, Query(ge=0, le=10**15)] = 0) -> responses.AuditOut:
        """Whether the ledger spends, what to know about it, and all acts that are not questions."""
        ledger, people = curator.ledger, curator.ledger.populations
        acts = [line for line in ledger.entries(after=after, limit=1000) if line.entry.kind != "charge"]
        return responses.AuditOut(
            trouble=ledger.trouble,
            cautions=curator.cautions(),
            head=responses.HeadOut.model_validate(ledger.head, from_attributes=True),
            unanswered=[entry.sequence for entry in ledger.unanswered()],
            acts=[responses.EntryOut(**serialize.entry(line, people)) for line in acts],
        )

    @app.get("/api/ledger/verify")
    def verify() -> responses.Verdict:
        """Check every entry, every sum and every stored answer."""
        return responses.Verdict(**curator.verified())

    @app.post("/api/ledger/acknowledge")
    def acknowledge(request: Request, body: requests.ReasonIn) -> responses.Done:
        """After a mismatch: record why the ledger is not the one that was seen before, and continue with it."""
        if curator.ledger.trouble is None:
            raise Refusal(
                409, "NoMismatch", "there is nothing to acknowledge: the ledger is the one that was seen before"
            )
        done = curator.ledger.owner.acknowledge(reason=body.reason, by=caller_of(request).name)
        return responses.Done(sequence=done.sequence)


def _promise(body: requests.Promise, place: str) -> Any:
    return declarations.read_promise(body.model_dump(exclude_none=True), place)
