"""``discreet key rotate``: let a new key sign from now on."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from discreet.commands.locations import LedgerOrConfig, Reason, ledger_location
from discreet.commands.output import AsJson, fail_plainly
from discreet.errors import BadParameter, LedgerUnsafe
from discreet.ledger.signing import make_key, open_key

key_app = typer.Typer(help="The signing key of the ledger.", no_args_is_help=True)


@key_app.command("rotate")
@fail_plainly
def rotate_key(config: LedgerOrConfig, reason: Reason, as_json: AsJson = False) -> None:
    """Make a new signing key in place of the old one, which is kept beside it.

    What the old key signed stays valid: the ledger knows both. Servers that run sign with the new one from the next
    question on; on other machines, put the new key file into its place.
    """
    from discreet.ledger.store import open_ledger, replace_key

    location, given, head = ledger_location(config)
    key = given or Path(f"{location}.key")
    if not key.is_file():
        raise BadParameter("key", str(key), "must be the file of the key that signs now")
    before = open_key(key).public
    fresh, kept = key.with_name(f"{key.name}.new"), key.with_name(f"{key.name}.{before[:8]}")
    if kept.exists():
        raise BadParameter("key", kept.name, "must not exist yet: the old key is kept there")
    public = (open_key(fresh) if fresh.exists() else make_key(fresh)).public
    replace_key(location, key=fresh, reason=reason, head=head)
    key.rename(kept)
    fresh.rename(key)
    with open_ledger(location, key=key, head=head) as ledger:
        if ledger.public_key != public or ledger.look().public_key != public:
            raise LedgerUnsafe("the new key does not sign: look at the key file and the last entries")
    shown = {"public_key": public, "before": before, "kept": str(kept)}
    typer.echo(json.dumps(shown) if as_json else f"the key is now {public}; the old one is kept in {kept}")
