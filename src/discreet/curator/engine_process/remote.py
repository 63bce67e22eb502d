"""Engines on other machines, as an engine's process opens them: PostgreSQL and Spark.

Promise: an address with a password travels through the pipe to the engine's process and nowhere else: not into
arguments, logs, the ledger or errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from discreet.engines.postgres.engine import postgres
from discreet.engines.spark.engine import spark
from discreet.errors import BadParameter
from discreet.query.engine import Engine


@dataclass(frozen=True, slots=True)
class RemoteEngine:
    """A server and how to reach it.

    >>> RemoteEngine("postgres", "postgresql://reader:secret@db/clinic")
    RemoteEngine(kind='postgres')
    """

    kind: Literal["postgres", "spark"]
    address: str = field(repr=False)


@runtime_checkable
class ChecksRole(Protocol):
    """An engine that knows whether it could change what it reads."""

    def check_role(self, source: object) -> None:
        """``BadData`` if it could."""


def open_remote(remote: RemoteEngine, deadline: float) -> Engine:
    """The engine; a statement that takes longer than the deadline is ended by the server, too."""
    if remote.kind == "postgres":
        return postgres(remote.address, statement_timeout=f"{max(1, round(deadline * 1000))}ms")
    if remote.address.startswith("sc://"):
        return spark(_connect(remote.address))
    return spark(master=remote.address, patience=deadline)


def _connect(address: str) -> Any:
    try:
        from pyspark.sql.connect.session import SparkSession
    except ImportError:
        raise BadParameter("source", "sc://...", "must be reachable: install pyspark with its Connect client") from None
    return SparkSession.builder.remote(address).getOrCreate()
