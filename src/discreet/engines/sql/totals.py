"""The totals of units, clipped or counted by class: one row per unit and key, one per unit, then the result.

A total may be of any size. What is compared and weighed is cut to M, which is beyond every cap and every edge:
  x = X_uk cut to ±M, q = Σ_k |x| cut to M.
Then q = min(t_u, M), and |x| <= q. A weight is 0 where t_u > S*cap, and a class is the same for all t_u beyond the last
edge: so both follow from q, and w*x is at most S*cap in size. Hence 64 bits hold all that is kept and multiplied, on
every database; sums are wide, and never beyond 2^62 for each row. Proof: ``query/lower/totals.md``.

HASHED on databases that keep a common table expression (DuckDB): the rows per unit and key are kept, and weights are
joined to them. Elsewhere: what is known of a unit is a window over its rows per key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from discreet.engines.sql.base import Base
from discreet.engines.sql.dialects import Dialect, Shape, Sort
from discreet.engines.sql.hashed_sums import Statement, grouped, listed, names
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.sorted_sums import kept_in_order
from discreet.engines.sql.windowed_sums import kept, short
from discreet.query.plan.expressions import Literal
from discreet.query.plan.work import ClippedSum, Total, TotalsWork, UnitClasses

_UNIT = " OVER (PARTITION BY u)"
_ROWS = Total(Literal(1))


class _Numbers:
    """The numbers X_uk of several totals and their lengths, as columns: x0, x1, ... and q0, q1, ..."""

    def __init__(self, base: Base, totals: Iterable[Total], most: Callable[[Total], int]) -> None:
        self.d, self._places = base.dialect, {total: i for i, total in enumerate(dict.fromkeys(totals))}
        summed = [total for total in self._places if total.value is not None and total != _ROWS]
        self._values = {total: base.value(total.value) for total in summed if total.value is not None}
        self._most = {total: self.d.literal(most(total)) for total in self._places}

    def x(self, total: Total) -> str:
        """The column of its numbers."""
        return self.d.literal(1) if total.value is None else f"x{self._places[total]}"

    def q(self, total: Total) -> str:
        """The column of its lengths."""
        return f"q{self._places[total]}"

    @property
    def xs(self) -> list[str]:
        """The columns of all numbers that are not 1."""
        return [self.x(total) for total in self._places if total.value is not None]

    @property
    def qs(self) -> list[str]:
        """The columns of all lengths."""
        return list(map(self.q, self._places))

    def sums(self) -> list[str]:
        """The numbers of any size, as aggregates over rows."""
        return [f"{self._sum_of_rows(total)} AS {self.x(total)}" for total in self._places if total.value is not None]

    def _sum_of_rows(self, total: Total) -> str:
        if total == _ROWS:
            return f"{self.d.count}(*)"
        value = self._values[total]
        return f"sum({value.sql})" if short(value) else self.d.call("sum", value.sql)

    def cut_sums(self) -> list[str]:
        """The numbers cut to ±M."""
        return [f"{self._cut_sum(total)} AS {self.x(total)}" for total in self._places if total.value is not None]

    def _cut_sum(self, total: Total) -> str:
        x = self.x(total)
        if total == _ROWS:
            return x
        if short(self._values[total]):
            return self.d.cast(f"coalesce({x}, 0)", Sort.INTEGER)
        most = self._most[total]
        least = self.d.call("neg", most)
        cut = f"CASE WHEN {x} >= {most} THEN {most} WHEN {x} <= {least} THEN {least} ELSE coalesce({x}, 0) END"
        return self.d.cast(cut, Sort.INTEGER)

    def lengths(self, over: str = "") -> list[str]:
        """The lengths of any size, as aggregates over the groups of a unit."""
        return [f"{self._length(total)}{over} AS {self.q(total)}" for total in self._places]

    def _length(self, total: Total) -> str:
        if total.value is None:
            return f"{self.d.count}(*)"
        x = self.x(total)
        if total == _ROWS:
            return f"sum({x})"
        size = self.d.call("abs", x)
        return f"sum({size})" if short(self._values[total]) else self.d.call("sum", size)

    def cut_lengths(self) -> list[str]:
        """The lengths cut to M."""
        found = []
        for total in self._places:
            q, most = self.q(total), self._most[total]
            cut = f"CASE WHEN {q} >= {most} THEN {most} ELSE {q} END"
            found.append(f"{self.d.cast(cut, Sort.INTEGER)} AS {q}")
        return found

    def own_lengths(self) -> list[str]:
        """The lengths of units that have one group, or of one group."""
        return [
            f"{self.x(total) if total.value is None else self.d.call('abs', self.x(total))} AS {self.q(total)}"
            for total in self._places
        ]


class _Pieces:
    """One row per unit and key that counts (k0, ..., x0, ...), and the length of each unit."""

    def __init__(
        self,
        work: TotalsWork | UnitClasses,
        d: Dialect,
        tables: Mapping[str, Origin],
        totals: Iterable[Total],
        most: Callable[[Total], int],
    ) -> None:
        self.work, self.d = work, d
        self.base = Base(work, d, tables, numbered=work.most_keys is None)
        self.keys, self.k = self.base.keys, names(self.base.keys)
        self.numbers = _Numbers(self.base, totals, most)
        self.columns = [*self.k, *self.numbers.xs]
        self.most_keys = work.most_keys if self.keys else None

    def all(self) -> str:
        """Of every unit, with the keys that ``most_keys`` leaves out."""
        d, by = self.d, listed(["u"], self.k)
        counts, sums = self.base.counts(self.keys), listed(["u"], self.k, self.numbers.sums())
        rows = f"({self.base.select()}) AS b"
        if d.shape is Shape.HASHED:
            raw = f"SELECT {sums} FROM {rows} GROUP BY {by} HAVING {counts}"
        else:
            order = d.gather if d.shape is Shape.WINDOWED else f" ORDER BY {by}"
            raw = f"SELECT {sums} FROM (SELECT * FROM {rows} WHERE {counts}{order}) AS b GROUP BY {by}"
        return f"SELECT {listed(['u'], self.k, self.numbers.cut_sums())} FROM ({raw}) AS p"

    def lengths(self, of: str) -> str:
        """The number of keys g and the length of each unit, from all of its pieces."""
        raw = f"SELECT {listed(['u', f'{self.d.count}(*) AS g'], self.numbers.lengths())} FROM {of} GROUP BY u"
        return f"SELECT {listed(['u', 'g'], self.numbers.cut_lengths())} FROM ({raw}) AS t"

    def with_lengths(self) -> tuple[str, str]:
        """Common table expressions, if any, and a SELECT of the kept pieces with the lengths of their units."""
        if not self.keys:
            return "", f"SELECT {listed(self.columns, self.numbers.own_lengths())} FROM ({self.all()}) AS p"
        if _keeps(self.d):
            return self._joined()
        parts, items = self._kept()
        cut = listed(self.columns, self.numbers.cut_lengths())
        over = listed(self.columns, self.numbers.lengths(_UNIT))
        return parts, "\n  UNION ALL ".join(f"SELECT {cut} FROM (SELECT {over} FROM {item}) AS t" for item in items)

    def lengths_of_units(self) -> tuple[str, str]:
        """Common table expressions, if any, and a SELECT of the lengths of all units."""
        qs = listed(self.numbers.qs)
        if not self.keys:
            return "", f"SELECT {listed(self.numbers.own_lengths())} FROM ({self.all()}) AS p"
        if self.most_keys is not None and _keeps(self.d):
            parts, units = self._kept_by_joins()
            return parts, "\n  UNION ALL ".join(f"SELECT {qs} FROM ({one}) AS t" for _, one in units)
        parts, items = self._kept()
        return parts, "\n  UNION ALL ".join(f"SELECT {qs} FROM ({self.lengths(item)}) AS t" for item in items)

    def _kept(self) -> tuple[str, list[str]]:
        """Common table expressions, and FROM items: each has all pieces of its units that are kept."""
        if self.most_keys is None:
            return "", [f"({self.all()}) AS p"]
        how = {"most": self.most_keys, "salt": self.work.salt}
        if self.d.shape is Shape.SORTED:
            shown = listed(["u"], self.columns)
            parts, light, heavy = kept_in_order(self.base, self.keys, self.all(), shown, **how)  # type: ignore[arg-type]
            return parts, [light, heavy]
        return "", [f"({kept(self.base, self.keys, self.all(), f'{self.d.count}(*){_UNIT}', **how)}) AS p"]  # type: ignore[arg-type]

    # --- kept pieces and joins ----------------------------------------------------------------------------------------

    def _joined(self) -> tuple[str, str]:
        if self.most_keys is None:
            parts = f"WITH pairs {self.d.once} ({self.all()})\n"
            units = [("pairs", self.lengths("pairs"))]
        else:
            parts, units = self._kept_by_joins()
        columns = listed([f"p.{name}" for name in self.columns], [f"g.{name}" for name in self.numbers.qs])
        joins = (f"SELECT {columns} FROM {some} AS p JOIN ({lengths}) AS g ON p.u = g.u" for some, lengths in units)
        return parts, "\n  UNION ALL ".join(joins)

    def _kept_by_joins(self) -> tuple[str, list[tuple[str, str]]]:
        """Common table expressions; then, for units with few keys and for the others, the pieces and the lengths."""
        once, many = self.d.once, self.d.literal(self.most_keys)
        heavy = f"SELECT p.* FROM pairs AS p JOIN units AS g ON p.u = g.u WHERE g.g > {many}"
        order = self.base.order(self.work.salt, self.keys)
        ranked = f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY {order}) AS place FROM ({heavy}) AS t"
        chosen = f"SELECT {listed(['u'], self.columns)} FROM ({ranked}) AS t WHERE place <= {many}"
        parts = (
            f"pairs {once} ({self.all()})",
            f"units {once} ({self.lengths('pairs')})",
            f"kept {once} ({chosen})",
        )
        light = f"SELECT {listed(['u'], self.numbers.qs)} FROM units WHERE g <= {many}"
        return "WITH " + ",\n".join(parts) + "\n", [("pairs", light), ("kept", self.lengths("kept"))]


def _keeps(d: Dialect) -> bool:
    """Whether rows per unit and key had better be kept and joined."""
    return d.shape is Shape.HASHED and d.once != d.again


def clipped_sums(work: TotalsWork, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement of clipped sums."""
    caps: dict[Total, int] = {}
    for cell in work.cells:
        caps[cell.total] = max(cell.cap, caps.get(cell.total, 0))
    pieces = _Pieces(work, d, tables, caps, lambda total: work.scale * caps[total] + 1)
    parts, rows = pieces.with_lengths()
    cells = [f"coalesce({d.call('sum', _weighed(cell, work.scale, pieces.numbers))}, 0)" for cell in work.cells]
    out = listed(pieces.k, [f"{cell} AS n{i}" for i, cell in enumerate(cells)])
    sql = f"{parts}SELECT {out} FROM (\n{rows}) AS t{grouped(pieces.k, d)}"
    sql = pieces.base.shown(sql, pieces.keys, len(cells))
    return Statement(sql, tuple((key.name, key.sort) for key in pieces.keys), len(cells))


