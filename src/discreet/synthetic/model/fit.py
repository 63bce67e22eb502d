"""Fit a graphical model to noisy marginals: maximum entropy against least squares.

Promise: the model is a function of released numbers alone. Among all distributions p it minimises
    Σ_r |N p_r - y_r|² / (2 σ_r²)  +  prior · N · KL(p | uniform),
whose optimum is a graphical model on the measured cliques. The second term says that a data set is as likely as the
number of ways to arrange it; it keeps the model from following the noise into cells that hold nobody. Proof: fit.md.

One-way marginals are not held back: the prior is about how columns depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.synthetic.model.graphical import Graphical, Potentials, calibrate
from discreet.synthetic.model.junction import Clique, junction_tree
from discreet.synthetic.model.lbfgs import minimise

PRIOR = 0.03
STEPS = 60
_CLOSE = 1e-3
_FARTHEST = 60.0  # potentials stay finite where measurements contradict each other
_FREE = 0.03  # what is left of the prior for one-way marginals: keeps empty values finite


@dataclass(frozen=True, eq=False)
class Measured:
    """A released marginal: noisy counts in the shape of its clique, and the variance of each count.

    Variance 0 marks shares that are public: ``noisy`` holds shares that sum to 1, and the model follows them closely.
    """

    clique: Clique
    noisy: NDArray[Any]
    variance: float


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, its potentials (to start the next fit from), and the number of rows it stands for."""

    model: Graphical
    potentials: Potentials
    total: float


def total_of(measured: Sequence[Measured]) -> float:
    """The number of rows by the inverse-variance mean of all tables' sums, at least 1."""
    counted = [m for m in measured if m.variance]
    weights = np.array([1 / (m.variance * m.noisy.size) for m in counted])
    sums = np.array([float(m.noisy.sum()) for m in counted])
    return max(1.0, float(weights @ sums / weights.sum()))


def pooled(measured: Sequence[Measured], total: float) -> dict[Clique, tuple[Floats, float]]:
    """Tables of the same clique as one: their inverse-variance mean. Public shares count as exact to a thousandth."""
    pooled_tables: dict[Clique, tuple[Floats, float]] = {}
    for m in measured:
        noisy, precision = (
            m.noisy.astype(np.float64) * (1 if m.variance else total),
            1 / (m.variance or max(1.0, (_CLOSE * total) ** 2)),
        )
        if m.clique in pooled_tables:
            other, variance = pooled_tables[m.clique]
            noisy = (noisy * precision + other / variance) / (precision + 1 / variance)
            precision += 1 / variance
        pooled_tables[m.clique] = noisy, 1 / precision
    return pooled_tables


def fit(
    sizes: Sequence[int],
    measured: Sequence[Measured],
    *,
    start: Potentials | None = None,
    base: Potentials | None = None,
    prior: float = PRIOR,
    steps: int = STEPS,
) -> Fit:
    """The model of these marginals. ``start``: potentials of an earlier fit; ``base``: -inf where nothing can be."""
    total = total_of(measured)
    target = pooled(measured, total)
    tree = junction_tree(sizes, [*target, *(base or {})])
    potentials = solve(target, total, lambda given: calibrate(tree, given, base), start=start, prior=prior, steps=steps)
    return Fit(calibrate(tree, potentials, base), potentials, total)


class Model(Protocol):
    """A distribution made of potentials."""

    @property
    def log_normaliser(self) -> float:
        """ln Z, by which it was divided."""
        ...

    def marginal(self, columns: Sequence[int]) -> Floats:
        """Shares of the combinations of some columns."""
        ...


def solve(
    target: Mapping[Clique, tuple[Floats, float]],
    total: float,
    model_of: Callable[[Potentials], Model],
    *,
    start: Potentials | None,
    prior: float,
    steps: int,
) -> dict[Clique, Floats]:
    """The potentials that minimise the dual, for any family of models (fit.md)."""
    layout = _Layout([(clique, table.shape) for clique, (table, _) in target.items()])
    held = np.concatenate(
        [np.full(t.size, v * (prior if len(c) > 1 else prior * _FREE)) for c, (t, v) in target.items()]
    )
    wanted = np.concatenate([table.ravel() for table, _ in target.values()])
    first = layout.flat({c: (start or {}).get(c, np.zeros(t.shape)) for c, (t, _) in target.items()})
    expected = total * layout.marginals(model_of(layout.tables(first)))
    wanted[expected == 0] = 0  # what the family cannot reach: no potential helps
    scale = 1 / np.sqrt(np.maximum(expected, wanted).clip(min=1) + held)

    def objective(x: Floats) -> tuple[float, Floats]:
        theta = x * scale
        model = model_of(layout.tables(theta))
        pull = total * layout.marginals(model) - wanted + held * theta
        value = total * model.log_normaliser - wanted @ theta + 0.5 * (held * theta) @ theta
        return value / total, pull * scale / total

    return layout.tables(minimise(objective, first / scale, _FARTHEST / scale, steps=steps) * scale)


class _Layout:
    """Tables one after the other in one vector."""

    def __init__(self, shapes: Sequence[tuple[Clique, tuple[int, ...]]]) -> None:
        self._shapes = shapes
        self._ends = np.cumsum([int(np.prod(shape)) for _, shape in shapes])

    def flat(self, tables: Mapping[Clique, Floats]) -> Floats:
        return np.concatenate([np.asarray(tables[clique]).ravel() for clique, _ in self._shapes])

    def tables(self, vector: Floats) -> dict[Clique, Floats]:
        parts = np.split(vector, self._ends[:-1])
        return {clique: part.reshape(shape) for (clique, shape), part in zip(self._shapes, parts, strict=True)}

    def marginals(self, model: Model) -> Floats:
        return np.concatenate([model.marginal(clique).ravel() for clique, _ in self._shapes])
