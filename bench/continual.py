"""Answers over time: CPU and memory of a million steps, and errors beside the constant of the square-root factor."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bench.measure import Row, cpu_once, peak_bytes, show
from discreet.continual.binned import Binned
from discreet.continual.counter import counter
from discreet.continual.strategies import Appearances, Strategy
from discreet.continual.toeplitz import Toeplitz
from discreet.continual.tree import Tree
from discreet.privacy.promises.measures import ZCDP, Pure

MILLION = 1_000_000
SECONDS = 5.0
MEGABYTES = 50.0


def constant(steps: int) -> float:
    """Σ c_k²: both the largest column and the largest row of the square-root factor, squared."""
    k = np.arange(1, steps)
    c = np.concatenate([[1.0], np.cumprod(1 - 1 / (2 * k))])
    return float((c**2).sum())


def error(strategy: Strategy, steps: int) -> float:
    """The standard deviation of the worst step at rho = 1/2."""
    return math.sqrt(float(strategy.moves(Appearances()).l2_squared * strategy.largest_weight(steps)))


def million(method: str, budget: Pure | ZCDP, values: NDArray[np.int64]) -> object:
    """A new counter, its price included, and all steps."""
    return counter(horizon=MILLION, budget=budget, method=method).push_many(values)


def speed() -> list[Row]:
    rows = []
    values = np.ones(MILLION, dtype=np.int64)
    for method, budget in (("tree", ZCDP("1/2")), ("tree", Pure(1)), ("binned", ZCDP("1/2"))):
        seconds = cpu_once(partial(million, method, budget, values))
        size = peak_bytes(partial(counter(horizon=MILLION, budget=budget, method=method).push_many, values)) / 1e6
        task = f"1e6 steps, {method}, {budget}"
        rows.append(Row(f"{task}: CPU", f"{seconds:.2f} s", "limit", f"{SECONDS:g} s", SECONDS / seconds, 1))
        rows.append(Row(f"{task}: peak memory", f"{size:.0f} MB", "limit", f"{MEGABYTES:g} MB", MEGABYTES / size, 1))
    return rows


def errors() -> list[Row]:
    best, root, tree = constant(4096), error(Toeplitz(4096), 4096), error(Tree(4096), 4096)
    bins, limit = error(Binned(MILLION), MILLION), constant(MILLION)
    return [
        Row("largest error, T = 4096, square root", f"{root:.4f}", "tree", f"{tree:.3f}", tree / root, 1),
        Row("the same", f"{root:.4f}", "constant of the factor", f"{best:.4f}", best / root, 1 / 1.01),
        Row(
            "largest error, T = 1e6, binned",
            f"{bins:.4f}",
            "constant of the factor",
            f"{limit:.4f}",
            limit / bins,
            1 / 1.03,
        ),
    ]


def main() -> None:
    show("Answers over time", [*speed(), *errors()])


if __name__ == "__main__":
    main()
