"""Integer rows in memory: one-hot codes, or dense rows cut to a public length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.learning.sums import ExactSums, clipped_rows, exact_product, few_bits, on_grid, upper
from discreet.learning.unit_weights import WEIGHT_BITS, Weights, unit_weights

DENSE_BITS = 12
_RESIDUAL_BITS = 16
_PART = 1 << 13
_ALIKE = 1e-3  # how weights at the two ends of a range are correlated where nothing is known of them


class OneHotRows:
    """Each row has a 1 in one place of each column's range, and zeros elsewhere.

    >>> rows = OneHotRows(np.array([[0, 1], [1, 1]]), (2, 2))
    >>> rows.moments().values.tolist(), rows.moments().moves_squared
    ([1, 0, 0, 1, 1, 0, 1, 0, 0, 2], 3)
    """

    def __init__(
        self, codes: Integers, sizes: tuple[int, ...], weights: Weights | None = None, ordered: tuple[int, ...] = ()
    ) -> None:
        self._weights = unit_weights(None, len(codes)) if weights is None else weights
        self._sizes = sizes
        self._ordered = ordered or (0,) * len(sizes)  # so many first bins of each column follow each other
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

    @property
    def scale(self) -> int:
        """The weights of the rows of one unit add up to at most this."""
        return self._weights.scale

    @cached_property
    def _matrix(self) -> Any:
        from scipy.sparse import csr_array

        rows = len(self._places)
        starts = np.arange(0, rows * self._columns + 1, self._columns)
        return csr_array((np.ones(self._places.size), self._places.ravel(), starts), shape=(rows, self._width))

    @property
    def moves_squared(self) -> int:
        """A row has F (F + 1) / 2 pairs of ones."""
        return self._columns * (self._columns + 1) // 2 * self.scale**2

    def moments(self) -> ExactSums:
        """The weight of rows with each pair of ones: a row adds its weight to F (F + 1) / 2 places."""
        weighted = self._matrix.T @ self._matrix.multiply(self._weights.values[:, None]).tocsr()
        table = np.rint(weighted.toarray()).astype(np.int64)
        return ExactSums(table[upper(self.width)], self.moves_squared)

    def count(self, moments: Floats) -> float:
        """Each row has as many ones as there are columns."""
        return float(np.trace(moments)) / self._columns

    def independent(self, moments: Floats) -> Floats:
        """The moments if columns did not depend on each other, from the numbers of rows with each one."""
        counts = np.maximum(np.diag(moments), 1.0)
        parts = np.split(counts, np.cumsum(self._sizes)[:-1])
        whole = max(self.count(moments), 1.0)
        counts = np.concatenate([part * (whole / part.sum()) for part in parts])
        column = np.repeat(np.arange(self._columns), self._sizes)
        apart = column[:, None] != column
        return np.asarray(np.where(apart, np.outer(counts, counts) / whole, np.diag(counts)))

    def roughness(self) -> Floats:
        """A quadratic form of weights that is large where those of neighbouring bins jump."""
        form = np.eye(self._width)
        starts = np.cumsum(self._sizes) - self._sizes
        for start, many in zip(starts, self._ordered, strict=True):
            away = np.abs(np.subtract.outer(np.arange(many), np.arange(many)))
            form[start : start + many, start : start + many] = np.linalg.inv(_ALIKE ** (away / many))
        return form

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
        """The sum of w x rᵀ: sums of integers below 2^53, so doubles hold them."""
        return np.asarray(self._matrix.T @ (residuals * self._weights.values[:, None])).astype(np.int64)


@dataclass(frozen=True, slots=True)
class DenseRows:
    """Rows of integers, no longer than ``radius``."""

    values: Floats
    radius: int
    weights: Weights

    @classmethod
    def of(cls, scaled: Floats, length: float, weights: Weights | None = None) -> DenseRows:
        """Rows in [-1, 1] with a column of ones put first, on a grid, cut to a public length.

        >>> DenseRows.of(np.array([[0.5, -1.0]]), 1.5).values
        array([[ 4096.,  2048., -4096.]])
        """
        ones = np.ones((len(scaled), 1))
        radius = max(1, int(length * (1 << DENSE_BITS)))
        kept = unit_weights(None, len(scaled)) if weights is None else weights
        return cls(clipped_rows(on_grid(np.hstack([ones, scaled]), DENSE_BITS), radius), radius, kept)

    @property
    def width(self) -> int:
        """How many columns."""
        return int(self.values.shape[1])

    @property
    def length_squared(self) -> int:
        """No row is longer than the radius."""
        return self.radius**2

    @property
    def scale(self) -> int:
        """The weights of the rows of one unit add up to at most this."""
        return self.weights.scale

    @property
    def moves_squared(self) -> int:
        """The upper triangle of x xᵀ is at most |x|² long."""
        return self.radius**4 * self.scale**2

    def moments(self) -> ExactSums:
        """The sum of w x xᵀ."""
        weighted = self.values * self.weights.values[:, None]
        left_bits = DENSE_BITS + 1 + WEIGHT_BITS
        table = exact_product(weighted, self.values, left_bits=left_bits, right_bits=DENSE_BITS + 1)
        return ExactSums(table[upper(self.width)], self.moves_squared)

    def count(self, moments: Floats) -> float:
        """The first column is a 1, in cells."""
        return float(moments[0, 0]) / (1 << 2 * DENSE_BITS)

    def independent(self, moments: Floats) -> Floats:
        """The moments if columns did not depend on each other."""
        whole = max(float(moments[0, 0]), 1.0)
        means = np.outer(moments[0], moments[0]) / whole
        return np.asarray(np.where(np.eye(self.width) > 0, np.maximum(np.diag(moments), 1.0), means))

    def roughness(self) -> Floats:
        """No column has an order: the squared length of the weights."""
        return np.eye(self.width)

    def scores(self, weights: Floats) -> Floats:
        """x · w for each row, from weights of so few bits that no row's result depends on how others are added."""
        return np.asarray(self.values @ few_bits(weights, DENSE_BITS))

    def lengths(self, matrix: Floats) -> Floats:
        """|M x| for each row."""
        mapped = self.values @ matrix.T
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", mapped, mapped)))

    def weighted_sum(self, residuals: Floats) -> Integers:
        """The sum of w x rᵀ, exactly."""
        weighted = residuals * self.weights.values[:, None]
        return exact_product(self.values, weighted, left_bits=DENSE_BITS + 1, right_bits=_RESIDUAL_BITS + WEIGHT_BITS)
