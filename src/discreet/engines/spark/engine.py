"""Spark: the data stays on its cluster, which does all the work up to the exact sums.

Promise: of the data nothing leaves the cluster but bounded sums by group, to this process alone. They are exact
integers (BIGINT and DECIMAL(38, 0)), the same as those of every other engine. Errors never hold Spark's messages.
Whatever Spark computes again (a lost executor, a second attempt) is the same integers again. Noise is drawn after them,
in this process; or, for keys that nobody listed, on the executors that have the groups (noise.py).
A session that was given is used as it is: the settings on which exactness rests are made while a question runs, and
its own come back; our views have names of their own and go away.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from discreet.engines.spark.noise import able
from discreet.engines.spark.result import fetch, fetch_sets
from discreet.engines.spark.source import Source, describe, files_of, frame_of
from discreet.engines.spark.staging import Held, stream
from discreet.engines.sql.dialects import SPARK
from discreet.engines.sql.emit import Statement, emit
from discreet.engines.sql.grouping_sets import emit_sets
from discreet.engines.sql.reading import read_id
from discreet.engines.sql.relations import Origin, scanned
from discreet.engines.unchanged import check_unchanged
from discreet.errors import (
    BadData,
    BadParameter,
    DiscreetError,
    EngineFailed,
    EngineUnreachable,
    MissingExtra,
    Unsupported,
)
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Cells, Exact, GroupingSets, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
LOG = logging.getLogger("discreet.engines")
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",  # moments with a zone are read as UTC
    "spark.sql.timestampType": "TIMESTAMP_NTZ",  # moments of frames and files without a zone are not moved
    "spark.sql.ansi.enabled": "true",  # no sum wraps around
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",  # a backslash in a literal is an escape
    "spark.sql.variable.substitute": "false",  # a text such as "${env:HOME}" is that text, not a secret of the machine
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",  # days that are staged are read as they were
}
_NO_EXCEPTION = tuple(
    f"spark.sql.{of}RebaseModeInRead" for of in ("parquet.datetime", "parquet.int96", "avro.datetime")
)
"""How days before 1582 are read in files of old writers; with EXCEPTION one such day would fail a question."""
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_CONNECT = "sc://"
_RETRIES = 3
"""How often a server of Spark Connect that is away is tried again: within two seconds."""
_TOGETHER = 2
"""How many works of one question run at a time: the plan of one is made while another is computed."""
_LOCKS: WeakKeyDictionary[Any, RLock] = WeakKeyDictionary()
"""Two engines over one session take turns, since its settings are shared."""


class Spark:
    """Made by ``spark()``."""

    def __init__(
        self,
        session: SparkSession | None,
        master: str,
        settings: Mapping[str, str],
        staging: str | None,
        patience: float,
        *,
        deadline: float | None,
        heavy_units: bool,
        noise_on_executors: bool | None,
    ) -> None:
        self._session = session
        self._master = master
        self._given = dict(settings)
        self._staging = staging
        self._patience = patience
        self._deadline = deadline
        self._dialect = replace(SPARK, gather="") if heavy_units else SPARK
        self._wanted = noise_on_executors
        self._able: bool | None = None
        self._known: dict[object, tuple[Source, Origin]] = {}

    @property
    def name(self) -> str:
        """What it is called."""
        return "spark"

    def ready(self) -> None:
        """Raise ``EngineUnreachable`` if Spark does not compute anything now: a task must run on some executor."""
        try:
            session = self._spark()
            self._tagged(session, lambda: session.range(0, 1, 1, 1).collect(), patience=self._patience)
        except DiscreetError:
            raise
        except Exception as error:
            failed = type(error).__name__
        else:
            return
        LOG.error("Spark does not answer: %s", failed)
        raise EngineUnreachable("Spark")

    def check(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
        """Find out, before the payment, where noise can be drawn; ``Unsupported`` if it cannot be where it must.

        Sources are opened again, with the files that are there now: ``BadData`` if one is gone or has other columns.
        """
        check_unchanged(works, schemas, self.columns)
        if any(isinstance(work, Work) and work.most_keys is not None for work in works):
            self._draws()

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of a source's columns; ``BadData`` if it cannot be opened."""
        self._open_again(source)
        return dict(self._open(source)[1].stored)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        """The exact numbers of each work. An interruption from the keyboard also ends our jobs on the cluster."""
        try:
            with self._shown(works, schemas) as (session, statements):
                pairs = zip(works, statements, strict=True)
                jobs = (partial(fetch, *pair, session) for pair in pairs)
                return self._tagged(session, *jobs, patience=self._deadline)
        except Exception as error:  # whatever it is, nobody learns more than that it failed
            LOG.error("Spark could not finish: %s", type(error).__name__)
        raise EngineFailed

    def grouping_sets(self, work: GroupingSets, schemas: Mapping[str, Schema]) -> tuple[Cells, ...]:
        """The numbers of each set of keys, in one pass."""
        try:
            with self._tables([work], schemas) as (session, origins):
                statement = emit_sets(work, self._dialect, origins)
                return self._alone(session, lambda: fetch_sets(work, statement, session), self._deadline)
        except Exception as error:
            LOG.error("Spark could not finish: %s", type(error).__name__)
        raise EngineFailed

    def smallest_hashes(self, source: object, column: str, most: int) -> list[str]:
        """The smallest hashes (MD5) of the distinct values of a column as text: for the owner, never an answer."""
        view, origin = self._open(source)
        value = f"md5(CAST(CAST({read_id(column, origin.stored, self._dialect)} AS STRING) AS BINARY))"
        text = f"SELECT DISTINCT {value} AS h FROM {origin.sql} AS t ORDER BY h NULLS LAST LIMIT {most:d}"
        try:
            with self._registered([view]) as session:
                rows = self._alone(session, session.sql(text).collect, self._deadline)
                return [str(row["h"]) for row in rows if row["h"]]
        except Exception as error:
            LOG.error("Spark could not finish: %s", type(error).__name__)
        raise EngineFailed

    def batches(self, work: AnyWork, schemas: Mapping[str, Schema]) -> Iterator[Exact]:
        """The exact numbers of one work with any number of groups, some thousands of groups at a time.

        They are computed once, before the first batch: written to the staging folder if there is one, which is emptied
        at the end. Each group is in one batch.
        """
        try:
            with self._shown([work], schemas) as (session, (statement,)):
                yield from stream(work, statement, session, self._folder(session), partial(self._alone, session))
                return
        except Exception as error:
            LOG.error("Spark could not finish: %s", type(error).__name__)
        raise EngineFailed

    def staged(self, work: AnyWork, schemas: Mapping[str, Schema]) -> Held | None:
        """The exact numbers of one work, kept until executors draw their noise; None where this process draws it."""
        if not self._draws():
            return None
        try:
            with self._shown([work], schemas) as (session, (statement,)):
                staging = self._folder(session)
                assert staging is not None  # noqa: S101
                return Held(work, statement, staging, self._settled, partial(self._alone, session))
        except Exception as error:
            LOG.error("Spark could not finish: %s", type(error).__name__)
        raise EngineFailed

    # --- where noise is drawn -----------------------------------------------------------------------------------------

    def _folder(self, session: SparkSession) -> str | None:
        """Where results are staged: "" is a folder of our own, None is nowhere."""
        return self._staging or ("" if _here(session) else None)

    def _draws(self) -> bool:
        """Whether executors draw noise: by default, those of a cluster do if they can. Determined once."""
        if self._able is None:
            session = self._spark()
            wanted = not _here(session) if self._wanted is None else self._wanted
            run = partial(self._alone, session, patience=self._patience)
            self._able = wanted and self._folder(session) is not None and able(session, run)
        if self._wanted and not self._able:
            raise Unsupported(
                "noise on the executors",
                "they need the same discreet and Python as this process, a staging folder, and spark.speculation off; "
                "or leave out noise_on_executors, and this process draws it",
            )
        return self._able

    def _alone(self, session: SparkSession, job: Callable[[], T], patience: float | None = None) -> T:
        return self._tagged(session, job, patience=patience)[0]

    # --- sessions and sources -----------------------------------------------------------------------------------------

    def _spark(self) -> SparkSession:
        if self._session is None:
            self._session = start(self._master, self._given)
        quiet()
        return self._session

    @contextmanager
    def _settled(self) -> Iterator[SparkSession]:
        """The session with the settings on which exactness rests; its own come back afterwards."""
        session = self._spark()
        with _LOCKS.setdefault(session, RLock()):
            wanted = dict(_SETTINGS)
            wanted |= {name: "CORRECTED" for name in _NO_EXCEPTION if _raises(session.conf.get(name, None))}
            others = [name for name, value in wanted.items() if session.conf.get(name) != value]
            before = {name: session.conf.get(name, None) for name in others}
            try:
                for name in others:
                    session.conf.set(name, wanted[name])
                yield session
            finally:
                for name, old in before.items():
                    session.conf.unset(name) if old is None else session.conf.set(name, old)

    @contextmanager
    def _shown(
        self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]
    ) -> Iterator[tuple[SparkSession, list[Statement]]]:
        """The statements of the works, while the sources have the names that they use."""
        with self._tables(works, schemas) as (session, origins):
            yield session, [emit(work, self._dialect, origins) for work in works]

    @contextmanager
    def _tables(
        self, works: Sequence[AnyWork | GroupingSets], schemas: Mapping[str, Schema]
    ) -> Iterator[tuple[SparkSession, dict[str, Origin]]]:
        names = {name for work in works for name in scanned(work.source)}
        opened = {name: self._open(schemas[name].table.source) for name in names}
        with self._registered([source for source, _ in opened.values()]) as session:
            yield session, {name: origin for name, (_, origin) in opened.items()}

    @contextmanager
    def _registered(self, sources: Sequence[Source]) -> Iterator[SparkSession]:
        """The settled session, while the sources have their names.

        The user's own DataFrames get theirs under the settings of the user's session, so that they mean what they mean.
        """
        session = self._spark()
        with _LOCKS.setdefault(session, RLock()):
            try:
                for source in sources:
                    if source.is_given:
                        source.register()
                with self._settled():
                    for source in sources:
                        if not source.is_given:
                            source.register()
                    yield session
            finally:
                for source in sources:
                    source.unregister(session)

    def _files(self, view: Source) -> frozenset[str]:
        """The files that a DataFrame reads now, under the settings of the user's session."""
        session = self._spark()
        with _LOCKS.setdefault(session, RLock()):
            view.register()
            try:
                return files_of(view.frame, view.name, session)
            finally:
                view.unregister(session)

    def _open_again(self, source: object) -> None:
        """Forget what may have changed: tables and files by name, and the files below a DataFrame."""
        kept = self._known.get(_identity(source))
        if kept is None or not (kept[0].is_given or isinstance(_identity(source), str)):
            return
        if not kept[0].is_given:
            del self._known[_identity(source)]
            return
        try:
            files = self._files(kept[0])
        except Exception as error:
            LOG.error("Spark could not list the files of a source: %s", type(error).__name__)
            files = frozenset()
            self.ready()  # or the server is away
        if not kept[0].files <= files:
            raise BadData("files of this DataFrame are gone; nothing was spent. Make it and the session again")

    def _open(self, source: object) -> tuple[Source, Origin]:
        key = _identity(source)
        if key not in self._known:
            if self._session is None:
                self._session = getattr(source, "sparkSession", None)
            try:
                with self._settled() as session:
                    frame = frame_of(source, session)
                view = Source(frame, f"discreet_{secrets.token_hex(8)}", source)
                with self._registered([view]) as session:
                    origin = describe(view, session)
                if view.is_given:
                    view = replace(view, files=self._files(view))
            except DiscreetError:
                raise
            except Exception as error:
                LOG.error("Spark could not open a source: %s", type(error).__name__)
                origin = None
            if origin is None:
                self.ready()  # or the server is away
                raise BadData("the source must be a DataFrame of Spark, a table that it knows, or Parquet or CSV files")
            self._known[key] = view, origin
        return self._known[key]

    def _tagged(self, session: SparkSession, *jobs: Callable[[], T], patience: float | None = None) -> tuple[T, ...]:
        """Run the jobs, some at a time. If one fails, or somebody interrupts, our jobs end and nobody else's."""
        tag = f"discreet-{secrets.token_hex(8)}"

        def tagged(job: Callable[[], T]) -> T:
            session.addTag(tag)
            try:
                return job()
            finally:
                session.removeTag(tag)

        pool = ThreadPoolExecutor(_TOGETHER)
        end = None if patience is None else time.monotonic() + patience
        try:
            futures = [pool.submit(tagged, job) for job in jobs]
            return tuple(future.result(None if end is None else max(0, end - time.monotonic())) for future in futures)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            try:
                session.interruptTag(tag)
            except Exception as other:
                LOG.error("Spark could not cancel: %s", type(other).__name__)
            if isinstance(error, TooLate):
                raise EngineUnreachable("Spark") from None
            raise
        finally:
            pool.shutdown(wait=False)


