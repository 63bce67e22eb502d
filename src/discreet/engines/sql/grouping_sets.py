"""Many sets of keys in one pass: the bounded rows are made once, and counted by every set of one statement.

Promise: the numbers are those of ``GroupingSets`` in ``query/plan/work.py``. What comes back is checked: no value that
is not listed, no set that nobody asked for, each group once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.sql.base import Base
from discreet.engines.sql.dialects import Dialect, Shape, Sort
from discreet.engines.sql.hashed_sums import Statement, grouped, listed, names
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.weights import beyond, unit_weight
from discreet.query.plan.types import Value
from discreet.query.plan.work import Cells, GroupingSets

Places = NDArray[np.int64]


def emit_sets(work: GroupingSets, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement: the columns of the keys in any set, of which those outside a row's own set are NULL; and n0.

    Rows of a unit that weigh 0 each are counted by themselves in every set (h is their unit, and NULL for all other
    rows), and weigh together there.
    """
    base = Base(work, d, tables, numbered=True)
    k, weight = names(base.keys), unit_weight(work.weights, d, "q")
    head, sized = _sized(base, d, k)
    heavy = "CASE WHEN r = 0 THEN u END AS h"
    weighed = f"SELECT {listed(['u', 'q'], k)}, {weight} AS r FROM ({sized}) AS t"
    bounded = f"SELECT {listed(k, ['q', 'r', heavy])} FROM ({weighed}) AS t"
    many = f"{d.count}(*)"
    if d.shape is Shape.WINDOWED:  # where rows are copied for every set, let there be few of them
        bounded = _pieces(d, bounded, k, listed([*k, "h"]), many)
        many = d.call("sum", "c")
    used = [base.keys[i] for i in used_keys(work)]
    sets = ", ".join(f"({listed([*(k[i] for i in key_set), 'h'])})" for key_set in work.sets)
    pieces = _pieces(d, bounded, names(used), f"GROUPING SETS ({sets})", many)
    together = d.cast(beyond(work.weights, d, "c"), Sort.INTEGER)
    total = f"coalesce({d.call('sum', f'CASE WHEN h IS NULL THEN r ELSE {together} END')}, 0) AS n0"
    sql = f"{head}SELECT {listed(names(used), [total])} FROM ({pieces}) AS t{grouped(names(used), d)}"
    return Statement(sql, tuple((key.name, key.sort) for key in used), 1)


def _sized(base: Base, d: Dialect, k: Sequence[str]) -> tuple[str, str]:
    """Common table expressions, and the rows that count with q, how many rows their unit has."""
    rows = f"SELECT * FROM ({base.select()}) AS b WHERE {base.counts(base.keys)}"
    if d.shape is Shape.HASHED:  # codes are small, and dear to compute twice
        units = f"SELECT u, {d.count}(*) AS q FROM counted GROUP BY u"
        picked = listed(["c.u", "g.q"], [f"c.{name}" for name in k])
        joined = f"SELECT {picked} FROM counted AS c JOIN units AS g ON c.u = g.u"
        return f"WITH counted {d.once} ({rows}),\nunits AS ({units})\n", joined
    order = d.gather if d.shape is Shape.WINDOWED else " ORDER BY u"
    return "", f"SELECT {listed(['u'], k)}, {d.count}(*) OVER (PARTITION BY u) AS q FROM ({rows}{order}) AS t"


def _pieces(d: Dialect, rows: str, shown: Sequence[str], by: str, many: str) -> str:
    """Sums of weights and numbers of rows, of light units together and of heavy ones each."""
    sums = [f"{d.call('sum', 'r')} AS r", "min(q) AS q", f"{many} AS c"]
    return f"SELECT {listed(shown, ['h'], sums)} FROM ({rows}) AS t GROUP BY {by}"


def used_keys(work: GroupingSets) -> list[int]:
    """The keys that are in any set: the columns of the statement."""
    return sorted({i for key_set in work.sets for i in key_set})


def places_of(values: Sequence[Any], allowed: Sequence[Value]) -> Places:
    """Where each value stands among those that are allowed; -1 for None.

    >>> places_of(["b", None, "a"], ("a", "b")).tolist()
    [1, -1, 0]
    """
    place_of: dict[Any, int] = {value: i for i, value in enumerate(allowed)}
    place_of[None] = -1
    return np.fromiter((place_of[value] for value in values), dtype=np.int64, count=len(values))


def arrow_places(column: Any, allowed: Sequence[Value]) -> Places:
    """The same of an Arrow column: only its different values become objects."""
    import pyarrow as pa

    joined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(joined, pa.ChunkedArray):  # of no rows
        return np.zeros(0, dtype=np.int64)
    coded = joined if pa.types.is_dictionary(joined.type) else joined.dictionary_encode()
    places = np.append(places_of(coded.dictionary.to_pylist(), allowed), -1)
    return np.asarray(places[np.asarray(coded.indices.cast(pa.int64()).fill_null(-1))], dtype=np.int64)


def listed_places(column: Any, allowed: Sequence[Value]) -> Places:
    """Where each value of an Arrow column stands among those that are allowed, each of which must be one of them."""
    places = arrow_places(column, allowed)
    if (places < 0).any():
        raise ValueError("a key that was not asked for")
    return places


def coded(column: Any) -> tuple[Places, tuple[Value, ...]]:
    """An Arrow column without NULL as codes and different values."""
    import pyarrow as pa

    joined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(joined, pa.ChunkedArray):  # of no rows
        return np.zeros(0, dtype=np.int64), ()
    if joined.null_count:
        raise ValueError("a unit that should have been dropped")
    encoded = joined if pa.types.is_dictionary(joined.type) else joined.dictionary_encode()
    return np.asarray(encoded.indices.cast(pa.int64())), tuple(encoded.dictionary.to_pylist())


def read_sets(work: GroupingSets, columns: Sequence[Places], counts: Places) -> tuple[Cells, ...]:
    """The rows of a statement, set by set; raises if they are not what was asked for."""
    keys = dict(zip(used_keys(work), columns, strict=True))
    if counts.dtype != np.int64 or (counts < 0).any():
        raise TypeError("not numbers of rows")
    sets = np.zeros(len(counts), dtype=np.int64)
    for i, places in keys.items():
        sets |= (places >= 0).astype(np.int64) << i
    cells_read = []
    for key_set in work.sets:
        here = sets == sum(1 << i for i in key_set)
        place = np.zeros(int(here.sum()), dtype=np.int64)
        for i in key_set:
            place = place * len(work.keys[i].allowed or ()) + keys[i][here]
        cells_read.append(checked_cells(work, key_set, place, counts[here]))
    if sum(len(cells.counts) for cells in cells_read) != len(counts):
        raise ValueError("a set that was not asked for")
    return tuple(cells_read)


def checked_cells(work: GroupingSets, key_set: tuple[int, ...], places: Places, counts: Places) -> Cells:
    """The numbers of a set, each group once."""
    size = prod(len(work.keys[i].allowed or ()) for i in key_set)
    if len(places) and not 0 <= int(places.min()) <= int(places.max()) < size:
        raise IndexError("a group that there is not")
    if len(np.unique(places)) != len(places):
        raise ValueError("a group came twice")
    return Cells(places, counts)
