"""How long error bars are and how often they hold: every aggregate, small and large groups, both noises.

    python -m bench.accuracy            all parts
    python -m bench.accuracy coverage   one of them

A run draws noise for 2,000 copies of one group: the share of intervals that hold the exact value, and their length
beside twice the 95 % quantile of the true error, which no interval of that form can be shorter than.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.choose_estimators import recipes
from discreet.query.estimate.estimators import Estimates, Recipe
from discreet.query.estimate.noise_plan import Allowance, Need, Noised, plan_noise, tree_of
from discreet.query.estimate.statistics import Bins, Rows, Statistic, Units
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Aggregate, Measure
from discreet.query.plan.schema import Caps
from discreet.query.plan.types import Number
from discreet.query.run import as_estimate
from discreet.randomness import SystemBits

RUNS = 2000
MISS = 0.05
X = Typed(Number(Fraction(1, 100), 0, 10_000), nullable=False, lowered=Column("x"))
Y = Typed(Number(Fraction(1), -50, 50), nullable=False, lowered=Column("y"))
ALLOWANCES: dict[str, Allowance] = {"Laplace": Pure(1), "Gaussian": ZCDP(Fraction(1, 2))}
Asked = tuple[Aggregate, tuple[Typed, ...]]
ASKED: dict[str, tuple[Asked, ...]] = {
    "COUNT": ((Aggregate.COUNT, ()),),
    "SUM": ((Aggregate.SUM, (X,)),),
    "AVG": ((Aggregate.AVG, (X,)),),
    "AVG, two columns": ((Aggregate.AVG, (X,)), (Aggregate.AVG, (Y,))),
    "VARIANCE": ((Aggregate.VARIANCE, (X,)),),
    "STDDEV": ((Aggregate.STDDEV, (X,)),),
    "COVARIANCE": ((Aggregate.COVARIANCE, (X, Y)),),
    "CORR": ((Aggregate.CORRELATION, (X, Y)),),
    "MEDIAN": ((Aggregate.QUANTILE, (X,)),),
    "MIN": ((Aggregate.MIN, (X,)),),
    "MAX": ((Aggregate.MAX, (X,)),),
}
Floats = NDArray[np.float64]


def data(size: int, seed: int = 7) -> list[dict[str, int]]:
    """Rows with x skewed to the left of its bounds and y that goes with it, in cells."""
    rng = np.random.default_rng(seed)
    x = np.clip(rng.gamma(3.0, 900.0, size), 0, 10_000).astype(int)
    y = np.clip(x / 200 - 20 + rng.normal(0, 8, size), -50, 50).astype(int)
    return [{"x": int(a), "y": int(b)} for a, b in zip(x, y, strict=True)]


def exact(aggregate: Aggregate, rows: Sequence[dict[str, int]]) -> float:
    """The answer without noise."""
    x, y = np.array([row["x"] / 100 for row in rows]), np.array([float(row["y"]) for row in rows])
    match aggregate:
        case Aggregate.COUNT:
            return len(rows)
        case Aggregate.SUM:
            return float(x.sum())
        case Aggregate.AVG:
            return float(x.mean())
        case Aggregate.VARIANCE | Aggregate.STDDEV:
            return float(x.var(ddof=1) if aggregate is Aggregate.VARIANCE else x.std(ddof=1))
        case Aggregate.COVARIANCE:
            return float(np.cov(x, y)[0, 1])
        case Aggregate.CORRELATION:
            return float(np.corrcoef(x, y)[0, 1])
        case Aggregate.MIN | Aggregate.MAX:
            return float(x.min() if aggregate is Aggregate.MIN else x.max())
        case _:
            return float(np.quantile(x, 0.5, method="inverted_cdf"))


def asked(measures: tuple[Asked, ...]) -> tuple[Recipe, ...]:
    """The estimators of these measures together."""
    lowered = (
        LoweredMeasure(Measure(f"m{i}", a, tuple(x.lowered for x in xs), level=Fraction(1, 2)), xs, None)
        for i, (a, xs) in enumerate(measures)
    )
    return recipes(tuple(lowered))


def sums(statistic: Statistic, rows: Sequence[dict[str, int]], one: Noised) -> NDArray[np.int64]:
    """The exact cells of a statistic."""
    if isinstance(statistic, Units):
        return np.array([len(rows) * one.scale])
    values = [evaluate(statistic.value, row) for row in rows]
    if isinstance(statistic, Bins):
        return np.bincount(values, minlength=statistic.bins) * one.scale
    assert isinstance(statistic, Rows)
    return np.array([sum(values) * one.scale])


def draws(needs: dict[Statistic, float], rows: Sequence[dict[str, int]], allowance: Allowance, runs: int) -> Estimates:
    """Noisy statistics of so many copies of one group."""
    need = Need(caps=Caps(max_rows=1), statistics=needs, grouped=False, selects=False)
    (noised,) = plan_noise((need,), allowance, Neighbours.ADD_REMOVE).sets
    bits, found = SystemBits(), {}
    for statistic, one in noised.items():
        cells = sums(statistic, rows, one)
        if isinstance(statistic, Bins):
            tree = tree_of(statistic)
            nodes = np.asarray(tree.nodes(cells))
            noisy = np.asarray(one.noise.draw(np.tile(nodes, runs), bits), dtype=np.float64).reshape(runs, -1)
            values = np.stack([tree.consistent(line) for line in noisy])
        else:
            values = np.asarray(one.noise.draw(np.tile(cells, runs), bits), dtype=np.float64)
        found[statistic] = as_estimate(values * float(one.unit), one)
    return found


@dataclass(frozen=True, slots=True)
class Held:
    """How often intervals hold, and how long they are beside the shortest of their form."""

    share: float
    length: float
    """Mean length by twice the 95 % quantile of the error."""
    error: float
    """The root of the mean squared error of the values."""


def held(measures: tuple[Asked, ...], size: int, allowance: Allowance, runs: int = RUNS, miss: float = MISS) -> Held:
    """For the first of these measures."""
    found = asked(measures)
    needs: dict[Statistic, float] = {}
    for recipe in found:
        for statistic, weight in recipe.needs.items():
            needs[statistic] = needs.get(statistic, 0.0) + weight
    rows = data(size)
    noisy, wanted = draws(needs, rows, allowance, runs), exact(measures[0][0], rows)
    low, high = found[0].ends(noisy, miss)
    off = np.abs(found[0].value(noisy) - wanted)
    inside = (low - 1e-9 * abs(wanted) <= wanted) & (wanted <= high + 1e-9 * abs(wanted))
    shortest = 2 * float(np.quantile(off, 1 - miss)) or 1.0
    return Held(float(inside.mean()), float(np.mean(high - low)) / shortest, float(np.sqrt(np.mean(off**2))))


def coverage() -> None:
    """Listed groups of 100 and of 20,000 rows, both noises."""
    table = Table("aggregate", "noise", "rows", "that hold", "length by the shortest", "mean squared error, root",
                  title=f"Error bars at {1 - MISS:.0%}, {RUNS:,} runs each")  # fmt: skip
    for name, measures in ASKED.items():
        for noise, allowance in ALLOWANCES.items():
            for size in (100, 20_000):
                runs = RUNS // 10 if name in {"MEDIAN", "MIN", "MAX"} else RUNS
                found = held(measures, size, allowance, runs)
                table.add_row(
                    name, noise, f"{size:,}", f"{found.share:.1%}", f"{found.length:.2f}", f"{found.error:.4g}"
                )
    Console().print(table)


PARTS = {"coverage": coverage}


def main(names: Sequence[str] = ()) -> None:
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