def _raises(mode: str | None) -> bool:
    return (mode or "").upper() == "EXCEPTION"


def _identity(source: object) -> str | int:
    """Equal names and paths are one source; of frames, only the same object is."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else id(source)


def _here(session: SparkSession) -> bool:
    """Whether all of Spark runs on this machine, as this user."""
    master = session.conf.get("spark.master", "") or ""
    return master.startswith("local[") and "connect" not in type(session).__module__


def quiet() -> None:
    """PySpark warns about versions of pandas newer than it knows; nothing here uses pandas."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


def start(master: str, settings: Mapping[str, str]) -> Any:
    """A session of our own."""
    quiet()
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("Spark engines", extra="spark") from None
    remote = master.startswith(_CONNECT)
    builder = SparkSession.builder
    builder = builder.remote(master) if remote else builder.master(master).appName("discreet")
    for name, value in {**({} if remote else _QUIET), **settings}.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
        if remote:  # by itself it tries for ten minutes
            from pyspark.sql.connect.client.retries import DefaultPolicy

            session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
            session.range(1).schema  # noqa: B018 - it connects here
        return session
    except ImportError:
        how = "must have the client of Spark Connect on this machine: pip install 'pyspark[connect]'"
        raise BadParameter("master", "sc://...", how) from None
    except Exception as error:
        failed = type(error).__name__
    LOG.error("Spark could not start: %s", failed)
    raise EngineUnreachable("Spark" if remote else "Spark (which needs Java 17 or newer)")


