"""What is publicly known of a column, and its values as small whole numbers (bins), without looking at the data.

Promise: a declaration maps every value to a bin, whatever it is. It costs nothing: it looks at one value at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import Integers
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer, number
from discreet.learning.estimator import as_given, frame_columns, numbers
from discreet.shown import brief

FINE_BINS, COARSE_BINS = 32, 16
_FINE_FROM = Fraction(1, 100)  # the squared mu from which finer bins pay; about epsilon 0.4 at delta 1e-5


@dataclass(frozen=True, slots=True)
class Numeric:
    """A column of numbers between public bounds, cut into bins of equal width, or at given edges.

    >>> Numeric(0, 100, bins=4).codes([5, 30, 99, 1000]).tolist()
    [0, 1, 3, 3]
    >>> Numeric(0, 1000, edges=[1, 10, 100]).codes([0, 5, 500]).tolist()
    [0, 1, 3]
    """

    __repr__ = brief

    low: Number
    high: Number
    bins: int | None = None
    """How many; by default a model chooses 16 or 32 from its budget."""
    edges: Sequence[Number] | None = None
    """Inner ends of bins, ascending; they replace ``bins``."""
    missing: bool = False
    """Whether missing values have a bin of their own, the last one; else they are in the bin of the middle."""

    def __post_init__(self) -> None:
        if not number(self.low, "low") < number(self.high, "high"):
            raise BadParameter("low", self.low, "must be below high")
        if not 0 < _width(self.low, self.high) < inf:  # codes() would divide by it
            raise BadParameter("low", self.low, "must be apart from high by a number that a double holds")
        if self.bins is not None:
            integer(self.bins, "bins", at_least=2)
        if self.edges is not None:
            ends = [number(e, "edges") for e in self.edges]
            if not ends or any(a >= b for a, b in pairwise(ends)):
                raise BadParameter("edges", self.edges, "must be ascending numbers, at least one")

    @property
    def size(self) -> int:
        """How many bins."""
        return self.ordered + self.missing

    @property
    def ordered(self) -> int:
        """How many bins have numbers: those follow each other."""
        return (self.bins or COARSE_BINS) if self.edges is None else len(self.edges) + 1

    def codes(self, values: Any) -> Integers:
        """The bin of each value; values beyond the bounds are in the first or the last one, and missing ones in the
        bin of their middle, or in one of their own.
        """
        column = numbers(values)
        low, high = float(number(self.low)), float(number(self.high))
        is_missing = np.isnan(column)
        column = np.where(is_missing, low / 2 + high / 2, column)
        if self.edges is not None:
            place = np.searchsorted(np.array([float(number(e)) for e in self.edges]), column, side="right")
        else:
            with np.errstate(over="ignore"):
                place = np.clip(np.floor((column - low) / (high - low) * self.ordered), 0, self.ordered - 1)
        return np.where(is_missing & self.missing, self.ordered, place).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Categorical:
    """A column with a public list of values, or with codes 0 ... k - 1; anything else falls into a bin of its own.

    >>> Categorical(["a", "b"]).codes(["b", "a", "x"]).tolist(), Categorical(3).codes([2, 0, 7]).tolist()
    ([1, 0, 2], [2, 0, 3])
    """

    values: Sequence[Any] | int

    __repr__ = brief

    def __post_init__(self) -> None:
        if isinstance(self.values, int):
            integer(self.values, "values", at_least=1)
        elif not len(self.values) or len(set(self.values)) != len(self.values):
            raise BadParameter("values", self.values, "must be a list of distinct values, or how many codes there are")

    @property
    def size(self) -> int:
        """How many bins: one for each value, one for all others."""
        return (self.values if isinstance(self.values, int) else len(self.values)) + 1

    def codes(self, values: Any) -> Integers:
        """The place of each value in the list."""
        if isinstance(self.values, int):
            column = numbers(values)
            inside = (column >= 0) & (column < self.values) & (column == np.floor(column))
            return np.where(inside, column, self.values).astype(np.int64)
        places = {value: i for i, value in enumerate(self.values)}
        return np.array([_place(places, value) for value in np.asarray(values, dtype=object).tolist()], dtype=np.int64)


def _width(low: Number, high: Number) -> float:
    try:
        return float(number(high)) - float(number(low))
    except OverflowError:
        return inf


def _place(places: dict[Any, int], value: Any) -> int:
    try:
        return places.get(value, len(places))
    except TypeError:  # a list, say: nothing that could have been declared
        return len(places)


Column: TypeAlias = Numeric | Categorical


def read_columns(columns: Sequence[Column] | None, mu_squared: Fraction) -> tuple[Column, ...]:
    """The declarations, one for each column, with as many bins as the budget can pay for where none were given."""
    given: object = columns
    if (
        not isinstance(given, (list, tuple))
        or not given
        or not all(isinstance(c, (Numeric, Categorical)) for c in given)
    ):
        raise BadParameter(
            "columns",
            given,
            "must be a list with dp.learning.Numeric(low, high) or Categorical(values) for each column",
        )
    bins = FINE_BINS if mu_squared >= _FINE_FROM else COARSE_BINS
    return tuple(replace(c, bins=bins) if isinstance(c, Numeric) and c.bins is None else c for c in given)


def codes_of(data: Any, columns: Sequence[Column]) -> Integers:
    """The bins of all columns, one row for each row of an array or data frame."""
    listed = _columns_of(data)
    if len(listed) != len(columns):
        raise BadData(f"X has {len(listed)} features, but {len(columns)} columns are declared")
    return np.stack([column.codes(values) for column, values in zip(columns, listed, strict=True)], axis=1)


def _columns_of(data: Any) -> list[Any]:
    columns = frame_columns(data)
    if columns is not None:
        return [as_given(column) for column in columns]
    if hasattr(data, "toarray"):
        raise BadData("sparse rows are not taken here: pass a dense array, data.toarray()")
    rows = as_given(data, axes=2)
    if rows.dtype.kind == "c":
        raise BadData("Complex data not supported: X must hold real numbers or text")
    if rows.ndim != 2:
        raise BadData(f"X must be a 2D array, and it has {rows.ndim}. Reshape your data: one row for each sample")
    if not len(rows):
        raise BadData("Found array with 0 sample(s) while a minimum of 1 is required")
    return list(rows.T)
