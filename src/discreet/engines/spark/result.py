"""What Spark sent back, as exact integers and plain keys; anything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.sql.emit import Statement
from discreet.engines.sql.grouping_sets import arrow_places, read_sets, used_keys
from discreet.engines.sql.results import checked, integers
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def fetch(work: AnyWork, statement: Statement, session: SparkSession) -> Exact:
    """Run the statement; its keys and numbers."""
    return exact(work, statement, frame_of(statement, session).toArrow())


def fetch_sets(work: GroupingSets, statement: Statement, session: SparkSession) -> tuple[Cells, ...]:
    """Run the statement of many sets; the numbers of each."""
    columns = [*(name for name, _ in statement.keys), "CAST(n0 AS BIGINT) AS n0"]
    table = session.sql(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t").toArrow()
    keys = [arrow_places(table.column(f"k{i}"), work.keys[i].allowed or ()) for i in used_keys(work)]
    return read_sets(work, keys, np.asarray(table.column("n0").to_numpy(), dtype=np.int64))


def frame_of(statement: Statement, session: SparkSession) -> DataFrame:
    """The rows of a statement; nothing is computed. A number that 64 bits cannot hold comes as text."""
    columns = [name for name, _ in statement.keys]
    for i in range(statement.cells):
        columns.append(f"TRY_CAST(n{i} AS BIGINT) AS n{i}")
        columns.append(f"CASE WHEN TRY_CAST(n{i} AS BIGINT) IS NULL THEN CAST(n{i} AS STRING) END AS t{i}")
    return session.sql(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t")


def exact(work: AnyWork, statement: Statement, table: pa.Table) -> Exact:
    """Rows as keys and numbers."""
    keys = [table.column(name).to_pylist() for name, _ in statement.keys]
    numbers = [numbers_of(table.column(f"n{i}"), table.column(f"t{i}")) for i in range(statement.cells)]
    return checked(work, statement, keys, numbers, table.num_rows)


def numbers_of(short: Any, long: Any) -> NDArray[Any]:
    """Exact integers from two columns: those of 64 bits, and texts of the others."""
    if short.null_count == 0:
        return np.asarray(short.to_numpy(), dtype=np.int64)
    pairs = zip(short.to_pylist(), long.to_pylist(), strict=True)
    return integers([int(text) if number is None else number for number, text in pairs])
