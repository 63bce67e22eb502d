"""``discreet audit-log``: everything that was recorded, with full times, prices and reasons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from discreet.commands.locations import LedgerOrConfig, open_ledger_of
from discreet.commands.output import AsJson, fail_plainly

if TYPE_CHECKING:
    from discreet.ledger.store import Ledger

_AT_ONCE = 1000
_HERE = ("answered", "body")
"""What stays in the ledger: a body may hold the hash of a token."""


@fail_plainly
def audit_log_command(
    config: LedgerOrConfig,
    *,
    since: Annotated[str, typer.Option(help="from this time on, such as 2026-01-31")] = "",
    until: Annotated[str, typer.Option(help="before this time")] = "",
    analyst: Annotated[str, typer.Option(help="of one analyst only")] = "",
    kind: Annotated[str, typer.Option(help="of one kind only, such as charge or grant")] = "",
    as_json: AsJson = False,
    lines: Annotated[bool, typer.Option("--lines", help="one JSON object a line, as the service exports them")] = False,
) -> None:
    """All entries with full times, who made them, what they say and what was charged."""
    with open_ledger_of(config) as ledger:
        rows = [
            row
            for row in _rows(ledger, analyst or None, kind or None)
            if since <= row["time"] and (not until or row["time"] < until)
        ]
    if lines:
        typer.echo(
            "".join(f"{json.dumps({name: row[name] for name in row if name not in _HERE})}\n" for row in rows), nl=False
        )
        return
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("number", Column("time", no_wrap=True), "by", "what", "price", "about", box=None)
    for row in rows:
        cells = (row["time"], row["by"], row["kind"], row["price"] or "", row["about"][:100])
        table.add_row(str(row["number"]), *map(escape, cells))
    Console().print(table)


def _rows(ledger: Ledger, analyst: str | None, kind: str | None) -> Iterator[dict[str, Any]]:
    from discreet.curator.service.audit_export import audit_row

    state, after = ledger.look(), 0
    while lines := ledger.entries(after=after, limit=_AT_ONCE, analyst=analyst, kind=kind):
        for line in lines:
            row = audit_row(line.entry, state)
            charged = "price" in row
            yield {"price": None} | row | {"answered": line.answered if charged else None, "body": line.entry.body}
        after = lines[-1].entry.sequence
