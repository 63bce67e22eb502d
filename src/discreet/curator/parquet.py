"""Released rows as a Parquet file, each number with its error bar beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def write_parquet(columns: Sequence[str], rows: Sequence[Sequence[Any]], errors: Mapping[str, Sequence[Any]]) -> bytes:
    """The rows of an answer; the error of a column ``n`` is the column ``n_error`` (never one that is there already).

    >>> pq.read_table(BytesIO(write_parquet(["k", "n"], [["a", 5]], {"n": [1.5]}))).to_pylist()
    [{'k': 'a', 'n': 5, 'n_error': 1.5}]
    """
    made: dict[str, pa.Array] = {}
    for place, name in enumerate(columns):
        made[name] = _column([row[place] for row in rows])
    for name in columns:
        if name in errors:
            free = f"{name}_error"
            while free in made:
                free += "_"
            made[free] = pa.array([None if one is None else float(one) for one in errors[name]], pa.float64())
    file = BytesIO()
    pq.write_table(pa.table(made), file)
    return file.getvalue()


def _column(values: list[Any]) -> pa.Array:
    """Of whole numbers, numbers, truth values or text; what is mixed or too large for those is text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if one is None else str(one) for one in values], pa.string())
