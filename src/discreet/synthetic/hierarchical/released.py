"""Published tables: whole numbers that add up, the unbiased ones beside them, how far either may be off, and a card.

Guarantee: a function of noisy numbers alone. ``count`` is whole, never negative, and adds up; ``estimate`` is the
unbiased least-squares number, ± ``error``. The truth lies within ``count_error`` of ``count`` at least as often as
within ``error`` of ``estimate``: it is that plus the distance of the two. Proof: hierarchical.md.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import prod
from os import PathLike
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import CONFIDENCE, confidence_level, how_many
from discreet.arrays import Floats, Integers
from discreet.errors import BadParameter
from discreet.exact import Number, significant
from discreet.messages import Interface, Message
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer.export import write_rows
from discreet.query.plan.key_sets import Hierarchy
from discreet.shown import visible
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.cliques import row_order
from discreet.synthetic.hierarchical.measure import CellSource, Estimates, measure
from discreet.synthetic.hierarchical.microdata import make_rows
from discreet.synthetic.hierarchical.plan import HierarchicalPlan, Publication, PublishedTable, plan
from discreet.synthetic.hierarchical.tree_picture import tree_picture
from discreet.synthetic.hierarchical.whole import Clique, WholeTables, make_whole
from discreet.synthetic.source import rows_of
from discreet.synthetic.spending import Spending, read_budget
from discreet.synthetic.synthesize import as_domain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRUCTURAL = (
    "Structural zeros: cells outside the public key sets are 0 by the owner's declaration, and rows in them are in "
    "no table. This is public knowledge, uses no data, and leaves the guarantee as it is."
)
NO_INVARIANTS = "Invariants: none. Every number that depends on the data has noise, totals too."
PUBLIC = (
    "Public totals: the tables have the numbers of {names} exactly as the owner declares them. They are public "
    "knowledge: no data was read for them or compared with them, and they leave the guarantee as it is."
)
FROM_DATA = (
    "Invariants: the owner counted {name} in the data and publishes it without noise ({why}). These numbers are "
    "outside the guarantee: nothing limits what they say about a person. For all other numbers it compares only data "
    "with the same {name}."
)


@dataclass(frozen=True, eq=False)
class PublishedTables:
    """The tables of a publication."""

    plan: HierarchicalPlan
    estimates: Estimates
    whole: WholeTables
    promise: ZCDP | Approx | Pure
    spending: Spending
    receipt: Receipt | None = None
    """What a session charged for it."""
    notes: tuple[Message, ...] = ()

    def __repr__(self) -> str:
        """Its tables by number, how many cells each has, and how far off a number is; ``table(0)`` has the numbers."""
        lines = [f"{how_many(len(self), 'tables')}, spent {self.promise}"]
        for i in range(len(self)):
            cells, error = prod(self.count(i).shape), 1.96 * float(np.max(self.deviation(i)))
            lines.append(f"{i}: {self.name(i)}, {how_many(cells, 'numbers')}, up to ± {significant(error, 2)} (95%)")
        return visible("\n".join([*lines, *(str(note) for note in self.notes[:1])]))

    def __len__(self) -> int:
        return len(self.plan.tables)

    def count(self, table: int) -> Integers:
        """The whole numbers of a table: its first axis are the places of its level."""
        published = self._table(table)
        return self.whole.marginal(published.level, published.columns)

    def estimate(self, table: int) -> Floats:
        """The unbiased numbers of a table."""
        published = self._table(table)
        return self.estimates.table(published.level, published.columns)

    def deviation(self, table: int) -> Floats:
        """The standard deviation of an estimate, of each place of a table."""
        published = self._table(table)
        return np.sqrt(self.plan.table_variance(published, self.estimates.spread))

    def table(self, table: int, confidence: Number = CONFIDENCE) -> Any:
        """One table as an Arrow table: its keys, ``count``, ``count_error``, ``estimate`` and ``error``.

        Cells that are declared impossible are left out.

        >>> from discreet.synthetic.hierarchical.plan import publication
        >>> made = publish({"sex": ["f", "f", "m"]}, publication(["sex"]), rho=10**6, domain={"sex": ["f", "m"]})
        >>> made.table(0).column("count").to_pylist()
        [2, 1, 0]
        """
        import pyarrow as pa

        published = self._table(table)
        times = NormalDist().inv_cdf(float(1 - (1 - confidence_level(confidence)) / 2))
        count, estimate = self.count(table), self.estimate(table)
        shape = (-1, *(1,) * len(published.columns))
        error = np.broadcast_to((times * self.deviation(table)).reshape(shape), count.shape)
        kept = np.flatnonzero(np.broadcast_to(self._possible(published), count.shape).ravel())
        columns = dict(self._keys(published, kept))
        shift = np.abs(count - estimate)
        numbers = {"count": count, "count_error": error + shift, "estimate": estimate, "error": error}
        return pa.table(columns | {name: pa.array(n.ravel()[kept]) for name, n in numbers.items()})

    def name(self, table: int) -> str:
        """Its columns, between blanks and x, such as "county x sex"."""
        return self.plan.name_of(self._table(table))

    def write(self, folder: str | PathLike[str], ending: str = "csv", *, prefix: str = "") -> list[str]:
        """One CSV, Parquet or Excel file of each table, with the card, into a folder that is there; their names.

        A name is that of the table, after ``prefix``.
        """
        files = [f"{prefix}{self.name(i).replace(' x ', '_')}.{ending}" for i in range(len(self))]
        for i, file in enumerate(files):
            table = self.table(i)
            write_rows(f"{folder}/{file}", partial(iter, [table]), self.card())
        return files

    def rows(self) -> Any:
        """Rows that have every published count exactly, as an Arrow table. Free.

        A publication whose tables share no order needs ``rows=True``; it is refused here otherwise.
        """
        return self.plan.domain.decode(self.row_codes())

    def row_codes(self) -> Integers:
        """The same rows as codes of the domain."""
        plan = self.plan
        order = row_order(plan.row_sets or plan.sets)
        if order is None:
            raise BadParameter(
                "rows", False, "must be True in dp.synthetic.publication: not every set of such tables is one of rows"
            )
        place, codes = make_rows(plan.tree, plan.sizes, order, self.whole, np.random.default_rng())
        codes_by_column = [codes.get(c, np.zeros(len(place), dtype=np.int64)) for c in range(len(plan.sizes))]
        return np.stack([place, *codes_by_column] if plan.placed else codes_by_column, axis=1)

    def plot(self) -> Figure:
        """The places of all levels, each as wide as its count and as dark as its relative error. Free."""
        plan = self.plan
        levels = range(len(plan.tree.sizes))
        totals = [self.whole.marginal(level, ()) for level in levels]
        errors = [
            1.96 * np.sqrt(plan.table_variance(PublishedTable(n, (), Fraction(1)), self.estimates.spread))
            for n in levels
        ]
        return tree_picture(plan.tree, plan.level_names, totals, errors)

    def mismatches(self) -> int:
        """How many cells are negative, or differ from a public total or the sum of their parts in any table: 0.

        Counted anew from the numbers that are published.
        """
        mismatches, plan = 0, self.plan
        for level, sets in enumerate(plan.row_sets or plan.sets):
            for clique in sets:
                columns = tuple(sorted(clique))
                table = self.whole.marginal(level, columns)
                mismatches += int((table < 0).sum())
                if level:
                    mismatches += int(
                        (plan.tree.sums(level - 1, table) != self.whole.marginal(level - 1, columns)).sum()
                    )
                for other in sets:
                    shared = tuple(sorted(clique & other))
                    mine = table.sum(axis=tuple(1 + i for i, c in enumerate(columns) if c not in shared))
                    whole = self.whole.levels[level][tuple(sorted(other))]
                    theirs = whole.sum(axis=tuple(1 + i for i, c in enumerate(sorted(other)) if c not in shared))
                    mismatches += int((mine != theirs).sum())
        public = (self.whole.marginal(table.level, table.columns) != table.counts for table in plan.fixed)
        return mismatches + sum(int(wrong.sum()) for wrong in public)

    def card(self, confidence: Number = CONFIDENCE) -> dict[str, Any]:
        """The release card: what was published, at which cost, how exact it is, and what was declared."""
        times = NormalDist().inv_cdf(float(1 - (1 - confidence_level(confidence)) / 2))
        tables = [
            {
                "table": self.name(i),
                "cells": int(self.count(i).size),
                "error": float(times * np.sqrt((self.deviation(i) ** 2).mean())),
                "mean_change_by_rounding": float(np.abs(self.count(i) - self.estimate(i)).mean()),
            }
            for i in range(len(self))
        ]
        zeros = [
            {"columns": [self._names[c] for c in clique], "impossible": int((~mask).sum())}
            for clique, mask in self.plan.impossible.items()
        ]
        hierarchy = self.plan.hierarchy
        return {
            "guarantee": str(self.promise),
            "confidence": float(confidence_level(confidence)),
            "noise": "discrete Gaussian on integers; all else follows from noisy numbers",
            "places": None if hierarchy is None else {"hierarchy": hierarchy.name, "levels": list(hierarchy.levels)},
            "outside": "Rows whose place or columns are not listed are in no table.",
            "tables": tables,
            "shares": {name or "total": round(share, 6) for name, share in self.level_shares.items()},
            "structural_zeros": zeros,
            "public_totals": [
                {"totals": table.totals.name, "from_data": table.totals.from_data} for table in self.plan.fixed
            ],
            "consequence": [*([STRUCTURAL] if zeros else []), *consequences(self.plan)],
            "notes": [note.as_json(Interface.PYTHON) for note in self.notes],
            "receipt": None if self.receipt is None else str(self.receipt.price),
        }

    @cached_property
    def level_shares(self) -> dict[str, float]:
        """Which share of the cost each level has."""
        return level_shares(self.plan)

    def explain(self) -> str:
        """The card in words."""
        card = self.card()
        lines = [f"{len(self)} tables for {card['guarantee']}. Counts are whole, not negative, and add up."]
        lines += [
            f"{table['table']}: {table['cells']:,} cells, estimates ± {significant(table['error'], 3)}"
            for table in card["tables"]
        ]
        lines += [f"{name}: {share:.1%} of the cost" for name, share in card["shares"].items()]
        return "\n".join([*lines, card["outside"], *card["consequence"], *map(str, self.notes)])

    def to_json(self) -> bytes:
        """What a ledger keeps: the card and all numbers."""
        packed = [
            {
                "count": _packed(self.count(i)),
                "estimate": _packed(self.estimate(i)),
                "deviation": _packed(self.deviation(i)),
            }
            for i in range(len(self))
        ]
        return json.dumps({"published": {"card": self.card(), "tables": packed}}, separators=(",", ":")).encode()

    # --- the parts of a table ---------------------------------------------------------------------------------------

    def _table(self, table: int) -> PublishedTable:
        if not 0 <= table < len(self):
            raise BadParameter("table", table, f"must be from 0 to {len(self) - 1}")
        return self.plan.tables[table]

    @property
    def _names(self) -> tuple[str, ...]:
        return self.plan.domain.columns[self.plan.placed :]

    def _possible(self, published: PublishedTable) -> NDArray[np.bool_]:
        """Which cells of a table can be above 0."""
        possible = np.ones(self.plan.shape(published.columns), dtype=bool)
        for clique, mask in self.plan.impossible.items():
            shared = [c for c in clique if c in published.columns]
            some = mask.any(axis=tuple(i for i, c in enumerate(clique) if c not in shared))
            possible &= some.reshape([self.plan.sizes[c] if c in shared else 1 for c in published.columns])
        return possible

    def _keys(self, published: PublishedTable, kept: NDArray[np.intp]) -> Iterator[tuple[str, Any]]:
        """The keys of some cells: the places of all levels above, then the columns. NULL's code is the last."""
        import pyarrow as pa

        plan = self.plan
        shape = (plan.tree.sizes[published.level], *plan.shape(published.columns))
        node, *codes = np.unravel_index(kept, shape)
        offset = 1 if plan.level_names[0] == "" else 0
        for level in range(offset, published.level + 1):
            assert plan.hierarchy is not None or not plan.placed  # noqa: S101
            if plan.hierarchy is not None and plan.placed:
                labels = pa.array(plan.hierarchy.labels(level - offset))
                yield plan.level_names[level], labels.take(pa.array(plan.tree.above(published.level, level)[node]))
        for c, code in zip(published.columns, codes, strict=True):
            labels = pa.array([*plan.domain[self._names[c]].keys, None])
            yield self._names[c], labels.take(pa.array(code))


