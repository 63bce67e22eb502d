"""The bounded sums of a work, with one sort and no join: for databases whose hash tables are slow (PostgreSQL).

The rows are sorted by unit and key. Groups are then runs of neighbours, and what is known of a unit as a whole is a
window over the same order. On 10^7 rows this takes half of the time of hash tables and joins.

  no keys           one row per unit, then one sum
  ROWS              a window over the rows of each unit
  L1, L2, ``pick``  one row per unit and key, a window over those of each unit
  with ``split``    windows over the rows of each unit and key, and of each unit
Where a unit has too many keys, its part is sorted once more, by hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.engines.sql.base import Base, Key
from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.hashed_sums import PRIME, SPLITS, HashedSums, Statement, grouped, listed, names
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.weights import row_weight, size_of_group, unit_weight
from discreet.query.plan.work import DistinctWork, Form, UnitSum

_FIRST = " FILTER (WHERE i = 1)"
_UNIT = " OVER (PARTITION BY u)"


class SortedSums(HashedSums):
    """The statement of one ``Work``."""

    def statement(self) -> Statement:
        """The shape that fits."""
        work = self.work
        if work.pick is not None:
            sql = self._picked(*work.pick)
        elif not self.keys and not self.split:
            sql = self._units()
        elif (self.weights.form is Form.ROWS and work.most_keys is None) or not self.keys:
            sql = self._rows_by_units()
        else:
            sql = self._rows_by_pairs() if self.split else self._pairs()
        keys = [*self.keys, *self.split]
        return Statement(sql, tuple((key.name, key.sort) for key in keys), len(work.cells))

    def _sorted(self, *keys: str) -> str:
        """The rows that count, sorted."""
        conditions = self.base.counts([*self.keys, *self.split]) + (" AND s IS NOT NULL" if self.split else "")
        rows = f"SELECT * FROM ({self.base.select()}) AS b WHERE {conditions} ORDER BY {listed(['u'], keys)}"
        return f"({rows}) AS b"

    # --- one row per unit and key -----------------------------------------------------------------------------------

    def _units(self) -> str:
        unit_sums = f"SELECT {listed(self._sums())} FROM {self._sorted()} GROUP BY u"
        sized = f"SELECT {listed(self._x())}, {size_of_group(self.weights, self.d)} AS q FROM ({unit_sums}) AS p"
        return self._totals(f"SELECT {listed(self._x())}, q, {self._weight()} AS w FROM ({sized}) AS t")

    def _pairs(self) -> str:
        u_k = listed(["u"], self.k)
        once = _counts_keys(self) and all(isinstance(cell, UnitSum) for cell in self.work.cells)
        sums = [] if once else self._sums()
        pairs = f"SELECT {listed(['u'], self.k, sums)} FROM {self._sorted(*self.k)} GROUP BY {u_k}"
        parts, weighed = self._weighed_by_windows(pairs, [] if once else self._x())
        if not once:
            return f"{parts}{self._totals(weighed)}"
        cells = self._cells([self._sum("w")] * len(self.work.cells))
        return f"{parts}SELECT {listed(self.k, cells)} FROM ({weighed}) AS t{grouped(self.k, self.d)}"

    def _picked(self, a: int, b: int) -> str:
        u_k = listed(["u"], self.k)
        line = f"(s * {self.d.literal(a)} + {self.d.literal(b)})"
        code = f"{self.d.call('remainder', line, str(PRIME))} * {SPLITS} + s"
        pairs = f"SELECT {u_k}, count(*) AS n, min({code}) AS m FROM {self._sorted(*self.k)} GROUP BY {u_k}"
        parts, weighed = self._weighed_by_windows(pairs, ["n", "m"])
        picked = f"{self.d.call('remainder', 'm', str(SPLITS))} AS s"
        named = f"SELECT {listed(self.k, [picked, 'w'])} FROM ({weighed}) AS t"
        by = [*self.k, "s"]
        return f"{parts}SELECT {listed(by, self._cells([self._sum('w')]))} FROM ({named}) AS t{grouped(by, self.d)}"

    # --- row by row -------------------------------------------------------------------------------------------------

    def _columns(self) -> list[str]:
        return [*self.k, *names(self.split), *(value.sql for value in self.values.values())]

    def _rows_by_units(self) -> str:
        counted = f"SELECT {listed(['u'], self._columns(), [f'count(*){_UNIT} AS n'])} FROM {self._sorted()}"
        sized = f"SELECT *, {size_of_group(self.weights, self.d)} AS q FROM ({counted}) AS t"
        return self._row_sums(f"SELECT *, {self._weight()} AS w FROM ({sized}) AS t")

    def _rows_by_pairs(self) -> str:
        pair = f"OVER (PARTITION BY {listed(['u'], self.k)})"
        rows = f"SELECT *, count(*) {pair} AS n, row_number() {pair} AS i FROM {self._sorted(*self.k)}"
        columns = list(dict.fromkeys(["n", *self._columns()[len(self.k) :]]))
        parts, weighed = self._weighed_by_windows(rows, columns, _FIRST)
        return f"{parts}{self._row_sums(weighed)}"

    def _row_sums(self, weighed: str) -> str:
        """Light units together; a unit whose rows weigh 0 by itself, until it is scaled down."""
        rows = f"SELECT *, {row_weight(self.weights, self.d)} AS r FROM ({weighed}) AS t"
        by, only = names([*self.keys, *self.split]), " FILTER (WHERE r = 0)"
        light = self._cells(self._row_cells("c.r"))
        raw = [
            f"{selected.rpartition(' AS ')[0]}{only} AS {selected.rpartition(' AS ')[2]}"
            for selected in self._sums()[1:]
        ]
        sizes = [f"min({name}) AS {name}" for name in ("n", "q", "w")]
        selected = listed(by, ["CASE WHEN r = 0 THEN u END AS h", f"count(*){only} AS c"], sizes, light, raw)
        pieces = f"SELECT {selected} FROM ({rows}) AS c GROUP BY {listed(by, ['h'])}"
        cells = [
            self._sum(f"CASE WHEN h IS NULL THEN n{i} ELSE {self._beyond(cell, 'c')} END")
            for i, cell in enumerate(self.work.cells)
        ]
        return f"SELECT {listed(by, self._cells(cells))} FROM ({pieces}) AS t{grouped(by, self.d)}"

    # --- weights ----------------------------------------------------------------------------------------------------

    def _weight(self) -> str:
        return unit_weight(self.weights, self.d, "q")

    def _weighed_by_windows(self, rows: str, columns: Sequence[str], first: str = "") -> tuple[str, str]:
        """Rows (or pairs) with the weight w of their unit, keys that most_keys leaves out aside.

        ``first`` tells the first row of each key from its other rows, where there are several. What comes back are
        common table expressions, if any are needed, and a SELECT.
        """
        shown, weights = [*self.k, *columns], self.weights
        size = "count(*)" if _counts_keys(self) else f"sum({size_of_group(weights, self.d)})"
        q = f"{self.d.cast(f'{size}{first}{_UNIT}', Sort.INTEGER)} AS q"
        if self.work.most_keys is None:
            parts, sized = "", f"SELECT {listed(['u'], shown, [q])} FROM ({rows}) AS p"
        else:
            kept = listed(["u"], shown, ["i"] if first else [])
            most, salt = self.work.most_keys, self.work.salt
            parts, light, heavy = kept_in_order(
                self.base, self.keys, rows, kept, most=most, salt=salt, first=first, q=q
            )
            few, many = listed(["u"], shown, ["q"]), listed(["u"], shown, [q])
            sized = f"SELECT {few} FROM {light}\n  UNION ALL SELECT {many} FROM {heavy}"
        return parts, f"SELECT {listed(['u'], shown)}, q, {self._weight()} AS w FROM ({sized}) AS t"


def _counts_keys(sums: HashedSums) -> bool:
    """Whether the size of a unit is its number of keys."""
    return sums.weights.form is not Form.ROWS and sums.weights.per_group == 1


def kept_in_order(
    base: Base, keys: Sequence[Key], rows: str, shown: str, *, most: int, salt: str, first: str = "", q: str = ""
) -> tuple[str, str, str]:
    """Common table expressions, and FROM items: the rows of units that have few keys, and of those that have too many
    the rows that are kept. Both are sorted by unit.
    """
    many, more = base.dialect.literal(most), f", {q}" if q else ""
    sized = f"SELECT {shown}, count(*){first}{_UNIT} AS g{more} FROM ({rows}) AS p"
    ranked = f"SELECT {shown}, dense_rank() OVER (PARTITION BY u ORDER BY {base.order(salt, keys)}) AS place FROM sized"
    heavy = f"(SELECT * FROM ({ranked} WHERE g > {many}) AS t WHERE place <= {many}) AS h"
    return f"WITH sized {base.dialect.once} ({sized})\n", f"sized WHERE g <= {many}", heavy


def sorted_distinct(work: DistinctWork, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement of a count of different values."""
    base = Base(work, d, tables)
    piece = base.value(work.value)
    value = Key(piece.sql, piece.sort)
    k, pair = names(base.keys), [*names(base.keys), value.name]
    u_pair = listed(["u"], pair)
    conditions = f"{base.counts(base.keys)} AND {value.name} IS NOT NULL"
    rows = f"SELECT {u_pair} FROM ({base.select()}) AS b WHERE {conditions} ORDER BY {u_pair}"
    pairs = f"SELECT {u_pair} FROM ({rows}) AS b GROUP BY {u_pair}"
    parts, light, heavy = kept_in_order(base, [*base.keys, value], pairs, u_pair, most=work.cap, salt=work.salt)
    kept = f"SELECT {listed(pair)} FROM {light}\n  UNION ALL SELECT {listed(pair)} FROM {heavy}"
    different = f"SELECT DISTINCT {listed(pair)} FROM ({kept}) AS t"
    sql = f"{parts}SELECT {listed(k, ['count(*) AS n0'])} FROM ({different}) AS t{grouped(k, d)}"
    return Statement(sql, tuple((key.name, key.sort) for key in base.keys), 1)
