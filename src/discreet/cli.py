"""The command line: ``discreet demo | check | audit``."""

from __future__ import annotations

import typer
from rich.console import Console

from discreet import demo as demonstration
from discreet.checking.commands import audit_command, check_command

app = typer.Typer(help="Ask questions of sensitive data; publish the answers safely.", no_args_is_help=True)


@app.callback()
def main() -> None:
    """Ask questions of sensitive data; publish the answers safely."""


@app.command()
def demo() -> None:
    """Exact noise, a budget that counts down, and what composition costs: on made-up data."""
    demonstration.show(Console())


app.command("check")(check_command)
app.command("audit")(audit_command)
