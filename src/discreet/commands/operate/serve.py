"""``discreet serve``: start the service.

Promise: the owner's first token is shown on a terminal, or written to a file of mode 0600; never to a pipe, from where
it would go into a supervisor's log.
"""

from __future__ import annotations

import atexit
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from discreet.commands.locations import ConfigFile
from discreet.commands.operate.tokens import write_token
from discreet.commands.output import fail_plainly
from discreet.errors import BadParameter

if TYPE_CHECKING:
    from discreet.curator.service.service import Curator


@fail_plainly
def serve_command(
    config: ConfigFile,
    host: Annotated[str, typer.Option(help="instead of the file's")] = "",
    port: Annotated[int, typer.Option(help="instead of the file's")] = 0,
) -> None:
    """Start the service: HTTP API and web page."""
    from discreet.curator.http.app import CONFIG
    from discreet.curator.http.serving import check_address, check_certificate, run
    from discreet.curator.service.config import read_config
    from discreet.curator.service.opening import open_curator
    from discreet.curator.wire.server import check_secure, start

    configured = read_config(config)
    console = Console()
    address, number = host or configured.host, port or configured.port
    check_address(address, number)  # before a token is made
    check_certificate(configured.certificate, configured.certificate_key)
    if configured.wire is not None:
        check_secure(address, configured.certificate)
        check_address(address, configured.wire)
    with closing(open_curator(configured, create=True)) as curator:
        curator.serve()
        beside = configured.ledger if isinstance(configured.ledger, Path) else config
        first_token(curator, beside.with_name("owner.token"), console)
        for caution in curator.cautions():
            console.print(f"[yellow]caution[/] {escape(caution)}")
        if curator.ledger.trouble is not None:
            console.print(f"[red]nothing is answered[/]: {escape(curator.ledger.trouble)}")
    console.print(f"{'http' if configured.certificate is None else 'https'}://{address}:{number}", highlight=False)
    os.environ[CONFIG] = str(config.resolve())
    if configured.wire is not None:
        console.print(f"postgresql://{address}:{configured.wire}", highlight=False)
        port_of_clients = start(config.resolve())
        atexit.register(port_of_clients.terminate)
    run(
        address,
        number,
        configured.processes,
        certificate=configured.certificate,
        certificate_key=configured.certificate_key,
    )


def first_token(curator: Curator, file: Path, console: Console) -> None:
    """Make the owner's token if there is none yet: on a terminal it is shown, elsewhere it goes into a file."""
    from discreet.curator.service.people import Role

    if any(token.role is Role.OWNER for token in curator.access.tokens().values()):
        return
    if console.is_terminal:
        token = curator.access.issue("owner", Role.OWNER)
        console.print(f"the owner's token, shown this once: [bold]{token}[/]", highlight=False, soft_wrap=True)
        return
    if file.exists():  # before a token is made that nobody would see
        raise BadParameter("owner.token", str(file), "must not exist yet: the owner's token is written there")
    write_token(curator.access.issue("owner", Role.OWNER), file)
    console.print(f"the owner's token is in {escape(str(file))}, for you alone", highlight=False, soft_wrap=True)
