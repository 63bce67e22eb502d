"""The bounded sums of a work, with hash tables and joins: each shape is the fastest that was measured on DuckDB.

no keys           one row per unit, then one sum; no join
ROWS with keys    weights per unit, joined back to the rows; the source is read twice, and nothing else is kept
L1 and L2         one row per unit and key (kept), weights per unit from it, joined back, then one row per key
with ``split``    weights per unit and key, joined back to the rows; with ``pick``, as L1 and L2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.engines.sql.base import Base, Key
from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.weights import beyond, row_weight, size_of_group, size_of_unit, unit_weight
from discreet.query.plan.expressions import Call, Literal
from discreet.query.plan.nodes import Filter, Project, Relation, Scan
from discreet.query.plan.work import Cell, DistinctWork, Form, RowSum, UnitSum, Work

_FITS = 1 << 62
PRIME = 2147483647
SPLITS = 8192


@dataclass(frozen=True, slots=True)
class Statement:
    """One SELECT. Its columns are k0, k1, ... (the keys), s (the split), then n0, n1, ...: whole numbers."""

    sql: str
    keys: tuple[tuple[str, Sort], ...]
    cells: int


def names(keys: Sequence[Key]) -> list[str]:
    """The columns of these keys."""
    return [key.name for key in keys]


def listed(*parts: Sequence[str]) -> str:
    """All of them, with commas."""
    return ", ".join(name for part in parts for name in part)


def grouped(names: Sequence[str], d: Dialect) -> str:
    """One row for each group that has any; without keys, none if there are no rows."""
    return f" GROUP BY {', '.join(names)}" if names else f" HAVING {d.count}(*) > 0"


def cheap(relation: Relation, tables: Mapping[str, Origin]) -> bool:
    """Whether reading the relation twice costs less than keeping its rows, and gives the same rows.

    A view may be a sample, other rows at each reading: weights that were counted in one would not bound the other. Nor
    are numbered rows numbered alike. Lists would be taken apart twice.
    """
    while isinstance(relation, (Filter, Project)):
        relation = relation.source
    return isinstance(relation, Scan) and relation.is_plain and not tables[relation.table].view


class HashedSums:
    """The statement of one ``Work``."""

    def __init__(self, work: Work, dialect: Dialect, tables: Mapping[str, Origin]) -> None:
        self.work, self.d, self.weights = work, dialect, work.weights
        self.base = Base(work, dialect, tables, numbered=work.most_keys is None)
        self._cheap = cheap(work.source, tables)
        self.keys = self.base.keys
        self.split = [] if work.split is None else [self.base.key("s", work.split)]
        sums = [cell for cell in dict.fromkeys(work.cells) if isinstance(cell, RowSum) and cell != COUNT]
        self.rests = _rests(sums)
        self.values = {cell: self.base.value(cell.value) for cell in sums if cell not in self.rests}
        self.k = names(self.keys)

    def statement(self) -> Statement:
        """The shape that fits."""
        by_rows = self.weights.form is Form.ROWS and self.work.most_keys is None
        if self.work.pick is not None:
            sql = self._picked(*self.work.pick)
        elif self.split:
            sql = self._rows_by_units() if by_rows or not self.keys else self._rows_by_pairs()
        elif not self.keys:
            sql = self._units()
        elif by_rows and self._cheap:
            sql = self._rows_by_units()
        else:
            sql = self._pairs()
        keys = [*self.keys, *self.split]
        sql = self.base.shown(sql, keys, len(self.work.cells))
        return Statement(sql, tuple((key.name, key.sort) for key in keys), len(self.work.cells))

    # --- one row per unit and key -----------------------------------------------------------------------------------

    def _sums(self) -> list[str]:
        """The columns of a pair besides its keys: its number of rows, its sums."""
        sums = [f"{self.d.call('sum', v.sql)} AS x{v.sql}" for v in self.values.values()]
        return [f"{self.d.count}(*) AS n", *sums, *self._present()]

    def _present(self) -> list[str]:
        """How many values are not NULL, where that is needed."""
        return [f"{self.d.count}({v}) AS c{v}" for v in self._others()]

    def _others(self) -> list[str]:
        return list(dict.fromkeys(self.values[of].sql for _, of in self.rests.values()))

    def _x(self) -> list[str]:
        return ["n", *(f"x{v.sql}" for v in self.values.values()), *(f"c{v}" for v in self._others())]

    def _units(self) -> str:
        unit_sums = f"SELECT {listed(self._sums())} FROM ({self.base.select()}) AS b GROUP BY u HAVING u IS NOT NULL"
        sized = f"SELECT {listed(self._x())}, {size_of_group(self.weights, self.d)} AS q FROM ({unit_sums}) AS p"
        weighed = f"SELECT {listed(self._x())}, q, {unit_weight(self.weights, self.d, 'q')} AS w FROM ({sized}) AS g"
        return self._totals(weighed)

    def _only_units(self) -> bool:
        return self.weights.per_group == 1 and all(isinstance(cell, UnitSum) for cell in self.work.cells)

    def _pairs(self) -> str:
        return self._pairs_of(f"({self.base.select()}) AS b")

    def _pairs_of(self, rows: str) -> str:
        if self._only_units():
            return self._presence(rows)
        parts = [self._pair_table(rows, having=True)]
        return f"WITH {self._weighed(parts)}\n{self._totals(f'SELECT {listed(self.k, self._x())}, w, q FROM weighed')}"

    def _presence(self, rows: str) -> str:
        """Units once in each of their groups: how many rows they have there is not needed."""
        u_k = listed(["u"], self.k)
        pairs = f"SELECT {u_k} FROM {rows} GROUP BY {u_k} HAVING {self.base.counts(self.keys)}"
        cells = self._cells([self._sum("w")] * len(self.work.cells))
        totals = f"SELECT {listed(self.k, cells)} FROM weighed{grouped(self.k, self.d)}"
        return f"WITH {self._weighed([f'pairs {self.d.once} ({pairs})'], [])}\n{totals}"

    def _pair_table(self, source: str, *, having: bool) -> str:
        where = f" HAVING {self.base.counts(self.keys)}" if having else ""
        sums = listed(["u"], self.k, self._sums() if having else [f"{self.d.count}(*) AS n"])
        return f"pairs {self.d.once} (SELECT {sums} FROM {source} GROUP BY {listed(['u'], self.k)}{where})"

    def _weighed(self, parts: list[str], columns: Sequence[str] | None = None) -> str:
        """Pairs with the weight w of their unit, those that most_keys leaves out aside."""
        most, d, x = self.work.most_keys, self.d, self._x() if columns is None else columns
        size, weight = size_of_unit(self.weights, d), unit_weight(self.weights, d, "q")
        picked = listed([f"p.{name}" for name in ("u", *self.k, *x)])
        if most is None or not self.keys:
            units = f"SELECT u, q, {weight} AS w FROM (SELECT u, {size} AS q FROM pairs GROUP BY u) AS t"
            weighed = f"SELECT {picked}, g.w, g.q FROM pairs AS p JOIN units AS g ON p.u = g.u"
            return ",\n".join([*parts, f"units AS ({units})", f"weighed AS ({weighed})"])
        many = d.literal(most)
        heavy = f"SELECT p.* FROM pairs AS p JOIN units AS g ON p.u = g.u WHERE g.g > {many}"
        order = self.base.order(self.work.salt, self.keys)
        ranked = f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({heavy}) AS t"
        light = f"SELECT u, q, {weight} AS w FROM units WHERE g <= {many}"
        again = f"SELECT u, q, {weight} AS w FROM (SELECT u, {size} AS q FROM kept GROUP BY u) AS t"
        return ",\n".join(
            [
                *parts,
                f"units {d.once} (SELECT u, {d.count}(*) AS g, {size} AS q FROM pairs GROUP BY u)",
                f"kept {d.once} (SELECT {listed(['u'], self.k, x)} FROM ({ranked}) AS t WHERE place <= {many})",
                f"weighed AS (SELECT {picked}, g.w, g.q FROM pairs AS p JOIN ({light}) AS g ON p.u = g.u\n"
                f"  UNION ALL SELECT {picked}, g.w, g.q FROM kept AS p JOIN ({again}) AS g ON p.u = g.u)",
            ]
        )

    def _totals(self, weighed: str) -> str:
        """From pairs with k0, ..., n, sums and the unit's weight w to one row per key."""
        rate = row_weight(self.weights, self.d)
        rows = f"SELECT {listed(self.k, self._x())}, w, q, {rate} AS r FROM ({weighed}) AS t"
        cells = [self._total(cell) for cell in self.work.cells]
        return f"SELECT {listed(self.k, self._cells(cells))} FROM ({rows}) AS t{grouped(self.k, self.d)}"

    def _total(self, cell: Cell, count: str = "n") -> str:
        """A cell, from pairs with their weights w and r."""
        if isinstance(cell, RowSum) and cell in self.rests:
            whole, of = self.rests[cell]
            less = self._less(whole, f"r * c{self.values[of].sql}", self._weighed_rows(of, count))
            return f"({less} + {self._sum(f'CASE WHEN r = 0 THEN {self._beyond(cell, count)} END')})"
        return self._sum(self._weighed_cell(cell, count))

    def _beyond(self, cell: Cell, count: str = "n") -> str:
        """What a pair whose rows weigh 0 adds to a cell."""
        if isinstance(cell, RowSum) and cell in self.rests:
            whole, of = self.rests[cell]
            v = self.values[of].sql
            many = f"CAST(c{v} AS {self.d.wide})"
            return beyond(self.weights, self.d, f"({self.d.literal(whole)} * {many} - coalesce({self._raw(of)}, 0))")
        if isinstance(cell, RowSum) and cell in self.values:
            return beyond(self.weights, self.d, self._raw(cell))
        return self.d.cast(beyond(self.weights, self.d, count), Sort.INTEGER)

    def _raw(self, cell: RowSum) -> str:
        """The sum of the values of a pair."""
        return f"x{self.values[cell].sql}"

    def _weighed_cell(self, cell: Cell, count: str = "n") -> str:
        """What a pair adds to a cell."""
        if isinstance(cell, UnitSum):
            return "w"
        return f"CASE WHEN r = 0 THEN {self._beyond(cell, count)} ELSE {self._weighed_rows(cell, count)} END"

    def _weighed_rows(self, cell: Cell, count: str = "n") -> str:
        """The same where each row weighs r."""
        return f"r * x{self.values[cell].sql}" if cell in self.values else f"r * {count}"

    def _cells(self, sums: Sequence[str]) -> list[str]:
        return [f"{summed} AS n{i}" for i, summed in enumerate(sums)]

    def _sum(self, summand: str) -> str:
        return f"coalesce({self.d.call('sum', summand)}, 0)"

    def _less(self, whole: int, weights: str, values: str) -> str:
        """Σ W (whole - v) as whole · Σ W - Σ W v: a count is quicker to sum than a value."""
        return f"(CAST({self.d.literal(whole)} AS {self.d.wide}) * {self._sum(weights)} - {self._sum(values)})"

    # --- weights joined back to the rows ----------------------------------------------------------------------------

    def _rows(self) -> str:
        """The rows that count, to be read twice."""
        how = self.d.again if self._cheap else self.d.once
        conditions = self.base.counts([*self.keys, *self.split])
        if self.split:
            conditions += " AND s IS NOT NULL"
        return f"counted {how} (SELECT * FROM ({self.base.select()}) AS b WHERE {conditions})"

    def _rows_by_units(self) -> str:
        n = f"SELECT u, {self.d.count}(*) AS n FROM counted GROUP BY u"
        sized = f"SELECT u, {size_of_group(self.weights, self.d)} AS q, n FROM ({n}) AS t"
        weight = f"SELECT u, n, q, {unit_weight(self.weights, self.d, 'q')} AS w FROM ({sized}) AS t"
        units = f"SELECT u, n, q, w, {row_weight(self.weights, self.d)} AS r FROM ({weight}) AS t"
        totals = self._row_totals("counted AS c JOIN units AS g ON c.u = g.u", "g.r")
        heavy = "SELECT c.*, g.n, g.q, g.w FROM counted AS c JOIN (SELECT * FROM units WHERE r = 0) AS g ON c.u = g.u"
        return f"WITH {self._rows()},\nunits {self.d.once} ({units})\n{self._with_heavy(totals, heavy)}"

    def _rows_by_pairs(self) -> str:
        parts = [self._rows(), self._pair_table("counted", having=False)]
        row = f"SELECT {listed(['u'], self.k)}, n, q, w, {row_weight(self.weights, self.d)} AS r FROM weighed"
        on = " AND ".join(["c.u = g.u", *(self._same(key) for key in self.keys)])
        full = self.d.literal(self.weights.scale)
        if self.work.most_keys is None:  # pairs of full weight need not be looked up
            row = f"SELECT * FROM ({row}) AS t WHERE r < {full}"
            join, weight = "LEFT JOIN", f"coalesce(g.r, {full})"
        else:
            join, weight = "JOIN", "g.r"
        totals = self._row_totals(f"counted AS c {join} weights AS g ON {on}", weight)
        heavy = f"SELECT c.*, g.n, g.q, g.w FROM counted AS c JOIN (SELECT * FROM weights WHERE r = 0) AS g ON {on}"
        totals = self._with_heavy(totals, heavy)
        return f"WITH {self._weighed(parts, ['n'])},\nweights {self.d.once} ({row})\n{totals}"

    def _with_heavy(self, totals: str, rows: str) -> str:
        """The totals with what units add whose rows weigh 0; ``rows`` selects these, which are few or none."""
        by, d = names([*self.keys, *self.split]), self.d
        sums = [f"{d.count}(*) AS c", *self._sums()[1:]]
        facts = [*by, "n", "q", "w"]
        heavy_units = f"SELECT {listed(facts, sums)} FROM ({rows}) AS h GROUP BY {listed(['u'], facts)}"
        beyond = ["0" if isinstance(cell, UnitSum) else self._sum(self._beyond(cell, "c")) for cell in self.work.cells]
        heavy = f"SELECT {listed(by, self._cells(beyond))} FROM ({heavy_units}) AS h{grouped(by, d)}"
        return self._together(totals, heavy)

    def _together(self, *parts: str) -> str:
        """The sum of all parts, group by group."""
        by = names([*self.keys, *self.split])
        both = self._cells([self._sum(f"n{i}") for i in range(len(self.work.cells))])
        rows = "\n  UNION ALL ".join(parts)
        return f"SELECT {listed(by, both)} FROM (\n{rows}) AS t{grouped(by, self.d)}"

    def _picked(self, a: int, b: int) -> str:
        """One row per unit and key, with the split that is picked for it: no row is looked at twice."""
        code = self._code(a, b)
        having = self.base.counts(self.keys)
        rows = f"SELECT * FROM ({self.base.select()}) AS b WHERE {self.base.counts(self.split)} AND s IS NOT NULL"
        pairs = (
            f"pairs {self.d.once} (SELECT {listed(['u'], self.k)}, min({code}) AS m FROM ({rows}) AS b "
            f"GROUP BY {listed(['u'], self.k)} HAVING {having})"
        )
        cells = self._cells([self._sum("w")])
        picked = f"{self.d.call('remainder', 'm', str(SPLITS))} AS s"
        named = f"SELECT {listed(self.k, [picked, 'w'])} FROM weighed"
        totals = f"SELECT {listed(self.k, ['s'], cells)} FROM ({named}) AS t GROUP BY {listed(self.k, ['s'])}"
        return f"WITH {self._weighed([pairs], ['m'])}\n{totals}"

    def _code(self, a: int, b: int) -> str:
        """By what a split is picked, with the split itself at its end."""
        line = f"(s * {self.d.literal(a)} + {self.d.literal(b)})"
        return f"{self.d.call('remainder', line, str(PRIME))} * {SPLITS} + s"

    def _same(self, key: Key) -> str:
        nullable = key.allowed is None or None in key.allowed
        return self.d.call("same" if nullable else "eq", f"c.{key.name}", f"g.{key.name}")

    def _row_totals(self, joined: str, weight: str, units: str | None = None) -> str:
        columns = [f"c.{name}" for name in names([*self.keys, *self.split])]
        cells = self._cells(self._row_cells(weight, units))
        return f"SELECT {listed(columns, cells)} FROM {joined}{grouped(columns, self.d)}"

    def _row_cells(self, weight: str, units: str | None = None) -> list[str]:
        """The cells as sums over rows c with their weights; ``units`` is what a row adds to a sum over units."""
        cells = []
        for cell in self.work.cells:
            if isinstance(cell, UnitSum):
                if units is None:
                    raise ValueError("units cannot be counted row by row")
                cells.append(self._sum(units))
                continue
            whole, of = self.rests.get(cell, (None, cell))
            value = self.values.get(of)
            fits = value is not None and value.reach * self.weights.scale < _FITS
            heavy = weight if value is None or fits else f"CAST({weight} AS {self.d.wide})"
            if value is None:
                cells.append(self._sum(weight))
            elif whole is None:
                cells.append(self._sum(f"{heavy} * c.{value.sql}"))
            else:
                present = f"CASE WHEN c.{value.sql} IS NOT NULL THEN {weight} ELSE 0 END"
                cells.append(self._less(whole, present, f"{heavy} * c.{value.sql}"))
        return cells


