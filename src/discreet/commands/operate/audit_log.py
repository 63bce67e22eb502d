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
from discreet.ledger.records import ChargeRecord, read_record

if TYPE_CHECKING:
    from discreet.ledger.store import Ledger

_AT_ONCE = 1000


@fail_plainly
def audit_log_command(
    config: LedgerOrConfig,
    *,
    since: Annotated[str, typer.Option(help="from this time on, such as 2026-01-31")] = "",
    until: Annotated[str, typer.Option(help="before this time")] = "",
    analyst: Annotated[str, typer.Option(help="of one analyst only")] = "",
    kind: Annotated[str, typer.Option(help="of one kind only, such as charge or grant")] = "",
    as_json: AsJson = False,
) -> None:
    """All entries with full times, who made them, what they say and what was charged."""
    with open_ledger_of(config) as ledger:
        rows = [
            row
            for row in _rows(ledger, analyst or None, kind or None)
            if since <= row["time"] and (not until or row["time"] < until)
        ]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("number", Column("time", no_wrap=True), "by", "what", "price", "about", box=None)
    for row in rows:
        cells = (row["time"], row["by"], row["kind"], row["price"] or "", row["about"][:100])
        table.add_row(str(row["number"]), *map(escape, cells))
    Console().print(table)


def _rows(ledger: Ledger, analyst: str | None, kind: str | None) -> Iterator[dict[str, Any]]:
    from discreet.ledger.owner_acts import find_population

    state, after = ledger.look(), 0
    while lines := ledger.entries(after=after, limit=_AT_ONCE, analyst=analyst, kind=kind):
        for line in lines:
            entry, record = line.entry, read_record(line.entry)
            price = None
            if isinstance(record, ChargeRecord):
                price = str(find_population(state, record.population).currency.shown(record.price))
            yield {
                "number": entry.sequence,
                "time": entry.time,
                "by": entry.by,
                "kind": entry.kind,
                "price": price,
                "answered": line.answered if price is not None else None,
                "about": record.summary(),
                "body": entry.body,
            }
        after = lines[-1].entry.sequence
