"""Results with very many groups: written once to a folder, then read piece by piece.

Promise: a result is computed and written once, before any of it is read; Spark commits each of its tasks once, whatever
it ran twice. What is written is private, and removed at the end.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.engines.spark.noise import with_noise
from discreet.engines.spark.result import exact, frame_of
from discreet.engines.sql.emit import Statement
from discreet.errors import EngineFailed
from discreet.query.engine import Naming
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, Exact

if TYPE_CHECKING:
    from pyarrow import fs
    from pyspark.sql import Column, DataFrame, SparkSession

LOG = logging.getLogger("discreet.engines")
BATCH = 50_000
"""Groups that are Python objects at one time."""
_COMMIT = "mapreduce.fileoutputcommitter.algorithm.version"
Run = Callable[[Callable[[], Any]], Any]


def stream(
    work: AnyWork, statement: Statement, session: SparkSession, staging: str | None, run: Run
) -> Iterator[Exact]:
    """Run the statement once, then its rows in batches. ``staging``: "" is a folder of our own, None is no folder."""
    frame = frame_of(statement, session)
    if staging is None:
        whole = run(frame.toArrow)
        for start in range(0, whole.num_rows, BATCH):
            yield exact(work, statement, whole.slice(start, BATCH))
        return
    with _folder(staging) as folder:
        run(lambda: folder.write(frame, "exact"))
        yield from folder.read(work, statement, "exact")


class Held:
    """The groups of one work, written once and exact, until their noise is due, or the names that others gave them.

    The noise is drawn by a second job, which reads what the first wrote, and writes what gets a name, once.
    """

    def __init__(
        self,
        work: AnyWork,
        statement: Statement,
        staging: str,
        settled: Callable[[], AbstractContextManager[SparkSession]],
        run: Run,
    ) -> None:
        self._work, self._statement, self._settled, self._run = work, statement, settled, run
        self._kept = ExitStack()
        self._folder = self._kept.enter_context(_folder(staging))
        try:
            with settled() as session:
                frame = frame_of(statement, session)
                self._schema = frame.schema
                run(lambda: self._folder.write(frame, "exact"))
        except BaseException:
            self.close()
            raise

    def named(self, rule: Naming) -> Iterator[Exact]:
        """The groups that get a name."""
        return self._chosen(lambda rows: with_noise(rows, rule))

    def of(self, groups: Sequence[tuple[Value, ...]]) -> Iterator[Exact]:
        """The rows of these groups, exact."""
        return self._chosen(lambda rows: rows.join(*self._among(rows, groups), "left_semi"))

    def _chosen(self, choose: Callable[[DataFrame], DataFrame]) -> Iterator[Exact]:
        """Rows chosen on the executors, written once, and read when all of them are there."""
        try:
            with self._settled() as session:
                rows = session.read.schema(self._schema).parquet(self._folder.uri("exact"))
                self._run(lambda: self._folder.write(choose(rows), "chosen"))
            yield from self._folder.read(self._work, self._statement, "chosen")
            return
        except Exception as error:
            LOG.error("Spark could not finish: %s", type(error).__name__)
        raise EngineFailed

    def _among(self, rows: DataFrame, groups: Sequence[tuple[Value, ...]]) -> tuple[DataFrame, list[Column]]:
        """The groups as a frame, and how rows find theirs: NULL is a key like others."""
        import pyarrow as pa  # heavy, and other engines do without it
        from pyspark.sql.pandas.types import to_arrow_schema

        names = [name for name, _ in self._statement.keys[: len(self._work.keys)]]
        kinds = rows.select(*names).schema
        columns = zip(*groups, strict=True) if groups else [()] * len(names)
        listed = pa.table([list(column) for column in columns], schema=to_arrow_schema(kinds))
        wanted = rows.sparkSession.createDataFrame(listed, schema=kinds)
        return wanted, [rows[name].eqNullSafe(wanted[name]) for name in names]

    def close(self) -> None:
        """Remove all files. If that fails the owner's log says so: an answer that was paid for is not lost by it."""
        try:
            self._kept.close()
        except Exception as error:
            LOG.error("staged files could not be removed: %s", type(error).__name__)


class _Folder(NamedTuple):
    """A folder: its address for Spark, and how this process reaches it."""

    address: str
    system: fs.FileSystem
    path: str

    def uri(self, name: str) -> str:
        return f"{self.address}/{name}"

    def write(self, frame: DataFrame, name: str) -> None:
        """Once: it fails if there is anything. A task's file counts when the task is committed, and a task is committed
        once; all of them appear together at the end (algorithm 1: in 2, those of a job that fails would be seen).
        """
        frame.write.mode("error").option(_COMMIT, "1").parquet(self.uri(name))

    def read(self, work: AnyWork, statement: Statement, name: str) -> Iterator[Exact]:
        import pyarrow as pa  # heavy, and other engines do without it
        import pyarrow.dataset as ds

        rows = ds.dataset(f"{self.path}/{name}", filesystem=self.system, format="parquet")
        for batch in rows.to_batches(batch_size=BATCH, batch_readahead=1, fragment_readahead=1, use_threads=False):
            yield exact(work, statement, pa.Table.from_batches([batch]))


@contextmanager
def _folder(staging: str) -> Iterator[_Folder]:
    """A new folder for one result, below the given one. It is removed at the end."""
    from pyarrow import fs

    own = None if staging else tempfile.mkdtemp(prefix="discreet-")  # nobody else may read it
    root = f"file://{own}" if own else staging.rstrip("/")
    uri = f"{root if '://' in root else f'file://{root}'}/{secrets.token_hex(16)}"
    system, path = fs.FileSystem.from_uri(uri)
    try:
        yield _Folder(uri, system, path)
    finally:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)
        elif system.get_file_info(path).type is not fs.FileType.NotFound:
            system.delete_dir(path)
