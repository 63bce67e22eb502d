"""Error bars of sums of noise in the library and of quantiles in tables, beside those that were made before."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from rich.console import Console
from rich.table import Table

from discreet.continual import counter
from discreet.mechanisms.statistics.cumulative import cumulative
from discreet.mechanisms.statistics.error_bounds import Sums
from discreet.mechanisms.statistics.tree import Tree, hierarchy
from discreet.mechanisms.statistics.worst_sum import noise_sum
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.query.estimate.noise_plan import tree_of
from discreet.query.estimate.statistics import Bins
from discreet.query.lower.bounding import Noise
from discreet.query.plan.expressions import Column

RUNS = 1000
LEVEL = Fraction(4, 5)


def sums() -> None:
    """How often bars at 80 % hold, now and as they were made before: by moment bounds, in exact arithmetic."""
    table = Table("of", "noise", "bar", "holds", "bar before", "held before", title=f"Bars at 80 %, {RUNS:,} runs")
    for noise, budget in (("Laplace", Pure(1)), ("Gaussian", ZCDP(Fraction(1, 2)))):
        for horizon, t in ((64, 1), (64, 33), (64, 64), (None, 200)):
            made = counter(horizon=horizon, budget=budget)
            old = Sums(made.plan.noise, made.plan.strategy.weight(t), 1).certified_error(LEVEL)
            steps = np.zeros(t, dtype=np.int64)
            errors = [abs(counter(horizon=horizon, budget=budget).push_many(steps)[-1]) for _ in range(RUNS)]
            _add(
                table,
                (f"counter, {horizon or 'endless'}, step {t}", noise),
                made.accuracy(t).error_at(LEVEL),
                old,
                errors,
            )
        price = {"epsilon": 1} if isinstance(budget, Pure) else {"rho": "1/2"}
        tree = hierarchy(keys=range(1000), **price)
        old = Sums(tree.noise, tree.tree.prefix_weight(), 1000).certified_error(LEVEL)
        errors = [float(abs(np.cumsum(tree.release([]).value)).max()) for _ in range(RUNS // 5)]
        _add(table, ("hierarchy, 1,000 prefixes at once", noise), tree.prefix_accuracy.error_at(LEVEL), old, errors)
        curve = cumulative(thresholds=range(64), strategy="points", **price)
        old = Sums(curve.noise, Fraction(64), 1).certified_error(LEVEL)
        errors = [float(abs(curve.release([]).value).max()) for _ in range(RUNS)]
        _add(table, ("64 running sums at once", noise), curve.accuracy.error_at(LEVEL), old, errors)
    Console().print(table)


def _add(table: Table, of: tuple[str, str], now: float, before: float, errors: list[float]) -> None:
    shares = (f"{np.mean(np.array(errors) <= bar + 1e-9):.1%}" for bar in (now, before))
    table.add_row(*of, f"{now:.1f}", next(shares), f"{before:.1f}", next(shares))


def quantiles() -> None:
    """The noise of a prefix less half of the total, in rows, for noise in fine cells; before: rooted, branching 16."""
    table = Table(
        "bins", "noise", "mean deviation", "before", "mean bar at 95 %", "before", title="MEDIAN, ε = 1 or ρ = 1/2"
    )
    for many in (17, 100, 1000, 4096):
        for noise in (Noise.LAPLACE, Noise.GAUSSIAN):
            gaussian = noise is Noise.GAUSSIAN
            row = []
            for tree in (
                tree_of(Bins(Column("x"), many, Fraction(0), Fraction(1), True), noise),
                Tree(many, min(16, many)),
            ):
                weights = tree.prefix_weights(Fraction(1, 2))
                scale = np.sqrt(len(tree.levels)) if gaussian else np.sqrt(2) * len(tree.levels)
                row.append((float(scale * np.sqrt(weights).mean()), tree, weights))
            fine = counter(horizon=1, budget=ZCDP("1/2") if gaussian else Pure(1), sensitivity=1 << 30).plan.noise
            bars = []
            for i, (_, tree, weights) in enumerate(row):
                levels = np.sqrt(len(tree.levels)) if gaussian else len(tree.levels)
                used = np.quantile(weights, (0.1, 0.3, 0.5, 0.7, 0.9)) if i == 0 else [weights.max()]
                bars.append(float(np.mean([noise_sum(fine, float(w), 0.05) for w in used])) * levels / (1 << 30))
            table.add_row(
                f"{many:,}", noise.value, f"{row[0][0]:.1f}", f"{row[1][0]:.1f}", f"{bars[0]:.1f}", f"{bars[1]:.1f}"
            )
    Console().print(table)