def consequences(plan: HierarchicalPlan) -> list[str]:
    """What the public totals of a plan mean for the guarantee, in words."""
    declared = [table.totals for table in plan.fixed]
    public = "; ".join(totals.name for totals in declared if totals.from_data is None)
    counted = [FROM_DATA.format(name=t.name, why=t.from_data) for t in declared if t.from_data is not None]
    return [*([PUBLIC.format(names=public)] if public else []), *(counted or [NO_INVARIANTS])]


def level_shares(plan: HierarchicalPlan) -> dict[str, float]:
    """Which share of the cost each level of a plan has."""
    shares = dict.fromkeys(plan.level_names, 0.0)
    for (level, columns), precision in plan.parts.items():
        shares[plan.level_names[level]] += precision * prod(1 - 1 / n for n in plan.shape(columns))
    return shares


def publish(
    table: Any,
    publication: Publication | HierarchicalPlan,
    *,
    hierarchy: Hierarchy | None = None,
    domain: Domain | Mapping[str, Any] | None = None,
    key_sets: tuple[Any, ...] = (),
    public_totals: tuple[Any, ...] = (),
    unit: str | None = None,
    max_rows: int | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
) -> PublishedTables:
    """Tables that add up, of a table in memory or of a source of counts; sessions do the same by ``tabulate``.

    All that can be refused is refused before anything is paid or read.
    """
    budget, slack = read_budget(epsilon, delta, rho)
    if isinstance(publication, HierarchicalPlan):
        planned = publication
    else:
        planned = plan(publication, as_domain(domain or {}), hierarchy, key_sets, public_totals)
    source = table if isinstance(table, CellSource) else rows_of(table, planned.domain, unit=unit, max_rows=max_rows)
    spending = Spending.of(budget, source.scale)
    return made_whole(measure(planned, source, budget, spending), spending, slack)


