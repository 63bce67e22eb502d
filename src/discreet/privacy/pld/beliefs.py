"""What the accountant believes of floating point, numpy and scipy: each belief a number, each wide, each tested.

Promise: none. These are assumptions; ``tests/privacy/pld/test_beliefs.py`` measures every one of them against
arbitrary-precision balls on thousands of points and asks for a margin.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

ROUND = 2.0**-52
"""Twice the relative error of one +, -, *, / or sqrt of IEEE 754 doubles."""

ELEMENTARY = 2.0**-47
"""Relative error of numpy's exp, expm1, log, log1p (measured: below 2^-51)."""

FOURIER = 2.0**-49
"""Per level: an FFT of length N is off by at most FOURIER·log2(N) times its norm, in l2 (the standard bound for
radix 2 with accurate twiddles is about 7·2^-53 a level; measured: below 2^-53 in all). The same, times the sum of all
sizes, at each frequency: every level adds numbers whose sizes are at most the sums of the sizes they were made of."""

PLACE = 2.0**-47
"""Absolute error of a loss, per unit of 1 + |loss|: a parameter rounded to a double and a few operations on it."""

TINY = 2.0**-1000
"""Above every number that underflow can lose."""


def normal_error(x: Array) -> Array:
    """Relative error of scipy's ndtr and erfcx times e^{-x²/2} at x (measured: below 2^-52·(4 + x²))."""
    return np.asarray(2.0**-48 * (8.0 + x * x), dtype=np.float64)
