"""``discreet receipt verify``: check what a curator signed, without its ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.commands.locations import AsJson
from discreet.commands.output import fail_plainly
from discreet.errors import BadSignature
from discreet.ledger.entries import read_amounts, read_measure
from discreet.ledger.receipts import verify_card, verify_receipt
from discreet.privacy.promises.record import show

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
    try:
        kind = json.loads(text)["discreet"]
    except (ValueError, KeyError, TypeError):
        raise BadSignature("this is neither a receipt nor a release card") from None
    if kind == "card":
        found = verify_card(text, key)
        shown = {"kind": "card", "dataset": found["dataset"], "query": found["query"], "price": found["price"]}
    else:
        receipt = verify_receipt(text, key)
        shown = {
            "kind": "receipt",
            "number": receipt.sequence,
            "dataset": receipt.dataset,
            "query": receipt.query,
            "price": list(receipt.price),
            "hash": receipt.hash,
        }
    if as_json:
        typer.echo(json.dumps({"ok": True, **shown}))
        return
    if kind == "card":
        shown["price"] = str(read_measure(found["price"]))
    else:
        amounts = ", ".join(show(one) for one in read_amounts(shown["price"]))
        shown["price"] = f"{amounts}, as the ledger counts; its release card has it in words"
    typer.echo("genuine: signed by this curator, and not changed")
    for name, value in shown.items():
        typer.echo(f"{name:>8}  {value}")
