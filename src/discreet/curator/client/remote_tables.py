"""Tables that add up, which a curator made: a job to wait for, and its files.

Promise: a job is charged once, under its key, however often the connection breaks. What comes is what was stored.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from discreet.curator.client.remote_synthetic import wait_for
from discreet.curator.client.transport import Transport
from discreet.errors import BadParameter
from discreet.synthetic.hierarchical.plan import Publication


def publication_body(table: str, wanted: Publication) -> dict[str, Any]:
    """A publication as a curator reads it."""
    return {
        "table": table,
        "tables": [list(columns) for columns in wanted.tables],
        "weights": [str(weight) for weight in wanted.weights],
        "split": None if wanted.split is None else {level: str(share) for level, share in wanted.split.items()},
        "rows": wanted.rows,
    }


@dataclass(frozen=True)
class RemoteTables:
    """The published tables, as the curator stored them."""

    number: int
    """Of their charge."""
    about: Mapping[str, Any]
    files: Mapping[str, bytes] = field(repr=False)

    @classmethod
    def of(cls, transport: Transport, number: int) -> RemoteTables:
        """Wait until they are made, and fetch them."""
        stored = wait_for(lambda: transport.get(f"/api/published/{number}"))
        archive = zipfile.ZipFile(io.BytesIO(transport.download(f"/api/published/{number}/files")))
        return cls(number, stored, {name: archive.read(name) for name in archive.namelist()})

    def __len__(self) -> int:
        return len(self.card()["tables"])

    def card(self) -> Mapping[str, Any]:
        """The release card, as the curator made it."""
        card: Mapping[str, Any] = self.about["card"]
        return card

    def table(self, table: int) -> Any:
        """One table as an Arrow table: its keys, ``count``, ``count_error``, ``estimate`` and ``error``."""
        if not 0 <= table < len(self):
            raise BadParameter("table", table, f"must be from 0 to {len(self) - 1}")
        name = str(self.card()["tables"][table]["table"]).replace(" x ", "_")
        return self._read(f"{name}.parquet")

    def rows(self) -> Any:
        """Rows that have every published count, where they were asked for with ``rows=True``."""
        if "rows.parquet" not in self.files:
            raise BadParameter("rows", False, "must be True in dp.synthetic.publication")
        return self._read("rows.parquet")

    def write(self, folder: str | PathLike[str]) -> list[str]:
        """All files into a folder that is there; returns their names."""
        for name, content in self.files.items():
            Path(folder, Path(name).name).write_bytes(content)
        return list(self.files)

    def _read(self, name: str) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        return pq.read_table(pa.BufferReader(self.files[name]))
