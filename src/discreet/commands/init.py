"""``discreet init``: write a curator.toml for some files.

Promise: what it proposes comes from the names and stored types of the columns. Bounds and keys are never read from the
data, since that would disclose something about the people in it: the file has a line for each, to be filled in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from discreet.commands.output import fail_plainly
from discreet.curator.engine_process.remote import RemoteEngine, open_remote
from discreet.curator.service.data_sources import engine_of, read_source
from discreet.engines.duckdb.engine import duckdb
from discreet.errors import BadParameter
from discreet.query.plan.schema import Stored, StoredKind

_SECONDS = 60.0
"""In which a server must have described its tables."""
_UNITS = (StoredKind.INTEGER, StoredKind.TEXT)
_LIKELY = ("patient", "person", "user", "customer", "client", "member", "employee", "subject", "household")


@fail_plainly
def init_command(
    files: Annotated[
        list[str],
        typer.Argument(
            help="the tables: files of Parquet or CSV, folders of such files, or postgresql://host/db::table"
        ),
    ],
    *,
    output: Annotated[Path, typer.Option(help="where to write")] = Path("curator.toml"),
    dataset: Annotated[str, typer.Option(help="the name of the data set; the folder's if left out")] = "",
    unit: Annotated[str, typer.Option(help="the column that identifies the person (privacy unit) of each row")] = "",
    epsilon: Annotated[str, typer.Option(help="the budget of the people in it")] = "2",
    delta: Annotated[str, typer.Option(help="and its delta")] = "1e-9",
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Write a curator.toml: proposes the unit and lists the columns, from names and types alone."""
    if output.exists():
        raise BadParameter("output", str(output), "must not exist yet")
    sources = {_table_name(file): file for file in files}
    if len(sources) != len(files):
        raise BadParameter("files", files, "must have different names")
    tables = _remote_columns(sources)
    root = Path.cwd()
    if tables is None:
        paths = {name: Path(file) for name, file in sources.items()}
        engine = duckdb()
        tables = {name: engine.columns(str(path)) for name, path in paths.items()}
        root = Path(files[0]).resolve().parent  # a folder is one table, and lies in the folder of the data
        if any(path.resolve().parent != root for path in paths.values()):
            raise BadParameter("files", files, "must lie in one folder")
        sources = {name: path.name for name, path in paths.items()}
    proposed = unit or propose_unit(tables)
    if not unit and not as_json and sys.stdin.isatty():
        proposed = typer.prompt(
            "Which column identifies the person (privacy unit) of each row?", default=proposed or ""
        )
    name = dataset or root.name or "data"
    text = write_config(name, sources, tables, proposed, root, epsilon, delta)
    output.write_text(text, encoding="utf-8")
    if as_json:
        typer.echo(json.dumps({"config": str(output), "dataset": name, "unit": proposed or None}))
        return
    typer.echo(
        f"{output} is written; the unit is {proposed or 'still to be filled in'}. Declare bounds and keys in it,"
    )
    typer.echo(f"then start with: discreet serve {output}")


def _table_name(file: str) -> str:
    """What a table is called: as its file without the ending, or as on its server without the schema."""
    if "://" in file:
        return file.rpartition("::")[2].rpartition(".")[2]
    return Path(file).name.partition(".")[0]


def _remote_columns(sources: Mapping[str, str]) -> dict[str, Mapping[str, Stored]] | None:
    """The columns of tables on one server; None for files."""
    remote = {name: read_source(source) for name, source in sources.items() if "://" in source}
    if not remote:
        return None
    place = engine_of(sources.values())  # all in one place, or refused
    if not isinstance(place, RemoteEngine):
        raise BadParameter("files", "an address", "must be files here, or tables such as postgresql://host/db::table")
    engine = open_remote(place, _SECONDS)
    return {name: engine.columns(table.table) for name, table in remote.items() if table is not None}


