"""How the command line prints: errors in one line, gauges, tables with error bars.

Promise: what goes wrong is reported in our own words, or by its type and place; never in words that may hold values.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from datetime import date
from typing import Any, NoReturn, ParamSpec

import typer
from rich.console import Console
from rich.markup import escape

from discreet.curator.error_replies import error_body, reply, where
from discreet.errors import DiscreetError
from discreet.exact import significant, with_bar
from discreet.shown import visible

REFUSED = 1
P = ParamSpec("P")


def fail_plainly(command: Callable[P, None]) -> Callable[P, None]:
    """A refusal is one line on standard error, or JSON there with ``--json``, and exit status 1; never a trace."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except DiscreetError as error:
            remote = "://" in str(kwargs.get("file", ""))
            _refuse(reply(error, to_owner=True)[1], bool(kwargs.get("as_json")), remote=remote)
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
            _refuse(error_body("File", message), bool(kwargs.get("as_json")))
        except Exception as error:
            message = f"an internal error: {where(error)}"
            _refuse(error_body("Fault", message), bool(kwargs.get("as_json")))

    return wrapped


_FLAGS = (
    (r"bounds of (\S+) with dp\.bounds\(low, high\)", r"bounds with --bounds \1=low:high"),
    (r"(its bounds )?with dp\.bounds\(low, high\)", r"\1with --bounds column=low:high"),
    (r"(?:narrower )?dp\.bounds(?:\((\w+), (\w+)\))?(?: of it| of the columns)?", "--bounds column=low:high"),
    (r"dp\.keys\(\[\.\.\.\]\) or dp\.unknown_keys\(\)", "--keys column=a,b or --unknown-keys column"),
    (r"dp\.keys\(\[\.\.\.\]\), dp\.unknown_keys\(\)", "--keys column=a,b, --unknown-keys column"),
    (r"session\.profile\([^)]*\)", "discreet profile"),
    (r"max_rows=\.\.\. of the table", "--max-rows"),
    (r"^([a-z_]+) is (?:None|''), but it must", r"--\1 is not given: it must"),
    (r"open the session with dp\.Approx\(epsilon, delta\)", "give --delta"),
    (r"dp\.keys(?:\(\[\.\.\.\]\))?", "--keys column=a,b"),
    (r"\bepsilon=\.\.\.", "--epsilon"),
    (r": give epsilon and delta$", ": give --epsilon and --delta"),
    (r": give (epsilon|rho)( alone)?$", r": give --\1\2"),
)


_TO_A_CURATOR = (
    (
        r"(?:with )?session\.profile\([^)]*\)",
        "on the curator's page or with dp.connect(...).profile(table, epsilon=...) in Python",
    ),
    (r"\b(declare|set) (?=[^:]*(?:dp\.|max_rows))", r"ask the owner to \1 "),
)
"""Who asks a curator has neither the file nor a say in what is declared of it."""


def in_flags(message: str, *, remote: bool = False) -> str:
    """A hint of the library in the words of the command line; ``remote``: for somebody who asks a curator.

    >>> hint = "declare bounds of cost with dp.bounds(low, high), or write CLAMP(cost, low, high)"
    >>> in_flags(hint)
    'declare bounds with --bounds cost=low:high, or write CLAMP(cost, low, high)'
    >>> in_flags("declare dp.keys([...]), dp.unknown_keys() or dp.bounds(first, last) for the column clinic, or")
    'declare --keys clinic=a,b, --unknown-keys clinic or --bounds clinic=low:high for the column clinic, or'
    >>> in_flags(hint, remote=True)
    'ask the owner to declare bounds of cost with dp.bounds(low, high), or write CLAMP(cost, low, high)'
    """
    for pattern, flag in _TO_A_CURATOR if remote else _FLAGS:
        message = re.sub(pattern, flag, message)
    named = re.search(r'for the column ("[^"]+"|[^\s,]+)', message)
    return message if named is None else re.sub(r"(--[\w-]+) column\b", rf"\1 {named[1]}", message)


def _refuse(body: dict[str, Any], as_json: bool, *, remote: bool = False) -> NoReturn:
    if as_json:
        typer.echo(json.dumps(body), err=True)
    else:
        message = escape(in_flags(body["error"]["message"], remote=remote))
        Console(stderr=True).print(f"[red]refused[/] {message}", highlight=False, soft_wrap=True)
    raise typer.Exit(REFUSED) from None


def gauge(share: float, width: int = 20) -> str:
    """A bar for a part of a whole.

    >>> gauge(0.5, 4)
    '██░░'
    """
    full = min(width, round(share * width))
    return "█" * full + "░" * (width - full)


def cell(value: Any, error: float | None = None) -> str:
    """A released value for people, with its error bar if it has one, as rich markup.

    >>> cell(12345), cell(0.12345678), cell(None), cell(12345, 67.89)
    ('12,345', '0.123457', 'NULL', '12,345 [dim]± 68[/]')
    """
    if value is None:
        return "NULL"
    if error is not None:
        of_dates = isinstance(value, date)
        shown, bar = (str(value), f"{significant(error, 2)} days") if of_dates else with_bar(value, error)
        return f"{escape(shown)} [dim]± {bar}[/]"
    if isinstance(value, float):
        return significant(value, 6)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else escape(visible(str(value)))
