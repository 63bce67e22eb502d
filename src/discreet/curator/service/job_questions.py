"""What can be asked of a curator as a job: synthetic rows of a table, or tables of it that add up.

Promise: ``query`` and ``parameters`` are all that decides what is made, in canonical form. ``check`` and
``preview_publication`` touch no data; all that can be refused is refused before the payment.
"""

from __future__ import annotations

import io
import json
import zipfile
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from discreet.errors import BadParameter
from discreet.query.answer.export import check_ending
from discreet.query.answer.serialize import dump
from discreet.session.backend import Backend
from discreet.session.price import Price
from discreet.session.synthetic import plan_publication, published_tables, synthetic_rows
from discreet.synthetic.hierarchical.plan import Publication
from discreet.synthetic.result import STORED

MEMORY = 1 << 30
"""Bytes that one job may need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticQuestion:
    """Rows of one table, and a price."""

    table: str
    price: Price
    rows: int
    columns: tuple[str, ...] | None = None
    workload: str | None = None
    quick: bool = False

    @property
    def kind(self) -> str:
        """Synthetic rows, as a ledger names them."""
        return "synthetic"

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return f"synthesize({self.table})"

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        described = {"rows": self.rows, "columns": None if self.columns is None else list(self.columns)}
        return self.price.texts() | {"synthetic": described | {"workload": self.workload, "quick": self.quick}}

    def check(self, backend: Backend) -> None:
        """Refuse more rows than a ledger keeps."""
        schema = backend.schemas.get(self.table)
        wide = len(self.columns or (() if schema is None else schema.fields)) or 1
        if self.rows * wide > STORED:
            raise BadParameter("rows", self.rows, f"must be at most {STORED // wide:,} for {wide} columns")

    def make(self, backend: Backend, cancel: Callable[[], bool]) -> bytes:
        """The rows, with a report of how well the model fits."""
        options: dict[str, Any] = {"workload": self.workload, "rows": self.rows, "quick": self.quick}
        options |= {"memory": MEMORY, "cancel": cancel, "progress": False}
        return synthetic_rows(backend, self.table, self.price, self.columns, None, options).to_json()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationQuestion:
    """Tables of one table that add up over its places, a price, and the kind of files."""

    table: str
    price: Price
    wanted: Publication
    format: str = "csv"

    @property
    def kind(self) -> str:
        """Published tables, as a ledger names them."""
        return "published"

    @property
    def query(self) -> str:
        """What is written into the ledger."""
        return f"publish({self.table})"

    @property
    def parameters(self) -> dict[str, Any]:
        """All but the text that decides the answer, in canonical form."""
        split = self.wanted.split
        described = {
            "tables": [list(columns) for columns in self.wanted.tables],
            "weights": _texts(dict(enumerate(self.wanted.weights))),
            "split": None if split is None else _texts(split),
            "rows": self.wanted.rows,
            "format": self.format,
        }
        return self.price.texts() | {"published": described}

    def check(self, backend: Backend) -> None:
        """Refuse what cannot be planned, and more cells than a ledger keeps."""
        check_ending(self.format)
        planned = plan_publication(backend, self.table, self.wanted)
        cells = sum(planned.cells_of(table) for table in planned.tables)
        if cells > STORED:
            raise BadParameter("tables", f"{cells:,} cells", f"must have at most {STORED:,} in all")

    def make(self, backend: Backend, cancel: Callable[[], bool]) -> bytes:
        """The files in one archive, and the card."""
        made = published_tables(backend, self.table, self.wanted, self.price, None)
        cancel()  # it cannot be stopped in between: the engine is free for others
        card = made.card()
        with TemporaryDirectory() as folder:
            made.write(folder, self.format)
            if self.wanted.rows:
                import pyarrow.parquet as pq

                pq.write_table(made.rows(), Path(folder, "rows.parquet"))
            Path(folder, "card.json").write_text(json.dumps(card, ensure_ascii=False, indent=2), encoding="utf-8")
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in sorted(Path(folder).iterdir()):
                    archive.write(file, file.name)
        kept = {"card": card, "mismatches": made.mismatches(), "file": b64encode(packed.getvalue()).decode()}
        return dump({"published": kept})


def _texts(shares: Mapping[Any, Fraction]) -> dict[str, str]:
    return {str(name): str(share) for name, share in shares.items()}
