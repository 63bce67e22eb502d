"""Synthetic rows that a curator makes: a job to be watched and cancelled, and the rows when it is done.

Promise: a job is charged once, under its key, however often the connection breaks. What comes is what was stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.curator.client.transport import Transport
from discreet.errors import EngineFailed, LedgerUnavailable
from discreet.synthetic.public_rows import PublicRows

_PAUSE = 0.5


def wait_for(state: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """The result of a job, when it is done."""
    while (shown := state())["state"] == "running":
        time.sleep(_PAUSE)
    if shown["state"] == "failed":
        raise EngineFailed
    if shown["state"] == "lost":
        raise LedgerUnavailable("the job was charged, and lost with a server that ended")
    result: Mapping[str, Any] = shown["result"]
    return result


@dataclass(frozen=True)
class RemoteJob:
    """A job of a curator, known by the number of its charge."""

    transport: Transport = field(repr=False)
    number: int

    def state(self) -> Mapping[str, Any]:
        """How it stands: ``state`` is running, done, failed or lost; ``doing`` is what is being done."""
        state: Mapping[str, Any] = self.transport.get(f"/api/synthetic/{self.number}")
        return state

    def cancel(self) -> None:
        """Stop it after the round that is under way: what was measured is kept, nothing is given back."""
        self.transport.post(f"/api/synthetic/{self.number}/cancel", {})

    def result(self) -> RemoteSynthetic:
        """Wait until it is done; Ctrl-C leaves the job as it is, to be asked for later."""
        stored = wait_for(self.state)
        return RemoteSynthetic(self.number, stored, self.transport.download(f"/api/synthetic/{self.number}/rows"))


@dataclass(frozen=True)
class RemoteSynthetic(PublicRows):
    """Synthetic rows with their report, as the curator stored them."""

    number: int
    """Of its charge."""
    about: Mapping[str, Any]
    """Columns, rows, what was spent, the report: as sent."""
    parquet: bytes = field(repr=False)

    def __len__(self) -> int:
        return int(self.about["rows"])

    @property
    def spent(self) -> str:
        """What all of it together costs, certified."""
        return str(self.about["spent"])

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        return pq.read_table(pa.BufferReader(self.parquet))
