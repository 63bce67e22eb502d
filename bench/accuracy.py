"""How long error bars are and how often they hold: every aggregate, small and large groups, both noises.

    python -m bench.accuracy            all parts
    python -m bench.accuracy coverage   one of them
    python -m bench.accuracy tables     the same end to end, for groups that are listed and not
    python -m bench.accuracy clips      chosen clips beside the best by looking, kinds of tails, without an engine
    python -m bench.accuracy tenths     the same for questions about a tenth of the rows
    python -m bench.accuracy trips      COUNT, SUM, AVG of 1e6 trips with nothing declared but the unit
    python -m bench.accuracy spread     MEDIAN and STDDEV with open rows, beside the best limit of rows by looking
    python -m bench.accuracy keys       keys that nobody listed, and users per day
    python -m bench.accuracy plans      each question of a plan beside the same alone, declared and not
    python -m bench.accuracy peers      the same beside peers that are installed, with their caps and the best by hand
    python -m bench.accuracy time       Q2 with the choice beside Q2 with everything declared (DISCREET_ROWS=1e7)
    DISCREET_ADULT=adult.csv python -m bench.accuracy report      a report of 12 tables as one plan

A run draws noise for 2,000 copies of one group: the share of intervals that hold the exact value, and their length
beside twice the 95 % quantile of the true error, which no interval of that form can be shorter than.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.accuracy_peers import peers
from bench.accuracy_plans import plans
from bench.accuracy_quantiles import several
from bench.accuracy_report import report
from bench.accuracy_spread import spread
from bench.accuracy_sums import quantiles
from bench.accuracy_sums import sums as library_sums
from bench.accuracy_trips import products, regions, time
from bench.clip_choice import clips, tenths
from bench.coverage import main as end_to_end
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.estimate.choose_estimators import recipes
from discreet.query.estimate.estimators import Estimates, Recipe
from discreet.query.estimate.noise_plan import Allowance, Need, Noised, plan_noise, tree_of
from discreet.query.estimate.selected import Selected
from discreet.query.estimate.statistics import Bins, QuantileCells, Rows, Statistic, Units
from discreet.query.functions.typed_values import Typed
from discreet.query.lower.lower import LoweredMeasure
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Aggregate, Measure
from discreet.query.plan.schema import Caps
from discreet.query.plan.types import Number
from discreet.query.run import as_estimate, noisy_cells
from discreet.randomness import SystemBits

RUNS = 2000
MISS = 0.05
X = Typed(Number(Fraction(1, 100), 0, 10_000), nullable=False, lowered=Column("x"))
MAYBE = Typed(Number(Fraction(1, 100), 0, 10_000), nullable=True, lowered=Column("x"))
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


def asked(measures: tuple[Asked, ...], *, gaussian: bool = False, searched: bool = False) -> tuple[Recipe, ...]:
    """The estimators of these measures together; ``gaussian``: those that are best if all noise is Gaussian."""
    lowered = (
        LoweredMeasure(Measure(f"m{i}", a, tuple(x.lowered for x in xs), level=Fraction(1, 2)), xs, None)
        for i, (a, xs) in enumerate(measures)
    )
    return recipes(tuple(lowered), gaussian=gaussian, groups=1 if searched else None)


def sums(statistic: Statistic, rows: Sequence[dict[str, int]], one: Noised) -> NDArray[np.int64]:
    """The exact cells of a statistic."""
    if isinstance(statistic, Units):
        return np.array([len(rows) * one.scale])
    values = [evaluate(statistic.value, row) for row in rows]
    if isinstance(statistic, (Bins, QuantileCells)):
        many = statistic.bins if isinstance(statistic, Bins) else statistic.bins.bins
        return np.bincount(values, minlength=many) * one.scale
    assert isinstance(statistic, Rows)
    return np.array([sum(values) * one.scale])


def draws(needs: dict[Statistic, float], rows: Sequence[dict[str, int]], allowance: Allowance, runs: int) -> Estimates:
    """Noisy statistics of so many copies of one group."""
    need = Need(caps=Caps(max_rows=1), statistics=needs, grouped=False, selects=False)
    (noised,) = plan_noise((need,), allowance, Neighbours.ADD_REMOVE).sets
    bits = SystemBits()
    found: Estimates = {}
    for statistic, one in noised.items():
        cells = sums(statistic, rows, one)
        if isinstance(statistic, QuantileCells):
            found[statistic] = as_estimate(noisy_cells(statistic, one, np.tile(cells, (runs, 1)), bits), one)
            continue
        if isinstance(statistic, Bins):
            tree = tree_of(statistic, one.noise)
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
    mean_length: float


def held(
    measures: tuple[Asked, ...],
    size: int,
    allowance: Allowance,
    runs: int = RUNS,
    miss: float = MISS,
    *,
    searched: bool = False,
) -> Held:
    """For the first of these measures."""
    found = asked(measures, gaussian=isinstance(allowance, ZCDP), searched=searched)
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
    length = float(np.mean(high - low))
    return Held(float(inside.mean()), length / shortest, float(np.sqrt(np.mean(off**2))), length)


def coverage() -> None:
    """Listed groups of 100 and of 20,000 rows, both noises."""
    table = Table("aggregate", "noise", "rows", "that hold", "length by the shortest", "mean squared error, root",
                  title=f"Error bars at {1 - MISS:.0%}, {RUNS:,} runs each")  # fmt: skip
    for name, measures in ASKED.items():
        for noise, allowance in ALLOWANCES.items():
            for size in (100, 20_000):
                runs = RUNS // 10 if name in {"MEDIAN", "MIN", "MAX"} else RUNS
                found = held(measures, size, allowance, runs, searched=True)
                table.add_row(
                    name, noise, f"{size:,}", f"{found.share:.1%}", f"{found.length:.2f}", f"{found.error:.4g}"
                )
    Console().print(table)


def unlisted() -> None:
    """Groups that nobody listed, shown because their noisy number of units reached the threshold; and their bars as if
    they had been listed, which is how they were made before.
    """
    table = Table("units in the group", "noise", "threshold", "shown", "that hold", "that hold, as if listed",
                  title=f"Numbers of units at {1 - MISS:.0%}, given that the group is shown")  # fmt: skip
    allowances: dict[str, Allowance] = {"Laplace": Approx(1, "1e-6"), "Gaussian": ZCDP("1/8", "1e-6")}
    for noise, allowance in allowances.items():
        need = Need(caps=Caps(max_rows=1), statistics={Units(): 1.0}, grouped=True, selects=True)
        plan = plan_noise((need,), allowance, Neighbours.ADD_REMOVE)
        one, selection = plan.sets[0][Units()], plan.selections[0]
        assert selection is not None
        threshold = selection.threshold / one.scale
        for units in (
            round(0.55 * threshold),
            round(0.8 * threshold),
            round(threshold),
            round(1.5 * threshold),
            10_000,
        ):
            cells = one.noise.draw(np.full(400_000, units * one.scale), SystemBits())
            shown = np.asarray(cells)[np.asarray(cells) >= selection.threshold][:20_000].astype(np.float64)
            values = shown * float(one.unit)
            shares = []
            for estimate in (Selected(values, one.error, one, threshold=selection.threshold), as_estimate(values, one)):
                low, high = estimate.ends(MISS)
                shares.append(f"{np.mean((low <= units) & (units <= high)):.1%}" if len(values) else "none shown")
            table.add_row(f"{units:,}", noise, f"{threshold:.1f}", f"{len(values):,}", *shares)
    Console().print(table)


BESIDE: dict[str, tuple[Asked, ...]] = {
    "AVG(x) alone": ((Aggregate.AVG, (MAYBE,)),),
    "AVG(x) beside COUNT(*)": ((Aggregate.AVG, (MAYBE,)), (Aggregate.COUNT, ())),
    "COUNT(*) beside AVG(x)": ((Aggregate.COUNT, ()), (Aggregate.AVG, (MAYBE,))),
    "COUNT(*) alone": ((Aggregate.COUNT, ()),),
}


def beside() -> None:
    """A count beside a mean of a column with gaps: from three parts of a range; before, with half of the budget."""
    table = Table("asked", "noise", "error now", "error with half of the budget", title="1,000 rows")
    for name, measures in BESIDE.items():
        for noise, allowance in ALLOWANCES.items():
            half = Pure(Fraction(1, 2)) if noise == "Laplace" else ZCDP(Fraction(1, 4))
            errors = [held(measures[:1] if old else measures, 1000, a).error for a, old in ((allowance, 0), (half, 1))]
            table.add_row(name, noise, *(f"{error:.4g}" for error in errors))
    Console().print(table)


def medians() -> None:
    """The median alone: searched for, and by a tree over all bins, as it was before."""
    table = Table("rows", "noise", "mean squared error, root", "before", "length", "before", "that hold", "before",
                  title=f"MEDIAN, bars at {1 - MISS:.0%}")  # fmt: skip
    for size in (100, 1000, 20_000):
        for noise, allowance in ALLOWANCES.items():
            now, old = (held(ASKED["MEDIAN"], size, allowance, RUNS // 5, searched=s) for s in (True, False))
            table.add_row(f"{size:,}", noise, f"{now.error:.3g}", f"{old.error:.3g}", f"{now.mean_length:.3g}",
                          f"{old.mean_length:.3g}", f"{now.share:.1%}", f"{old.share:.1%}")  # fmt: skip
    Console().print(table)


def changed() -> None:
    """The noise where neighbours differ by a changed unit, beside twice that of a removed one, as it was before."""
    table = Table("statistic", "groups", "noise", "times that of a removed unit", "before")
    kinds: dict[str, Statistic] = {
        "COUNT": Rows(Literal(1), 1, Fraction(1), one_sign=True),
        "SUM from 0": Rows(Column("x"), 100, Fraction(1), one_sign=True),
        "SUM of both signs": Rows(Column("x"), 100, Fraction(1)),
        "bins": Bins(Column("x"), 256, Fraction(0), Fraction(1), True),
    }
    for name, statistic in kinds.items():
        for grouped in (False, True):
            for noise, allowance in ALLOWANCES.items():
                need = Need(caps=Caps(max_rows=1), statistics={statistic: 1.0}, grouped=grouped, selects=False)
                one, two = (
                    plan_noise((need,), allowance, relation).sets[0][statistic].error(MISS) for relation in Neighbours
                )
                table.add_row(name, "several" if grouped else "one", noise, f"{two / one:.2f}", "2.00")
    Console().print(table)


PARTS = {
    "coverage": coverage,
    "tables": end_to_end,
    "unlisted": unlisted,
    "beside": beside,
    "medians": medians,
    "several": several,
    "changed": changed,
    "sums": library_sums,
    "quantiles": quantiles,
    "clips": clips,
    "spread": spread,
    "tenths": tenths,
    "trips": regions,
    "keys": products,
    "plans": plans,
    "peers": peers,
    "time": time,
    **({"report": report} if "DISCREET_ADULT" in os.environ else {}),
}


def main(names: Sequence[str] = ()) -> None:
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
