"""``discreet check`` and ``discreet audit``: the commands. The exit status is 1 where a claim is refuted."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from enum import Enum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from discreet.checking.exact.check import check
from discreet.checking.exact.report import joined
from discreet.checking.exact.self_check import check_own
from discreet.checking.sampling.audit import audit
from discreet.commands.output import fail_plainly
from discreet.errors import BadParameter
from discreet.privacy.promises.measures import Approx, Pure

REFUTED = 1


class Format(Enum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


Target = Annotated[str, typer.Argument(help="what to check, as module:name; left out: our own claims")]
Shown = Annotated[Format, typer.Option("--format", help="how to print the report")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON, as --format json does")]


@fail_plainly
def check_command(
    target: Target = "",
    *,
    rows: Annotated[int, typer.Option(help="try all data of up to so many rows")] = 3,
    values: Annotated[str, typer.Option(help="rows to try, as a Python list")] = "",
    pairs: Annotated[str, typer.Option(help="pairs of neighbouring inputs, as a Python list of pairs")] = "",
    epsilon: Annotated[str, typer.Option(help="of a function: the claimed epsilon")] = "",
    delta: Annotated[str, typer.Option(help="with epsilon: the claimed delta")] = "0",
    form: Shown = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Hold claims of stability and privacy against all small neighbours, exactly."""
    form = Format.JSON if as_json else form
    if not target:
        raise typer.Exit(_own(form))
    options: dict[str, Any] = {"rows": rows}
    if values:
        options["values"] = _literal(values, "values")
    if pairs:
        options["pairs"] = _literal(pairs, "pairs")
    if epsilon:
        options["claim"] = _claim(epsilon, delta)
    report = check(_load(target), **options)
    _print(report, form)
    raise typer.Exit(0 if report.ok else REFUTED)


@fail_plainly
def audit_command(
    target: Annotated[str, typer.Argument(help="the mechanism, as module:name; any function of data")],
    first: Annotated[str, typer.Argument(help="one input, as Python")],
    second: Annotated[str, typer.Argument(help="its neighbour, as Python")],
    *,
    epsilon: Annotated[str, typer.Option(help="the claimed epsilon")] = "1",
    delta: Annotated[str, typer.Option(help="the claimed delta")] = "0",
    samples: Annotated[int, typer.Option(help="runs on each input")] = 20_000,
    confidence: Annotated[str, typer.Option(help="of the certified bound")] = "0.99999999",
    processes: Annotated[int, typer.Option(help="how many processes run it")] = 1,
    form: Shown = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Attack a mechanism by samples, and certify a lower bound of epsilon."""
    form = Format.JSON if as_json else form
    report = audit(
        _load(target),
        pair=(_literal(first, "first"), _literal(second, "second")),
        claim=_claim(epsilon, delta),
        samples=samples,
        confidence=confidence,
        processes=processes,
        progress=form is Format.TEXT,
    )
    _print(report, form)
    raise typer.Exit(0 if report.ok else REFUTED)


def _claim(epsilon: str, delta: str) -> Pure | Approx:
    return Pure(epsilon) if delta in {"0", "0.0"} else Approx(epsilon, delta)


def _own(form: Format) -> int:
    console, reports = Console(), []
    for name, report in check_own():
        reports.append(report)
        if form is Format.TEXT:
            verdict = "[green]ok[/]" if report.ok else "[red]refuted[/]"
            console.print(f"{verdict:>9} {escape(name)}, {report.tried:,} pairs", highlight=False)
            if not report.ok:
                console.print(escape(str(report)), highlight=False)
    whole = joined("our own claims", reports)
    if form is not Format.TEXT:
        _print(whole, form)
    return 0 if whole.ok else REFUTED


def _print(report: Any, form: Format) -> None:
    match form:
        case Format.TEXT:
            typer.echo(str(report))
        case Format.JSON:
            typer.echo(json.dumps(report.to_dict(), ensure_ascii=False))
        case Format.HTML:
            typer.echo(report.to_html())


def _load(target: str) -> Any:
    module, colon, name = target.partition(":")
    if not colon:
        raise BadParameter("target", target, "must be module:name, such as mypackage.queries:visits")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        thing: Any = importlib.import_module(module)
        for part in name.split("."):
            thing = getattr(thing, part)
    except (ImportError, AttributeError):
        raise BadParameter("target", target, "must be a module that can be imported, and a name in it") from None
    return thing


def _literal(text: str, name: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise BadParameter(name, text, "must be a Python literal, such as [1, 2, None]") from None
