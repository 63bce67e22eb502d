"""The bounded sums of a work for clusters (Spark), where moving rows costs most: sums first, then windows, no join.

Rows are summed by unit, key and split where they are, so that what moves is one piece for each of these and each task,
however many rows a unit has. What is known of a unit as a whole is a window over its pieces. Where a unit has too many
keys, its pieces are sorted once more by hash; the hash of units that have few is never computed.

Sums of one piece are of 64 bits, in two halves if need be: right for tables of up to 2^40 rows. Sums over units are
wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.engines.base_sql import Base, Key
from discreet.engines.dialects import Dialect, Sort
from discreet.engines.relations_sql import Origin
from discreet.engines.scope import Piece
from discreet.engines.sums_sql import COUNT, PRIME, SPLITS, Statement, Sums, grouped, listed, names
from discreet.engines.weights_sql import row_weight, size_of_group, unit_weight
from discreet.table.work import DistinctWork, Form, UnitSum

_ROWS = 1 << 40
_HALF = 22
_UNIT = " OVER (PARTITION BY u)"


class SpreadSums(Sums):
    """The statement of one ``Work``."""

    def statement(self) -> Statement:
        """The shape that fits."""
        keys = [*self.keys, *self.split]
        sql = self._units() if not keys else self._windows()
        return Statement(sql, tuple((key.name, key.sort) for key in keys), len(self.work.cells))

    def _windows(self) -> str:
        rows, by = self._counted(), names(self.split)
        if self.work.pick is not None:
            a, b = map(self.d.literal, self.work.pick)
            code = f"((s * {a} + {b}) % {PRIME}) * {SPLITS} + s"
            pieces = self._grouped(rows, self.k, [f"min({code}) AS m"])
            weighed = self._weighed_pieces(pieces, several=False)
            cells, named = ["w"], f"SELECT {listed(self.k, [f'm % {SPLITS} AS s', 'w'])} FROM ({weighed}) AS t"
        elif by:
            pair = listed(["u"], self.k)
            one = self._grouped(rows, [*self.k, *by], ["count(*) AS c", *self._sums()[1:]])
            n, i = f"sum(c) OVER (PARTITION BY {pair})", f"row_number() OVER (PARTITION BY {pair} ORDER BY s)"
            named = self._rated(self._weighed_pieces(f"SELECT *, {n} AS n, {i} AS i FROM ({one}) AS p", several=True))
            cells = [f"r * {self._x_of(cell, 'c')}" for cell in self.work.cells]
        else:
            presence = self._counts_keys() and all(isinstance(cell, UnitSum) for cell in self.work.cells)
            pieces = self._grouped(rows, self.k, [] if presence else self._sums())
            weighed = self._weighed_pieces(pieces, several=False)
            named = weighed if presence else self._rated(weighed)
            cells = ["w" if isinstance(cell, UnitSum) else f"r * {self._x_of(cell, 'n')}" for cell in self.work.cells]
        out = [*self.k, *by]
        return f"SELECT {listed(out, self._cells(cells))} FROM ({named}) AS t{grouped(out, self.d)}"

    def _x_of(self, cell: object, count: str) -> str:
        if isinstance(cell, UnitSum):
            raise ValueError("units cannot be counted row by row")
        return count if cell == COUNT else f"x{self.values[cell].sql}"  # type: ignore[index]

    def _counted(self) -> str:
        """The rows that count."""
        conditions = self.base.counts([*self.keys, *self.split]) + (" AND s IS NOT NULL" if self.split else "")
        return f"SELECT * FROM ({self.base.select()}) AS b WHERE {conditions}"

    def _grouped(self, rows: str, by: Sequence[str], sums: Sequence[str]) -> str:
        return f"SELECT {listed(['u'], by, sums)} FROM ({rows}) AS b GROUP BY {listed(['u'], by)}"

    def _sums(self) -> list[str]:
        return ["count(*) AS n", *(f"{self._sum(value)} AS x{value.sql}" for value in self.values.values())]

    def _sum(self, value: Piece) -> str:
        """The sum of one piece, wide in the end."""
        x, d = value.sql, self.d
        if value.reach * _ROWS < 1 << 63:
            return f"CAST(sum({x}) AS {d.wide})"
        if value.reach >> _HALF >= 1 << _HALF:
            return d.call("sum", x)
        high, low = f"sum(shiftright({x}, {_HALF}))", f"sum({x} & {(1 << _HALF) - 1})"
        return f"CAST({high} AS {d.wide}) * {1 << _HALF} + {low}"

    def _rated(self, weighed: str) -> str:
        return f"SELECT *, {row_weight(self.weights, self.d)} AS r FROM ({weighed}) AS t"

    def _counts_keys(self) -> bool:
        """Whether the size of a unit is its number of keys."""
        return self.weights.form is not Form.ROWS and self.weights.per_group == 1

    def _weighed_pieces(self, pieces: str, *, several: bool) -> str:
        """Pieces with the weight w of their unit, keys that most_keys leaves out aside.

        With ``several`` pieces of one key, their number i tells the first from the others.
        """
        most, size = self.work.most_keys, "1" if self._counts_keys() else size_of_group(self.weights, self.d)
        first = (lambda x: f"CASE WHEN i = 1 THEN {x} END") if several else (lambda x: x)
        q = self.d.cast(f"sum({first(size)}){_UNIT}", Sort.INTEGER)
        if most is not None:
            g = f"sum({first('1')}){_UNIT}"
            pieces = kept(self.base, self.keys, pieces, g, most=most, salt=self.work.salt)
            if self._counts_keys():
                q = f"CASE WHEN g <= {self.d.literal(most)} THEN g ELSE {self.d.literal(most)} END"
        sized = f"SELECT *, {q} AS q FROM ({pieces}) AS p"
        return f"SELECT *, {unit_weight(self.weights, self.d, 'q')} AS w FROM ({sized}) AS t"


def kept(base: Base, keys: Sequence[Key], pieces: str, g: str, *, most: int, salt: str) -> str:
    """The pieces of the first ``most`` keys of each unit by hash, with its number of keys g before that.

    All pieces of a unit that has few keys are in the first place.
    """
    many = base.dialect.literal(most)
    order = base.order(salt, keys, when=f"g > {many}")
    sized = f"SELECT *, {g} AS g FROM ({pieces}) AS p"
    ranked = f"SELECT *, dense_rank() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({sized}) AS t"
    return f"SELECT * FROM ({ranked}) AS t WHERE place <= {many}"


def spread_distinct(work: DistinctWork, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement of a count of different values."""
    base = Base(work, d, tables)
    piece = base.value(work.value)
    value = Key(piece.sql, piece.sort)
    k, pair = names(base.keys), [*names(base.keys), value.name]
    u_pair = listed(["u"], pair)
    conditions = f"{base.counts(base.keys)} AND {value.name} IS NOT NULL"
    pairs = f"SELECT {u_pair} FROM ({base.select()}) AS b WHERE {conditions} GROUP BY {u_pair}"
    few = kept(base, [*base.keys, value], pairs, f"count(*){_UNIT}", most=work.cap, salt=work.salt)
    different = f"SELECT DISTINCT {listed(pair)} FROM ({few}) AS t"
    sql = f"SELECT {listed(k, ['count(*) AS n0'])} FROM ({different}) AS t{grouped(k, d)}"
    return Statement(sql, tuple((key.name, key.sort) for key in base.keys), 1)
