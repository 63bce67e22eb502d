"""The bounded sums of a work for clusters (Spark), where moving rows costs most: sums, then windows, no join.

Rows move once, to the place of their unit, and are summed there by unit, key and split. What is known of a unit as a
whole is a window over its pieces. Without ``gather``, rows are summed where they are, and what moves is one piece for
each unit, key, split and task, twice: that is slower, unless one unit has a large share of all rows. Where a unit has
too many keys, its pieces are sorted once more by hash; the hash of units that have few is never computed.

Sums of one piece are of 64 bits, in two halves if need be: right for tables of up to 2^40 rows. Sums over units are
wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.engines.sql.base import Base, Key
from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.hashed_sums import PRIME, SPLITS, HashedSums, Statement, grouped, listed, names
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.scope import Piece
from discreet.engines.sql.weights import row_weight, size_of_group, unit_weight
from discreet.query.plan.work import Cell, DistinctWork, Form, RowSum, UnitSum

_ROWS = 1 << 40
_HALF = 22
_FITS = 1 << 62
_UNIT = " OVER (PARTITION BY u)"


class WindowedSums(HashedSums):
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
            cells, named = (
                [self._sum("w")],
                f"SELECT {listed(self.k, [f'm % {SPLITS} AS s', 'w'])} FROM ({weighed}) AS t",
            )
        elif by:
            pair = listed(["u"], self.k)
            per_unit = self._grouped(rows, [*self.k, *by], ["count(*) AS c", *self._sums()[1:]])
            n, i = f"sum(c) OVER (PARTITION BY {pair})", f"row_number() OVER (PARTITION BY {pair} ORDER BY s)"
            named = self._rated(
                self._weighed_pieces(f"SELECT *, {n} AS n, {i} AS i FROM ({per_unit}) AS p", several=True)
            )
            cells = [self._total(cell, "c") for cell in self.work.cells]
        else:
            presence = self._counts_keys() and all(isinstance(cell, UnitSum) for cell in self.work.cells)
            pieces = self._grouped(rows, self.k, [] if presence else self._sums())
            weighed = self._weighed_pieces(pieces, several=False)
            named = weighed if presence else self._rated(weighed)
            cells = [self._total(cell) for cell in self.work.cells]
        out = [*self.k, *by]
        return f"SELECT {listed(out, self._cells(cells))} FROM ({named}) AS t{grouped(out, self.d)}"

    def _counted(self) -> str:
        """The rows that count."""
        conditions = self.base.counts([*self.keys, *self.split]) + (" AND s IS NOT NULL" if self.split else "")
        return f"SELECT * FROM ({self.base.select()}) AS b WHERE {conditions}{self.d.gather}"

    def _grouped(self, rows: str, by: Sequence[str], sums: Sequence[str]) -> str:
        return f"SELECT {listed(['u'], by, sums)} FROM ({rows}) AS b GROUP BY {listed(['u'], by)}"

    # --- sums of one piece ------------------------------------------------------------------------------------------

    def _sums(self) -> list[str]:
        sums = ["count(*) AS n"]
        for value in self.values.values():
            x = value.sql
            if short(value):
                sums.append(f"sum({x}) AS x{x}")
            elif _in_halves(value):
                sums += [f"sum(shiftright({x}, {_HALF})) AS h{x}", f"sum({x} & {(1 << _HALF) - 1}) AS l{x}"]
            else:
                sums.append(f"{self.d.call('sum', x)} AS x{x}")
        return [*sums, *self._present()]

    def _x(self) -> list[str]:
        return [summed.rpartition(" ")[2] for summed in self._sums()]

    def _weighed_cell(self, cell: Cell, count: str = "n") -> str:
        if isinstance(cell, UnitSum) and self.split:
            raise ValueError("units cannot be counted row by row")
        return super()._weighed_cell(cell, count)

    def _raw(self, cell: RowSum) -> str:
        value = self.values[cell]
        if not _in_halves(value):
            return f"x{value.sql}"
        return f"(CAST(h{value.sql} AS {self.d.wide}) * {1 << _HALF} + l{value.sql})"

    def _weighed_rows(self, cell: Cell, count: str = "n") -> str:
        """What a piece adds to a cell: in 64 bits wherever that is sure to do, since wide numbers are slow.

        Weights make r * n at most ``scale`` times what one unit may add, so r * x is at most ``reach`` times that.
        """
        if not isinstance(cell, RowSum) or cell not in self.values:
            return f"r * {count}"
        value, d, weights = self.values[cell], self.d, self.weights
        rows = weights.cap if weights.form is Form.ROWS or weights.per_group is None else weights.per_group
        fits = value.reach * weights.scale * rows < _FITS
        x = f"x{value.sql}"
        if not _in_halves(value):
            return f"r * {x}" if fits or not short(value) else f"CAST(r AS {d.wide}) * {x}"
        high, low = f"h{value.sql}", f"l{value.sql}"
        wide = f"(CAST({high} AS {d.wide}) * {1 << _HALF} + {low}) * r"
        few = d.literal(_FITS // (value.reach + 1))
        return (
            f"CASE WHEN n <= {few} THEN {_wide(f'({high} * {1 << _HALF} + {low}) * r', d)} ELSE {wide} END"
            if fits
            else wide
        )

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


def short(value: Piece) -> bool:
    """Whether 64 bits hold a sum over as many rows as there may be."""
    return value.reach * _ROWS < 1 << 63


def _in_halves(value: Piece) -> bool:
    """Whether 64 bits hold the sums of its high and of its low bits."""
    return not short(value) and value.reach < 1 << 2 * _HALF


def _wide(sql: str, d: Dialect) -> str:
    return f"CAST({sql} AS {d.wide})"


def kept(base: Base, keys: Sequence[Key], pieces: str, g: str, *, most: int, salt: str) -> str:
    """The pieces of the first ``most`` keys of each unit by hash, with its number of keys g before that.

    All pieces of a unit that has few keys are in the first place.
    """
    many = base.dialect.literal(most)
    order = base.order(salt, keys, when=f"g > {many}")
    sized = f"SELECT *, {g} AS g FROM ({pieces}) AS p"
    ranked = f"SELECT *, dense_rank() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({sized}) AS t"
    return f"SELECT * FROM ({ranked}) AS t WHERE place <= {many}"


def windowed_distinct(work: DistinctWork, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement of a count of different values."""
    base = Base(work, d, tables)
    piece = base.value(work.value)
    value = Key(piece.sql, piece.sort)
    k, pair = names(base.keys), [*names(base.keys), value.name]
    u_pair = listed(["u"], pair)
    conditions = f"{base.counts(base.keys)} AND {value.name} IS NOT NULL"
    rows = f"SELECT {u_pair} FROM ({base.select()}) AS b WHERE {conditions}{d.gather}"
    pairs = f"SELECT {u_pair} FROM ({rows}) AS b GROUP BY {u_pair}"
    few = kept(base, [*base.keys, value], pairs, f"count(*){_UNIT}", most=work.cap, salt=work.salt)
    different = f"SELECT DISTINCT {listed(pair)} FROM ({few}) AS t"
    sql = f"SELECT {listed(k, ['count(*) AS n0'])} FROM ({different}) AS t{grouped(k, d)}"
    return Statement(sql, tuple((key.name, key.sort) for key in base.keys), 1)
