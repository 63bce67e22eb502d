"""The command line: ``discreet demo | ask | preview | serve | init | ledger | receipt | check | audit`` and more."""

from __future__ import annotations

import typer
from rich.console import Console

from discreet import demo as demonstration
from discreet.checking.commands import audit_command, check_command
from discreet.curator.commands import add_commands

app = typer.Typer(help="Ask questions of sensitive data; publish the answers safely.", no_args_is_help=True)


@app.callback()
def main() -> None:
    """Ask questions of sensitive data; publish the answers safely."""


@app.command()
def demo() -> None:
    """Questions about a made-up hospital until the budget is spent; exact noise; what composition costs."""
    demonstration.show(Console())


app.command("check")(check_command)
app.command("audit")(audit_command)
add_commands(app)