def made_whole(estimates: Estimates, spending: Spending, slack: Approx | None) -> PublishedTables:
    """The whole tables of some estimates."""
    plan = estimates.plan
    return PublishedTables(
        plan, estimates, whole_tables(estimates, plan.fixed_by_level), spending.promise(slack), spending
    )


def whole_tables(estimates: Estimates, fixed: Sequence[tuple[Clique, Integers] | None]) -> WholeTables:
    """Whole tables near some estimates; ``fixed`` has for each level a table that is known already, or None."""
    planned = estimates.plan
    totals = [estimates.spread.get((level, ()), np.ones(n)) for level, n in enumerate(planned.tree.sizes)]
    totals = [np.where(spread > 0, spread, 1.0) for spread in totals]  # an only part of what is public is public
    make = partial(make_whole, planned.tree, planned.sizes, variances=totals, possible=planned.impossible, fixed=fixed)
    whole = make(planned.sets, estimates.table)
    return whole if planned.row_sets is None else make(planned.row_sets, estimates.table, near=whole)


def _packed(numbers: NDArray[Any]) -> dict[str, Any]:
    """Numbers as text: their bytes, compressed."""
    small = numbers.astype("<i8" if numbers.dtype.kind == "i" else "<f4")
    data = base64.b64encode(zlib.compress(small.tobytes(), 6)).decode()
    return {"type": small.dtype.str, "shape": list(small.shape), "data": data}