def _weighed(cell: ClippedSum, scale: int, numbers: _Numbers) -> str:
    """w*x of one unit in one group."""
    d, x, q = numbers.d, numbers.x(cell.total), numbers.q(cell.total)
    less = d.call("quotient", d.literal(scale * cell.cap), q)
    weight = f"CASE WHEN {q} <= {d.literal(cell.cap)} THEN {d.literal(scale)} ELSE {less} END"
    return f"({weight})" if cell.total.value is None else f"({weight}) * {x}"


def unit_classes(work: UnitClasses, d: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement of numbers of units by class."""
    beyond = max(work.edges, default=0) + 1
    pieces = _Pieces(work, d, tables, work.totals, lambda _: beyond)
    parts, units = pieces.lengths_of_units()
    q = pieces.numbers.q
    different = list(dict.fromkeys(work.totals))
    classes = [f"{_class(q(total), work.edges, d)} AS c{i}" for i, total in enumerate(different)]
    c = [f"c{i}" for i in range(len(different))]
    classed = f"SELECT {listed(classes)} FROM (\n{units}) AS t"
    counted = f"SELECT {listed(c)}, {d.count}(*) AS units FROM ({classed}) AS t GROUP BY {listed(c)}"
    histograms = [
        f"SELECT {d.literal(place)} AS k0, c{different.index(total)} AS k1, sum(units) AS n0 FROM counted"
        f" GROUP BY c{different.index(total)}"
        for place, total in enumerate(work.totals)
    ]
    head = f"{parts.rstrip()},\n" if parts else "WITH "
    sql = f"{head}counted {d.once} ({counted})\n" + "\n  UNION ALL ".join(histograms)
    return Statement(sql, (("k0", Sort.INTEGER), ("k1", Sort.INTEGER)), 1)


def _class(q: str, edges: Sequence[int], d: Dialect, low: int = 0) -> str:
    """How many edges are below q, by halving; ``low`` are below it already."""
    if not edges:
        return d.literal(low)
    middle = len(edges) // 2
    below, above = _class(q, edges[:middle], d, low), _class(q, edges[middle + 1 :], d, low + middle + 1)
    return f"CASE WHEN {q} <= {d.literal(edges[middle])} THEN {below} ELSE {above} END"
