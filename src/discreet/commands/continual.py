"""``discreet continual``: a dashboard over a file that grows, day by day, kept in a ledger.

Promise: the whole horizon is charged once, durably, before the first day is read; each day is read once, in order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Printed

from discreet.commands.ask import (
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
    promise,
)
from discreet.commands.output import AsJson, cell, fail_plainly, with_options
from discreet.commands.table_options import TableOptions
from discreet.errors import BadParameter
from discreet.query.answer.answer import TableAnswer
from discreet.session.board import Board, BoardDay
from discreet.session.session import Session

By = Annotated[str, typer.Option(help="the column of dates or times that says which day a row belongs to")]
Horizon = Annotated[int, typer.Option(help="for how many days the cost covers")]
DaysOfUnit = Annotated[
    int, typer.Option(help="on how many of them one unit counts; all, if left out", show_default=False)
]
HowNoised = Annotated[
    str,
    typer.Option("--method", help="what gets noise: best (least error of the totals), values (of single days), ..."),
]
BoardLedger = Annotated[Path, typer.Option("--ledger", help="the file in which the budget is kept")]
Day = Annotated[str, typer.Option(help="the day to read, such as 2026-11-15")]
Window = Annotated[int, typer.Option(help="sums over so many days; 0: totals of all days")]
Board_ = Annotated[str, typer.Option("--name", help="the dashboard's name; without one it is known by what it asks")]

continual_app = typer.Typer(
    help="A dashboard: one query, answered day by day, at one privacy cost.", no_args_is_help=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardOptions:
    """What all three commands need to know of a dashboard."""

    file: File
    sql: Sql
    unit: Unit
    max_rows: DeclaredRows
    by: By
    horizon: Horizon
    epsilon: Epsilon
    ledger: BoardLedger
    days: DaysOfUnit = 0
    method: HowNoised = "best"
    confidence: Confidence = "0.95"
    delta: Delta = ""
    table_name: Name = ""
    bound: Bounds = field(default_factory=list)
    key: Keys = field(default_factory=list)
    budget: Budget = ""
    name: Board_ = ""
    as_json: AsJson = False

    def opened(self) -> tuple[Session, Board]:
        """The session, and the dashboard as it stands. No data is touched."""
        table = TableOptions(self.file, self.unit, self.table_name, self.bound, self.key, [], str(self.max_rows))
        session = Session(
            {table.table_name: table.table()}, budget=promise(self.budget, self.delta), ledger=self.ledger
        )
        board = session.continual(
            self.sql, self.epsilon, by=self.by, horizon=self.horizon, days=self.days or None, method=self.method,
            name=self.name or None,
        )  # fmt: skip
        return session, board


@continual_app.command("preview")
@fail_plainly
@with_options(BoardOptions)
def preview_command(options: BoardOptions) -> None:
    """What a dashboard costs for all of its days, and its error bars. Free: no data is touched."""
    preview = options.opened()[1].preview(options.confidence)
    shown = {name: getattr(preview, name) for name in preview.__slots__}
    typer.echo(json.dumps(shown, ensure_ascii=False) if options.as_json else str(preview))


@continual_app.command("advance")
@fail_plainly
@with_options(BoardOptions)
def advance_command(options: BoardOptions, *, day: Day) -> None:
    """Read one more day of a file, release it, and keep it. The first day pays for all."""
    session, board = options.opened()
    confidence = options.confidence
    with Console(stderr=True).status("paying, reading the day, adding noise"):
        released = board.advance(day)
    if options.as_json:
        typer.echo(json.dumps(_shown(released, 1, confidence) | {"remaining": str(session.remaining)}))
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
@with_options(BoardOptions)
def show_command(options: BoardOptions, *, window: Window = 1) -> None:
    """All days that were released, or sums over the last days up to each. Free: no data is touched."""
    if window < 0:
        raise BadParameter("window", window, "must be a number of days, or 0 for all of them")
    shown = [released for released in options.opened()[1].history() if released.position >= window]
    if options.as_json:
        typer.echo(json.dumps([_shown(each, window or each.position, options.confidence) for each in shown]))
        return
    console = Console()
    for released in shown:
        width = window or released.position
        title = f"{width} days" if width > 1 else "this day"
        console.print(_printed(released, title, released.window(width), options.confidence))


def _printed(released: BoardDay, title: str, answer: TableAnswer, confidence: str) -> Printed:
    bars = answer.errors(confidence)
    printed = Printed(title=f"{released.day.isoformat()}, {title}", box=None, title_justify="left")
    for name in answer.columns:
        printed.add_column(escape(name), justify="right" if name in bars else "left")
    for i, row in enumerate(answer.rows):
        printed.add_row(*(cell(row[name], bars[name][i] if name in bars else None) for name in answer.columns))
    return printed


def _shown(released: BoardDay, width: int, confidence: str) -> dict[str, Any]:
    return released.as_dict(width, confidence) | {"cost": released.today.cost}
