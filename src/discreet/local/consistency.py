"""Estimates that make sense together: shares that are not negative and sum to 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def on_simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest point, in least squares, of all shares that are not negative and sum to 1.

    All are lowered by one number, and what falls below 0 is 0.

    >>> on_simplex(np.array([0.7, 0.5, -0.1])).round(12).tolist()
    [0.6, 0.4, 0.0]
    """
    ordered = np.sort(values)[::-1]
    over = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(ordered > over)[-1])
    return np.asarray(np.maximum(values - over[last], 0.0))
