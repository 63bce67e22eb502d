"""Exact counts of a hierarchy, paid for once, with exact noise; and what least squares makes of them.

Guarantee: one charge of ρ before any noise. Noise is discrete Gaussian on whole numbers; of each interaction only
differences along its columns leave. Everything else is a function of these. Proof: hierarchical.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, prod
from typing import Protocol, runtime_checkable

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.mechanisms.statistics.budget import Moves
from discreet.mechanisms.statistics.residuals import interaction, noisy_differences
from discreet.privacy.promises import events
from discreet.query.plan.work import Cells
from discreet.randomness import Bits, SystemBits
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.least_squares import solve
from discreet.synthetic.hierarchical.plan import FINER, HierarchicalPlan, Part, subsets
from discreet.synthetic.hierarchical.whole import Clique
from discreet.synthetic.spending import Spending


@runtime_checkable
class CellSource(Protocol):
    """Exact counts over a public domain, as cells that are not 0: sources of marginals that are mostly empty."""

    @property
    def domain(self) -> Domain:
        """The public domain that the counts are over."""
        ...

    @property
    def scale(self) -> int:
        """What one row counts."""
        ...

    def moves(self, clique: Clique) -> Moves:
        """How far any table of its rows moves between neighbours, whatever is summed up in it."""
        ...

    def cells(self, clique: Clique) -> Cells:
        """The cells of one marginal that are not 0."""
        ...


@dataclass(frozen=True, eq=False)
class Estimates:
    """The least-squares numbers: each interaction at each level, in rows, and their variances."""

    plan: HierarchicalPlan
    values: Mapping[Part, Floats]
    spread: Mapping[Part, Floats]

    def table(self, level: int, columns: Clique) -> Floats:
        """A table of all nodes of a level: unbiased where all its interactions were measured there."""
        sizes = self.plan.sizes
        table = np.zeros((self.plan.tree.sizes[level], *self.plan.shape(columns)))
        for part in subsets(columns):
            if (level, part) in self.values:
                shape = [sizes[c] if c in part else 1 for c in columns]
                wide = self.values[level, part].reshape(-1, *shape)
                table += wide / prod(sizes[c] for c in columns if c not in part)
        return table


def measure(plan: HierarchicalPlan, source: CellSource, rho: Fraction, spending: Spending) -> Estimates:
    """Pay, count, add noise, solve. The source may pay at its first look; the charge of ``spending`` comes before."""
    finer = FINER if spending.scale == 1 else 1
    moves = source.moves(())
    moves = Moves(finer * moves.l1, finer**2 * moves.l2_squared)
    noise = plan.noise(moves, rho)
    event = events.ZCDP(rho)
    receipt = spending.filter.spend(event)
    spending.events.append((f"measured {len(noise)} interactions of columns, level by level", event))
    exact = Exact.of(plan, source.cells(tuple(range(len(plan.domain)))))
    receipt.redeem(event)
    return estimates(plan, exact, noise, SystemBits(), finer=finer, scale=finer * spending.scale)


@dataclass(frozen=True, eq=False)
class Exact:
    """The cells that are not 0: their nodes at the deepest level, the codes of their columns, and their counts."""

    plan: HierarchicalPlan
    nodes: Integers
    codes: tuple[Integers, ...]
    counts: Integers

    @classmethod
    def of(cls, plan: HierarchicalPlan, cells: Cells) -> Exact:
        """Cells by their places in the domain; those that the owner has declared impossible are left out."""
        rest = np.asarray(cells.places, dtype=np.int64)
        codes: list[Integers] = []
        for size in reversed(plan.sizes):
            rest, code = np.divmod(rest, size)
            codes.append(code)
        codes.reverse()
        kept = np.ones(len(rest), dtype=bool)
        for clique, mask in plan.impossible.items():
            kept &= mask[tuple(codes[c] for c in clique)]
        return cls(plan, rest[kept], tuple(code[kept] for code in codes), np.asarray(cells.counts)[kept])

    def table(self, level: int, columns: Clique) -> Integers:
        """The exact table of some columns in all nodes of a level."""
        plan = self.plan
        place = (
            self.nodes
            if level == len(plan.tree.sizes) - 1
            else plan.tree.above(len(plan.tree.sizes) - 1, level)[self.nodes]
        )
        for c in columns:
            place = place * plan.sizes[c] + self.codes[c]
        table = np.zeros(plan.tree.sizes[level] * prod(plan.shape(columns)), dtype=np.int64)
        np.add.at(table, place, self.counts)
        return table.reshape(plan.tree.sizes[level], *plan.shape(columns))


def estimates(
    plan: HierarchicalPlan, exact: Exact, noise: Mapping[Part, Fraction], bits: Bits, *, finer: int, scale: int
) -> Estimates:
    """Noise on the exact numbers of each part, and the least-squares solution over the tree, in rows.

    For a caller who has paid the prices of all parts.
    """
    values: dict[Part, Floats] = {}
    spread: dict[Part, Floats] = {}
    for columns in plan.interactions:
        deepest = plan.depth(columns)
        measured: list[Floats | None] = []
        for level in range(deepest + 1):
            if (level, columns) not in noise:
                measured.append(plan.public_interaction(level, columns))
                continue
            table = finer * exact.table(level, columns)
            (released,) = noisy_differences([table], noise[level, columns], bits, beside=1)
            measured.append(interaction(released, beside=1) / scale)
        own = [
            float(noise[level, columns] / scale**2)
            if (level, columns) in noise
            else (inf if measured[level] is None else 0.0)
            for level in range(deepest + 1)
        ]
        solved = solve(plan.tree, measured, own)
        for level in range(deepest + 1):
            values[level, columns], spread[level, columns] = solved.values[level], solved.variances[level]
    return Estimates(plan, values, spread)
