"""How the command line prints: errors in one line, gauges, tables with error bars.

Promise: what goes wrong is reported in our own words, or by its type and place; never in words that may hold values.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from datetime import date
from typing import Annotated, Any, NoReturn, ParamSpec, get_type_hints

import typer
from rich.console import Console
from rich.markup import escape

from discreet.curator.error_replies import error_body, reply, where
from discreet.errors import DiscreetError
from discreet.exact import significant, with_bar
from discreet.messages import Interface
from discreet.shown import visible

AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
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
            body = reply(error, to_owner=True, interface=Interface.COMMAND)[1]
            _refuse(body, bool(kwargs.get("as_json")))
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
            _refuse(error_body("File", message), bool(kwargs.get("as_json")))
        except Exception as error:
            message = f"an internal error: {where(error)}"
            _refuse(error_body("Fault", message), bool(kwargs.get("as_json")))

    return wrapped


def with_options(options: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The fields of a dataclass as options of a command, which gets them as its first argument."""
    types = get_type_hints(options, include_extras=True)
    shared = {field.name: types[field.name] for field in fields(options)}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

        @functools.wraps(command)
        def spread(**given: Any) -> None:
            command(options(**{name: given.pop(name) for name in shared}), **given)

        every = [inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, annotation=shared[field.name],
                                   default=_default(field)) for field in fields(options)]  # fmt: skip
        every += [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        spread.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        spread.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return spread

    return decorate


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _refuse(body: dict[str, Any], as_json: bool) -> NoReturn:
    if as_json:
        typer.echo(json.dumps(body), err=True)
    else:
        message = escape(body["error"]["message"])
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
