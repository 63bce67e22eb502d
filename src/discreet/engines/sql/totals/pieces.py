"""The numbers of units in their groups, and the length of each unit: one row per unit and key, one per unit.

A total may be of any size. What is compared and weighed is cut to M, which is beyond every cap and every edge:
  x = X_uk cut to ±M, q = Σ_k |x| cut to M.
Then q = min(t_u, M), and |x| <= q. A weight is 0 where t_u > S*cap, and a class is the same for all t_u beyond the last
edge: so both follow from q, and w*x is at most S*cap in size. Hence 64 bits hold all that is kept and multiplied, on
every database; what is summed wide is at most 2^63 in size for each row. Proof: totals.md.

HASHED on databases that keep a common table expression (DuckDB): the rows per unit and key are kept, and lengths are
joined to them; on 10^7 rows this takes half of the time of windows. Elsewhere: windows over the rows per key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from discreet.engines.sql.base import Base
from discreet.engines.sql.dialects import Dialect, Shape, Sort
from discreet.engines.sql.hashed_sums import listed, names
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.sorted_sums import kept_in_order
from discreet.engines.sql.windowed_sums import kept, short
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.work import Total, TotalsWork, UnitClasses

_UNIT = " OVER (PARTITION BY u)"
_ROWS = Total(Literal(1))


class Numbers:
    """The numbers X_uk of several totals and their lengths, as columns: x0, x1, ... and q0, q1, ..."""

    def __init__(self, base: Base, totals: Iterable[Total], most: Callable[[Total], int]) -> None:
        self._base, self.d, self._places = (
            base,
            base.dialect,
            {total: i for i, total in enumerate(dict.fromkeys(totals))},
        )
        summed = [total for total in self._places if total.value is not None and total != _ROWS]
        self._values = {total: base.value(total.value) for total in summed if total.value is not None}
        self._most = {total: self.d.literal(most(total)) for total in self._places}

    def never_negative(self) -> bool:
        """Whether no value of any total is below 0: then a length is the sum over the rows of a unit, in all groups."""
        values = (total.value for total in self._places)
        return all(value is not None and _never_negative(self._base.over_table(value)) for value in values)

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
        cuts = []
        for total in self._places:
            q, most = self.q(total), self._most[total]
            cut = f"CASE WHEN {q} >= {most} THEN {most} ELSE {q} END"
            cuts.append(f"{self.d.cast(cut, Sort.INTEGER)} AS {q}")
        return cuts

    def own_lengths(self) -> list[str]:
        """The lengths of units that have one group, or of one group."""
        return [
            f"{self.x(total) if total.value is None else self.d.call('abs', self.x(total))} AS {self.q(total)}"
            for total in self._places
        ]


def _never_negative(value: Expression) -> bool:
    """Whether an expression over stored columns says so itself: it is read within bounds, or a constant."""
    match value:
        case Literal(int(number)):
            return number >= 0
        case Call("read_integer" | "read_decimal" | "read_coarse" | "read_real", (*_, Literal(int(low)), Literal())):
            return low >= 0
        case _:
            return False


class Pieces:
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
        self.numbers = Numbers(self.base, totals, most)
        self.columns = [*self.k, *self.numbers.xs]
        self.most_keys = work.most_keys if self.keys else None

    def all(self) -> str:
        """Of every unit, with the keys that ``most_keys`` leaves out."""
        return self._summed(self.k)

    def _summed(self, k: Sequence[str]) -> str:
        """The numbers of every unit by all keys, or by none."""
        d, by = self.d, listed(["u"], k)
        counts, sums = self.base.counts(self.keys), listed(["u"], k, self.numbers.sums())
        rows = f"({self.base.select()}) AS b"
        if d.shape is Shape.HASHED and k == self.k:
            raw = f"SELECT {sums} FROM {rows} GROUP BY {by} HAVING {counts}"
        else:
            order = f" ORDER BY {by}" if d.shape is Shape.SORTED else d.gather
            raw = f"SELECT {sums} FROM (SELECT * FROM {rows} WHERE {counts}{order}) AS b GROUP BY {by}"
        return f"SELECT {listed(['u'], k, self.numbers.cut_sums())} FROM ({raw}) AS p"

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
        if not self.keys or (self.most_keys is None and self.numbers.never_negative()):
            return "", f"SELECT {listed(self.numbers.own_lengths())} FROM ({self._summed([])}) AS p"
        if self.most_keys is not None and _keeps(self.d):
            parts, units = self._kept_by_joins()
            return parts, "\n  UNION ALL ".join(f"SELECT {qs} FROM ({unit_rows}) AS t" for _, unit_rows in units)
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
