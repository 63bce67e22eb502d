"""What Spark sent back, as exact integers and plain keys; anything else is refused."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.emit import Statement
from discreet.engines.results import checked, integers
from discreet.table.work import AnyWork, Exact

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs
    from pyspark.sql import DataFrame, SparkSession

BATCH = 50_000
"""Groups that are Python objects at one time."""


def fetch(work: AnyWork, statement: Statement, session: SparkSession) -> Exact:
    """Run the statement; its keys and numbers."""
    return exact(work, statement, _frame(statement, session).toArrow())


def stream(
    work: AnyWork,
    statement: Statement,
    session: SparkSession,
    staging: str | None,
    run: Callable[[Callable[[], Any]], Any],
) -> Iterator[Exact]:
    """Run the statement once, then its rows in batches. ``staging``: "" is a folder of our own, None is no folder."""
    frame = _frame(statement, session)
    if staging is None:
        whole = run(frame.toArrow)
        for start in range(0, whole.num_rows, BATCH):
            yield exact(work, statement, whole.slice(start, BATCH))
        return
    import pyarrow as pa  # heavy, and other engines do without it
    import pyarrow.dataset as ds

    with _folder(staging) as (uri, system, path):
        run(lambda: frame.write.mode("errorifexists").parquet(uri))
        rows = ds.dataset(path, filesystem=system, format="parquet")
        for batch in rows.to_batches(batch_size=BATCH, batch_readahead=1, fragment_readahead=1, use_threads=False):
            yield exact(work, statement, pa.Table.from_batches([batch]))


@contextmanager
def _folder(staging: str) -> Iterator[tuple[str, fs.FileSystem, str]]:
    """A new folder for one result, below the given one: its address, and how we reach it. It is removed at the end."""
    from pyarrow import fs

    own = None if staging else tempfile.mkdtemp(prefix="discreet-")  # nobody else may read it
    root = f"file://{own}" if own else staging.rstrip("/")
    uri = f"{root if '://' in root else f'file://{root}'}/{secrets.token_hex(16)}"
    system, path = fs.FileSystem.from_uri(uri)
    try:
        yield uri, system, path
    finally:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)
        elif system.get_file_info(path).type is not fs.FileType.NotFound:
            system.delete_dir(path)


def _frame(statement: Statement, session: SparkSession) -> DataFrame:
    """A number that 64 bits cannot hold comes as text."""
    columns = [name for name, _ in statement.keys]
    for i in range(statement.cells):
        columns.append(f"TRY_CAST(n{i} AS BIGINT) AS n{i}")
        columns.append(f"CASE WHEN TRY_CAST(n{i} AS BIGINT) IS NULL THEN CAST(n{i} AS STRING) END AS t{i}")
    return session.sql(f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t")


def exact(work: AnyWork, statement: Statement, found: pa.Table) -> Exact:
    """Rows as keys and numbers."""
    keys = [found.column(name).to_pylist() for name, _ in statement.keys]
    numbers = [_numbers(found.column(f"n{i}"), found.column(f"t{i}")) for i in range(statement.cells)]
    return checked(work, statement, keys, numbers, found.num_rows)


def _numbers(short: Any, long: Any) -> NDArray[Any]:
    if short.null_count == 0:
        return np.asarray(short.to_numpy(), dtype=np.int64)
    pairs = zip(short.to_pylist(), long.to_pylist(), strict=True)
    return integers([int(text) if number is None else number for number, text in pairs])
