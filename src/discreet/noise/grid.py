"""Real numbers on a public grid of width 2^e, so that sums are exact integers and noise can be too.

Guarantee: ``quantise`` maps each record by itself into [low, high] integers, whatever it holds (NaN, infinities, -0.0),
so one record moves ``total`` by at most max(|low|, |high|) when it is added and by at most high - low when it is
changed; in any row order, with no rounding and no wraparound. Proof: grid.md.

The grid is made from public bounds and the public noise scale alone, never from data.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, BadParameter
from discreet.exact import Number, measured, positive

FINENESS = 40  # the grid is 2^40 times finer than the noise, so rounding is lost in it
_FINEST = -1022
_FARTHEST = 1 << 900
_WIDEST = 1 << 62
_LONGEST_TEXT = 400
_PART = 1 << 16
Reals = Sequence[float] | NDArray[np.floating] | NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of 2^exponent between two public bounds, counted from a public centre.

    >>> grid = public_grid(0, 100, scale=1)
    >>> noisy = grid.total([1.5, 2.25, 1e9, float("nan")]) + 0  # + noise, an integer
    >>> grid.value(noisy)
    103.75
    """

    exponent: int
    low: int
    high: int
    centre: Fraction
    missing: int
    """What NaN counts as, in cells."""

    def __post_init__(self) -> None:
        if not -_WIDEST <= self.low <= self.missing <= self.high <= _WIDEST:
            raise BadParameter("low", self.low, "must satisfy -2^62 <= low <= missing <= high <= 2^62")

    @property
    def largest(self) -> int:
        """What one record added or removed moves the total by, at most."""
        return max(abs(self.low), abs(self.high))

    @property
    def width(self) -> int:
        """What one record changed moves the total by, at most."""
        return self.high - self.low

    def quantise(self, values: Reals) -> NDArray[np.int64]:
        """Each record as an integer in [low, high]; NaN as ``missing``."""
        x = as_doubles(values)
        missing = np.isnan(x)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            cells = np.rint(np.ldexp(x - float(self.centre), -self.exponent))
            cells[missing] = 0  # before the cast: NaN has no integer
            # clip twice: as floats into the range of the cast, then exactly
            np.clip(cells, -(2.0**62), 2.0**62, out=cells)
        whole = np.clip(cells.astype(np.int64), self.low, self.high)
        whole[missing] = self.missing
        return whole

    def total(self, values: Reals) -> int:
        """The exact sum of the quantised records, as a Python integer."""
        x = as_doubles(values)
        total = 0
        for start in range(0, len(x), _PART):  # the halves' sums are below 2^47 and 2^48: int64 holds them
            cells = self.quantise(x[start : start + _PART])
            total += (int((cells >> 32).sum()) << 32) + int((cells & 0xFFFFFFFF).sum())
        return total

    def value(self, cells: int) -> float:
        """The real number that an integer (a noisy total, say) stands for; one rounding, after the noise."""
        try:
            return float(self.exact(cells))
        except OverflowError:
            return math.inf if cells > 0 else -math.inf

    def exact(self, cells: int) -> Fraction:
        """The same without rounding."""
        return self.centre + cells * Fraction(2) ** self.exponent


def public_grid(low: Number, high: Number, *, scale: Number, centre: Number = 0, missing: Number | None = None) -> Grid:
    """The grid for records between two public bounds to which noise of a public scale will be added.

    ``scale`` is the scale of the noise in the records' own units (sensitivity / epsilon for Laplace noise). Records
    are counted from ``centre``: with narrow bounds far from zero, as for timestamps, pass the lower bound. ``missing``
    is what NaN counts as: the public value nearest to the centre unless said otherwise.

    >>> public_grid(0, 100, scale=10).exponent  # cells of 2^-36
    -36
    """
    bottom, top, middle = (measured(x, name) for x, name in ((low, "low"), (high, "high"), (centre, "centre")))
    for name, given, bound in (("low", low, bottom), ("high", high, top), ("centre", centre, middle)):
        if abs(bound) > _FARTHEST:
            raise BadParameter(name, given, "must be below 2^900 in size")
    if bottom > top:
        raise BadParameter("low", low, "must not be above high")
    if Fraction(float(middle)) != middle:
        raise BadParameter("centre", centre, "must be a number that a float can hold")
    exponent = _exponent(positive(scale, "scale"), max(abs(bottom - middle), abs(top - middle)))
    cell = Fraction(2) ** exponent
    first, last = ceil((bottom - middle) / cell), floor((top - middle) / cell)
    if first > last:  # bounds closer together than the grid: nothing can be told apart, so all records are one point
        first = last = floor((bottom - middle) / cell)
    if missing is None:
        blank = min(max(0, first), last)
    else:
        wanted = measured(missing, "missing")
        if not bottom <= wanted <= top:
            raise BadParameter("missing", missing, "must lie between low and high")
        blank = min(max(round((wanted - middle) / cell), first), last)  # a bound may lie beside the grid
    return Grid(exponent=exponent, low=first, high=last, centre=middle, missing=blank)


def _exponent(scale: Fraction, reach: Fraction) -> int:
    """The finest useful exponent for which the farthest record still fits into 62 bits."""
    e = _log2_ceil(scale) - FINENESS
    if reach:
        e = max(e, _log2_ceil(reach) - 61)
    return max(e, _FINEST)


def _log2_ceil(x: Fraction) -> int:
    """The least k with x <= 2^k."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k if x <= Fraction(2) ** k else k + 1


def as_doubles(values: Reals) -> NDArray[np.float64]:
    """The records as doubles; text is read as a number, what is no number is NaN, what is beyond the floats infinite.

    Total on purpose: whether a call fails must not depend on what one person wrote.
    """
    given: object = values
    if isinstance(given, np.ndarray) and given.ndim == 1:
        if given.dtype.kind in "fiub" and not isinstance(given, np.ma.MaskedArray):
            with np.errstate(over="ignore"):
                return np.asarray(given).astype(np.float64, copy=False)
        records = given.tolist()  # a masked entry becomes None
    elif isinstance(given, Iterable) and not isinstance(given, (np.ndarray, str, bytes)):
        records = list(given)
    else:
        raise BadData("values must be a flat list or a one-dimensional array")
    if not all(type(record) is float for record in records):
        records = [_as_double(record) for record in records]
    return np.array(records, dtype=np.float64)


def _as_double(value: object) -> float:
    if isinstance(value, str):
        return _read_text(value)
    if not isinstance(value, (numbers.Real, Decimal, np.bool_)):  # numpy's scalars are Real
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf
    except Exception:  # a signalling NaN; a length of time, which numpy calls an integer
        return math.nan


def _read_text(text: str) -> float:
    """A number as a file of text holds it; anything else is NaN."""
    try:
        return float(text) if len(text) <= _LONGEST_TEXT else math.nan
    except ValueError:
        return math.nan
