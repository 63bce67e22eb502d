"""``discreet ledger backup | restore | prune-answers | migrate | move-here | accept-witness``: upkeep of a ledger."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from discreet.commands.ledger import ledger_app
from discreet.commands.locations import ConfigFile, LedgerOrConfig, Reason, ledger_location, open_ledger_of
from discreet.commands.output import AsJson, fail_plainly
from discreet.errors import BadParameter, LedgerMismatch


@ledger_app.command("backup")
@fail_plainly
def backup_ledger(
    config: LedgerOrConfig, to: Annotated[Path, typer.Argument(help="a new file")], as_json: AsJson = False
) -> None:
    """Copy the whole ledger, answers too, into one SQLite file, as it is at one moment; every entry is checked.

    Works while the service runs, and for ledgers in PostgreSQL. Key and head file are not copied: keep the key
    elsewhere, and never restore an old head file.
    """
    from discreet.ledger.verify import copy_ledger

    if to.exists():
        raise BadParameter("to", str(to), "must not exist yet")
    copy = copy_ledger(ledger_location(config)[0], to)
    to.chmod(0o600)
    shown = {"file": str(to), "entries": copy.entries, "answers": copy.answers}
    typer.echo(json.dumps(shown) if as_json else f"{to}: {copy}")


@ledger_app.command("restore")
@fail_plainly
def restore_ledger(
    backup: Annotated[Path, typer.Argument(help="what backup wrote")],
    config: ConfigFile,
    as_json: AsJson = False,
) -> None:
    """Write a backup to where curator.toml says, if there is no ledger yet. It is compared with the head file.

    If charges were made after the backup, the head file shows it: nothing is answered until the owner acknowledges
    the loss and writes off what was spent.
    """
    from discreet.ledger.verify import copy_ledger, verify_ledger

    location, _, head = ledger_location(config)
    copy = copy_ledger(backup, location)
    head = head or (Path(f"{location}.head") if isinstance(location, Path) else None)
    problems = list(verify_ledger(location, head=head).problems) if head is not None and head.exists() else []
    shown = {"entries": copy.entries, "answers": copy.answers, "problems": problems}
    if as_json:
        typer.echo(json.dumps(shown))
    else:
        typer.echo(f"restored: {copy}")
        for problem in problems:
            typer.echo(f"{problem}; see discreet ledger acknowledge", err=True)
    raise typer.Exit(1 if problems else 0)


@ledger_app.command("prune-answers")
@fail_plainly
def prune_answers(
    config: LedgerOrConfig,
    *,
    before: Annotated[str, typer.Option(help="of queries charged before this day, such as 2026-01-31")] = "",
    days: Annotated[int, typer.Option(help="or: older than so many days")] = 0,
    as_json: AsJson = False,
) -> None:
    """Forget old answers. Charges, receipts and release cards stay; asking again costs again."""
    if bool(before) == bool(days):
        raise BadParameter("before", before, "must be given, or days instead")
    day = before or (datetime.now(UTC) - timedelta(days=days)).date().isoformat()
    with open_ledger_of(config) as ledger:
        done = ledger.prune_answers(before=day)
    typer.echo(json.dumps({"pruned": done, "before": day}) if as_json else f"{done} answers are kept no longer")


@ledger_app.command("migrate")
@fail_plainly
def migrate_ledger(config: LedgerOrConfig, as_json: AsJson = False) -> None:
    """Bring the tables of a ledger that an earlier version wrote up to this one; opening it does the same."""
    from discreet.ledger.migrations import VERSION
    from discreet.ledger.storage.database import open_database
    from discreet.ledger.verify import verify_ledger

    location = ledger_location(config)[0]
    database = open_database(location, create=False, patience=10)
    try:
        before = database.version()
        database.set_up([])
    finally:
        database.close()
    report = verify_ledger(location)
    if not report.good:
        raise LedgerMismatch(str(report))
    shown = {"before": before, "now": VERSION, "entries": report.entries}
    typer.echo(json.dumps(shown) if as_json else f"tables of version {before}, now {VERSION}; {report}")


@ledger_app.command("move-here")
@fail_plainly
def move_here_command(config: ConfigFile, reason: Reason, as_json: AsJson = False) -> None:
    """Serve this ledger from this machine and folder from now on; the one it was copied from must be stopped."""
    from discreet.curator.service.copies.place import move_here

    with open_ledger_of(config) as ledger:
        done = move_here(ledger, ledger_location(config)[0], reason)
    typer.echo(json.dumps({"sequence": done}) if as_json else "recorded")


@ledger_app.command("accept-witness")
@fail_plainly
def accept_witness_command(config: ConfigFile, reason: Reason, as_json: AsJson = False) -> None:
    """After a restore: record that the witness has seen more than the ledger has, and continue."""
    from discreet.curator.service.config import read_config
    from discreet.curator.service.copies.witness import accept_witness

    witness = read_config(config).witness
    if witness is None:
        raise BadParameter("witness", None, "must be in curator.toml")
    with open_ledger_of(config) as ledger:
        done = accept_witness(ledger, witness, reason)
    typer.echo(json.dumps({"sequence": done}) if as_json else "recorded")
