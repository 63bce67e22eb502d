"""Engines on other machines, as an engine's process opens them: PostgreSQL and Spark.

Promise: an address with a password travels through the pipe to the engine's process and nowhere else: not into
arguments, logs, the ledger or errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from discreet.engines.postgres.engine import postgres
from discreet.engines.spark.engine import spark
from discreet.query.engine import Engine


@dataclass(frozen=True, slots=True)
class RemoteEngine:
    """A server and how to reach it.

    >>> RemoteEngine("postgres", "postgresql://reader:secret@db/clinic")
    RemoteEngine(kind='postgres')
    """

    kind: Literal["postgres", "spark"]
    address: str = field(repr=False)

    @property
    def what(self) -> str:
        """What it is called in messages."""
        return "the PostgreSQL server" if self.kind == "postgres" else "Spark"


@runtime_checkable
class ChecksRole(Protocol):
    """An engine that knows whether it could change what it reads."""

    def check_role(self, source: object) -> None:
        """``BadData`` if it could."""


@runtime_checkable
class HashesUnits(Protocol):
    """An engine that can say, to the owner alone, whose data they are."""

    def smallest_hashes(self, source: object, column: str, most: int) -> list[str]:
        """The smallest hashes of the distinct values of a column. Raises only ``EngineFailed``."""


def open_remote(remote: RemoteEngine, deadline: float) -> Engine:
    """The engine, not connected yet; what takes longer than the deadline is ended on the server, too."""
    if remote.kind == "postgres":
        return postgres(remote.address, statement_timeout=f"{max(1, round(deadline * 1000))}ms")
    # Spark's jobs are ended by this process, which is itself killed at the deadline
    return spark(master=remote.address, patience=deadline, deadline=0.9 * deadline)
