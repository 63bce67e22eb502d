"""Private copies of the tables of a session, sorted by unit: where they lie, what they keep, when they are made again.

Promise: copies are for their owner alone. Without a folder they are removed when nobody uses them any more. What they
keep beside the rows follows from what is declared of the tables: no value decides it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from os import PathLike, fspath
from typing import Any, Protocol

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.prepared import keep_copy, private_folder
from discreet.errors import BadParameter, DiscreetError, Unsupported
from discreet.exact import Number
from discreet.query.engine import Engine
from discreet.query.plan.names import quoted
from discreet.query.plan.schema import EACH_ROW, Schema
from discreet.query.plan.work import Work
from discreet.query.run import Quote, works_of

_MOST = 8
"""Of a table, so many keys and so many numbers are prepared for."""
_OF_NUMBERS = (
    "SUM({0})", "AVG({0})", "COUNT(*), SUM({0}), AVG({0})", "MEDIAN({0})",
    "QUANTILE({0}, 0.25), MEDIAN({0}), QUANTILE({0}, 0.75)",
)  # fmt: skip
_SALT = "0" * 32


class _Asked(Protocol):
    def quote(self, *, epsilon: Number) -> Quote: ...


def usual_works(sql: Callable[[str], _Asked], name: str, schema: Schema) -> tuple[Work, ...]:
    """What an engine computes for the usual questions about a table: by one key or none, of one number or none.

    ``sql`` is that of a session; no data is touched, and nothing is paid.
    """
    needed: dict[Work, None] = {}
    for text in _usual_questions(name, schema):
        with suppress(DiscreetError):  # a question that is refused is not usual
            works = works_of(sql(text).quote(epsilon="1/1000"), _SALT)
            needed |= dict.fromkeys(work for work in works if isinstance(work, Work))
    return tuple(needed)


def _usual_questions(name: str, schema: Schema) -> Iterator[str]:
    declared = schema.table.columns
    keys = [quoted(name) for name, how in declared.items() if how.keys is not None or how.unknown][:_MOST]
    numbers = [quoted(name) for name, how in declared.items() if isinstance(how.low, Fraction)][:_MOST]
    unit = _own_unit(schema.table.unit)
    for key in ("", *keys):
        counts = ["COUNT(*)", *([] if unit is None else [f"COUNT(DISTINCT {quoted(unit)})"])]
        of_numbers = [text.format(number) for number in numbers for text in _OF_NUMBERS]
        for select in [*counts, *(of_numbers if key in ("", *keys[:1]) else [])]:
            picked = f"SELECT {key}, {select}" if key else f"SELECT {select}"
            yield f"{picked} FROM {quoted(name)}" + (f" GROUP BY {key}" if key else "")


def prepared_copies(
    engine: Engine,
    schemas: Mapping[str, Schema],
    tables: Sequence[str],
    folder: str | PathLike[str] | None,
    sql: Callable[[str], _Asked],
) -> dict[str, Any]:
    """The sources of the copies by table: all private tables, unless some are named."""
    if not isinstance(engine, DuckDB):
        raise Unsupported(f"a prepared copy for {engine.name}", "its tables lie on a server: make a sorted table there")
    for name in tables:
        if name not in schemas or schemas[name].table.public:
            private = [name for name, schema in schemas.items() if not schema.table.public]
            raise BadParameter("table", name, f"must be one of {', '.join(private)}")
    chosen = tables or [name for name, schema in schemas.items() if not schema.table.public]
    place = private_folder(engine) if folder is None else fspath(folder)
    sources = {}
    for name in chosen:
        table, works = schemas[name].table, usual_works(sql, name, schemas[name])
        file = re.sub(r"\W", "_", name)
        sources[name] = keep_copy(table.source, place, file, unit=_own_unit(table.unit), works=works)
    return sources


def _own_unit(unit: str | None) -> str | None:
    """The column of the table itself: of "visit_id -> visits.id", the first part."""
    return None if unit in (None, EACH_ROW) else str(unit).partition("->")[0].strip()
