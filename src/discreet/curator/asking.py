"""``discreet ask`` and ``discreet preview``: one file, one question, and perhaps a ledger that remembers.

Promise: with ``--ledger`` the budget belongs to the people in the file and outlives the process: it is charged durably
before the file is read. Without it, the question is the whole budget, and nothing is remembered.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from discreet.curator.late import late
from discreet.curator.printed import fail_plainly, number
from discreet.engines.duckdb import duckdb
from discreet.engines.sources import Files, open_source
from discreet.errors import BadParameter
from discreet.privacy.measures import Approx, Measure, Pure
from discreet.session import Query, Session
from discreet.table.answer import TableAnswer
from discreet.table.schema import Declared, Stored, StoredKind, Table, bounds, keys, resolve, table, unknown_keys

File = Annotated[str, typer.Argument(help="a file, folder or glob of Parquet or CSV")]
Sql = Annotated[str, typer.Argument(help="one SELECT with aggregates")]
Unit = Annotated[str, typer.Option(help="the column that says whose row it is")]
Name = Annotated[str, typer.Option("--table", help="the table's name in the SQL; the file's stem if left out")]
Bounds = Annotated[list[str], typer.Option("--bounds", help="public bounds of a column, such as cost=0:5000")]
Keys = Annotated[list[str], typer.Option("--keys", help="public keys of a column, such as clinic=North,South")]
Unknown = Annotated[list[str], typer.Option("--unknown-keys", help="a column whose keys nobody lists; costs delta")]
Rows = Annotated[
    int, typer.Option("--max-rows", help="rows of one unit that count; 10 if left out", show_default=False)
]
Epsilon = Annotated[str, typer.Option(help="what the answer may cost")]
Delta = Annotated[str, typer.Option(help="the delta of the question; of the budget, if there is one")]
Error = Annotated[str, typer.Option(help="instead of epsilon: how far off the answer may be")]
Confidence = Annotated[str, typer.Option(help="of the error bars")]
LedgerFile = Annotated[Path | None, typer.Option("--ledger", help="a file in which the budget is kept")]
Budget = Annotated[str, typer.Option(help="epsilon of all answers together; needed once for a ledger")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
ANALYST = "local"


@fail_plainly
def ask_command(
    file: File,
    sql: Sql,
    *,
    unit: Unit,
    epsilon: Epsilon = "",
    error: Error = "",
    confidence: Confidence = "0.95",
    delta: Delta = "",
    table_name: Name = "",
    bound: Bounds = [],  # noqa: B006 - typer copies it
    key: Keys = [],  # noqa: B006
    unknown: Unknown = [],  # noqa: B006
    max_rows: Rows = 0,
    ledger: LedgerFile = None,
    budget: Budget = "",
    as_json: AsJson = False,
) -> None:
    """Ask a question of a file, pay, and print the answer with its error bars."""
    said, price = Said(file, unit, table_name, bound, key, unknown, max_rows), _price(epsilon, error, confidence)
    with _session(said, _promise(budget or ("" if error or ledger else epsilon), delta), ledger, sql) as session:
        query = session.sql(sql)
        with Console(stderr=True).status("paying, reading, adding noise"):
            answer = query.release(**price)
            session.store(answer, confidence)
        _print_answer(answer, confidence, str(session.remaining), as_json)


@fail_plainly
def preview_command(
    file: File,
    sql: Sql,
    *,
    unit: Unit,
    epsilon: Epsilon = "",
    error: Error = "",
    confidence: Confidence = "0.95",
    delta: Delta = "",
    table_name: Name = "",
    bound: Bounds = [],  # noqa: B006 - typer copies it
    key: Keys = [],  # noqa: B006
    unknown: Unknown = [],  # noqa: B006
    max_rows: Rows = 0,
    ledger: LedgerFile = None,
    budget: Budget = "",
    as_json: AsJson = False,
) -> None:
    """What a question would cost and how far off its answer would be. Free: no data is touched."""
    said, price = Said(file, unit, table_name, bound, key, unknown, max_rows), _price(epsilon, error, confidence)
    with _session(said, _promise(budget or ("" if error or ledger else epsilon), delta), ledger, sql) as session:
        _print_preview(session.sql(sql), price, as_json)


# --- what was said --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Said:
    """The options that describe a table."""

    file: str
    unit: str
    name: str
    bounds: Sequence[str]
    keys: Sequence[str]
    unknown: Sequence[str]
    max_rows: int

    @property
    def table_name(self) -> str:
        """How the SQL calls the table: the file's stem unless said."""
        found = self.name or Path(self.file.rstrip("/")).name.partition(".")[0]
        if not found.isidentifier():
            raise BadParameter("table", found, "must be a name of letters, digits and _: give one with --table")
        return found

    def table(self) -> Table:
        """The table, declared, if that fits the columns of the file."""
        stored = duckdb().columns(self.file)
        columns: dict[str, Declared] = {}
        for name, text in _pairs(self.bounds, "bounds"):
            columns[name] = _bounds(name, text)
        for name, text in _pairs(self.keys, "keys"):
            columns[name] = keys(_key(one, stored.get(name)) for one in text.split(","))
        for name in self.unknown:
            columns[name] = unknown_keys()
        found = table(self.file, unit=self.unit, columns=columns, max_rows=self.max_rows or None)
        resolve(self.table_name, found, stored)
        return found


def _pairs(given: Sequence[str], option: str) -> Iterator[tuple[str, str]]:
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name or not text:
            raise BadParameter(option, one, "must be column=..., such as cost=0:5000 or clinic=North,South")
        yield name, text


