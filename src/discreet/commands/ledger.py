"""``discreet ledger show | verify | export | acknowledge | write-off``: look at a ledger, check it, copy it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.commands.locations import LedgerOrConfig, Reason, given_amount, ledger_location, open_ledger_of
from discreet.commands.output import AsJson, fail_plainly
from discreet.errors import BadParameter
from discreet.ledger.records import read_record

ledger_app = typer.Typer(help="Look at the ledger, check it, copy it.", no_args_is_help=True)


@ledger_app.command("show")
@fail_plainly
def show_ledger(
    config: LedgerOrConfig,
    last: Annotated[int, typer.Option(help="how many")] = 20,
    as_json: AsJson = False,
) -> None:
    """The last entries."""
    from discreet.curator.service.serialize import entry

    with open_ledger_of(config) as ledger:
        lines = ledger.entries(after=max(0, ledger.head.sequence - last))
        if as_json:
            typer.echo(json.dumps([entry(line, ledger.populations) for line in lines]))
            return
        table = Table("number", "time", "by", "what", "", box=None)
        for entry_line in lines:
            recorded = entry_line.entry
            about = read_record(recorded).summary()[:80]
            table.add_row(str(recorded.sequence), recorded.time, escape(recorded.by), recorded.kind, escape(about))
        Console().print(table)


@ledger_app.command("verify")
@fail_plainly
def verify_command(
    config: LedgerOrConfig,
    receipts: Annotated[list[Path], typer.Option("--receipt", help="files of receipts that must be in it")] = [],  # noqa: B006 - typer copies it
    as_json: AsJson = False,
) -> None:
    """Check every entry, sum and answer, against the head file and receipts."""
    from discreet.ledger.verify import verify_ledger

    location, _, head = ledger_location(config)
    head = head or (Path(f"{location}.head") if isinstance(location, Path) else None)
    texts = [path.read_text(encoding="utf-8") for path in receipts]
    with Console(stderr=True).status("checking every entry"):
        report = verify_ledger(location, head=head, receipts=texts)
    if as_json:
        typer.echo(json.dumps({"ok": report.good, "entries": report.entries, "problems": list(report.problems)}))
    else:
        typer.echo(str(report))
    raise typer.Exit(0 if report.good else 1)


@ledger_app.command("export")
@fail_plainly
def export_ledger(config: LedgerOrConfig, to: Annotated[Path | None, typer.Argument(help="a new file")] = None) -> None:
    """All entries as lines, for a copy elsewhere. Answers are not in it."""
    with open_ledger_of(config) as ledger:
        if to is None:
            for line in ledger.export():
                typer.echo(line)
            return
        with to.open("x", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in ledger.export())


@ledger_app.command("acknowledge")
@fail_plainly
def acknowledge_command(config: LedgerOrConfig, reason: Reason, as_json: AsJson = False) -> None:
    """After a mismatch: record the reason, and continue with the ledger as it is."""
    with open_ledger_of(config) as ledger:
        done = ledger.owner.acknowledge(reason=reason)
    typer.echo(json.dumps({"sequence": done.sequence}) if as_json else "recorded")


@ledger_app.command("write-off")
@fail_plainly
def write_off_command(
    config: LedgerOrConfig,
    population: Annotated[str, typer.Argument(help="whose budget is charged")],
    *,
    epsilon: Annotated[str, typer.Option(help="what was spent elsewhere, or is lost from the ledger")] = "",
    delta: Annotated[str, typer.Option(help="with epsilon or rho")] = "",
    rho: Annotated[str, typer.Option(help="instead of epsilon")] = "",
    reason: Reason,
    as_json: AsJson = False,
) -> None:
    """Charge a budget for what was released elsewhere, or is lost from the ledger; also beyond its limit."""
    what = given_amount(epsilon, delta, rho, "what")
    if what is None:
        raise BadParameter("epsilon", None, "must say what was spent: --epsilon (and --delta), or --rho")
    with open_ledger_of(config) as ledger:
        if population not in ledger.populations:
            raise BadParameter("population", population, f"must be one of {', '.join(ledger.populations)}")
        entry = ledger.owner.write_off(population, what, reason=reason)
        left = ledger.standing(population).remaining
    words = f"entry {entry.sequence}: {what} was charged to {population}; left: {left}"
    typer.echo(json.dumps({"sequence": entry.sequence}) if as_json else words)
