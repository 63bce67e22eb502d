"""What Laplace and Gaussian share: an exact value on a grid, plus independent integer noise in each entry.

Guarantee: the output is a function of integers alone: the value in cells of a public grid, plus exact noise. Integer
answers have cells of width 1. A real answer f of proven sensitivity is rounded to cells of width g = 2^e first; two
roundings of numbers x apart differ by at most x/g + 1 cells, so the sensitivity in cells is stated with that allowance
for each entry. e follows from the public noise scale alone.

Vectors of integers saturate at ±2^61, and reals at ±2^100 cells, which is 2^60 times the noise. That is a contraction,
so it never adds sensitivity, and nothing wraps or fails because of what the data holds.
"""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Accuracy, confidence_level
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, exp_down, float_up, integer, log_down, number
from discreet.mechanisms.base.inputs import finite_real
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.randomness import Bits

FINENESS = 40  # cells are 2^40 times finer than the noise
_SATURATE = 1 << 61
_FARTHEST = 1 << 100  # of reals, in cells
_LIMB = 40  # a real entry is high 2^40 + low cells, 0 <= low < 2^40: two 64-bit numbers hold what one cannot
_LOW = (1 << _LIMB) - 1
_NEGLIGIBLE = Fraction(1, 1 << 100)

Exact = int | NDArray[np.int64]
"""One number of cells; or a vector of whole numbers; or a vector of reals as two rows, high and low (``in_cells``)."""
Released = int | float | NDArray[Any]


