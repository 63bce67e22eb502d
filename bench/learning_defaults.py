"""The settings inside the estimators, chosen on made-up tables: no real table says what is good.

``python -m bench.learning_defaults`` tries each setting at half and at twice its value. A table has columns that hang
together (a Gaussian copula of a few factors), numeric and categorical ones with skewed frequencies, and a label that is
logistic in effects of single bins and of some pairs. What counts is how far the AUC is below that of the true score.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learning import Categorical, HistogramTree, Numeric, TabularClassifier
from discreet.learning.models import histogram_tree, whitened
from discreet.privacy.promises.measures import Approx

ROWS = (10_000, 40_000, 100_000)
TESTED = 20_000
TABLES = 24


@dataclass(frozen=True)
class MadeUp:
    """A table, the rows to judge by, and the AUC of the true score there."""

    columns: list[Any]
    x: NDArray[np.float64]
    y: NDArray[np.int64]
    best: float
    trained: int


def made_up(seed: int, trained: int) -> MadeUp:
    """One table; all of its shape is drawn from the seed."""
    from scipy.special import expit, ndtr
    from sklearn.metrics import roc_auc_score

    draw = np.random.default_rng(seed)
    total, width, factors = trained + TESTED, int(draw.integers(6, 18)), int(draw.integers(1, 5))
    loads = draw.normal(size=(width, factors)) * draw.uniform(0.2, 1.0)
    normal = draw.normal(size=(total, factors)) @ loads.T + draw.normal(size=(total, width))
    shares = ndtr(normal / np.sqrt((loads**2).sum(axis=1) + 1))
    x, effects = np.zeros((total, width)), np.zeros((total, width))
    columns: list[Any] = []
    for j in range(width):
        if draw.random() < 0.4:
            x[:, j] = 100 * shares[:, j] ** draw.uniform(0.5, 6)
            columns.append(Numeric(0, 100))
            knots = np.cumsum(draw.normal(size=6))
            effects[:, j] = np.interp(shares[:, j], np.linspace(0, 1, 6), knots - knots.mean())
        else:
            size = int(draw.choice([2, 3, 5, 7, 9, 16, 40]))
            frequent = np.arange(1, size + 1) ** -draw.uniform(0, 1.5)
            ends = np.cumsum(frequent / frequent.sum())
            x[:, j] = np.minimum(np.searchsorted(ends, shares[:, j]), size - 1)
            columns.append(Categorical(size))
            effects[:, j] = draw.normal(size=size)[x[:, j].astype(int)]
    score = effects @ draw.exponential(size=width)
    a, b = draw.choice(width, 2, replace=False)
    score = score / score.std() + draw.choice([0.0, 0.5]) * effects[:, a] * effects[:, b]
    score *= draw.uniform(1.2, 3.0) / score.std()
    score -= np.quantile(score, 1 - draw.uniform(0.1, 0.5))
    y = (draw.random(total) < expit(score)).astype(np.int64)
    return MadeUp(columns, x, y, float(roc_auc_score(y[trained:], score[trained:])), trained)


def lost(model: Callable[..., Any], tables: list[MadeUp], epsilon: Any) -> float:
    """How far the AUC is below the best, on average."""
    from sklearn.metrics import roc_auc_score

    found = []
    for t in tables:
        fitted = model(columns=t.columns, classes=[0, 1], budget=Approx(epsilon, "1e-5"))
        chances = fitted.fit(t.x[: t.trained], t.y[: t.trained]).predict_proba(t.x[t.trained :])[:, 1]
        found.append(t.best - float(roc_auc_score(t.y[t.trained :], chances)))
    return float(np.mean(found))


SETTINGS: dict[str, tuple[Callable[..., Any], ModuleType, dict[str, tuple[Any, ...]]]] = {
    "classifier": (
        TabularClassifier,
        whitened,
        {"_PACE": (1.6, 6.6), "_RIDGE": (0.2, 0.8), "_CLIP": (0.45, 1.8), "MOMENTS_SHARE": ((1, 19), (1, 4))},
    ),
    "tree": (
        HistogramTree,
        histogram_tree,
        {"_LAST": (2, 8), "_LEAST": (0.125, 0.5), "_FEWEST": (25.0, 100.0), "_CLEAR": (1.0, 4.0)},
    ),
}


def main(which: str) -> None:
    """A line for each setting: what is lost at epsilon 0.1 and 1."""
    model, module, settings = SETTINGS[which]
    tables = [made_up(seed, ROWS[seed % len(ROWS)]) for seed in range(TABLES)]

    def line(name: str) -> None:
        start = time.process_time()
        few, many = (lost(model, tables, epsilon) for epsilon in ("0.1", 1))
        print(f"{name:24} {few:.4f} {many:.4f}   {time.process_time() - start:.0f} s", flush=True)

    line("as it is")
    for name, values in settings.items():
        kept = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            line(f"{name} {value}")
        setattr(module, name, kept)
    line("as it is, again")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "classifier")
