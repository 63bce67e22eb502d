"""Private copies of the tables of a session, sorted by unit: where they lie, and when they are made again.

Promise: copies are for their owner alone. Without a folder they are removed when nobody uses them any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.prepared import keep_copy, private_folder
from discreet.errors import BadParameter, Unsupported
from discreet.query.engine import Engine
from discreet.query.plan.schema import EACH_ROW, Schema


def prepared_copies(
    engine: Engine, schemas: Mapping[str, Schema], tables: Sequence[str], folder: str | PathLike[str] | None
) -> dict[str, Any]:
    """The sources of the copies by table: all private tables, unless some are named."""
    if not isinstance(engine, DuckDB):
        raise Unsupported(f"a prepared copy for {engine.name}", "its tables lie on a server: make a sorted table there")
    for name in tables:
        if name not in schemas or schemas[name].table.public:
            private = [one for one, schema in schemas.items() if not schema.table.public]
            raise BadParameter("table", name, f"must be one of {', '.join(private)}")
    chosen = tables or [name for name, schema in schemas.items() if not schema.table.public]
    place = private_folder(engine) if folder is None else fspath(folder)
    return {
        name: keep_copy(
            schemas[name].table.source, place, re.sub(r"\W", "_", name), unit=_own_unit(schemas[name].table.unit)
        )
        for name in chosen
    }


def _own_unit(unit: str | None) -> str | None:
    """The column of the table itself: of "visit_id -> visits.id", the first part."""
    return None if unit in (None, EACH_ROW) else str(unit).partition("->")[0].strip()
