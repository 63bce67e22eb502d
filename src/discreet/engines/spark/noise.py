"""Noise on the executors: what runs there, and whether it can.

Promise: a task draws the noise of the groups that it reads from the operating system of its own machine, batch by
batch; no seed and no state comes with it. It gives back the groups that get a name, and nothing of the others. Why each
paid answer has one noise for each group: noise.md.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.resources
import logging
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.spark.result import numbers_of
from discreet.query.engine import Naming
from discreet.randomness import Bits, SystemBits

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

LOG = logging.getLogger("discreet.engines")
_TASKS = 16
"""How many tasks are asked whether they could draw."""
_NEEDED = {"spark.speculation": "false", "spark.hadoop.outputCommitCoordination.enabled": "true"}
"""A second copy of a slow task would race the first, and who wins may depend on what was drawn; two may not commit."""


def with_noise(frame: DataFrame, rule: Naming) -> DataFrame:
    """The rows of the frame that get a name. Nothing may come after it but one write: each run draws anew."""
    return frame.mapInArrow(partial(_named, rule, fingerprint()), frame.schema)


def _named(rule: Naming, same: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On an executor."""
    if fingerprint() != same:
        raise RuntimeError("another discreet than that of the process that asked")
    for batch in batches:
        yield named_rows(rule, batch, SystemBits())


def named_rows(rule: Naming, batch: pa.RecordBatch, bits: Bits) -> pa.RecordBatch:
    """The rows of a batch that get a name, with their noisy number of units in place of the exact one."""
    import pyarrow as pa  # heavy, and other engines do without it

    short, long = f"n{rule.cell}", f"t{rule.cell}"
    at, noisy = rule(numbers_of(batch.column(short), batch.column(long)), bits)
    kept = batch.take(pa.array(at, type=pa.int64()))
    columns = dict(zip(kept.schema.names, kept.columns, strict=True))
    columns[short], columns[long] = _texts(noisy, kept.schema.field(long).type)
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=kept.schema)


def _texts(noisy: NDArray[Any], text: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Numbers as ``spark_result`` reads them: those that 64 bits cannot hold as text."""
    import pyarrow as pa

    if noisy.dtype == np.int64:
        return pa.array(noisy), pa.nulls(len(noisy), type=text)
    fits = [-(1 << 63) <= n < 1 << 63 for n in noisy]
    short = [int(n) if ok else None for n, ok in zip(noisy, fits, strict=True)]
    long = [None if ok else str(n) for n, ok in zip(noisy, fits, strict=True)]
    return pa.array(short, type=pa.int64()), pa.array(long, type=text)


# --- whether it can ---------------------------------------------------------------------------------------------------


def able(session: SparkSession, run: Callable[[Callable[[], Any]], Any]) -> bool:
    """Whether the executors could draw: they have the same discreet, and Spark commits each task once. A tiny job asks
    them; it touches no data.
    """
    odd = [name for name, value in _NEEDED.items() if (session.conf.get(name, value) or "").lower() != value]
    if odd:
        LOG.info("noise is drawn in this process: %s is set", odd[0])
        return False
    frame = session.range(0, _TASKS, 1, _TASKS).mapInArrow(_question(fingerprint()), "same boolean")
    try:
        same = all(row[0] for row in run(frame.collect))
    except Exception as error:
        LOG.info("noise is drawn in this process: executors run no Python (%s)", type(error).__name__)
        return False
    if not same:
        LOG.info("noise is drawn in this process: executors do not have the same discreet")
    return same


def _question(wanted: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function inside a function travels as it is: it also runs where there is no discreet."""
    here = __name__

    def answers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        try:
            same = importlib.import_module(here).fingerprint() == wanted
        except ImportError:
            same = False
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([same] * batch.num_rows, type=pa.bool_())], names=["same"])

    return answers


@cache
def fingerprint() -> str:
    """Of all Python text of this package: who has the same one draws noise of the same law."""
    digest = hashlib.sha256()
    _read(importlib.resources.files("discreet"), "", digest.update)
    return digest.hexdigest()


def _read(folder: Traversable, path: str, update: Callable[[bytes], None]) -> None:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            _read(entry, f"{path}/{entry.name}", update)
        elif entry.name.endswith(".py"):
            update(f"{path}/{entry.name}\0{hashlib.sha256(entry.read_bytes()).hexdigest()}\n".encode())