class Additive(Mechanism[Exact, Released]):
    """Noise on an integer or real number, or on a vector of ``dimension`` entries."""

    __slots__ = ()

    adds_noise = True
    exponent: int | None
    """Cells are 2^exponent wide; None for integer answers."""
    dimension: int

    # --- what Laplace and Gaussian say of their noise ---------------------------------------------------------------

    @abstractmethod
    def noise(self, size: int | None, bits: Bits) -> int | NDArray[Any]:
        """Exact noise in cells."""

    @abstractmethod
    def tail_up(self, k: int) -> Fraction:
        """An upper bound of P[|noise| > k], k >= 0, for one entry."""

    @abstractmethod
    def pmf(self, k: int) -> tuple[Fraction, Fraction]:
        """Bounds of P[noise = k], for one entry."""

    @abstractmethod
    def expected_size_up(self) -> Fraction:
        """An upper bound of E|noise| in cells."""

    # --- accuracy ---------------------------------------------------------------------------------------------------

    @property
    def accuracy(self) -> Accuracy:
        """The mechanism knows its own accuracy."""
        return self

    @property
    def cell(self) -> Fraction:
        """The width of a cell, 1 for integers."""
        return cell_width(self.exponent)

    @property
    def expected_error(self) -> float:
        """E|error| of one entry, from the exact law; a rounding to the grid counts as half a cell."""
        return float_up((self.expected_size_up() + self._rounding()) * self.cell)

    def error_at(self, confidence: Number) -> float:
        """The least e with P[all |errors| <= e] >= confidence, from the exact law of the noise."""
        level = confidence_level(confidence)
        high = 1
        while not self._covers(high, level):
            high *= 2
        low = -1  # not enough, or not tried
        while high - low > 1:
            middle = (low + high) // 2
            if self._covers(middle, level):
                high = middle
            else:
                low = middle
        return float_up((high + self._rounding()) * self.cell)

    def interval(self, confidence: Number) -> tuple[float, float]:
        """The error bar around a released value: the truth lies within (value + low, value + high)."""
        error = self.error_at(confidence)
        return -error, error

    def law(self, value: Exact) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each output for one exact number; what is left out has mass below 2^-100."""
        if not isinstance(value, int):
            raise BadParameter("value", "a vector", "must be one number: entries are independent")
        reach = 1
        while self.tail_up(reach) > _NEGLIGIBLE:
            reach *= 2
        return {(value + k) * self.cell: self.pmf(k) for k in range(-reach, reach + 1)}

    def _covers(self, k: int, level: Fraction) -> bool:
        miss = self.tail_up(k)
        if self.dimension * miss <= 1 - level:
            return True  # (1 - miss)^d >= 1 - d miss
        if miss > 1 - level:
            return False
        return exp_down(self.dimension * log_down(1 - miss, 64), 64) >= level

    def _rounding(self) -> Fraction:
        return Fraction(0) if self.exponent is None else Fraction(1, 2)

    # --- release ----------------------------------------------------------------------------------------------------

    def read(self, value: Any) -> Exact:
        """The value in cells: one number, or ``dimension`` of them."""
        if self.dimension == 1 and not _is_vector(value):
            return self._read_one(value)
        masked = isinstance(value, np.ma.MaskedArray)  # a mask would go through the noise as it is
        if not _is_vector(value) or len(value) != self.dimension or np.ndim(value) != 1 or masked:
            raise BadData(f"the value must be a flat vector of {self.dimension} numbers, as the mechanism was made for")
        return self._read_whole(value) if self.exponent is None else self._read_reals(value)

    def _read_one(self, value: Any) -> int:
        if self.exponent is None:
            if isinstance(value, bool) or not isinstance(value, numbers.Integral):
                raise BadData("the value must be an integer; for reals make the mechanism with real=True")
            return int(value)
        exact = finite_real(value)
        if exact is None:
            raise BadData("the value must be a finite real number")
        return min(max(round(exact / self.cell), -_FARTHEST), _FARTHEST)

    def _read_whole(self, value: Any) -> NDArray[np.int64]:
        array = value if isinstance(value, np.ndarray) else np.array([_one_whole(v) for v in value], dtype=np.int64)
        if array.dtype.kind == "u":
            return np.minimum(array, np.uint64(_SATURATE)).astype(np.int64)
        if array.dtype.kind != "i":
            raise BadData("the values must be integers; for reals make the mechanism with real=True")
        return np.clip(array.astype(np.int64, copy=False), -_SATURATE, _SATURATE)

    def _read_reals(self, value: Any) -> NDArray[np.int64]:
        array = value if isinstance(value, np.ndarray) else np.array(value, dtype=_common_kind(value))
        if array.dtype != np.float64:  # a detour through doubles would round, and rounding adds sensitivity
            whole = [self._read_one(v) for v in array.tolist()]
            return np.array([[c >> _LIMB for c in whole], [c & _LOW for c in whole]], dtype=np.int64)
        if not np.isfinite(array).all():
            raise BadData("the values must be finite real numbers")
        with np.errstate(over="ignore", under="ignore"):
            cells = np.rint(np.ldexp(array, -(self.exponent or 0)))
        np.clip(cells, -float(_FARTHEST), float(_FARTHEST), out=cells)
        limbs = np.empty((2, len(cells)), dtype=np.int64)
        high = np.floor(cells * 2.0**-_LIMB)  # exact, as is the rest: both have no more bits than the cells
        limbs[0] = high
        high *= 2.0**_LIMB
        cells -= high
        limbs[1] = cells
        return limbs

    def draw(self, value: Exact, bits: Bits) -> Released:
        """The noisy value; a real one as the float nearest to the noisy cells."""
        if isinstance(value, int):
            noisy = value + int(self.noise(None, bits))
            return noisy if self.exponent is None else float(noisy * self.cell)
        if self.exponent is None:
            return value + self.noise(len(value), bits)
        low = value[1] + self.noise(value.shape[1], bits)
        high = value[0] + (low >> _LIMB)
        low &= _LOW  # now high and low follow from the noisy cells alone, and so does the float made of them
        noisy_cells: NDArray[np.float64] = high.astype(np.float64) * 2.0**_LIMB + low.astype(np.float64)
        return np.ldexp(noisy_cells, self.exponent)


def in_cells(value: Exact) -> list[int]:
    """What was read, entry by entry: cells of a real answer, or whole numbers."""
    if isinstance(value, int):
        return [value]
    entries: list[int] = value.tolist()
    return entries if value.ndim == 1 else [(high << _LIMB) + low for high, low in zip(*value.tolist(), strict=True)]


def cell_exponent(scale: Fraction) -> int:
    """e with 2^e about 2^-40 of a public noise scale, within the range of floats.

    >>> cell_exponent(Fraction(1)), cell_exponent(Fraction(1000))
    (-40, -30)
    """
    size = scale.numerator.bit_length() - scale.denominator.bit_length()
    log = size if scale <= Fraction(2) ** size else size + 1
    if not -900 <= log <= 900:
        raise BadParameter("scale", float_up(scale), "must lie between 2^-900 and 2^900")
    return log - FINENESS


def cell_width(exponent: int | None) -> Fraction:
    """The width of a cell: 2^exponent, or 1 for integers."""
    return Fraction(1) if exponent is None else Fraction(2) ** exponent


def is_real(real: bool | None, whole: bool) -> bool:
    """Whether answers are reals: as the caller says, else whenever the sensitivity is not a whole number."""
    if real is None:
        return not whole
    if not real and not whole:
        raise BadParameter("sensitivity", "not whole", "must be an integer for integer answers; leave out real=False")
    return real


def check_dimension(dimension: int) -> int:
    """The number of entries of a vector, or 1 for a single number."""
    return integer(dimension, "dimension", at_least=1)


def _is_vector(value: Any) -> bool:
    return isinstance(value, (np.ndarray, Sequence)) and not isinstance(value, (str, bytes)) and np.ndim(value) != 0


def _one_whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise BadData("the values must be integers; for reals make the mechanism with real=True")
    return min(max(int(value), -_SATURATE), _SATURATE)


def _common_kind(values: Sequence[Any]) -> type:
    return float if all(type(value) is float for value in values) else object


class Trunc:
    """Truncation to a public range, as post-processing: ``answer.then(Trunc(0, 100))``.

    Guarantee: costs nothing, and where the exact value lies in the range the error only shrinks.

    >>> Trunc(0, 10)(-3), Trunc(0, 10)(7)
    (0, 7)
    """

    __slots__ = ("__name__", "high", "low")

    def __init__(self, low: Number, high: Number) -> None:
        bottom, top = number(low, "low"), number(high, "high")
        if bottom > top:
            raise BadParameter("low", low, f"must be at most high, which is {high}")
        self.low = _plain(low, bottom)
        self.high = _plain(high, top)
        self.__name__ = f"truncated to [{low}, {high}]"

    def __call__(self, value: Any) -> Any:
        """The value, moved into the range."""
        if isinstance(value, np.ndarray):
            return np.clip(value, self.low, self.high)
        return min(max(value, self.low), self.high)


def _plain(given: Number, exact: Fraction) -> float:
    """A bound that compares with numbers and arrays: as it was given, or the number that a text stands for."""
    if isinstance(given, (int, float)):
        return given
    return int(exact) if exact.denominator == 1 else float(exact)
