"""The bounded sums of a work over a prepared copy that keeps the counts of its units: no hash table, no join.

With the counts n (rows of the unit in the row's group), q (the size of the unit) and first (this row is the first of
its unit in the group) beside each row, the weight of a row is arithmetic on that row. What is not, is few rows:
units with too many keys that nobody listed, and rows that weigh 0, are summed as in ``hashed_sums.py``.
"""

from __future__ import annotations

from discreet.engines.sql.hashed_sums import SPLITS, HashedSums, Statement, listed
from discreet.engines.sql.kept import never_null
from discreet.engines.sql.weights import may_weigh_nothing, row_weight, size_of_unit, unit_weight
from discreet.query.plan.work import Form, Weights

ROWS, FIRST = "rows", "first"
GROUPS = Weights(form=Form.L1, cap=1, scale=1, per_group=1)
"""Weights for which the size of a unit is its number of groups."""


class CountedSums(HashedSums):
    """The statement of one ``Work``: from kept counts if they are there, and otherwise with hash tables."""

    def statement(self) -> Statement:
        """The shape that fits."""
        size, groups = size_of_unit(self.weights, self.d), size_of_unit(GROUPS, self.d)
        counts = {"kept_n": ROWS, "kept_first": FIRST, "kept_q": size, "kept_g": groups}
        if not self._split_keeps_rows() or not self.base.add_counts(counts):
            return super().statement()
        sql = self._picked_counted(*self.work.pick) if self.work.pick is not None else self._row_by_row()
        keys = [*self.keys, *self.split]
        sql = self.base.shown(sql, keys, len(self.work.cells))
        return Statement(sql, tuple((key.name, key.sort) for key in keys), len(self.work.cells))

    def _split_keeps_rows(self) -> bool:
        """Whether no row is dropped for its split, so that those which count are those that were counted."""
        split = self.work.split
        if split is None:
            return True
        present = split.allowed is None and never_null(self.base.over_table(split.expression))
        return present and self.work.most_keys is None

    def _counted(self, more: str = "") -> str:
        conditions = self.base.counts(self.keys) + more
        weight = unit_weight(self.weights, self.d, "kept_q")
        weighed = f"SELECT *, kept_n AS n, kept_q AS q, {weight} AS w FROM ({self.base.select()}) AS b"
        rows = f"SELECT *, {row_weight(self.weights, self.d)} AS r FROM ({weighed} WHERE {conditions}) AS b"
        return f"WITH counted {self.d.again} ({rows})"

    def _row_by_row(self) -> str:
        most, only_units = self.work.most_keys, self._only_units()
        few = "" if most is None or not self.keys else f" AND kept_g <= {self.d.literal(most)}"
        head = self._counted(few + (" AND kept_first" if only_units else ""))
        totals = self._row_totals("counted AS c", "c.r", "CASE WHEN c.kept_first THEN c.w END")
        if not only_units:
            heavy = f"SELECT * FROM counted WHERE {may_weigh_nothing(self.weights, self.d)} AND r = 0"
            totals = self._with_heavy(totals, heavy)
        if not few:
            return f"{head}\n{totals}"
        many = self._pairs_of(f"({self.base.select()}) AS b WHERE kept_g > {self.d.literal(most)}")
        return self._together(f"SELECT * FROM ({head}\n{totals}) AS few", f"SELECT * FROM ({many}) AS many")

    def _picked_counted(self, a: int, b: int) -> str:
        """One row per unit and key, with the split that is picked for it: a row that is alone has no choice."""
        by, weight = listed(["u"], self.k), unit_weight(self.weights, self.d, "q")
        alone = f"SELECT {listed(self.k, ['s', 'w'])} FROM counted WHERE n = 1"
        pairs = f"SELECT {by}, min({self._code(a, b)}) AS m, min(q) AS q FROM counted WHERE n > 1 GROUP BY {by}"
        from_code = f"{self.d.call('remainder', 'm', str(SPLITS))} AS s"
        several = f"SELECT {listed(self.k, [from_code])}, {weight} AS w FROM ({pairs}) AS p"
        totals = listed(self.k, ["s"], self._cells([self._sum("w")]))
        both = f"SELECT {totals} FROM (\n{alone}\n  UNION ALL {several}) AS t GROUP BY {listed(self.k, ['s'])}"
        return f"{self._counted(' AND s IS NOT NULL')}\n{both}"
