"""``discreet person add | change | list | revoke | sign-on``: owners, stewards and auditors; who signs on as whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.commands.locations import ConfigFile, Days, Reason, open_curator_of
from discreet.commands.output import AsJson, fail_plainly
from discreet.errors import BadParameter

if TYPE_CHECKING:
    from discreet.curator.service.people import Role

person_app = typer.Typer(help="Owners, stewards and auditors: add, change and revoke them.", no_args_is_help=True)
RoleName = Annotated[str, typer.Option("--role", help="owner, steward or auditor")]
Populations = Annotated[
    list[str], typer.Option("--population", help="whom they oversee; the whole service if left out")
]
ReadsAnswers = Annotated[bool, typer.Option("--reads-answers", help="let an auditor read answers, too")]


@person_app.command("add")
@fail_plainly
def add_person(
    config: ConfigFile,
    name: str,
    role: RoleName,
    *,
    population: Populations = [],  # noqa: B006 - typer copies it
    reads_answers: ReadsAnswers = False,
    days: Days = 90,
    as_json: AsJson = False,
) -> None:
    """Add an owner, steward or auditor. Their token is shown once."""
    from discreet.curator.service.people import OWNER

    with open_curator_of(config) as curator:
        chosen = _role(role)
        curator.people.add(name, chosen, population or None, reads_answers=reads_answers, by=OWNER)
        token = curator.access.issue(name, chosen, days=days)
    typer.echo(json.dumps({"name": name, "token": token}) if as_json else token)


@person_app.command("change")
@fail_plainly
def change_person(
    config: ConfigFile,
    name: str,
    role: RoleName,
    *,
    population: Populations = [],  # noqa: B006 - typer copies it
    reads_answers: ReadsAnswers = False,
    as_json: AsJson = False,
) -> None:
    """Give somebody another role or other populations, at once on all servers."""
    from discreet.curator.service.people import OWNER

    with open_curator_of(config) as curator:
        done = curator.people.change(name, _role(role), population or None, reads_answers=reads_answers, by=OWNER)
    typer.echo(json.dumps({"sequence": done}) if as_json else f"{name} is {role} now")


@person_app.command("list")
@fail_plainly
def list_people(config: ConfigFile, as_json: AsJson = False) -> None:
    """All of them, and whom they oversee."""
    with open_curator_of(config) as curator:
        people = [
            {
                "name": entry.name,
                "role": entry.role.value,
                "populations": None if entry.populations is None else sorted(entry.populations),
                "reads_answers": entry.reads_answers,
                "left": entry.left,
            }
            for entry in curator.people.all().values()
        ]
    if as_json:
        typer.echo(json.dumps(people))
        return
    table = Table("name", "role", "populations", "", box=None)
    for row in people:
        whom = row["populations"]
        shown = "all" if not isinstance(whom, list) else ", ".join(whom)
        table.add_row(escape(str(row["name"])), str(row["role"]), escape(shown), "left" if row["left"] else "")
    Console().print(table)


@person_app.command("revoke")
@fail_plainly
def revoke_person(
    config: ConfigFile, name: str, reason: Reason = "revoked by the owner", as_json: AsJson = False
) -> None:
    """Take a person's role away for good, with all their tokens."""
    from discreet.curator.service.people import OWNER

    with open_curator_of(config) as curator:
        done = curator.people.leave(name, reason=reason, by=OWNER)
    typer.echo(json.dumps({"sequence": done}) if as_json else f"{name} is revoked")


@person_app.command("sign-on")
@fail_plainly
def link_person(
    config: ConfigFile,
    name: str,
    subject: Annotated[str, typer.Argument(help="what the provider calls them; left out: they sign on no more")] = "",
    as_json: AsJson = False,
) -> None:
    """Let a person or analyst sign on with the provider of [sign_on]. A sign-on adds nobody."""
    from discreet.curator.service.people import OWNER

    with open_curator_of(config) as curator:
        if curator.sign_on is None:
            raise BadParameter("sign_on", None, f"must be a section of {config.name}: it names the provider")
        done = curator.sign_on.link(name, subject or None, by=OWNER)
    shown = f"{name} signs on as {subject}" if subject else f"{name} signs on no more; revoke their tokens if need be"
    typer.echo(json.dumps({"sequence": done}) if as_json else shown)


def _role(name: str) -> Role:
    from discreet.curator.service.people import NAMED, Role

    if name not in [each.value for each in NAMED]:
        raise BadParameter("role", name, f"must be one of {', '.join(each.value for each in NAMED)}")
    return Role(name)
