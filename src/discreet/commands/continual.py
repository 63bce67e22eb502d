"""``discreet continual``: a dashboard over a file that grows, day by day, kept in a ledger.

Promise: the whole horizon is charged once, durably, before the first day is read; each day is read once, in order.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from discreet.commands.ask import (
    AsJson,
    Bounds,
    Budget,
    Confidence,
    DeclaredRows,
    Delta,
    Epsilon,
    File,
    Keys,
    Name,
    Sql,
    Unit,
)
from discreet.commands.output import cell, fail_plainly
from discreet.commands.table_options import TableOptions
from discreet.errors import BadParameter
from discreet.privacy.promises.measures import Approx, Pure
from discreet.query.answer.answer import TableAnswer
from discreet.session.board import Board, BoardDay
from discreet.session.session import Session

By = Annotated[str, typer.Option(help="the column of dates or times that says which day a row belongs to")]
Horizon = Annotated[int, typer.Option(help="for how many days the cost covers")]
Days = Annotated[int, typer.Option(help="on how many of them one unit counts; all, if left out", show_default=False)]
HowNoised = Annotated[
    str,
    typer.Option("--method", help="what gets noise: best (least error of the totals), values (of single days), ..."),
]
LedgerFile = Annotated[Path, typer.Option("--ledger", help="the file in which the budget is kept")]
Day = Annotated[str, typer.Option(help="the day to read, such as 2026-11-15")]
Window = Annotated[int, typer.Option(help="sums over so many days; 0: totals of all days")]
Board_ = Annotated[str, typer.Option("--name", help="the dashboard's name; without one it is known by what it asks")]

continual_app = typer.Typer(
    help="A dashboard: one query, answered day by day, at one privacy cost.", no_args_is_help=True
)


def _opened(  # noqa: PLR0917 - the options of the commands
    options: TableOptions, sql: str, price: dict[str, Any], ledger: Path, budget: str, delta: str, name: str
) -> tuple[Session, Board]:
    whole = None if not budget else Approx(budget, delta) if delta else Pure(budget)
    session = Session({options.table_name: options.table()}, budget=whole, ledger=ledger)
    return session, session.continual(sql, **price, name=name or None)


def _asked(epsilon: str, by: str, horizon: int, days: int, method: str) -> dict[str, Any]:
    return {"epsilon": epsilon, "by": by, "horizon": horizon, "days": days or None, "method": method}


@continual_app.command("preview")
@fail_plainly
def preview_command(
    file: File,
    sql: Sql,
    *,
    unit: Unit,
    max_rows: DeclaredRows,
    by: By,
    horizon: Horizon,
    epsilon: Epsilon,
    ledger: LedgerFile,
    days: Days = 0,
    method: HowNoised = "best",
    confidence: Confidence = "0.95",
    delta: Delta = "",
    table_name: Name = "",
    bound: Bounds = [],  # noqa: B006 - typer copies it
    key: Keys = [],  # noqa: B006
    budget: Budget = "",
    name: Board_ = "",
    as_json: AsJson = False,
) -> None:
    """What a dashboard costs for all of its days, and its error bars. Free: no data is touched."""
    options = TableOptions(file, unit, table_name, bound, key, [], str(max_rows))
    _, board = _opened(options, sql, _asked(epsilon, by, horizon, days, method), ledger, budget, delta, name)
    found = board.preview(confidence)
    shown = {field: getattr(found, field) for field in found.__slots__}
    typer.echo(json.dumps(shown, ensure_ascii=False) if as_json else str(found))


@continual_app.command("advance")
@fail_plainly
def advance_command(
    file: File,
    sql: Sql,
    *,
    day: Day,
    unit: Unit,
    max_rows: DeclaredRows,
    by: By,
    horizon: Horizon,
    epsilon: Epsilon,
    ledger: LedgerFile,
    days: Days = 0,
    method: HowNoised = "best",
    confidence: Confidence = "0.95",
    delta: Delta = "",
    table_name: Name = "",
    bound: Bounds = [],  # noqa: B006 - typer copies it
    key: Keys = [],  # noqa: B006
    budget: Budget = "",
    name: Board_ = "",
    as_json: AsJson = False,
) -> None:
    """Read one more day of a file, release it, and keep it. The first day pays for all."""
    options = TableOptions(file, unit, table_name, bound, key, [], str(max_rows))
    session, board = _opened(options, sql, _asked(epsilon, by, horizon, days, method), ledger, budget, delta, name)
    with Console(stderr=True).status("paying, reading the day, adding noise"):
        released = board.advance(day)
    if as_json:
        typer.echo(json.dumps(_day(released, 1, confidence) | {"remaining": str(session.remaining)}))
        return
    console = Console()
    for title, answer in (("this day", released.today), ("all days", released.total)):
        console.print(_printed(released, title, answer, confidence))
    console.print(
        f"[dim]day {released.position} of {board.horizon}; confidence intervals {float(confidence):.0%}; the dashboard "
        f"costs {escape(released.today.cost)}; left: {escape(str(session.remaining))}[/]",
        highlight=False,
    )


@continual_app.command("show")
@fail_plainly
def show_command(
    file: File,
    sql: Sql,
    *,
    unit: Unit,
    max_rows: DeclaredRows,
    by: By,
    horizon: Horizon,
    epsilon: Epsilon,
    ledger: LedgerFile,
    days: Days = 0,
    method: HowNoised = "best",
    window: Window = 1,
    confidence: Confidence = "0.95",
    delta: Delta = "",
    table_name: Name = "",
    bound: Bounds = [],  # noqa: B006 - typer copies it
    key: Keys = [],  # noqa: B006
    budget: Budget = "",
    name: Board_ = "",
    as_json: AsJson = False,
) -> None:
    """All days that were released, or sums over the last days up to each. Free: no data is touched."""
    options = TableOptions(file, unit, table_name, bound, key, [], str(max_rows))
    _, board = _opened(options, sql, _asked(epsilon, by, horizon, days, method), ledger, budget, delta, name)
    if window < 0:
        raise BadParameter("window", window, "must be a number of days, or 0 for all of them")
    found = [one for one in board.history() if one.position >= window]
    if as_json:
        typer.echo(json.dumps([_day(one, window or one.position, confidence) for one in found]))
        return
    console = Console()
    for one in found:
        width = window or one.position
        console.print(_printed(one, f"{width} days" if width > 1 else "this day", one.window(width), confidence))


def _printed(one: BoardDay, title: str, answer: TableAnswer, confidence: str) -> Printed:
    bars = answer.errors(confidence)
    printed = Printed(title=f"{one.day.isoformat()}, {title}", box=None, title_justify="left")
    for name in answer.columns:
        printed.add_column(escape(name), justify="right" if name in bars else "left")
    for i, row in enumerate(answer.rows):
        printed.add_row(*(cell(row[name], bars[name][i] if name in bars else None) for name in answer.columns))
    return printed


def _day(one: BoardDay, width: int, confidence: str) -> dict[str, Any]:
    answer = one.window(width)
    return {
        "day": one.day.isoformat(),
        "position": one.position,
        "width": width,
        "columns": list(answer.columns),
        "rows": [[_plain(row[name]) for name in answer.columns] for row in answer.rows],
        "errors": answer.errors(confidence),
        "cost": answer.cost,
    }


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
