"""How the command line prints: errors in one line, gauges, tables with error bars."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import typer
from rich.console import Console
from rich.markup import escape

from discreet.errors import DiscreetError

REFUSED = 1
P = ParamSpec("P")


def fail_plainly(command: Callable[P, None]) -> Callable[P, None]:
    """A refusal is one line on standard error and exit status 1, never a trace."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except DiscreetError as error:
            Console(stderr=True).print(f"[red]refused[/] {escape(str(error))}", highlight=False, soft_wrap=True)
            raise typer.Exit(REFUSED) from None

    return wrapped


def gauge(share: float, width: int = 20) -> str:
    """A bar for a part of a whole.

    >>> gauge(0.5, 4)
    '██░░'
    """
    full = min(width, round(share * width))
    return "█" * full + "░" * (width - full)


def number(value: Any) -> str:
    """A released value for people.

    >>> number(12345), number(0.12345678), number(None)
    ('12,345', '0.123457', 'NULL')
    """
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
