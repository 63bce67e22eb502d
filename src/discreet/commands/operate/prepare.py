"""``discreet prepare``: a private copy of a table that is asked often, sorted by unit.

With columns declared as for ``discreet ask``, it keeps what the usual questions about them compute.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.commands.ask import Bounds, Keys, Rows, Unknown
from discreet.commands.output import fail_plainly
from discreet.commands.table_options import TableOptions
from discreet.engines.duckdb.prepared import is_current, prepare
from discreet.errors import BadParameter
from discreet.privacy.promises.measures import Approx
from discreet.query.plan.work import Work
from discreet.session.copies import usual_works
from discreet.session.session import Session

_ANY = Approx(1, "1e-6")
"""A budget of which nothing is spent: what a copy keeps does not depend on it."""


@fail_plainly
def prepare_command(
    source: Annotated[str, typer.Argument(help="a file, folder or glob of Parquet or CSV, or file.duckdb::table")],
    output: Annotated[
        Path, typer.Argument(help="the copy, such as data/visits.duckdb; made anew if its source changed")
    ],
    *,
    unit: Annotated[str, typer.Option(help="the column that identifies the person (privacy unit) of each row")] = "",
    table: Annotated[str, typer.Option(help="the table's name in the copy; the file's stem if left out")] = "",
    bounds: Bounds = [],  # noqa: B006 - the options' own default
    keys: Keys = [],  # noqa: B006
    unknown: Unknown = [],  # noqa: B006
    max_rows: Rows = "",
    remove: Annotated[bool, typer.Option("--remove", help="remove the copy")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Copy a table into a DuckDB file that only you can read, its rows sorted by unit: queries are faster.

    Declare columns as for discreet ask, and questions by one of them are faster still.
    """
    if output.suffix != ".duckdb":
        raise BadParameter("output", str(output), "must end with .duckdb")
    name = table or output.stem
    if remove:
        output.unlink()
        _say(as_json, {"removed": str(output)}, f"{output} is removed")
        return
    if not unit:
        raise BadParameter("unit", None, "must be given: the column that identifies the person of each row")
    works = _works(TableOptions(source, unit, name, bounds, keys, unknown, max_rows))
    made = not is_current(source, output, unit=unit, works=works)
    if made:
        prepare(source, output, unit=unit, table=name, works=works)
    words = "made" if made else "there already, and its source did not change"
    _say(as_json, {"source": f"{output}::{name}", "made": made}, f"{output}::{name} is {words}")


def _works(options: TableOptions) -> tuple[Work, ...]:
    if not (options.bounds or options.keys or options.unknown):
        return ()
    session = Session({options.table_name: options.table()}, budget=_ANY)
    return usual_works(session.sql, options.table_name, session.schemas[options.table_name])


def _say(as_json: bool, shown: dict[str, object], words: str) -> None:
    typer.echo(json.dumps(shown) if as_json else words)
