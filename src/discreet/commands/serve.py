"""``discreet serve`` and ``discreet token``: start the service, and make tokens for it."""

from __future__ import annotations

import json
import logging
import os
from contextlib import closing
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from discreet.commands.locations import AsJson, ConfigFile, Days, open_curator_of
from discreet.commands.output import fail_plainly


@fail_plainly
def serve_command(
    config: ConfigFile,
    host: Annotated[str, typer.Option(help="instead of the file's")] = "",
    port: Annotated[int, typer.Option(help="instead of the file's")] = 0,
) -> None:
    """Start the service: HTTP API and web page."""
    from discreet.curator.http.app import CONFIG
    from discreet.curator.http.serving import check_address, run
    from discreet.curator.service.access import Role
    from discreet.curator.service.config import read_config
    from discreet.curator.service.opening import open_curator

    found = read_config(config)
    console = Console()
    address, number = host or found.host, port or found.port
    check_address(address, number)  # before a token is shown
    with closing(open_curator(found, create=True)) as curator:
        if not any(token.role is Role.OWNER for token in curator.access.tokens().values()):
            token = curator.access.issue("owner", Role.OWNER)
            console.print(f"the owner's token, shown this once: [bold]{token}[/]", highlight=False, soft_wrap=True)
        for caution in curator.ledger.cautions:
            console.print(f"[yellow]caution[/] {escape(caution)}")
        if curator.ledger.trouble is not None:
            console.print(f"[red]nothing is answered[/]: {escape(curator.ledger.trouble)}")
    console.print(f"http://{address}:{number}", highlight=False)
    os.environ[CONFIG] = str(config.resolve())
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    run(address, number, found.processes)


@fail_plainly
def token_command(
    config: ConfigFile,
    name: Annotated[str, typer.Argument(help="whose token; the owner's unless given")] = "owner",
    days: Days = 90,
    as_json: AsJson = False,
) -> None:
    """A new token for the owner, or for an analyst by name. It is shown once."""
    from discreet.curator.service.access import Role

    with open_curator_of(config) as curator:
        role = Role.OWNER if name == "owner" else Role.ANALYST
        token = curator.access.issue(name, role, days=days)
    typer.echo(json.dumps({"name": name, "token": token}) if as_json else token)