def propose_unit(tables: Mapping[str, Mapping[str, Stored]]) -> str:
    """The likeliest unit: a column that all tables have and whose name suggests a person; empty if none does.

    >>> stored = {"visit_id": Stored(StoredKind.INTEGER), "patient_id": Stored(StoredKind.INTEGER)}
    >>> propose_unit({"visits": stored})
    'patient_id'
    """
    shared = [
        name
        for name in next(iter(tables.values()))
        if all(name in other and _may_be_unit(name, other[name].kind) for other in tables.values())
    ]

    def rank(name: str) -> tuple[bool, bool, int]:
        low = name.lower()
        return not any(word in low for word in _LIKELY), not low.endswith("id"), shared.index(name)

    best = min(shared, key=rank, default="")
    return best if best and rank(best)[:2] != (True, True) else ""


def _may_be_unit(name: str, kind: StoredKind) -> bool:
    """Whole numbers and text; of floats, which whole numbers with gaps become, those that are called an id."""
    return kind in _UNITS or (kind is StoredKind.REAL and name.lower().endswith("id"))


def write_config(  # noqa: PLR0917 - one line of the file each
    dataset: str,
    sources: Mapping[str, str],
    tables: Mapping[str, Mapping[str, Stored]],
    unit: str,
    root: Path,
    epsilon: str,
    delta: str,
) -> str:
    """The text of a curator.toml."""
    lines = [
        "[server]",
        f"data = {_quoted(str(root))}",
        'ledger = "curator.ledger"',
        "quantum = 0.25    # replies to queries leave on multiples of this many seconds",
        "",
        f"[datasets.{_key(dataset)}]",
        'protects = "one person"    # whom the unit stands for, in words',
        f"budget = {{epsilon = {_quoted(epsilon)}, delta = {_quoted(delta)}}}",
    ]
    for name, columns in tables.items():
        lines += [
            "",
            f"[datasets.{_key(dataset)}.tables.{_key(name)}]",
            f"source = {_quoted(sources[name])}",
            f"unit = {_quoted(unit)}"
            if unit in columns
            else "# unit = ...    # the column that identifies the person (privacy unit) of each row",
            'max_rows = "auto"    # rows of one person that count: each query chooses; or a number, if you know one',
            "# What is known of the columns without looking at the data: it makes answers better. Where there is none,",
            "# each query chooses bounds and groups within its own privacy cost.",
            *(_column(column, stored) for column, stored in columns.items() if column != unit),
        ]
    return "\n".join([*lines, ""])


def _column(name: str, stored: Stored) -> str:
    column = f"# columns.{_key(name)} ="
    if stored.untyped:
        return f'{column} {{bounds = [0, 100]}}    # numbers; or bounds = ["2025-01-01", "2025-12-31"], or keys = [..]'
    match stored.kind:
        case StoredKind.INTEGER:
            return f"{column} {{bounds = [0, 100]}}    # integers: bounds, or keys = [1, 2, 3]"
        case StoredKind.DECIMAL | StoredKind.REAL:
            return f"{column} {{bounds = [0, 100]}}    # numbers"
        case StoredKind.TEXT:
            return f'{column} {{keys = ["...", "..."]}}    # text: a public list of keys'
        case StoredKind.DATE:
            return f'{column} {{bounds = ["2025-01-01", "2025-12-31"]}}    # dates'
        case StoredKind.TIMESTAMP:
            return f'{column} {{bounds = ["2025-01-01", "2025-12-31"]}}    # times; to the end of the last day'
        case StoredKind.TIME:
            return f"# {_key(name)}: times of day, nothing to declare"
        case _ if stored.element is not None:
            return f'{column} {{keys = ["...", "..."]}}    # lists, for UNNEST: a public list of their elements'
        case StoredKind.BOOLEAN:
            return f"# {_key(name)}: true or false, nothing to declare"
        case _:
            return f"# {_key(name)}: stored in a way that cannot be asked about"


def _quoted(text: str) -> str:
    """A text of TOML. Names come from files: nothing in them may end a line or a comment."""
    plain = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(plain)}"'


def _key(name: str) -> str:
    plain = name.replace("_", "a").replace("-", "a")
    return name if plain.isascii() and plain.isalnum() else _quoted(name)
