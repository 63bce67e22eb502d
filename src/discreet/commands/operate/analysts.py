"""``discreet analyst add | grant | revoke | list``: who may ask, about whom, and how much."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.commands.locations import ConfigFile, Days, Reason, given_amount, open_curator_of
from discreet.commands.output import AsJson, fail_plainly
from discreet.errors import BadParameter

analyst_app = typer.Typer(help="Add, cap and revoke analysts.", no_args_is_help=True)


@analyst_app.command("add")
@fail_plainly
def add_analyst(
    config: ConfigFile,
    name: str,
    *,
    population: Annotated[
        list[str], typer.Option("--population", help="whom they may ask about; all if left out")
    ] = [],  # noqa: B006 - typer copies it
    epsilon: Annotated[str, typer.Option(help="the most they may spend, in each population")] = "",
    delta: Annotated[str, typer.Option(help="with epsilon")] = "",
    rho: Annotated[str, typer.Option(help="instead of epsilon")] = "",
    days: Days = 90,
    as_json: AsJson = False,
) -> None:
    """Add an analyst. Their token is shown once."""
    from discreet.curator.service.access import check_analyst
    from discreet.curator.service.people import Role
    from discreet.ledger.owner_acts import check_cap

    cap = given_amount(epsilon, delta, rho, "cap")
    with open_curator_of(config) as curator:
        populations = curator.ledger.populations
        curator.access.check_free(name)
        for budget_name in population or populations:
            if budget_name not in populations:
                raise BadParameter("population", budget_name, f"must be one of {', '.join(populations)}")
            if cap is not None:
                check_cap(populations[budget_name], cap)
        curator.ledger.owner.add_analyst(check_analyst(name))
        for budget_name in population or populations:
            curator.ledger.owner.grant(name, budget_name, cap)
        token = curator.access.issue(name, Role.ANALYST, days=days)
    typer.echo(json.dumps({"name": name, "token": token}) if as_json else token)


@analyst_app.command("grant")
@fail_plainly
def grant_analyst(
    config: ConfigFile,
    name: str,
    population: Annotated[str, typer.Argument(help="whom they may ask about")],
    *,
    epsilon: Annotated[str, typer.Option(help="the most they may spend there; left out: up to the budget")] = "",
    delta: Annotated[str, typer.Option(help="with epsilon")] = "",
    rho: Annotated[str, typer.Option(help="instead of epsilon")] = "",
    as_json: AsJson = False,
) -> None:
    """Let an analyst ask about a population, or change their cap. What they spent stays spent."""
    cap = given_amount(epsilon, delta, rho, "cap")
    with open_curator_of(config) as curator:
        done = curator.ledger.owner.grant(name, population, cap)
    shown = {"sequence": done.sequence, "cap": None if cap is None else str(cap)}
    typer.echo(json.dumps(shown) if as_json else f"{name} may ask about {population}, up to {cap or 'its budget'}")


@analyst_app.command("list")
@fail_plainly
def list_analysts(config: ConfigFile, as_json: AsJson = False) -> None:
    """All analysts and their caps."""
    with open_curator_of(config) as curator:
        listed = [
            {
                "name": analyst.name,
                "revoked": analyst.revoked,
                "caps": {p: None if cap is None else str(cap) for p, cap in analyst.caps.items()},
            }
            for analyst in curator.ledger.analysts.values()
        ]
    if as_json:
        typer.echo(json.dumps(listed))
        return
    table = Table("analyst", "", "population", "cap", box=None)
    for row in listed:
        state, caps = "revoked" if row["revoked"] else "", row["caps"]
        for place, cap in caps.items() if isinstance(caps, dict) and caps else [("", "")]:
            table.add_row(escape(str(row["name"])), state, escape(place), escape("its budget" if cap is None else cap))
    Console().print(table)


@analyst_app.command("revoke")
@fail_plainly
def revoke_analyst(
    config: ConfigFile, name: str, reason: Reason = "revoked by the owner", as_json: AsJson = False
) -> None:
    """Revoke an analyst. What they spent stays spent."""
    with open_curator_of(config) as curator:
        done = curator.ledger.owner.revoke_analyst(name, reason=reason)
    typer.echo(json.dumps({"sequence": done.sequence}) if as_json else f"{name} is revoked")
