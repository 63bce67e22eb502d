"""The command line: ``discreet demo | ask | preview | synthesize | serve | init | ledger | check | audit`` and more.

The module of a command is imported when the command is used, so that each starts quickly, and the list of them at once.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "demo": (
        "demo:demo_command",
        "Queries about a made-up hospital until the budget is spent; exact noise; what composition costs.",
    ),
    "sample": ("sample_hospital:sample_command", "Write a made-up hospital, with a curator.toml for discreet serve."),
    "check": (
        "check:check_command",
        "Hold claims of stability and privacy against all small neighbours, exactly.",
    ),
    "audit": ("check:audit_command", "Attack a mechanism by samples, and certify a lower bound of epsilon."),
    "ask": ("ask:ask_command", "Query a file, spend, and print the answer with its confidence intervals."),
    "preview": (
        "ask:preview_command",
        "What a query would cost and how far off its answer would be. Free: no data is touched.",
    ),
    "synthesize": (
        "make.synthesize:synthesize_command",
        "Write synthetic rows that look like a file: private, with real types, for any tool.",
    ),
    "publish": (
        "make.publish:publish_command",
        "Publish tables over a hierarchy: integers that add up, each with its error, and a release card.",
    ),
    "learn": (
        "make.learn:learn_command",
        "Write a private model of one column: dp.learning.from_json reads it, and it predicts.",
    ),
    "profile": (
        "profile:profile_command",
        "A private profile of a file: rows per person, groups, keys and values, with confidence intervals.",
    ),
    "init": (
        "init:init_command",
        "Write a curator.toml: proposes the unit and lists the columns, from names and types alone.",
    ),
    "prepare": (
        "operate.prepare:prepare_command",
        "Copy a table into a DuckDB file that only you can read, its rows sorted by unit: queries are faster.",
    ),
    "serve": ("operate.serve:serve_command", "Start the service: HTTP API and web page."),
    "budget": ("budget:budget_command", "Where the budgets stand; or change one. What was spent stays spent."),
    "audit-log": (
        "operate.audit_log:audit_log_command",
        "All entries with full times, who made them, what they say and what was charged.",
    ),
    "history": (
        "operate.remote:history_command",
        "The queries that were charged to you at a curator, with their numbers and costs.",
    ),
    "continual": (
        "continual:continual_app",
        "A dashboard: one query, answered day by day, at one privacy cost.",
    ),
    "analyst": ("operate.analysts:analyst_app", "Add, cap and revoke analysts."),
    "key": ("operate.keys:key_app", "The signing key of the ledger."),
    "ledger": ("operate.upkeep:ledger_app", "Look at the ledger, check it, copy it."),
    "receipt": ("receipt:receipt_app", "Check receipts and release cards; needs no ledger."),
    "person": ("operate.people:person_app", "Owners, stewards and auditors: add, change and revoke them."),
    "request": ("operate.budget_requests:request_app", "Requests for budget: send one, grant it, refuse it."),
    "token": ("operate.tokens:token_app", "Make, replace and revoke tokens."),
}
"""Each command: where its function or its group is, and its line in the list, which its own help begins with."""


def load_command(name: str) -> Any:
    """A command, or a group of them."""
    module, attribute = COMMANDS[name][0].split(":")
    command = getattr(import_module(f"discreet.commands.{module}"), attribute)
    alone = typer.Typer(callback=lambda: None)
    if isinstance(command, typer.Typer):
        alone.add_typer(command, name=name)
    else:
        alone.command(name)(command)
    return typer.main.get_group(alone).commands[name]


class Commands(TyperGroup):
    """All commands, each imported when it is asked for; in the list each is its line alone."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = {name: TyperCommand(name, help=line) for name, (_, line) in COMMANDS.items()}
        self._only_lines = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them; None if there is none of that name."""
        if self._only_lines or cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        return load_command(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list."""
        self._only_lines = True
        super().format_help(ctx, formatter)
        self._only_lines = False


app = typer.Typer(cls=Commands, help="Query sensitive data; publish the answers safely.", no_args_is_help=True)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {version('discreet')}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[bool, typer.Option("--version", help="print the version", callback=_version, is_eager=True)] = False,
) -> None:
    """Query sensitive data; publish the answers safely."""
