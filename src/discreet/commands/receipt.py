"""``discreet receipt verify``: check what a curator signed, without its ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.commands.output import AsJson, fail_plainly
from discreet.ledger.receipts import paper_price, verify_paper
from discreet.ledger.registry import registry_record

receipt_app = typer.Typer(help="Check receipts and release cards; needs no ledger.", no_args_is_help=True)


@receipt_app.command("verify")
@fail_plainly
def verify_receipt_command(
    file: Annotated[Path, typer.Argument(help="a receipt or release card")],
    key: Annotated[str, typer.Option(help="the curator's public key, from its page or GET /api/key")],
    as_json: AsJson = False,
) -> None:
    """Check a receipt or release card that a curator signed. Needs no ledger and no network."""
    text = file.read_text(encoding="utf-8").strip()
    shown = verify_paper(text, [key])
    if as_json:
        typer.echo(json.dumps({"ok": True, **shown}))
        return
    shown["price"] = paper_price(shown)
    typer.echo("genuine: signed by this curator, and not changed")
    for name, value in shown.items():
        typer.echo(f"{name:>8}  {value}")


@receipt_app.command("registry")
@fail_plainly
def registry_command(
    file: Annotated[Path, typer.Argument(help="a release card")],
    key: Annotated[str, typer.Option(help="the curator's public key, from its page or GET /api/key")],
) -> None:
    """Print a release card as a record of the public registry of deployments, in JSON (which is YAML, too)."""
    record = registry_record(file.read_text(encoding="utf-8").strip(), key)
    typer.echo(json.dumps(record, ensure_ascii=False, indent=2))
