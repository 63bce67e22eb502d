"""The command line: ``discreet demo | ask | preview | synthesize | serve | init | ledger | check | audit`` and more."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from discreet.commands import demo as demonstration
from discreet.commands.ask import ask_command, preview_command
from discreet.commands.budget import budget_command
from discreet.commands.check import audit_command, check_command
from discreet.commands.continual import continual_app
from discreet.commands.init import init_command
from discreet.commands.ledger import ledger_app
from discreet.commands.make.learn import learn_command
from discreet.commands.make.synthesize import synthesize_command
from discreet.commands.operate.analysts import analyst_app
from discreet.commands.operate.audit_log import audit_log_command
from discreet.commands.operate.keys import key_app
from discreet.commands.operate.prepare import prepare_command
from discreet.commands.operate.remote import history_command
from discreet.commands.operate.serve import serve_command
from discreet.commands.operate.tokens import token_app
from discreet.commands.operate.upkeep import add_upkeep
from discreet.commands.output import fail_plainly
from discreet.commands.profile import profile_command
from discreet.commands.receipt import receipt_app
from discreet.commands.sample_hospital import write_hospital

app = typer.Typer(help="Ask questions of sensitive data; publish the answers safely.", no_args_is_help=True)

add_upkeep(ledger_app)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"discreet {version('discreet')}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[bool, typer.Option("--version", help="print the version", callback=_version, is_eager=True)] = False,
) -> None:
    """Ask questions of sensitive data; publish the answers safely."""


@app.command()
def demo() -> None:
    """Questions about a made-up hospital until the budget is spent; exact noise; what composition costs."""
    demonstration.show(Console())


@app.command()
@fail_plainly
def sample(
    folder: Annotated[Path, typer.Argument(help="where to put it")] = Path("hospital"),
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Write a made-up hospital, with a curator.toml for discreet serve."""
    config = write_hospital(folder)
    typer.echo(
        json.dumps({"config": str(config)}) if as_json else f"wrote {config}; start it with: discreet serve {config}"
    )


app.command("check")(check_command)
app.command("audit")(audit_command)
app.command("ask")(ask_command)
app.command("preview")(preview_command)
app.command("synthesize")(synthesize_command)
app.command("learn")(learn_command)
app.command("profile")(profile_command)
app.command("init")(init_command)
app.command("prepare")(prepare_command)
app.command("serve")(serve_command)
app.command("budget")(budget_command)
app.command("audit-log")(audit_log_command)
app.command("history")(history_command)
app.add_typer(continual_app, name="continual")
app.add_typer(analyst_app, name="analyst")
app.add_typer(key_app, name="key")
app.add_typer(ledger_app, name="ledger")
app.add_typer(receipt_app, name="receipt")
app.add_typer(token_app, name="token")
