"""``discreet token issue | rotate | revoke | list``: tokens of the owner, of analysts, and of programs that monitor.

``discreet token curator.toml ann`` is short for ``discreet token issue curator.toml ann``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from discreet.commands.locations import ConfigFile, Days, Reason, open_curator_of
from discreet.commands.output import AsJson, fail_plainly
from discreet.errors import BadParameter
from discreet.ledger.durable_files import create_file

if TYPE_CHECKING:
    from discreet.curator.service.access import Token
    from discreet.curator.service.people import Role
    from discreet.curator.service.service import Curator

TokenName = Annotated[str, typer.Argument(help="whose token; the owner's unless given")]
Output = Annotated[Path | None, typer.Option(help="write it to a new file that only you can read")]
_OWNER = "owner"
_MONITOR = "monitor"


class _IssueByDefault(TyperGroup):
    """A group whose first command need not be named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["issue", *args]
        return super().parse_args(ctx, args)


token_app = typer.Typer(help="Make, replace and revoke tokens.", no_args_is_help=True, cls=_IssueByDefault)


def write_token(token: str, path: Path) -> None:
    """A token in a new file that only its owner can read."""
    try:
        create_file(path, f"{token}\n".encode())
    except FileExistsError:
        raise BadParameter("output", path.name, "must not exist yet") from None


@token_app.command("issue")
@fail_plainly
def issue_token(
    config: ConfigFile, name: TokenName = _OWNER, *, days: Days = 90, output: Output = None, as_json: AsJson = False
) -> None:
    """A new token for the owner, somebody by name, or "monitor" (counters only). It is shown once."""
    with open_curator_of(config) as curator:
        older = _valid(curator, name)
        token = curator.access.issue(name, _role(curator, name), days=days)
    _show(name, token, output, as_json, {"still_valid": [older_token.identity for older_token in older]})
    if older and not as_json:
        many = "an older token is" if len(older) == 1 else f"{len(older)} older tokens are"
        typer.echo(f"{many} still valid; replace them with: discreet token rotate", err=True)


@token_app.command("rotate")
@fail_plainly
def rotate_token(
    config: ConfigFile,
    name: TokenName = _OWNER,
    *,
    days: Days = 90,
    reason: Reason = "rotated",
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """A new token; all older ones of the same name are revoked."""
    with open_curator_of(config) as curator:
        older = _valid(curator, name)
        token = curator.access.issue(name, _role(curator, name), days=days)
        for older_token in older:
            curator.access.revoke(older_token.identity, reason=reason)
    _show(name, token, output, as_json, {"revoked": [older_token.identity for older_token in older]})


@token_app.command("revoke")
@fail_plainly
def revoke_token(
    config: ConfigFile,
    token: Annotated[str, typer.Argument(help="the token, or its public part; with --all, whose tokens")],
    *,
    every: Annotated[bool, typer.Option("--all", help="all tokens of a name")] = False,
    reason: Reason = "revoked by the owner",
    as_json: AsJson = False,
) -> None:
    """Revoke a token, at once on all servers."""
    with open_curator_of(config) as curator:
        identities = [valid_token.identity for valid_token in _valid(curator, token)] if every else [_identity(token)]
        for identity in identities:
            curator.access.revoke(identity, reason=reason)
    typer.echo(json.dumps({"revoked": identities}) if as_json else f"revoked: {', '.join(identities) or 'none'}")


@token_app.command("list")
@fail_plainly
def list_tokens(config: ConfigFile, as_json: AsJson = False) -> None:
    """All tokens without their secrets."""
    with open_curator_of(config) as curator:
        listed = [
            {
                "token": token.identity,
                "name": token.name,
                "role": token.role.value,
                "expires": token.expires.isoformat(timespec="seconds"),
                "revoked": token.revoked,
            }
            for token in curator.access.tokens().values()
        ]
    if as_json:
        typer.echo(json.dumps(listed))
        return
    table = Table("token", "name", "role", "expires", "", box=None)
    for row in listed:
        state = "revoked" if row["revoked"] else ""
        table.add_row(str(row["token"]), escape(str(row["name"])), str(row["role"]), str(row["expires"]), state)
    Console().print(table)


def _role(curator: Curator, name: str) -> Role:
    from discreet.curator.service.people import Role

    person = curator.people.all().get(name)
    return {_OWNER: Role.OWNER, _MONITOR: Role.MONITOR}.get(name, Role.ANALYST) if person is None else person.role


def _valid(curator: Curator, name: str) -> list[Token]:
    return [token for token in curator.access.tokens().values() if token.name == name and not token.revoked]


def _identity(token: str) -> str:
    parts = token.split("_", 2)  # the secret may hold more of them
    return parts[1] if len(parts) == 3 else token


def _show(name: str, token: str, output: Path | None, as_json: bool, more: dict[str, Any]) -> None:
    if output is not None:
        write_token(token, output)
        shown = {"name": name, "file": str(output)} | more
    else:
        shown = {"name": name, "token": token} | more
    typer.echo(json.dumps(shown) if as_json else str(shown.get("token", f"written to {output}")))