def _bounds(name: str, text: str) -> Declared:
    low, colon, high = text.partition(":")
    if not colon:
        raise BadParameter("bounds", f"{name}={text}", "must be the least and the largest value, such as cost=0:5000")
    if low.count("-") == 2 and high.count("-") == 2:
        return bounds(_date(low), _date(high))
    return bounds(low, high)


def _key(text: str, stored: Stored | None) -> Any:
    match None if stored is None else stored.kind:
        case StoredKind.INTEGER:
            if not text.strip().lstrip("-").isdigit():
                raise BadParameter("keys", text, "must be whole numbers: that is how the column is stored")
            return int(text)
        case StoredKind.DATE:
            return _date(text)
        case StoredKind.BOOLEAN:
            return text.strip().lower() == "true"
    return text


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise BadParameter("date", text, "must be a date such as 2025-01-31") from None


def _promise(epsilon: str, delta: str) -> Measure | None:
    if not epsilon:
        return None
    return Approx(epsilon, delta) if delta else Pure(epsilon)


def _price(epsilon: str, error: str, confidence: str) -> dict[str, Any]:
    if bool(epsilon) == bool(error):
        raise BadParameter("epsilon", epsilon or None, "must be given, or --error instead: one of the two")
    return {"confidence": confidence} | ({"epsilon": epsilon} if epsilon else {"error": error})


# --- the session ----------------------------------------------------------------------------------------------------


class LocalSession(Session):
    """A session on this machine; where its budget is in a ledger, its answers are kept there too."""

    ledger: Any = None

    def store(self, answer: TableAnswer, confidence: str) -> None:
        """Store an answer before it is shown."""
        if self.ledger is not None:
            shown = late("shown")
            self.ledger.store_answer(self._purse.charge, shown.dump(shown.answer(answer, confidence)))  # type: ignore[attr-defined]


@contextmanager
def _session(said: Said, budget: Measure | None, ledger: Path | None, sql: str) -> Iterator[LocalSession]:
    """The file as a session: its budget in a ledger, or gone with the process."""
    name, one = said.table_name, said.table()
    if ledger is None:
        if budget is None:
            raise BadParameter("budget", None, "must be given with --error: how much may it cost at most?")
        yield LocalSession({name: one}, budget=budget)
        return
    with late("store").open_ledger(ledger, create=True) as opened:
        population = _protected(opened, name, said, budget)
        purse = late("purse").LedgerPurse(
            opened, name, ANALYST, key=secrets.token_hex(16), query=sql.strip(), parameters={"file": said.file}
        )
        session = LocalSession(
            {name: one},
            budget=population.budget,
            neighbours=population.neighbours,
            rule=population.rule,
            purse=purse,
        )
        session.ledger = opened
        yield session


def _protected(ledger: Any, name: str, said: Said, budget: Measure | None) -> Any:
    """The people in the file, with their budget: opened the first time, then as it was."""
    known = ledger.populations.get(name)
    marks = late("places").marks(tuple(Path(one) for one in _files(said.file)))
    if known is None:
        if budget is None:
            raise BadParameter("budget", None, "must be given once for a new ledger, such as --budget 2")
        ledger.owner.check_unprotected(name, name, marks=marks)
        ledger.owner.protect(name, budget, unit=said.unit)
    elif budget not in (None, known.budget):
        raise BadParameter("budget", str(budget), f"must be left out: the ledger has {known.budget} for {name!r}")
    elif known.unit != said.unit:
        raise BadParameter("unit", said.unit, f"must be {known.unit!r}: the budget in the ledger protects that")
    if ANALYST not in ledger.analysts:
        ledger.owner.add_analyst(ANALYST)
    if name not in ledger.analysts[ANALYST].caps:
        ledger.owner.grant(ANALYST, name)
    if name not in ledger.datasets:
        ledger.owner.register(name, name, marks=marks, about={"file": said.file, "unit": said.unit})
    return ledger.populations[name]


def _files(source: str) -> Sequence[str]:
    found = open_source(source)
    return found.paths if isinstance(found, Files) else ()


# --- printing -------------------------------------------------------------------------------------------------------


def _print_answer(answer: TableAnswer, confidence: str, remaining: str, as_json: bool) -> None:
    bars = answer.errors(confidence)
    if as_json:
        said: Mapping[str, Any] = {
            "columns": list(answer.columns),
            "rows": [[_plain(row[name]) for name in answer.columns] for row in answer.rows],
            "errors": bars,
            "confidence": confidence,
            "cost": answer.cost,
            "remaining": remaining,
            "story": list(answer.story),
        }
        typer.echo(json.dumps(said, ensure_ascii=False))
        return
    printed = Printed(box=None)
    for name in answer.columns:
        printed.add_column(escape(name), justify="right" if name in bars else "left")
    for i, row in enumerate(answer.rows):
        cells = []
        for name in answer.columns:
            error = bars[name][i] if name in bars else None
            days = " days" if isinstance(row[name], date) else ""
            bar = "" if error is None else f" [dim]± {error:,.3g}{days}[/]"
            cells.append(f"{escape(number(row[name]))}{bar}")
        printed.add_row(*cells)
    console = Console()
    console.print(printed)
    console.print(
        f"[dim]error bars {float(confidence):.0%}; spent {answer.cost}; left: {remaining}\n{answer.counted}[/]",
        highlight=False,
    )


def _print_preview(query: Query, price: Mapping[str, Any], as_json: bool) -> None:
    found = query.preview(**price)
    typer.echo(json.dumps(found.as_dict(), ensure_ascii=False) if as_json else str(found))


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
