"""Integer rows in memory: one-hot codes, or dense rows cut to a public length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.learning.sums import ExactSums, clipped_rows, exact_product, few_bits, on_grid, upper

DENSE_BITS = 12
_RESIDUAL_BITS = 16
_PART = 1 << 13


class OneHotRows:
    """Each row has a 1 in one place of each column's range, and zeros elsewhere.

    >>> rows = OneHotRows(np.array([[0, 1], [1, 1]]), (2, 2))
    >>> rows.moments().values.tolist(), rows.moments().moves_squared
    ([1, 0, 0, 1, 1, 0, 1, 0, 0, 2], 3)
    """

    def __init__(self, codes: Integers, sizes: tuple[int, ...]) -> None:
        self._places = codes + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self._width = int(sum(sizes))
        self._columns = len(sizes)

    @property
    def width(self) -> int:
        """How many columns."""
        return self._width

    @property
    def length_squared(self) -> int:
        """Each row has as many ones as there are columns."""
        return self._columns

    @cached_property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        rows = len(self._places)
        starts = np.arange(0, rows * self._columns + 1, self._columns)
        return csr_array((np.ones(self._places.size), self._places.ravel(), starts), shape=(rows, self._width))

    def moments(self) -> ExactSums:
        """How many rows have each pair of ones: a row adds 1 to F (F + 1) / 2 places."""
        table = np.rint((self._matrix.T @ self._matrix).toarray()).astype(np.int64)
        return ExactSums(table[upper(self.width)], self._columns * (self._columns + 1) // 2)

    def scores(self, weights: Floats) -> Floats:
        """x · w for each row."""
        return np.asarray(self._matrix @ weights)

    def lengths(self, matrix: Floats) -> Floats:
        """|M x| for each row, by parts so that memory stays small."""
        out = np.empty(len(self._places))
        by_place = np.ascontiguousarray(matrix.T)
        for start in range(0, len(out), _PART):
            mapped = self._matrix[start : start + _PART] @ by_place
            out[start : start + _PART] = np.sqrt(np.einsum("ij,ij->i", mapped, mapped))
        return out

    def weighted_sum(self, residuals: Floats) -> Integers:
        """The sum of x rᵀ: sums of integers below 2^53, so doubles hold them."""
        return np.asarray(self._matrix.T @ residuals).astype(np.int64)


@dataclass(frozen=True, slots=True)
class DenseRows:
    """Rows of integers, no longer than ``radius``."""

    values: Floats
    radius: int

    @classmethod
    def of(cls, scaled: Floats, length: float) -> DenseRows:
        """Rows in [-1, 1] with a column of ones put first, on a grid, cut to a public length.

        >>> DenseRows.of(np.array([[0.5, -1.0]]), 1.5).values
        array([[ 4096.,  2048., -4096.]])
        """
        ones = np.ones((len(scaled), 1))
        radius = max(1, int(length * (1 << DENSE_BITS)))
        return cls(clipped_rows(on_grid(np.hstack([ones, scaled]), DENSE_BITS), radius), radius)

    @property
    def width(self) -> int:
        """How many columns."""
        return int(self.values.shape[1])

    @property
    def length_squared(self) -> int:
        """No row is longer than the radius."""
        return self.radius**2

    def moments(self) -> ExactSums:
        """The sum of x xᵀ: the upper triangle of one row is at most |x|² long."""
        table = exact_product(self.values, self.values, left_bits=DENSE_BITS + 1, right_bits=DENSE_BITS + 1)
        return ExactSums(table[upper(self.width)], self.radius**4)

    def scores(self, weights: Floats) -> Floats:
        """x · w for each row, from weights of so few bits that no row's result depends on how others are added."""
        return np.asarray(self.values @ few_bits(weights, DENSE_BITS))

    def lengths(self, matrix: Floats) -> Floats:
        """|M x| for each row."""
        mapped = self.values @ matrix.T
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", mapped, mapped)))

    def weighted_sum(self, residuals: Floats) -> Integers:
        """The sum of x rᵀ, exactly."""
        return exact_product(self.values, residuals, left_bits=DENSE_BITS + 1, right_bits=_RESIDUAL_BITS)
