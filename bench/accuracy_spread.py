"""MEDIAN and STDDEV with open rows, beside the best limit of rows by looking: part ``spread`` of ``bench.accuracy``.

Each unit has a level of its own, which grows with the number of its rows: the logarithms have a correlation of 0.3.
Errors are against the raw table; the median over groups, then over runs. The limit by looking has all of ε.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import discreet as dp
from bench.clip_choice import KEPT_OUT, TUNED, Sizes

RUNS = int(os.environ.get("DISCREET_RUNS", "15"))
UNITS, GROUPS = 20_000, 4
LIMITS = (1, 2, 4, 8, 16, 32, 64, 128)
CORRELATION = 0.3
LEAST = 0.002
Floats = NDArray[np.float64]


def table(sizes: Sizes) -> tuple[pa.Table, NDArray[np.int64], Floats]:
    """Rows with a unit, a group and a positive number, and the groups and numbers as arrays."""
    rng = np.random.default_rng(11)
    many = sizes(rng, UNITS)
    logs = np.log(many)
    spread = float(logs.std()) or 1.0
    level = CORRELATION * (logs - logs.mean()) / spread + (1 - CORRELATION**2) ** 0.5 * rng.normal(size=UNITS)
    unit = np.repeat(np.arange(UNITS), many)
    group = rng.integers(0, GROUPS, len(unit))
    values = np.round(100 * np.exp(0.7 * (level[unit] + rng.normal(size=len(unit)))), 2)
    return pa.table({"unit": unit, "g": group, "x": values}), group, values


def error(source: pa.Table, aggregate: str, truth: Floats, limit: int | None, bounds: tuple[int, int] | None) -> float:
    """The median error of some runs, as a share of the true value; what is NULL counts as wrong altogether."""
    columns = {"g": dp.keys(list(range(GROUPS)))} | ({} if bounds is None else {"x": dp.bounds(*bounds)})
    errors = []
    for _ in range(RUNS):
        t = dp.table(source, unit="unit", columns=columns, max_rows="auto" if limit is None else limit)
        session = dp.Session(t=t, budget=dp.Approx(1, "1e-6"))
        query = session.sql(f"SELECT g, {aggregate}(x) AS v FROM t GROUP BY g ORDER BY g")
        values = query.release(epsilon=Fraction(1)).to_arrow().column("v").to_pylist()
        answer = np.array([0.0 if value is None else value for value in values])
        errors.append(float(np.median(np.abs(answer - truth) / truth)))
    return max(float(np.median(errors)), LEAST)


def spread() -> None:
    """Print the errors, with nothing declared but units and groups, and with wide bounds."""
    shown = Table("kind", "aggregate", "nothing declared", "wide bounds", "best limit", "ratio",
                  title=f"{UNITS:,} units, {GROUPS} groups, ε = 1, medians of {RUNS} runs")  # fmt: skip
    for name, sizes in {**TUNED, **{f"{name} (kept out)": sizes for name, sizes in KEPT_OUT.items()}}.items():
        source, group, values = table(sizes)
        wide = (0, 10 * int(values.max()))
        for aggregate, of in (("MEDIAN", np.median), ("STDDEV", lambda x: np.std(x, ddof=1))):
            truth = np.array([float(of(values[group == g])) for g in range(GROUPS)])
            by_looking = min(error(source, aggregate, truth, limit, None) for limit in LIMITS)
            open_, declared = (error(source, aggregate, truth, None, bounds) for bounds in (None, wide))
            shown.add_row(name, aggregate, *(f"{100 * x:.2g} %" for x in (open_, declared, by_looking)),
                          f"{open_ / by_looking:.2f}")  # fmt: skip
    Console(width=140).print(shown)


if __name__ == "__main__":
    spread()