def spark(
    session: SparkSession | None = None,
    *,
    master: str = "local[2]",
    settings: Mapping[str, str] | None = None,
    staging: str | None = None,
    patience: float = 120,
    deadline: float | None = None,
    heavy_units: bool = False,
    noise_on_executors: bool | None = None,
) -> Spark:
    """Tables, DataFrames and files of Spark 4: of a session that is there (a cluster, say), or of a new one.

    Sources are a Spark DataFrame, the name of a table ("shop.orders"), or a path of Parquet or CSV files. ``master``
    ("spark://host:7077", or "sc://host:15002" for Spark Connect) and ``settings`` are for a session of our own, which
    starts at its first use. ``staging`` is a folder that the
    cluster and this process can both reach, for keys that nobody listed: with it, millions of groups pass through this
    process batch by batch. What is written there is private; it is removed at the end. A cluster that runs no task
    within ``patience`` seconds counts as unreachable. Jobs of a question that take longer than ``deadline`` seconds are
    ended; it stays paid. ``heavy_units``: one unit may have a large share of all rows (a
    default id, say); then rows are summed before they move, which is slower otherwise. ``noise_on_executors``: with a
    staging folder, the executors of a cluster draw the noise of keys that nobody listed, and only groups that get a
    name come here; where they cannot, this process draws it. True insists on the executors, False on this process.
    """
    if session is not None and not hasattr(session, "sql"):
        raise BadParameter("session", session, "must be a SparkSession, or left out")
    if not isinstance(master, str) or not master:
        raise BadParameter("master", master, 'must be such as "local[2]", "spark://host:7077" or "sc://host:15002"')
    if staging is not None and (not isinstance(staging, str) or not staging):
        raise BadParameter("staging", staging, "must be a folder, or left out")
    if not isinstance(patience, (int, float)) or not patience > 0:
        raise BadParameter("patience", patience, "must be a number of seconds")
    if deadline is not None and (not isinstance(deadline, (int, float)) or not deadline > 0):
        raise BadParameter("deadline", deadline, "must be a number of seconds, or left out")
    if noise_on_executors is not None and not isinstance(noise_on_executors, bool):
        raise BadParameter("noise_on_executors", noise_on_executors, "must be True, False, or left out")
    return Spark(
        session,
        master,
        settings or {},
        staging,
        patience,
        deadline=deadline,
        heavy_units=heavy_units,
        noise_on_executors=noise_on_executors,
    )
