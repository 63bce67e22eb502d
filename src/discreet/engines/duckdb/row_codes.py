"""The rows of a table as small integers: the number of each row's unit, and the code of each of its keys.

Promise: two rows have the same number exactly if they have the same unit, and the same code exactly if they have the
same key. Numbers, and codes of keys that nobody listed, depend on which other rows there are: they are compared and
counted, and choose nothing. What chooses among the keys of a unit sees the names of both (``smallest_hashes``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from mmap import mmap
from typing import TYPE_CHECKING, Any

import duckdb as driver
import numpy as np
from numpy.typing import NDArray

from discreet.engines.duckdb.shared_rows import KeyColumn, SharedRows
from discreet.engines.duckdb.value_classes import Classes
from discreet.engines.sql.base import Key
from discreet.engines.sql.dialects import DUCKDB, Sort
from discreet.engines.sql.scope import UNBOUNDED
from discreet.query.plan.types import Value

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 1 << 24
"""Rows that are held at once; of a larger table, some units after the others."""
_BLOCK = 1 << 17
"""Rows that are counted at once, so that what is made of them stays in the processor's cache."""
_SHORT = 1 << 31
_ROOM = 20
"""Bytes for each row that a table of all units and codes may take; beyond that, pairs are sorted."""
Numbers = NDArray[Any]


