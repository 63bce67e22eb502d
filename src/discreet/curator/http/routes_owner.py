"""What the owner uses: registering data sets, analysts and their tokens, budgets, the audit trail."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request
from fastapi.responses import JSONResponse

from discreet.curator.engine_process.process import Isolated
from discreet.curator.error_replies import Refusal
from discreet.curator.http import requests, responses
from discreet.curator.http.routes_ask import DatasetName
from discreet.curator.http.routes_look import caller_of
from discreet.curator.service import declarations, serialize
from discreet.curator.service.access import Role, check_analyst
from discreet.curator.service.service import Curator
from discreet.engines import data_paths
from discreet.errors import NotRegistered
from discreet.ledger.owner_acts import check_cap
from discreet.query.plan.schema import StoredKind

Name = Annotated[str, Path(min_length=1, max_length=100)]
_MOST_SOURCES = 1000


def add_routes(app: FastAPI, curator: Curator) -> None:
    """Add the routes, for one curator."""
    _add_data(app, curator)
    _add_analysts(app, curator)
    _add_ledger(app, curator)


def _add_data(app: FastAPI, curator: Curator) -> None:
    owner = curator.ledger.owner

    @app.get("/api/sources", response_model=list[str])
    def sources() -> Any:
        """The files below the folder of the data."""
        return JSONResponse(list(islice(data_paths.listed(curator.config.data), _MOST_SOURCES)))

    @app.post("/api/sources/columns", response_model=list[responses.StoredColumn])
    def columns(body: requests.SourceIn) -> Any:
        """The columns of a file: names and stored types, and nothing of its values."""
        files = [str(path) for path in data_paths.find(curator.config.data, body.source)]
        engine = Isolated(curator.config.limits)
        try:
            found = engine.columns(files)
        finally:
            engine.close()
        units = (StoredKind.INTEGER, StoredKind.TEXT)
        return JSONResponse(
            [{"name": name, "kind": one.kind.value, "may_be_unit": one.kind in units} for name, one in found.items()]
        )

    @app.post("/api/datasets", response_model=responses.Done, status_code=201)
    def register(request: Request, body: requests.RegisterIn) -> Any:
        """Register a data set, and a budget for its people if they have none yet."""
        name = declarations.read_name(body.name, "name")
        tables = {table: one.model_dump(exclude_unset=True) for table, one in body.tables.items()}
        done = curator.entrust(
            name,
            declarations.read({"tables": tables}, name),
            declarations.read_name(body.population or name, "population"),
            budget=None if body.budget is None else _promise(body.budget, "budget"),
            protects=body.protects,
            rule=declarations.read_rule(body.rule, "rule"),
            neighbours=declarations.read_neighbours(body.neighbours, "neighbours"),
            decision=body.decision,
            by=caller_of(request).name,
        )
        return JSONResponse({"sequence": done}, 201)

    @app.post("/api/datasets/{dataset}/retire", response_model=responses.Done)
    def retire(request: Request, dataset: DatasetName, body: requests.ReasonIn) -> Any:
        """Close a data set for questions. What was spent stays spent."""
        done = owner.retire(dataset, reason=body.reason, by=caller_of(request).name)
        return JSONResponse({"sequence": done.sequence})

    @app.post("/api/populations/{population}/budget", response_model=responses.Done)
    def set_budget(request: Request, population: Name, body: requests.BudgetIn) -> Any:
        """Raise or lower a budget; recorded with its reason."""
        promise = _promise(body.budget, "budget")
        done = owner.set_budget(population, promise, reason=body.reason, by=caller_of(request).name)
        return JSONResponse({"sequence": done.sequence})

    @app.get("/api/populations/{population}/household", response_model=responses.HouseholdOut)
    def household(population: Name, people: Annotated[int, Query(ge=1, le=1000)] = 4) -> Any:
        """What a group of people has lost so far, and at most."""
        found = curator.ledger.household(population, people)
        spent, promised = found.spent, found.promised
        return JSONResponse(
            {
                "people": people,
                "spent": None if spent is None else serialize.promise(spent),
                "promised": None if promised is None else serialize.promise(promised),
            }
        )


def _add_analysts(app: FastAPI, curator: Curator) -> None:
    owner = curator.ledger.owner

    @app.get("/api/analysts", response_model=list[responses.AnalystOut])
    def analysts() -> Any:
        """All analysts, what they may spend, and their tokens without the secrets."""
        tokens = curator.access.tokens().values()
        return JSONResponse(
            [
                {
                    "name": one.name,
                    "revoked": one.revoked,
                    "caps": {name: None if cap is None else serialize.promise(cap) for name, cap in one.caps.items()},
                    "tokens": [
                        {
                            "token": token.identity,
                            "expires": token.expires.isoformat(timespec="seconds"),
                            "revoked": token.revoked,
                        }
                        for token in tokens
                        if token.name == one.name and token.role is Role.ANALYST
                    ],
                }
                for one in curator.ledger.analysts.values()
            ]
        )

    @app.post("/api/analysts", response_model=responses.Issued, status_code=201)
    def add_analyst(request: Request, body: requests.AnalystIn) -> Any:
        """Let somebody in, with leave to ask about some populations. The token is shown here and never again."""
        name, by = check_analyst(body.name), caller_of(request).name
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
        return JSONResponse({"name": name, "token": token}, 201)

    @app.post("/api/analysts/{analyst}/grant", response_model=responses.Done)
    def grant(request: Request, analyst: Name, body: requests.GrantIn) -> Any:
        """Let an analyst ask about a population, up to a cap; or change that cap."""
        cap = None if body.cap is None else _promise(body.cap, "cap")
        done = owner.grant(analyst, body.population, cap, by=caller_of(request).name)
        return JSONResponse({"sequence": done.sequence})

    @app.post("/api/analysts/{analyst}/tokens", response_model=responses.Issued, status_code=201)
    def add_token(request: Request, analyst: Name, body: requests.TokenIn) -> Any:
        """One more token for an analyst, shown here and never again."""
        known = curator.ledger.analysts.get(analyst)
        if known is None or known.revoked:
            raise NotRegistered("there is no such analyst")
        token = curator.access.issue(analyst, Role.ANALYST, days=body.days, by=caller_of(request).name)
        return JSONResponse({"name": analyst, "token": token}, 201)

    @app.post("/api/analysts/{analyst}/revoke", response_model=responses.Done)
    def revoke_analyst(request: Request, analyst: Name, body: requests.ReasonIn) -> Any:
        """Let somebody ask no more; all their tokens are worthless from now on."""
        done = owner.revoke_analyst(analyst, reason=body.reason, by=caller_of(request).name)
        return JSONResponse({"sequence": done.sequence})

    @app.post("/api/tokens/{token}/revoke", response_model=responses.Done)
    def revoke_token(request: Request, token: Name, body: requests.ReasonIn) -> Any:
        """Make one token worthless; it is named by its public part."""
        done = curator.access.revoke(token, reason=body.reason, by=caller_of(request).name)
        return JSONResponse({"sequence": done})


def _add_ledger(app: FastAPI, curator: Curator) -> None:

    @app.get("/api/audit", response_model=responses.AuditOut)
    def audit(after: Annotated[int, Query(ge=0, le=10**15)] = 0) -> Any:
        """Whether the ledger spends, what to know about it, and all acts that are not questions."""
        ledger = curator.ledger
        head = ledger.head
        return JSONResponse(
            {
                "trouble": ledger.trouble,
                "cautions": list(ledger.cautions),
                "head": {"ledger": head.ledger, "sequence": head.sequence, "hash": head.hash},
                "unanswered": [entry.sequence for entry in ledger.unanswered()],
                "acts": [
                    serialize.line(line)
                    for line in ledger.entries(after=after, limit=1000)
                    if line.entry.kind != "charge"
                ],
            }
        )

    @app.get("/api/ledger/verify", response_model=responses.Verdict)
    def verify() -> Any:
        """Check every entry, every sum and every stored answer."""
        return JSONResponse(curator.verified())

    @app.post("/api/ledger/acknowledge", response_model=responses.Done)
    def acknowledge(request: Request, body: requests.ReasonIn) -> Any:
        """After a mismatch: say why the ledger is not the one that was seen before, and go on from what is there."""
        if curator.ledger.trouble is None:
            raise Refusal(
                409, "NoMismatch", "there is nothing to acknowledge: the ledger is the one that was seen before"
            )
        done = curator.ledger.owner.acknowledge(reason=body.reason, by=caller_of(request).name)
        return JSONResponse({"sequence": done.sequence})


def _promise(body: requests.Promise, place: str) -> Any:
    return declarations.read_promise(body.model_dump(exclude_none=True), place)
