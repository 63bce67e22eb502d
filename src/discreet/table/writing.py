"""An answer as a Parquet file, piece by piece: what is a Python object at one time does not grow with the answer.

Promise: nothing that is there already is written over, and a file that could not be finished is taken away again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from discreet.errors import BadParameter

PIECE = 50_000
"""Rows that are Python objects at one time."""


def write_parquet(path: str | os.PathLike[str], pieces: Callable[[], Iterator[pa.Table]]) -> None:
    """One file with all pieces, which are gone through twice: for their common types, and to be written."""
    import pyarrow.parquet as pq  # heavy, and it waits for its first use

    place = os.fspath(path)
    try:
        file = open(place, "xb")  # noqa: SIM115 - closed below, and removed if that goes wrong
    except FileExistsError:
        raise BadParameter("path", place, "must not be there yet: nothing is written over") from None
    except OSError:
        raise BadParameter("path", place, "must be in a folder where files can be written") from None
    try:
        with file:
            schema = pa.unify_schemas([piece.schema for piece in pieces()], promote_options="permissive")
            with pq.ParquetWriter(file, schema) as writer:
                for piece in pieces():
                    writer.write_table(_as(piece, schema))
    except BaseException:
        os.unlink(place)
        raise


def _as(piece: pa.Table, schema: Any) -> pa.Table:
    """Whole numbers beside fractions become floats, as they do in one piece."""
    return piece.cast(schema, safe=False)