@dataclass(frozen=True)
class KeyCodes:
    """One key of all rows of some units."""

    size: int
    """How many codes there are; this number itself stands for a key that is not listed, or is NULL."""
    unit: Numbers
    """Of each row."""
    codes: Numbers
    """Of each row."""
    rows: Numbers
    """How many rows each unit has; some may have none."""

    @cached_property
    def pairs(self) -> tuple[Numbers, Numbers]:
        """The different pairs of unit and code, in order.

        >>> rows = KeyCodes(3, np.array([1, 0, 1, 1]), np.array([0, 3, 0, 2]), np.array([1, 3]))
        >>> [pair.tolist() for pair in rows.pairs]
        [[0, 1, 1], [3, 0, 2]]
        """
        width = self.size + 1
        kind: Any = np.uint32 if len(self.rows) * width < 1 << 32 else np.uint64
        both: Numbers = self.unit.astype(kind)
        both *= kind(width)
        both += self.codes.astype(kind, copy=False)
        both.sort()
        new = np.ones(len(both), dtype=bool)
        np.not_equal(both[1:], both[:-1], out=new[1:])
        both = both[new]
        units: Numbers = both // kind(width)
        both -= units * kind(width)
        return units, both

    @property
    def coded_rows(self) -> Numbers:
        """How many rows each unit has whose key has a code."""
        there = self.codes < self.size
        return self.rows if there.all() else np.bincount(self.unit[there], minlength=len(self.rows))

    @property
    def keys_of_units(self) -> Numbers:
        """How many different codes each unit has.

        >>> rows = KeyCodes(3, np.array([1, 0, 1, 1]), np.array([0, 3, 0, 2]), np.array([1, 3]))
        >>> rows.keys_of_units.tolist()
        [0, 2]
        """
        width = -(-(self.size + 1) // 8) * 8
        if len(self.rows) * width > _ROOM * len(self.unit):
            units, codes = self.pairs
            return np.bincount(units[codes < self.size], minlength=len(self.rows))
        cells = _zeros(len(self.rows) * width)
        table = cells.reshape(-1, width)
        for some in blocks(len(self.unit)):
            cells[self.unit[some].astype(np.int64) * width + self.codes[some]] = True
        table[:, self.size] = False
        keys: Numbers = np.bitwise_count(table.view(np.uint64)).sum(axis=1, dtype=np.int64)
        return keys

    def weighed(self, weights: Numbers) -> Numbers:
        """The sum of the weights of the rows of each code, each row weighing as its unit does; exact below 2^53."""
        total = np.zeros(self.size + 1)
        for some in blocks(len(self.unit)):
            total += np.bincount(self.codes[some], weights=weights[self.unit[some]], minlength=self.size + 1)
        return total[: self.size].astype(np.int64)


def _zeros(count: int) -> Numbers:
    """As numpy's, but in small pages: large ones are cleared in full, of which a table of few rows touches little."""
    return np.frombuffer(mmap(-1, max(count, 1)), dtype=bool, count=count)


def blocks(rows: int) -> Iterator[slice]:
    """All rows, some at a time."""
    return (slice(at, at + _BLOCK) for at in range(0, rows, _BLOCK))


@dataclass(frozen=True, slots=True)
class Part:
    """All rows of some units."""

    first: int
    """The number of its first unit in the whole table."""
    rows: Numbers
    """How many rows each unit has."""
    keys: tuple[KeyCodes, ...]


class RowCodes:
    """The rows that have a unit, by column: whether it has codes, and the keys of these codes where they are listed."""

    def __init__(self, shared: SharedRows, cursor: driver.DuckDBPyConnection) -> None:
        self._base, self._columns, self._cursor = shared.base, shared.columns, cursor
        self._all = f"({shared.base.select()}) AS b"
        self._join, self._number = "", "b.u"
        self._named, self._name = "", "CAST(p.i AS BIGINT)"
        self.coded = tuple(c.key is None or c.allowed is None or c.key.coded for c in shared.columns)
        self.labels = tuple(_labels(column) for column in shared.columns)
        coded = [self._coded(place, column) for place, column in enumerate(shared.columns)]
        self._codes, self.sizes = [sql for sql, _ in coded], [size for _, size in coded]
        (self.rows,) = self._single_row(f"SELECT count(*) FROM {self._all}")

    def parts(self) -> Iterator[Part]:
        """All rows, of so many units at once that memory holds them."""
        low, high = self._ends()
        if self._close(low, high) and self.rows <= MOST_ROWS:
            unit, *codes = self._read("")
            low, high = int(unit.min(initial=low)), int(unit.max(initial=high))
            if self._close(low, high):
                yield self._part(low, high - low + 1, unit, codes)
                return
        if not self._close(low, high):
            low, high = 0, self._number_units() - 1
        step = max(1, -(-(high - low + 1) // max(1, -(-self.rows // MOST_ROWS))))
        for first in range(low, high + 1, step):
            last = min(first + step - 1, high)
            unit, *codes = self._read(f" AND {self._number} BETWEEN {DUCKDB.literal(first)} AND {DUCKDB.literal(last)}")
            yield self._part(first, last - first + 1, unit, codes)

    def smallest_hashes(self, salt: str, place: int, units: Numbers, codes: Numbers) -> Numbers:
        """For each unit of these pairs, the code of that of its keys whose salted hash with the unit is smallest."""
        import pyarrow as pa

        key = self._columns[place].key
        assert key is not None  # noqa: S101 - it is no class
        self._cursor.register("some_pairs", pa.table({"i": units, "c": codes}))
        named = f"SELECT p.i, p.c, {self._name} AS u, k.k AS {key.name} FROM some_pairs AS p{self._named}"
        joined = f"{named} JOIN key_codes_{place} AS k ON p.c = k.c"
        smallest = f"arg_min(c, {self._base.hashed(salt, [key])})"
        table = self._cursor.sql(f"SELECT {smallest} AS c FROM ({joined}) AS t GROUP BY i").to_arrow_table()
        self._cursor.unregister("some_pairs")
        chosen: Numbers = table.column("c").to_numpy()
        return chosen

    # --- statements ---------------------------------------------------------------------------------------------------

    def _ends(self) -> tuple[int, int]:
        """The least and the largest number of a unit, if units are integers: of some rows where all will be looked at,
        of all rows where they are read some after the others. Others get numbers, and so do all units of a column that
        could hold more than 64 bits with a sign: as they are, numpy would turn some of them into doubles.
        """
        if self._base.unit.sort is not Sort.INTEGER or self._base.unit_reach > UNBOUNDED:
            return 0, 1 << 64
        some = f" LIMIT {_BLOCK}" if self.rows <= MOST_ROWS else ""
        low, high = self._single_row(f"SELECT min(u), max(u) FROM (SELECT u FROM {self._all}{some}) AS t")
        return (0, 0) if low is None else (low, high)

    def _close(self, low: int, high: int) -> bool:
        """Whether integers lie so close together that they can be counted as they are."""
        return bool(high - low < min(2 * self.rows + (1 << 16), 1 << 30))

    def _number_units(self) -> int:
        """Give numbers to units; how many there are."""
        self._cursor.execute(
            "CREATE OR REPLACE TEMP TABLE unit_numbers AS SELECT u, row_number() OVER () - 1 AS i "
            f"FROM (SELECT DISTINCT u FROM {self._all}) AS t WHERE u IS NOT NULL"
        )
        self._join, self._number = f" JOIN unit_numbers AS g ON b.u = g.u{self._join}", "g.i"
        self._named, self._name = " JOIN unit_numbers AS g ON p.i = g.i", "g.u"
        (units,) = self._single_row("SELECT count(*) FROM unit_numbers")
        return int(units)

    def _coded(self, place: int, column: KeyColumn) -> tuple[str, int]:
        """What is read of a key, and how many codes there are."""
        if column.key is None:
            return f"b.{column.name}", len(self.labels[place])
        if column.allowed is not None:
            return (_listed(column.key, column.allowed) if self.coded[place] else "0"), len(self.labels[place])
        table = f"key_codes_{place}"
        self._cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT k, CAST(row_number() OVER () - 1 AS INTEGER) AS c "
            f"FROM (SELECT DISTINCT {column.name} AS k FROM {self._all}) AS t WHERE k IS NOT NULL"
        )
        (size,) = self._single_row(f"SELECT count(*) FROM {table}")
        self._join += f" LEFT JOIN {table} ON b.{column.name} = {table}.k"
        return f"coalesce({table}.c, {size})", size

    def _read(self, more: str) -> list[Numbers]:
        """The number of the unit, and the code of each key, of all rows that have a unit and for which more is true."""
        columns = [f"{self._number} AS i", *(f"{sql} AS c{place}" for place, sql in enumerate(self._codes))]
        rows = f"{self._all}{self._join} WHERE b.u IS NOT NULL{more}"
        reader = self._cursor.sql(f"SELECT {', '.join(columns)} FROM {rows}").to_arrow_reader(_BLOCK)
        empty = [np.empty(0, dtype=np.int32), *(np.empty(0, dtype=np.uint8) for _ in self._columns)]
        return [np.concatenate(some) for some in zip(empty, *map(self._codes_of, reader), strict=True)]

    def _codes_of(self, batch: pa.RecordBatch) -> list[Numbers]:
        unit, *sent = batch.columns
        whose = unit.to_numpy()
        return [
            whose.astype(np.int32) if whose.min(initial=0) >= -_SHORT and whose.max(initial=0) < _SHORT else whose,
            *(
                some.to_numpy() if column.classes is None else _class_codes(column.classes, labels, some)
                for column, labels, some in zip(self._columns, self.labels, sent, strict=True)
            ),
        ]

    def _part(self, first: int, units: int, unit: Numbers, codes: Sequence[Numbers]) -> Part:
        unit = (unit.astype(np.int64) - first).astype(np.int32) if first else unit.astype(np.int32, copy=False)
        count = np.bincount(unit, minlength=units)
        return Part(first, count, tuple(KeyCodes(n, unit, c, count) for n, c in zip(self.sizes, codes, strict=True)))

    def _single_row(self, sql: str) -> tuple[Any, ...]:
        (row,) = self._cursor.execute(sql).fetchall()
        return tuple(row)


def _labels(column: KeyColumn) -> tuple[Value, ...]:
    """Listed keys by their codes: text as it is listed, integers from the least."""
    allowed = column.allowed or ()
    if column.key is not None and column.key.coded and column.key.sort is not Sort.TEXT:
        return tuple(sorted(value for value in allowed if isinstance(value, int)))
    return allowed


def _listed(key: Key, allowed: tuple[Value, ...]) -> str:
    """The place of a listed key, in as few bits as it needs."""
    size = len(allowed)
    kind = next((kind for bits, kind in ((8, "UTINYINT"), (16, "USMALLINT")) if size < 1 << bits), "INTEGER")
    if key.sort is Sort.TEXT:
        place = f"enum_code(b.{key.name})"
    else:
        low = min(value for value in allowed if isinstance(value, int))
        place = f"(CAST(b.{key.name} AS BIGINT) - {DUCKDB.literal(low)})"
    return f"coalesce(CAST({place} AS {kind}), CAST({size} AS {kind}))"


def _class_codes(classes: Classes, labels: Sequence[Value], sent: pa.Array) -> Numbers:
    """The code of the class of each number."""
    code_of = {label: code for code, label in enumerate(labels)}
    kind = np.uint8 if len(labels) < 1 << 8 else np.int32
    codes: Numbers = np.array([code_of.get(label, len(labels)) for label in classes.labels], dtype=kind)
    number_codes: Numbers = codes[classes.places((sent.fill_null(0) if sent.null_count else sent).to_numpy())]
    if sent.null_count:
        number_codes[sent.is_null().to_numpy(zero_copy_only=False)] = code_of.get(classes.null, len(labels))
    return number_codes
