"""``discreet request send | list | grant | refuse``: what analysts request of a budget, and what is decided."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.commands.locations import ConfigFile, Reason, given_amount, open_curator_of
from discreet.commands.operate.remote import TokenFile, Url, check_address, read_token
from discreet.commands.output import AsJson, fail_plainly
from discreet.curator.client.transport import Transport
from discreet.errors import BadParameter

if TYPE_CHECKING:
    from discreet.curator.service.access import Caller

request_app = typer.Typer(help="Requests for budget: send one, grant it, refuse it.", no_args_is_help=True)
Identity = Annotated[str, typer.Argument(help="the request, as `discreet request list` names it")]
MostEpsilon = Annotated[str, typer.Option(help="the most that may be spent")]
MostDelta = Annotated[str, typer.Option(help="with epsilon")]
MostRho = Annotated[str, typer.Option(help="instead of epsilon")]


@request_app.command("send")
@fail_plainly
def send_request(
    url: Url,
    population: Annotated[str, typer.Argument(help="whose budget")],
    reason: Reason,
    *,
    epsilon: MostEpsilon = "",
    delta: MostDelta = "",
    rho: MostRho = "",
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask the owner of a curator for a limit of your own."""
    cap = {name: text for name, text in (("epsilon", epsilon), ("delta", delta), ("rho", rho)) if text}
    if not cap:
        raise BadParameter("epsilon", None, "must be given, or rho")
    check_address(url)
    body = {"population": population, "cap": cap, "reason": reason}
    sent = Transport(url, read_token(token_file)).post("/api/requests", body)
    typer.echo(json.dumps(sent) if as_json else f"request {sent['request']} waits for a decision")


@request_app.command("list")
@fail_plainly
def list_requests(config: ConfigFile, as_json: AsJson = False) -> None:
    """All requests, oldest first, and what was decided."""
    with open_curator_of(config) as curator:
        rows: list[dict[str, Any]] = [
            {
                "request": entry.request, "analyst": entry.analyst, "population": entry.population,
                "cap": str(entry.cap), "reason": entry.reason, "time": entry.time, "state": entry.state,
                "granted": None if entry.granted is None else str(entry.granted), "decision": entry.decision,
                "decided_by": entry.decided_by,
            }
            for entry in curator.requests.visible(_owner())
        ]  # fmt: skip
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("request", "analyst", "population", "limit", "", "reason", box=None)
    for row in rows:
        cells = (row["request"], row["analyst"], row["population"], row["cap"], row["state"], row["reason"][:60])
        table.add_row(*(escape(" ".join(str(cell).split())) for cell in cells))
    Console().print(table)


@request_app.command("grant")
@fail_plainly
def grant_request(
    config: ConfigFile,
    request: Identity,
    *,
    epsilon: Annotated[str, typer.Option(help="another limit than the one that was asked for")] = "",
    delta: MostDelta = "",
    rho: MostRho = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Grant a request, at once on all servers."""
    cap = given_amount(epsilon, delta, rho, "cap")
    with open_curator_of(config) as curator:
        done = curator.requests.grant(_owner(), request, cap, reason)
    shown = {"request": done.request, "granted": str(done.granted)}
    words = f"{done.analyst} may ask about {done.population}, up to {done.granted}"
    typer.echo(json.dumps(shown) if as_json else words)


@request_app.command("refuse")
@fail_plainly
def refuse_request(config: ConfigFile, request: Identity, reason: Reason, as_json: AsJson = False) -> None:
    """Refuse a request, and say why."""
    with open_curator_of(config) as curator:
        done = curator.requests.refuse(_owner(), request, reason)
    shown = {"request": done.request, "state": done.state}
    typer.echo(json.dumps(shown) if as_json else f"the request of {done.analyst} is refused")


def _owner() -> Caller:
    """Whoever may open the ledger itself."""
    from discreet.curator.service.access import Caller
    from discreet.curator.service.people import OWNER, Role

    return Caller(OWNER, Role.OWNER, "", datetime.max.replace(tzinfo=UTC))
