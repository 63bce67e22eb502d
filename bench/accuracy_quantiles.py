"""Several quantiles of one column: searched for together, each by itself for its part of the price, or off one tree."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from discreet.mechanisms.statistics.budget import part
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.estimators import Estimate, Quantile, Recipe
from discreet.query.estimate.noise_plan import Need, Noised, plan_noise, tree_of
from discreet.query.estimate.quantile_search import is_better
from discreet.query.estimate.searched_quantile import SearchedQuantile
from discreet.query.estimate.statistics import Bins, QuantileCells, Statistic
from discreet.query.lower.bounding import Noise
from discreet.query.plan.expressions import Column
from discreet.query.plan.schema import Caps
from discreet.query.run import as_estimate, noisy_cells
from discreet.randomness import SystemBits

RUNS = 40
MISS = 0.05
BINS = Bins(Column("x"), 4096, Fraction(0), Fraction(1), False)
Integers = NDArray[np.int64]


def several() -> None:
    """Mean error and half the mean length of the bars in thousandths of the bounds, and which one is chosen."""
    table = Table("quantiles", "rows", "noise", "error: together", "apart", "tree", "bar: together", "apart", "tree",
                  "hold", "chosen", title="k/(K+1) for k = 1 .. K, ε = 1 or ρ = 1/2")  # fmt: skip
    rng = np.random.default_rng(7)
    for many in (2, 3, 5, 9):
        levels = tuple(Fraction(k, many + 1) for k in range(1, many + 1))
        for rows in (10**3, 10**4, 10**5, 10**6):
            counts = np.bincount(np.clip(rng.gamma(3.0, 360.0, rows), 0, 4095).astype(int), minlength=4096)
            for noise, budget in (("Laplace", Pure(1)), ("Gaussian", ZCDP(Fraction(1, 2)))):
                together = QuantileCells(BINS, levels)
                ways = [
                    [_measured(together, [SearchedQuantile(together, q) for q in levels], counts, budget)],
                    [_alone(q, counts, part(budget, Fraction(1, many))) for q in levels],
                    [_measured(BINS, [Quantile(BINS, q) for q in levels], counts, budget)],
                ]
                found = [np.mean([np.mean(one, axis=1) for one in way], axis=0) for way in ways]
                kind = Noise.GAUSSIAN if noise == "Gaussian" else Noise.LAPLACE
                chosen = is_better(4096, levels, tree_of(BINS, kind), gaussian=kind is Noise.GAUSSIAN)
                table.add_row(str(many), f"{rows:,}", noise, *(f"{1000 * f[0]:.3g}" for f in found),
                              *(f"{1000 * f[1]:.3g}" for f in found), f"{found[0][2]:.1%}",
                              "together" if chosen else "tree")  # fmt: skip
    Console().print(table)


def _alone(level: Fraction, counts: Integers, budget: Pure | ZCDP) -> NDArray[np.float64]:
    cells = QuantileCells(BINS, (level,))
    return _measured(cells, [SearchedQuantile(cells, level)], counts, budget)


def _measured(
    statistic: Statistic, recipes: list[Recipe], counts: Integers, budget: Pure | ZCDP
) -> NDArray[np.float64]:
    """Mean error, mean half length of the bar, and how often it holds, of each quantile; in shares of the bounds."""
    need = Need(caps=Caps(max_rows=1), statistics={statistic: 1.0}, grouped=False, selects=False)
    one = plan_noise((need,), budget, Neighbours.ADD_REMOVE).sets[0][statistic]
    noisy = {statistic: _drawn(statistic, one, counts * one.scale)}
    found = []
    for recipe in recipes:
        below, level = np.cumsum(counts), recipe.level  # type: ignore[attr-defined]
        truth = int(np.searchsorted(below, float(level) * below[-1])) + 0.5
        low, high = recipe.ends(noisy, MISS)
        error = np.abs(recipe.value(noisy) - truth)
        found.append([error.mean() / 4096, (high - low).mean() / 8192, ((low <= truth) & (truth <= high)).mean()])
    return np.array(found).T


def _drawn(statistic: Statistic, one: Noised, cells: Integers) -> Estimate:
    bits = SystemBits()
    if isinstance(statistic, QuantileCells):
        return as_estimate(noisy_cells(statistic, one, np.tile(cells, (RUNS, 1)), bits), one)
    assert isinstance(statistic, Bins)
    tree = tree_of(statistic, one.noise)
    nodes = np.asarray(tree.nodes(cells))
    noisy = np.asarray(one.noise.draw(np.tile(nodes, RUNS), bits), dtype=np.float64).reshape(RUNS, -1)
    return as_estimate(np.stack([tree.consistent(line) for line in noisy]) * float(one.unit), one)
