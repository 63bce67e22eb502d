"""Synthetic rows that a curator makes: a job to be watched and cancelled, and the rows when it is done.

Promise: a job is charged once, under its key, however often the connection breaks. What comes is what was stored.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

from discreet.curator.client.transport import Transport
from discreet.errors import BadQuestion, EngineFailed, LedgerUnavailable, MissingExtra
from discreet.query.answer.export import write_rows

_PAUSE = 0.5
_PIECE = 100_000


@dataclass(frozen=True)
class RemoteJob:
    """A job of a curator, known by the number of its charge."""

    transport: Transport = field(repr=False)
    number: int

    def state(self) -> Mapping[str, Any]:
        """How it stands: ``state`` is running, done, failed or lost; ``doing`` is what is being done."""
        found: Mapping[str, Any] = self.transport.get(f"/api/synthetic/{self.number}")
        return found

    def cancel(self) -> None:
        """Stop it after the round that is under way: what was measured is kept, nothing is given back."""
        self.transport.post(f"/api/synthetic/{self.number}/cancel", {})

    def result(self) -> RemoteSynthetic:
        """Wait until it is done; Ctrl-C leaves the job as it is, to be asked for later."""
        while (found := self.state())["state"] == "running":
            time.sleep(_PAUSE)
        if found["state"] == "failed":
            raise EngineFailed
        if found["state"] == "lost":
            raise LedgerUnavailable("the job was paid, and lost with a server that ended")
        return RemoteSynthetic(
            self.number, found["result"], self.transport.download(f"/api/synthetic/{self.number}/rows")
        )


@dataclass(frozen=True)
class RemoteSynthetic:
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

    def to_polars(self) -> Any:
        """The rows as a Polars frame."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("Polars frames", extra="frames") from None
        return polars.from_arrow(self.to_arrow())

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        return self.to_arrow().to_pandas()

    def write(self, path: str | os.PathLike[str]) -> None:
        """The rows as a Parquet or CSV file, by the ending of its name; nothing is written over."""
        table = self.to_arrow()
        write_rows(path, lambda: (table.slice(i, _PIECE) for i in range(0, max(1, table.num_rows), _PIECE)))

    def sql(self, question: str) -> Any:
        """Any SQL over the rows, which are the table ``synthetic``; an Arrow table comes back. Free."""
        connection = duckdb.connect(config={"enable_external_access": False, "lock_configuration": True})
        try:
            connection.register("synthetic", self.to_arrow())
            found = connection.sql(question)
            if found is None:
                raise BadQuestion("this returns no rows; ask with SELECT")
            return found.to_arrow_table()
        except duckdb.Error as error:  # the rows are public, and so is what DuckDB says of them
            raise BadQuestion(f"DuckDB cannot answer this: {error}") from None
        finally:
            connection.close()