COUNT = RowSum(Literal(1))


def _rests(sums: Sequence[RowSum]) -> dict[RowSum, tuple[int, RowSum]]:
    """The sums that follow from others; each from one that is summed itself, never from one that follows, too."""
    rests = {cell: rest for cell in sums if (rest := _rest(cell, sums)) is not None}
    return {cell: (whole, of) for cell, (whole, of) in rests.items() if of not in rests}


def _rest(cell: RowSum, sums: Sequence[RowSum]) -> tuple[int, RowSum] | None:
    """A constant and another sum, if the value of this one is the constant less the value of that."""
    match cell.value:
        case Call("sub", (Literal(int(whole)), value)) if RowSum(value) in sums:
            return whole, RowSum(value)
    return None


# --- distinct values ------------------------------------------------------------------------------------------------


def hashed_distinct(work: DistinctWork, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement of a count of different values."""
    base = Base(work, d, tables)
    piece = base.value(work.value)
    value = Key(piece.sql, piece.sort)
    k, all_of_it = names(base.keys), [*names(base.keys), value.name]
    once, most = listed(["u"], all_of_it), d.literal(work.cap)
    conditions = f"{base.counts(base.keys)} AND {value.name} IS NOT NULL"
    heavy = f"SELECT p.* FROM pairs AS p JOIN units AS g ON p.u = g.u WHERE g.g > {most}"
    order = base.order(work.salt, [*base.keys, value])
    ranked = f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({heavy}) AS t"
    picked = listed([f"p.{name}" for name in all_of_it])
    kept = (
        f"SELECT {picked} FROM pairs AS p JOIN units AS g ON p.u = g.u WHERE g.g <= {most}\n"
        f"  UNION ALL SELECT {listed(all_of_it)} FROM ({ranked}) AS t WHERE place <= {most}"
    )
    sql = (
        f"WITH pairs {d.once} (SELECT {once} FROM ({base.select()}) AS b GROUP BY {once} HAVING {conditions}),\n"
        f"units {d.once} (SELECT u, {d.count}(*) AS g FROM pairs GROUP BY u),\n"
        f"kept AS ({kept})\n"
        f"SELECT {listed(k, [f'{d.count}(*) AS n0'])} "
        f"FROM (SELECT DISTINCT {listed(all_of_it)} FROM kept) AS t{grouped(k, d)}"
    )
    return Statement(base.shown(sql, base.keys, 1), tuple((key.name, key.sort) for key in base.keys), 1)
