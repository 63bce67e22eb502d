"""The matrices of a strategy: what gets noise, what is estimated, and every move of a unit."""

from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

from discreet.continual.strategies import Appearances, Strategy
from discreet.continual.windows import Spans


def matrix(strategy: Strategy, steps: int) -> NDArray[np.int64]:
    """C: each key is one where one step has the value 1."""
    return strategy.start(steps).measure(np.eye(steps, dtype=np.int64))


def estimates(strategy: Strategy, steps: int, rows: int) -> NDArray[np.float64]:
    """B: each key is one where one noisy row is 1."""
    return strategy.start(rows).estimate(np.eye(rows), steps)


def asked(strategy: Strategy, steps: int) -> NDArray[np.float64]:
    """The sums that are asked for."""
    decay = float(getattr(strategy, "decay", 1))
    away = np.arange(steps)[:, None] - np.arange(steps)[None, :]
    width = strategy.width if isinstance(strategy, Spans) else steps
    return np.where((away >= 0) & (away < width), decay ** np.maximum(away, 0), 0.0)


def moves_of(unit: Appearances, steps: int) -> list[tuple[int, ...]]:
    """Every move that a unit can make, up to a factor of size at most 1."""
    found = []
    for n in range(1, unit.steps + 1):
        for places in combinations(range(steps), n):
            if all(b - a >= unit.separation for a, b in pairwise(places)):
                for signs in product((-1, 1), repeat=n):
                    d = [0] * steps
                    for place, sign in zip(places, signs, strict=True):
                        d[place] = sign
                    found.append(tuple(d))
    return found
