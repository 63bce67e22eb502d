"""Exact sums over rows, and the noise that is added to them.

The one way in which this package looks at data: integers on a public grid, summed exactly, each row (or unit) moving
the sums by at most a stated L2 length. Floats may carry the integers: sums of doubles are exact below 2^53.

Guarantee: ``release`` is at most as telling as ``events.Gaussian(sigma_squared=1/mu_squared)``. Proof: sums.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.errors import BadParameter
from discreet.exact import sqrt_up
from discreet.noise.additive import LARGEST
from discreet.noise.floored_normal import floored_normal
from discreet.randomness import Bits, SystemBits

EXACT_BITS = 53
_FINEST = 1 << 16  # noise of fewer cells than this is made finer, so that rounding is lost in it


@dataclass(frozen=True, slots=True)
class ExactSums:
    """Sums over all units, in cells, and how far one unit moves them: the square of the L2 length, in cells.

    >>> ExactSums(np.array([10, 20]), moves_squared=4).moves_squared
    4
    """

    values: Integers
    moves_squared: int

    def __post_init__(self) -> None:
        if self.moves_squared < 1:
            raise BadParameter("moves_squared", self.moves_squared, "must be at least 1: one unit moves the sums")


def release(sums: ExactSums, mu_squared: Fraction, bits: Bits | None = None) -> tuple[Floats, float]:
    """Noisy sums and the standard deviation of their noise, in cells.

    >>> noisy, sigma = release(ExactSums(np.array([10, 20]), moves_squared=4), Fraction(1, 4))
    >>> noisy.shape, sigma
    ((2,), 4.0)
    """
    finer, sigma_squared = noise_of(sums.moves_squared, mu_squared)
    source = SystemBits() if bits is None else bits
    noise = floored_normal(sigma_squared, sums.values.size, source)
    cells = _times(sums.values.ravel(), finer) + noise  # integers beyond 2^63 as Python's own
    noisy = cells.astype(np.float64).reshape(sums.values.shape) / finer
    return noisy, float(sqrt_up(sigma_squared)) / finer


def noise_of(moves_squared: int, mu_squared: Fraction) -> tuple[int, Fraction]:
    """A power of two by which the cells are divided, and the noise's sigma squared in the finer cells.

    >>> noise_of(1, Fraction(1, 4))[0], noise_of(1 << 40, Fraction(1))
    (32768, (1, Fraction(1099511627776, 1)))
    """
    plain = moves_squared / mu_squared
    finer = 1
    while isqrt(int(plain * finer * finer)) < _FINEST:
        finer *= 2
    return finer, plain * finer * finer


def check_fits(moves_squared: int, mu_squared: Fraction) -> None:
    """Refuse, before anything is paid, noise that no draw of ``release`` could hold.

    >>> check_fits(1 << 40, Fraction(1))
    """
    if noise_of(moves_squared, mu_squared)[1] > LARGEST**2:
        raise BadParameter(
            "budget", "too small", "must be larger, or for fewer columns: its noise would not fit into 64 bits"
        )


def _times(values: Integers, finer: int) -> NDArray[Any]:
    largest = int(np.abs(values).max(initial=0))
    if largest * finer < 1 << 61:
        return values * finer
    return values.astype(object) * finer


def exact_product(left: Floats, right: Floats, *, left_bits: int, right_bits: int) -> Integers:
    """``left.T @ right`` for integer-valued doubles of at most so many bits each, exactly.

    Rows are taken in parts of which every partial sum stays below 2^53, in whatever order they are added.

    >>> exact_product(np.array([[3.0], [4.0]]), np.array([[5.0], [6.0]]), left_bits=3, right_bits=3)
    array([[39]])
    """
    spare = EXACT_BITS - left_bits - right_bits
    if spare < 1:
        raise BadParameter("bits", left_bits + right_bits, f"must be below {EXACT_BITS} for exact sums of products")
    rows = 1 << min(spare, 40)
    total = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    for start in range(0, len(left), rows):
        total += (left[start : start + rows].T @ right[start : start + rows]).astype(np.int64)
    return total


def few_bits(weights: Floats, row_bits: int) -> Floats:
    """Weights rounded to a power of two, so that ``rows @ weights`` is exact for rows of integers up to 2^row_bits.

    A matrix product adds in an order that depends on the number of rows; exact sums are the same in any order.

    >>> few_bits(np.array([1 / 3, 1.0]), 50)
    array([0.5, 1. ])
    """
    kept = EXACT_BITS - row_bits - (len(weights) - 1).bit_length()
    top = int(np.frexp(np.abs(weights).max(initial=0.0))[1])  # all weights are at most 2^top
    unit = 2.0 ** max(top - kept, -1000)
    return np.asarray(np.rint(weights / unit) * unit)


def on_grid(values: Floats, bits: int) -> Floats:
    """Numbers in [-1, 1] as integers of ``bits`` bits, rounded towards 0, so that no length grows.

    >>> on_grid(np.array([0.5, -1.0, 0.3]), 4)
    array([  8., -16.,   4.])
    """
    return np.trunc(np.clip(values, -1.0, 1.0) * float(1 << bits)) + 0.0


def clipped_rows(rows: Floats, radius: int) -> Floats:
    """Integer rows, each shrunk towards 0 until its squared length is at most ``radius``².

    Certified in integers: a row that is still too long after shrinking in floats is replaced by zeros.

    >>> clipped_rows(np.array([[30.0, 40.0], [3.0, 4.0]]), 10)
    array([[5., 7.],
           [3., 4.]])
    """
    squared = np.einsum("ij,ij->i", rows, rows)
    long = squared > float(radius) ** 2
    if not long.any():
        return rows
    out = rows.copy()
    factor = radius / np.sqrt(squared[long]) * (1 - 2.0**-30)
    out[long] = np.trunc(rows[long] * factor[:, None]) + 0.0
    after = np.einsum("ij,ij->i", out, out)
    out[after > float(radius) ** 2] = 0.0
    return out


def upper(width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of a symmetric matrix's upper triangle, row by row."""
    return np.triu_indices(width)


def symmetric(flat: Floats, width: int) -> Floats:
    """The matrix of an upper triangle.

    >>> symmetric(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    matrix = np.zeros((width, width))
    matrix[upper(width)] = flat
    return matrix + np.triu(matrix, 1).T
