"""``discreet ask`` and ``discreet preview``: one file, one question, and perhaps a ledger that remembers; or a curator.

Promise: with ``--ledger`` the budget belongs to the people in the file and outlives the process: it is charged durably
before the file is read. Without it, the question is the whole budget, and nothing is remembered. With the address of
a curator in place of a file, the budget is the curator's; ``--key`` makes a question that is asked again pay once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from discreet.commands.operate.remote import Dataset, TokenFile, is_address, open_remote
from discreet.commands.output import AsJson, cell, fail_plainly
from discreet.commands.table_options import TableOptions
from discreet.curator.client.client import RemoteQuery
from discreet.curator.client.remote_answer import RemoteAnswer
from discreet.errors import BadParameter
from discreet.exact import number as exact
from discreet.messages import Interface
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Approx, Measure, Pure
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.answer_base import TOTAL
from discreet.query.answer.export import new_file
from discreet.query.answer.preview import Preview
from discreet.query.answer.serialize import plain as finite
from discreet.query.front.sql.privacy_clause import take_privacy_clause
from discreet.query.plan.schema import AUTO
from discreet.session.query import Query
from discreet.session.session import Session

File = Annotated[str, typer.Argument(help="a file, folder or glob of Parquet or CSV; or https://... of a curator")]
Sql = Annotated[str, typer.Argument(help="one SELECT with aggregates")]
Unit = Annotated[str, typer.Option(help="of a file: the column that identifies the person (privacy unit) of each row")]
Name = Annotated[str, typer.Option("--table", help="the table's name in the SQL; the file's stem if left out")]
Bounds = Annotated[
    list[str],
    typer.Option(
        "--bounds",
        help="public bounds of a column: cost=0:5000, day=2024-01-01..2024-12-31; if left out, a part of the cost "
        "chooses them",
    ),
]
Keys = Annotated[
    list[str], typer.Option("--keys", help='public keys of a column: clinic=North,South or clinic="a, b",c')
]
Unknown = Annotated[
    list[str],
    typer.Option("--unknown-keys", help="a column without a public list of keys, as if left out; costs delta"),
]
DeclaredRows = Annotated[int, typer.Option("--max-rows", min=1, help="rows of one unit that count")]
Rows = Annotated[
    str,
    typer.Option(
        "--max-rows",
        help="rows of one unit that count; auto (if left out): a part of the cost chooses it",
        show_default=False,
    ),
]
Epsilon = Annotated[str, typer.Option(help="what the answer may cost")]
Delta = Annotated[
    str,
    typer.Option(
        help="the delta of the query (1e-9 for undeclared groups, if left out); of the budget, if there is one"
    ),
]
Error = Annotated[str, typer.Option(help="instead of epsilon: how far off the answer may be")]
Confidence = Annotated[str, typer.Option(help="of the confidence intervals")]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", help="a file in which the budget is kept")]
Budget = Annotated[str, typer.Option(help="epsilon of all answers together; needed once for a ledger")]
RuleName = Annotated[
    str, typer.Option("--rule", help="either (if left out), zcdp or basic: how --budget with --delta is counted; once")
]
DialectName = Annotated[
    str, typer.Option("--dialect", help="how the SQL is spelled: bigquery, snowflake, tsql, mysql, spark, ...")
]
RetryKey = Annotated[str, typer.Option("--key", help="with a curator: the same key is charged once")]
Fresh = Annotated[bool, typer.Option("--fresh", help="with a curator: charge again, also where an answer is there")]
Script = Annotated[
    Path | None, typer.Option("--script", help="write the query as a Python program to a new file, before it is run")
]


# --- the options --------------------------------------------------------------------------------------------------


def promise(epsilon: str, delta: str) -> Measure | None:
    """The budget that these options name, if they do."""
    if not epsilon:
        return None
    return Approx(epsilon, delta) if delta else Pure(epsilon)


DELTA = "1e-9"
"""Of a question about groups that are not declared, where no ledger keeps a budget and no delta is given."""


def _names_groups(query: Query) -> bool:
    """Whether groups are to be named that are not declared, which costs delta."""
    return any(part.selects for prepared in query.prepared.all for part in prepared.parts)


def _price(epsilon: str, error: str, confidence: str) -> dict[str, Any]:
    if bool(epsilon) == bool(error):
        raise BadParameter("epsilon", epsilon or None, "must be given, or --error instead: one of the two")
    return {"epsilon": epsilon or None, "error": error or None, "confidence": confidence}


# --- the session ----------------------------------------------------------------------------------------------------


def open_session(options: TableOptions, budget: Measure | None, ledger: Path | None, rule: str, delta: str) -> Session:
    """The file as a session: its budget in a ledger, or gone with the process."""
    if ledger is None and budget is None:
        raise BadParameter("budget", None, "must be given with --error: how much may it cost at most?")
    counted = _rule(rule) if rule else None
    session = Session({options.table_name: options.table()}, budget=budget, rule=counted, ledger=ledger)
    if delta and exact(delta, "delta") != getattr(session.budget, "delta", None):
        raise BadParameter(
            "delta", delta, f"must be left out: the ledger has {session.budget} for {options.table_name!r}"
        )
    return session


def _rule(text: str) -> Rule | None:
    from discreet.curator.service.declarations import read_rule

    return read_rule(text, "rule")


# --- printing -------------------------------------------------------------------------------------------------------


class RetryTerms(NamedTuple):
    """What to do where a query was asked before: a key for it, and whether to pay again."""

    key: str | None
    fresh: bool


def _print_answer(
    answer: TableAnswer | RemoteAnswer,
    confidence: str,
    remaining: str,
    as_json: bool,
    more: int | None,
    *,
    remembered: bool,
) -> None:
    bars = answer.errors(confidence)
    if as_json:
        shown: Mapping[str, Any] = {
            "columns": list(answer.columns),
            "rows": [[_plain(row[name]) for name in answer.columns] for row in answer.rows],
            "errors": bars,
            "confidence": confidence,
            "cost": answer.cost,
            "remaining": remaining,
            "story": list(answer.story),
            "clipped": [asdict(clip) for clip in answer.clipped],
            "notes": [note.as_json(Interface.COMMAND) for note in answer.notes],
            "remembered": remembered,
            "paid_before": getattr(answer, "paid_before", False),
        }
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    printed = Printed(box=None)
    for name in answer.columns:
        printed.add_column(escape(name), justify="right" if name in bars else "left")
    for i, (row, totals) in enumerate(zip(answer.rows, answer.totals, strict=True)):
        labelled = row | dict.fromkeys(totals, TOTAL)
        printed.add_row(*(cell(labelled[name], bars[name][i] if name in bars else None) for name in answer.columns))
    console = Console()
    console.print(printed)
    first, *others = answer.footer(Interface.COMMAND)
    console.print(f"[dim]{escape(first)}; left: {remaining}[/]", highlight=False)
    if more is not None:
        console.print(f"[dim]about {more:,} more like this fit into what is left[/]", highlight=False)
    for line in others:
        console.print(f"[dim]{escape(line)}[/]", highlight=False)
    if not remembered:
        console.print("[dim]nothing was remembered: --ledger FILE keeps a budget between queries[/]")


def _ask(query: Query, price: dict[str, Any], session: Session, as_json: bool, remembered: bool) -> None:
    with Console(stderr=True).status("paying, reading, adding noise"):
        answer = query.release(**price)
    more = None if as_json else _more(query.preview(**price))
    _print_answer(answer, price["confidence"], str(session.remaining), as_json, more, remembered=remembered)


def _more(preview: Preview) -> int:
    """How many more such queries what is left covers, by a preview after the release."""
    return (preview.more or 0) + 1 if preview.affordable else 0


def _preview(query: Query, price: dict[str, Any], session: Session, as_json: bool, remembered: bool) -> None:
    shown_preview = query.preview(**price)
    columns = [{**column, "error": finite(column["error"])} for column in shown_preview.as_dict()["columns"]]
    shown = {**shown_preview.as_dict(), "columns": columns}
    typer.echo(json.dumps(shown, ensure_ascii=False, allow_nan=False) if as_json else str(shown_preview))


def _ask_remote(query: RemoteQuery, price: dict[str, Any], as_json: bool, again: RetryTerms) -> None:
    with Console(stderr=True).status("paying, reading, adding noise"):
        answer = query.release(**price, key=again.key, fresh=again.fresh)
    more = None if as_json else _more(query.preview(**price))
    _print_answer(answer, price["confidence"], str(query.session.remaining), as_json, more, remembered=True)


def _preview_remote(query: RemoteQuery, price: dict[str, Any], as_json: bool, _: RetryTerms) -> None:
    shown_preview = query.preview(**price)
    typer.echo(json.dumps(shown_preview.as_dict(), ensure_ascii=False) if as_json else str(shown_preview))


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


# --- the commands ---------------------------------------------------------------------------------------------------

Print = Callable[[Query, dict[str, Any], Session, bool, bool], None]
PrintRemote = Callable[[RemoteQuery, dict[str, Any], bool, RetryTerms], None]


def _command(about: str, show: Print, show_remote: PrintRemote) -> Callable[..., None]:
    """A command with the options of both."""

    @fail_plainly
    def command(
        file: File,
        sql: Sql,
        *,
        unit: Unit = "",
        epsilon: Epsilon = "",
        error: Error = "",
        confidence: Confidence = "0.95",
        delta: Delta = "",
        table_name: Name = "",
        bound: Bounds = [],  # noqa: B006 - typer copies it
        key: Keys = [],  # noqa: B006
        unknown: Unknown = [],  # noqa: B006
        max_rows: Rows = "",
        ledger: LedgerFile = None,
        budget: Budget = "",
        rule: RuleName = "",
        dataset: Dataset = "",
        token_file: TokenFile = None,
        retry_key: RetryKey = "",
        fresh: Fresh = False,
        dialect: DialectName = "",
        script: Script = None,
        as_json: AsJson = False,
    ) -> None:
        if is_address(file):
            if script is not None:
                raise BadParameter("script", str(script), "must be left out for a curator: its page saves scripts")
            remote = open_remote(file, token_file, dataset)
            remote_price = _price(epsilon, error, confidence) | {"delta": delta or None}
            again = RetryTerms(retry_key or None, fresh)
            show_remote(remote.sql(sql, dialect=dialect or None), remote_price, as_json, again)
            return
        if not unit:
            raise BadParameter("unit", None, "must be given: the column that identifies the person of each row")
        options = TableOptions(file, unit, table_name, bound, key, unknown, max_rows or AUTO)
        clause = take_privacy_clause(sql)[1]
        if clause is not None and not (epsilon or error):
            price = {"confidence": confidence}
            epsilon, delta = clause.epsilon or "", delta or clause.delta or ""
        else:
            price = _price(epsilon, error, confidence)
        whole = promise(budget or ("" if error or ledger else epsilon), delta)
        session = open_session(options, whole, ledger, rule, delta)
        query = session.sql(sql, dialect=dialect or None)
        if ledger is None and not delta and _names_groups(query):
            session = open_session(options, promise(budget or epsilon, DELTA), None, rule, DELTA)
            query = session.sql(sql, dialect=dialect or None)
        if script is not None:
            with new_file(str(script), text=True) as program:
                program.write(query.script(**price))
        show(query, price, session, as_json, ledger is not None)

    command.__doc__ = about
    return command


ask_command = _command("Query a file, spend, and print the answer with its confidence intervals.", _ask, _ask_remote)
preview_command = _command(
    "What a query would cost and how far off its answer would be. Free: no data is touched.",
    _preview,
    _preview_remote,
)
