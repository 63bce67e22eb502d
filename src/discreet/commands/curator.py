"""The curator's commands: ask, preview, init, serve, token, analyst, budget, ledger, receipt.

Each prints a table, or with ``--json`` one JSON document. The exit status is 0, or 1 for what was refused or found bad.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from discreet.commands.ask import ask_command, preview_command
from discreet.commands.init import init_command
from discreet.commands.output import fail_plainly, gauge
from discreet.errors import BadParameter, BadSignature, LedgerUnavailable
from discreet.ledger.entries import read_amounts, read_measure
from discreet.ledger.receipts import verify_card, verify_receipt
from discreet.ledger.records import read_record
from discreet.privacy.promises.record import show

if TYPE_CHECKING:
    from discreet.curator.service.config import Config
    from discreet.curator.service.service import Curator

ConfigFile = Annotated[Path, typer.Argument(help="the curator.toml")]
LedgerOrConfig = Annotated[Path, typer.Argument(help="the curator.toml, or a ledger of ask --ledger")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
Days = Annotated[int, typer.Option(help="how long the token is good")]
Reason = Annotated[str, typer.Option(help="why; it is recorded")]

analyst_app = typer.Typer(help="Let analysts in and out.", no_args_is_help=True)
ledger_app = typer.Typer(help="Look at the ledger, check it, copy it.", no_args_is_help=True)
receipt_app = typer.Typer(help="Check receipts and release cards; needs no ledger.", no_args_is_help=True)


def add_commands(app: typer.Typer) -> None:
    """Mount all of it on the command line."""
    app.command("ask")(ask_command)
    app.command("preview")(preview_command)
    app.command("init")(init_command)
    app.command("serve")(serve_command)
    app.command("token")(token_command)
    app.command("budget")(budget_command)
    app.add_typer(analyst_app, name="analyst")
    app.add_typer(ledger_app, name="ledger")
    app.add_typer(receipt_app, name="receipt")


@contextmanager
def opened(config: Path) -> Iterator[Curator]:
    """The curator of a file, for one command: its ledger as it is, made from the file only if there is none yet."""
    from discreet.curator.service.config import read_config
    from discreet.curator.service.opening import open_curator
    from discreet.curator.service.service import Curator
    from discreet.ledger.store import open_ledger

    said = read_config(config)
    try:
        curator = Curator(said, open_ledger(said.ledger, key=said.key, head=said.head))
    except LedgerUnavailable:
        curator = open_curator(said, create=True)
    try:
        yield curator
    finally:
        curator.close()


# --- serving --------------------------------------------------------------------------------------------------------


@fail_plainly
def serve_command(
    config: ConfigFile,
    host: Annotated[str, typer.Option(help="instead of the file's")] = "",
    port: Annotated[int, typer.Option(help="instead of the file's")] = 0,
) -> None:
    """Start the service: HTTP API and web page."""
    from discreet.curator.http.app import CONFIG
    from discreet.curator.http.serving import check_address, run
    from discreet.curator.service.access import Role
    from discreet.curator.service.config import read_config
    from discreet.curator.service.opening import open_curator

    said: Config = read_config(config)
    console = Console()
    address, door = host or said.host, port or said.port
    check_address(address, door)  # before a token is shown
    with closing(open_curator(said, create=True)) as curator:
        if not any(token.role is Role.OWNER for token in curator.access.tokens().values()):
            token = curator.access.issue("owner", Role.OWNER)
            console.print(f"the owner's token, shown this once: [bold]{token}[/]", highlight=False, soft_wrap=True)
        for caution in curator.ledger.cautions:
            console.print(f"[yellow]caution[/] {escape(caution)}")
        if curator.ledger.trouble is not None:
            console.print(f"[red]nothing is answered[/]: {escape(curator.ledger.trouble)}")
    console.print(f"http://{address}:{door}", highlight=False)
    os.environ[CONFIG] = str(config.resolve())
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    run(address, door, said.processes)


@fail_plainly
def token_command(
    config: ConfigFile,
    name: Annotated[str, typer.Argument(help="whose token; the owner's unless said")] = "owner",
    days: Days = 90,
    as_json: AsJson = False,
) -> None:
    """A new token for the owner, or for an analyst by name. It is shown once."""
    from discreet.curator.service.access import Role

    with opened(config) as curator:
        role = Role.OWNER if name == "owner" else Role.ANALYST
        token = curator.access.issue(name, role, days=days)
    typer.echo(json.dumps({"name": name, "token": token}) if as_json else token)


# --- analysts -------------------------------------------------------------------------------------------------------


@analyst_app.command("add")
@fail_plainly
def add_analyst(
    config: ConfigFile,
    name: str,
    *,
    population: Annotated[
        list[str], typer.Option("--population", help="whom they may ask about; all if left out")
    ] = [],  # noqa: B006 - typer copies it
    epsilon: Annotated[str, typer.Option(help="the most they may spend, in each population")] = "",
    delta: Annotated[str, typer.Option(help="with epsilon")] = "",
    rho: Annotated[str, typer.Option(help="instead of epsilon")] = "",
    days: Days = 90,
    as_json: AsJson = False,
) -> None:
    """Let somebody in. Their token is shown once."""
    from discreet.curator.service.access import Role, check_analyst
    from discreet.curator.service.declarations import read_promise
    from discreet.ledger.owner_acts import check_cap

    given = {name: value for name, value in (("epsilon", epsilon), ("delta", delta), ("rho", rho)) if value}
    cap = read_promise(given, "cap") if given else None
    with opened(config) as curator:
        known = curator.ledger.populations
        for one in population or known:
            if one not in known:
                raise BadParameter("population", one, f"must be one of {', '.join(known)}")
            if cap is not None:
                check_cap(known[one], cap)
        curator.ledger.owner.add_analyst(check_analyst(name))
        for one in population or known:
            curator.ledger.owner.grant(name, one, cap)
        token = curator.access.issue(name, Role.ANALYST, days=days)
    typer.echo(json.dumps({"name": name, "token": token}) if as_json else token)


@analyst_app.command("revoke")
@fail_plainly
def revoke_analyst(
    config: ConfigFile, name: str, reason: Reason = "revoked by the owner", as_json: AsJson = False
) -> None:
    """Let somebody ask no more. What they spent stays spent."""
    with opened(config) as curator:
        done = curator.ledger.owner.revoke_analyst(name, reason=reason)
    typer.echo(json.dumps({"sequence": done.sequence}) if as_json else f"{name} may ask no more")


# --- budgets --------------------------------------------------------------------------------------------------------


@fail_plainly
def budget_command(
    config: LedgerOrConfig,
    population: Annotated[str, typer.Argument(help="whose budget; to change it, with --epsilon or --rho")] = "",
    *,
    epsilon: Annotated[str, typer.Option(help="the new budget")] = "",
    delta: Annotated[str, typer.Option(help="with epsilon or rho")] = "",
    rho: Annotated[str, typer.Option(help="instead of epsilon")] = "",
    reason: Reason = "",
    household: Annotated[int, typer.Option(help="what a household of so many has lost", show_default=False)] = 0,
    as_json: AsJson = False,
) -> None:
    """Where the budgets stand; or change one. What was spent stays spent."""
    from discreet.curator.service.declarations import read_promise
    from discreet.curator.service.serialize import promise
    from discreet.curator.service.service import budgets

    given = {name: value for name, value in (("epsilon", epsilon), ("delta", delta), ("rho", rho)) if value}
    if given and not population:
        raise BadParameter("population", None, "must be named, to change its budget")
    with _ledger(config) as ledger:
        if population and population not in ledger.populations:
            raise BadParameter("population", population, f"must be one of {', '.join(ledger.populations)}")
        if given:
            ledger.owner.set_budget(population, read_promise(given, "budget"), reason=reason)
        found = [one for one in budgets(ledger) if not population or one["population"] == population]
        for one in found if household else []:
            lost = ledger.household(one["population"], household).spent
            one["household"] = {"people": household, "spent": None if lost is None else promise(lost)}
    if as_json:
        typer.echo(json.dumps(found))
        return
    table = Table("people", "who", "budget", "spent", "", "left", box=None)
    for one in found:
        for row in (one, *one["analysts"]):
            left = row["remaining_epsilon"]
            table.add_row(
                escape(row["population"]),
                "all" if row["analyst"] is None else escape(row["analyst"]),
                escape(row["budget"]["text"]),
                gauge(row["share"]),
                f"{row['share']:.1%}",
                escape(row["remaining"]["text"] if left is None else f"epsilon {left:.4g}"),
            )
    console = Console()
    console.print(table)
    console.print(
        "spent: by all, or by the analyst alone, as a part of the budget in the row; where delta is counted too, the "
        "larger part. left: what one more question may cost, by the analyst's own cap and by the budget of all",
        style="dim", highlight=False,
    )  # fmt: skip
    for one in found if household else []:
        lost = one["household"]["spent"]
        told = "no theorem says" if lost is None else lost["text"]
        console.print(
            f"a household of {household} in {escape(one['population'])} has lost: {escape(told)}", highlight=False
        )


# --- the ledger -----------------------------------------------------------------------------------------------------


@ledger_app.command("show")
@fail_plainly
def show_ledger(
    config: LedgerOrConfig,
    last: Annotated[int, typer.Option(help="how many")] = 20,
    as_json: AsJson = False,
) -> None:
    """The last entries."""
    from discreet.curator.service.serialize import line

    with _ledger(config) as ledger:
        lines = ledger.entries(after=max(0, ledger.head.sequence - last))
        if as_json:
            typer.echo(json.dumps([line(one) for one in lines]))
            return
        table = Table("number", "time", "by", "what", "", box=None)
        for one in lines:
            entry = one.entry
            about = read_record(entry).summary()[:80]
            table.add_row(str(entry.sequence), entry.time, escape(entry.by), entry.kind, escape(about))
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

    location, _, head = _located(config)
    head = head or (Path(f"{location}.head") if isinstance(location, Path) else None)
    texts = [path.read_text(encoding="utf-8") for path in receipts]
    with Console(stderr=True).status("checking every entry"):
        found = verify_ledger(location, head=head, receipts=texts)
    if as_json:
        typer.echo(json.dumps({"ok": found.good, "entries": found.entries, "problems": list(found.problems)}))
    else:
        typer.echo(str(found))
    raise typer.Exit(0 if found.good else 1)


@ledger_app.command("export")
@fail_plainly
def export_ledger(config: LedgerOrConfig, to: Annotated[Path | None, typer.Argument(help="a new file")] = None) -> None:
    """All entries as lines, for a copy elsewhere. Answers are not in it."""
    with _ledger(config) as ledger:
        if to is None:
            for line in ledger.export():
                typer.echo(line)
            return
        with to.open("x", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in ledger.export())


@ledger_app.command("acknowledge")
@fail_plainly
def acknowledge_command(config: LedgerOrConfig, reason: Reason, as_json: AsJson = False) -> None:
    """After a mismatch: say why, and go on from what is there. It is recorded."""
    with _ledger(config) as ledger:
        done = ledger.owner.acknowledge(reason=reason)
    typer.echo(json.dumps({"sequence": done.sequence}) if as_json else "recorded")


@contextmanager
def _ledger(config: Path) -> Iterator[Any]:
    from discreet.ledger.store import open_ledger

    location, key, head = _located(config)
    with open_ledger(location, key=key, head=head) as ledger:
        yield ledger


def _located(config: Path) -> tuple[Any, Path | None, Path | None]:
    """Where a ledger, its key and its head are: as curator.toml says, or beside the file of the ledger itself."""
    from discreet.curator.service.config import read_config

    if config.is_file():
        with config.open("rb") as file:
            if file.read(16) == b"SQLite format 3\x00":
                return config, None, None
    said: Config = read_config(config)
    return said.ledger, said.key, said.head


# --- receipts -------------------------------------------------------------------------------------------------------


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
        said = {"kind": "card", "dataset": found["dataset"], "query": found["query"], "price": found["price"]}
    else:
        receipt = verify_receipt(text, key)
        said = {
            "kind": "receipt",
            "number": receipt.sequence,
            "dataset": receipt.dataset,
            "query": receipt.query,
            "price": list(receipt.price),
            "hash": receipt.hash,
        }
    if as_json:
        typer.echo(json.dumps({"ok": True, **said}))
        return
    if kind == "card":
        said["price"] = str(read_measure(found["price"]))
    else:
        told = ", ".join(show(one) for one in read_amounts(said["price"]))
        said["price"] = f"{told}, as the ledger counts; its release card says it in words"
    typer.echo("genuine: signed by this curator, and not changed")
    for name, value in said.items():
        typer.echo(f"{name:>8}  {value}")
