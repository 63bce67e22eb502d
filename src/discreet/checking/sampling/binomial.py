"""Confidence bounds for a probability that was seen k times in n, by Clopper and Pearson (1934).

Guarantee: P[truth < lower] <= failure and P[truth > upper] <= failure, each, whatever the truth.
Believes: scipy's inverse of the incomplete beta function to a relative 1e-9; that much is given away on both sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats

_GIVEN_AWAY = 1e-9


def lower(seen: ArrayLike, of: ArrayLike, failure: float) -> Floats:
    """The largest p with P[Bin(of, p) >= seen] <= failure, rounded down; 0 if nothing was seen.

    >>> round(float(lower(10, 20, 0.025)), 4), float(lower(0, 20, 0.025))
    (0.272, 0.0)
    """
    from scipy.special import betaincinv

    k, n = np.asarray(seen, dtype=np.float64), np.asarray(of, dtype=np.float64)
    bound: Any = betaincinv(np.maximum(k, 1), n - k + 1, failure)
    return np.where(k > 0, np.maximum(bound * (1 - _GIVEN_AWAY), 0), 0.0)


def upper(seen: ArrayLike, of: ArrayLike, failure: float) -> Floats:
    """The least p with P[Bin(of, p) <= seen] <= failure, rounded up; 1 if it was seen always.

    >>> round(float(upper(10, 20, 0.025)), 4), float(upper(20, 20, 0.025))
    (0.728, 1.0)
    """
    k, n = np.asarray(seen, dtype=np.float64), np.asarray(of, dtype=np.float64)
    complement = lower(n - k, n, failure)
    return np.minimum(1.0, (1.0 - complement) * (1 + _GIVEN_AWAY))


def tail(at_least: int, of: int, p: float) -> float:
    """P[Bin(of, p) >= at_least]."""
    from scipy.special import bdtrc

    return 1.0 if at_least <= 0 else float(bdtrc(at_least - 1, of, p))
