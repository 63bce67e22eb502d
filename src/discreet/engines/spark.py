"""Spark: the data stays on its cluster, which does all the work up to the exact sums.

Promise: of the data nothing leaves the cluster but bounded sums by group, to this process alone. They are exact
integers (BIGINT and DECIMAL(38, 0)), the same as those of every other engine. Errors never hold what Spark says.
A session that was given is used as it is: its time zone is UTC only while a question runs, and its views keep their
names.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from discreet.engines.dialects import SPARK
from discreet.engines.emit import emit
from discreet.engines.relations_sql import Origin, scanned
from discreet.engines.spark_result import fetch
from discreet.engines.spark_source import Source, describe, frame_of, read_as
from discreet.errors import BadData, BadParameter, DiscreetError, EngineFailed, EngineUnreachable, MissingExtra
from discreet.table.schema import Schema, Stored
from discreet.table.work import AnyWork, Exact

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("discreet.engines")
_ZONE = "spark.sql.session.timeZone"
_ANSI = "spark.sql.ansi.enabled"
_SETTINGS = {_ZONE: "UTC", _ANSI: "true"}
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


class Spark:
    """Made by ``spark()``."""

    def __init__(self, session: SparkSession | None, master: str, settings: Mapping[str, str]) -> None:
        self._session = session
        self._master = master
        self._given = dict(settings)
        self._lock = Lock()
        self._known: dict[object, tuple[Source, Origin]] = {}

    @property
    def name(self) -> str:
        """What it is called."""
        return "spark"

    def ready(self) -> None:
        """Raise ``EngineUnreachable`` if Spark cannot be reached now."""
        try:
            self._spark().sql("SELECT 1").collect()
        except DiscreetError:
            raise
        except Exception as error:
            failed = type(error).__name__
        else:
            return
        LOG.error("Spark does not answer: %s", failed)
        raise EngineUnreachable("Spark")

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of a source's columns; ``BadData`` if it cannot be opened."""
        return dict(self._open(source)[1].stored)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        """The exact numbers of each work. An interruption from the keyboard also ends the jobs on the cluster."""
        try:
            names = {name for work in works for name in scanned(work.source)}
            known = {name: self._open(schemas[name].table.source) for name in names}
            origins = {name: origin for name, (_, origin) in known.items()}
            with self._lock, self._settled() as session:
                for source, _ in known.values():
                    source.show()
                return tuple(fetch(work, emit(work, SPARK, origins), session) for work in works)
        except KeyboardInterrupt:
            self._cancel()
            raise
        except Exception as error:  # whatever it is, nobody learns more than that it failed
            LOG.error("Spark could not finish: %s", type(error).__name__)
        raise EngineFailed

    # --- sessions and sources -----------------------------------------------------------------------------------------

    def _spark(self) -> SparkSession:
        if self._session is None:
            self._session = start(self._master, self._given)
        return self._session

    @contextmanager
    def _settled(self) -> Iterator[SparkSession]:
        """The session with the settings on which exactness rests; its own come back afterwards."""
        session = self._spark()
        before = {name: session.conf.get(name, None) for name in _SETTINGS}
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        try:
            yield session
        finally:
            for name, old in before.items():
                session.conf.unset(name) if old is None else session.conf.set(name, old)

    def _open(self, source: object) -> tuple[Source, Origin]:
        key = source if isinstance(source, str) else id(source)
        if key not in self._known:
            try:
                frame = frame_of(source, self._spark())
                found = describe(frame)
            except DiscreetError:
                raise
            except Exception as error:
                LOG.error("Spark could not open a source: %s", type(error).__name__)
                found = None
            if found is None:
                raise BadData("the source must be a DataFrame of Spark, a table that it knows, or Parquet or CSV files")
            view = Source(frame, f"discreet_{id(self):x}_{len(self._known)}", source)
            self._known[key] = view, Origin(read_as(view.name, found), found)
        return self._known[key]

    def _cancel(self) -> None:
        if self._session is not None:
            stop = getattr(self._session, "interruptAll", None)
            try:
                self._session.sparkContext.cancelAllJobs() if stop is None else stop()
            except Exception as error:
                LOG.error("Spark could not cancel: %s", type(error).__name__)


def start(master: str, settings: Mapping[str, str]) -> Any:
    """A session of our own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # PySpark warns of pandas that it does not know yet
            from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("Spark engines", extra="spark") from None
    builder = SparkSession.builder.master(master).appName("discreet")
    for name, value in {**_QUIET, **settings}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        failed = type(error).__name__
    LOG.error("Spark could not start: %s", failed)
    raise EngineUnreachable("Spark (which needs Java 17 or newer)")


def spark(
    session: SparkSession | None = None, *, master: str = "local[2]", settings: Mapping[str, str] | None = None
) -> Spark:
    """Tables, DataFrames and files of Spark 4: of a session that is there (a cluster, Spark Connect), or of a new one.

    Sources are a Spark DataFrame, the name of a table ("shop.orders"), or a path of Parquet or CSV files. ``master``
    and ``settings`` are for a session of our own, which starts at its first use.
    """
    if session is not None and not hasattr(session, "sql"):
        raise BadParameter("session", session, "must be a SparkSession, or left out")
    if not isinstance(master, str) or not master:
        raise BadParameter("master", master, 'must be such as "local[2]" or "spark://host:7077"')
    return Spark(session, master, settings or {})
