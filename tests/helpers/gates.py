"""Statistical gates with a stated false-alarm rate; every use has a planted twin that must not pass."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import chdtri

from tests.helpers.truth import Spread

FALSE_ALARM = 1e-9
_NOMINAL = 1e-10
_LEAST_EXPECTED = 500


def distance(observed: Sequence[int], probabilities: Sequence[float]) -> float:
    """Pearson's statistic over a quantile that fair draws exceed with probability at most 1e-9: above 1 is an alarm.

    The quantile is the chi-square law's at 1e-10, with one degree of freedom less than there are bins. Neighbouring
    bins are joined until each expects 500 draws. So far out, a bin of mean m is heavier than the normal law by at
    most about exp(z^3 / (6 sqrt(m))) < 8 at z = 6.5, m = 500: hence the 1e-10.
    """
    n = sum(observed)
    counts: list[int] = [0]
    expected: list[float] = [0.0]
    for seen, p in zip(observed, probabilities, strict=True):
        if expected[-1] >= _LEAST_EXPECTED:
            counts.append(0)
            expected.append(0.0)
        counts[-1] += seen
        expected[-1] += n * p
    if len(expected) > 1 and expected[-1] < _LEAST_EXPECTED:
        last, rest = counts.pop(), expected.pop()
        counts[-1] += last
        expected[-1] += rest
    assert abs(sum(expected) - n) < 1e-6 * n, "the probabilities must sum to 1"
    assert len(expected) > 1, "too few draws for a test"
    statistic = sum((seen - e) ** 2 / e for seen, e in zip(counts, expected, strict=True))
    return statistic / float(chdtri(len(expected) - 1, _NOMINAL))


def distance_from(draws: Any, law: Spread, *, bins: float = 10) -> float:
    """The same for integer draws: bins of a tenth of the law's width, from -12 to 12 widths."""
    reach = int(12 * bins)
    edges = sorted({math.ceil(law.width * i / bins) for i in range(-reach, reach + 1)})
    ends = [0.0, *(law.below(k) for k in edges), 1.0]
    probabilities = [b - a for a, b in pairwise(ends)]
    if isinstance(draws, np.ndarray) and draws.dtype != object:
        bin_of = np.searchsorted(np.array(edges, dtype=np.int64), draws, side="right")
    else:
        bin_of = np.array([bisect_right(edges, x) for x in draws])
    return distance(np.bincount(bin_of, minlength=len(ends) - 1).tolist(), probabilities)


def sign_imbalance(draws: Sequence[int]) -> float:
    """Above 1 is an alarm, with probability at most 1e-9 for a symmetric law.

    Hoeffding: the sum of n independent signs exceeds t in size with probability at most 2 exp(-t^2 / 2n).
    """
    signs = [1 if x > 0 else -1 for x in draws if x]
    bound = math.sqrt(2 * max(1, len(signs)) * math.log(2 / FALSE_ALARM))
    return abs(sum(signs)) / bound
