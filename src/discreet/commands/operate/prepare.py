"""``discreet prepare``: a private copy of a table that is asked often, sorted by unit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.commands.output import fail_plainly
from discreet.engines.duckdb.prepared import is_current, prepare
from discreet.errors import BadParameter


@fail_plainly
def prepare_command(
    source: Annotated[str, typer.Argument(help="a file, folder or glob of Parquet or CSV, or file.duckdb::table")],
    output: Annotated[
        Path, typer.Argument(help="the copy, such as data/visits.duckdb; made anew if its source changed")
    ],
    *,
    unit: Annotated[str, typer.Option(help="the column that identifies the person (privacy unit) of each row")] = "",
    table: Annotated[str, typer.Option(help="the table's name in the copy; the file's stem if left out")] = "",
    remove: Annotated[bool, typer.Option("--remove", help="remove the copy")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Copy a table into a DuckDB file that only you can read, its rows sorted by unit: questions are faster."""
    if output.suffix != ".duckdb":
        raise BadParameter("output", str(output), "must end with .duckdb")
    name = table or output.stem
    if remove:
        output.unlink()
        _say(as_json, {"removed": str(output)}, f"{output} is removed")
        return
    if not unit:
        raise BadParameter("unit", None, "must be given: the column that identifies the person of each row")
    made = not is_current(source, output, unit=unit)
    if made:
        prepare(source, output, unit=unit, table=name)
    words = "made" if made else "there already, and its source did not change"
    _say(as_json, {"source": f"{output}::{name}", "made": made}, f"{output}::{name} is {words}")


def _say(as_json: bool, shown: dict[str, object], words: str) -> None:
    typer.echo(json.dumps(shown) if as_json else words)
