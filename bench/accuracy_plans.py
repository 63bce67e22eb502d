"""Every question of a plan beside the same alone for an equal part of the price. Part ``plans`` of ``bench.accuracy``.

    python -m bench.accuracy plans

Two plans of eight questions each: everything declared, and nothing but the unit and the groups. A figure is the median
over RUNS of the median over groups of the error beside the raw table's number; asked: at most 1.5 for each question.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import discreet as dp

RUNS = int(os.environ.get("DISCREET_RUNS", "41"))
UNITS, ROWS, GROUPS = 20_000, 60_000, 8
ASKED = ("COUNT(*)", "SUM(x)", "AVG(x)", "VARIANCE(x)", "STDDEV(y)", "COVAR_SAMP(x, y)", "CORR(x, y)", "MEDIAN(y)")
TEXTS = tuple(
    f"SELECT {'' if what == 'MEDIAN(y)' else 'g, '}{what} AS a FROM t{'' if what == 'MEDIAN(y)' else ' GROUP BY g'}"
    for what in ASKED
)


def rows() -> pa.Table:
    """Made up: x is skewed, y goes with it."""
    rng = np.random.default_rng(7)
    x = np.round(np.minimum(rng.gamma(3.0, 9.0, ROWS), 100), 2)
    y = np.clip(np.round(x / 2 - 20 + rng.normal(0, 8, ROWS)), -50, 50).astype(int)
    return pa.table(
        {"u": rng.integers(0, UNITS, ROWS), "g": rng.integers(0, GROUPS, ROWS), "x": x, "y": y.astype(np.int64)}
    )


def truths(table: pa.Table) -> list[np.ndarray[Any, Any]]:
    """Of the raw table."""
    g, x, y = (table[name].to_numpy() for name in ("g", "x", "y"))
    places = [g == k for k in range(GROUPS)]
    of: dict[str, Callable[[Any, Any], Any]] = {
        "COUNT(*)": lambda a, b: len(a), "SUM(x)": lambda a, b: a.sum(), "AVG(x)": lambda a, b: a.mean(),
        "VARIANCE(x)": lambda a, b: a.var(ddof=1), "STDDEV(y)": lambda a, b: b.std(ddof=1),
        "COVAR_SAMP(x, y)": lambda a, b: np.cov(a, b)[0, 1], "CORR(x, y)": lambda a, b: np.corrcoef(a, b)[0, 1],
    }  # fmt: skip
    found = [np.array([float(of[what](x[some], y[some])) for some in places]) for what in ASKED[:-1]]
    return [*found, np.array([float(np.median(y))])]


def plans() -> None:
    """Both plans."""
    table = rows()
    true = truths(table)
    groups = {"g": dp.keys(range(GROUPS))}
    declared = {**groups, "x": dp.bounds(0, 100, nullable=False), "y": dp.bounds(-50, 50, nullable=False)}
    shown = Table("question", "declared: plan", "alone", "ratio", "nothing declared: plan", "alone", "ratio",
                  title=f"Eight questions for ε = 2 as one plan, and each alone for ε = 1/4; {RUNS} runs")  # fmt: skip
    columns: list[list[str]] = []
    for owned in (
        dp.table(table, unit="u", columns=declared, max_rows=8),
        dp.table(table, unit="u", columns=groups),
    ):
        session = dp.Session(t=owned, budget=dp.Pure(10**6))
        errors: dict[str, list[list[float]]] = {"plan": [], "alone": []}
        for _ in range(RUNS):
            together = session.plan(TEXTS, epsilon=2).release()
            alone = [session.sql(text).release(epsilon="1/4") for text in TEXTS]
            for name, answers in (("plan", together), ("alone", alone)):
                errors[name].append([_off(answer["a"], one) for answer, one in zip(answers, true, strict=True)])
        medians = {name: np.median(found, axis=0) for name, found in errors.items()}
        columns += [[f"{100 * one:.2g} %" for one in medians[name]] for name in ("plan", "alone")]
        columns.append([f"{a / max(b, 1e-12):.2f}" for a, b in zip(medians["plan"], medians["alone"], strict=True)])
    for what, *cells in zip(ASKED, *columns, strict=True):
        shown.add_row(what, *cells)
    Console(width=140).print(shown)


def _off(values: list[Any], true: np.ndarray[Any, Any]) -> float:
    found = [1.0 if value is None else abs(value - one) / abs(one) for value, one in zip(values, true, strict=True)]
    return float(np.median(found))
