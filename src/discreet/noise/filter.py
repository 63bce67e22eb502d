"""A quick look at exp(-x) in floats, good enough to decide almost every coin.

Promise: ``near_exp`` and ``near_exp_array`` differ from exp(-x) by less than ``MARGIN`` / 2, when the float x that
they are given has a relative error of at most 2^-48.
Believes: IEEE double addition, subtraction and multiplication round to nearest. No libm.

A filter only ever says "certainly below" or "certainly above"; whatever lies within the margin goes to the
certified comparison, with the same random bits. So the margin moves time, never a probability.

Why: let k = floor(8x), r = x - k/8, so 0 <= r <= 1/8 up to rounding. The table holds exp(-k/8) to half an ulp.
The Taylor polynomial of degree 10 is off by less than (1/8)^11/11! < 2^-58; Horner's rule adds less than
12 * 2^-53, the product 2^-53, and x itself is off by a relative 2^-48, which moves exp(-x) by less than
x exp(-x) 2^-48 < 2^-49. Together below 2^-45, and the margin is 2^-40.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.exact import exp_down

MARGIN = 2.0**-40
LARGEST = 64  # beyond it exp(-x) < 2^-92: no 64-bit look can tell it from 0

_TABLE = [float(exp_down(Fraction(-k, 8), 80)) for k in range(8 * LARGEST + 2)]
_TABLE_ARRAY = np.array(_TABLE)
_COEFFICIENTS = [float(Fraction((-1) ** n) / Fraction(np.prod(range(1, n + 1), dtype=object) or 1)) for n in range(11)]


def near_exp(x: float) -> float:
    """exp(-x) within MARGIN / 2, for 0 <= x."""
    if x >= LARGEST:
        return 0.0
    k = int(8 * x)
    r = x - k / 8
    c = _COEFFICIENTS
    p = c[8] + r * (c[9] + r * c[10])
    p = c[4] + r * (c[5] + r * (c[6] + r * (c[7] + r * p)))
    return _TABLE[k] * (1.0 + r * (c[1] + r * (c[2] + r * (c[3] + r * p))))


def near_exp_array(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-x) within MARGIN / 2, entry by entry, for 0 <= x; overwrites x."""
    np.minimum(x, LARGEST, out=x)
    k = (8 * x).astype(np.intp)
    x -= k / 8
    p = np.full_like(x, _COEFFICIENTS[10])
    for c in reversed(_COEFFICIENTS[:10]):
        p *= x
        p += c
    p *= _TABLE_ARRAY[k]
    return p
