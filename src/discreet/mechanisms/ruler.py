"""Where numbers lie among public marks, by exact comparisons.

Guarantee: the place of a record follows from that record and the public marks alone; NaN has no place. No arithmetic
on records decides anything: a float only leads to the few marks that a record is then compared with. Proof: ruler.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.exact import Number, number, positive
from discreet.noise.grid import _as_doubles as as_doubles

MOST = 1 << 24
_FINEST = 1 << 20
_CHUNK = 1 << 15

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ruler:
    """Public marks c_0 < c_1 < ... as floats. A number x has place 2 #{marks below x} + [x is a mark].

    >>> Ruler(np.array([0.0, 1.0, 5.0])).places([-3, 0, 0.5, 1, 7, float("nan")]).tolist()
    [0, 1, 2, 3, 6, -1]
    """

    marks: NDArray[np.float64]
    _start: NDArray[np.int32] | None = field(init=False, repr=False)
    """For each of many equal stretches between the ends, how many marks lie in earlier ones; None if one holds two."""
    _step: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        start, step = _stretches(self.marks)
        object.__setattr__(self, "_start", start)
        object.__setattr__(self, "_step", step)

    def __len__(self) -> int:
        return len(self.marks)

    def places(self, values: Any) -> Integers:
        """The place of each record; -1 for NaN and whatever is not a number."""
        x = as_doubles(values)
        out = np.empty(len(x), dtype=np.int64)
        for begin in range(0, len(x), _CHUNK):
            out[begin : begin + _CHUNK] = self._places(x[begin : begin + _CHUNK])
        return out

    def counts(self, values: Any, *, clamp: bool) -> Integers:
        """How many records have each place 0, ..., 2 len(marks); NaN is in none of them.

        With ``clamp`` a record beyond the first or last mark counts as that mark.
        """
        x = as_doubles(values)
        size = 2 * len(self) + 2
        total = np.zeros(size, dtype=np.int64)
        for begin in range(0, len(x), _CHUNK):
            total += np.bincount(self._places(x[begin : begin + _CHUNK]) + 1, minlength=size)
        found = total[1:]
        if clamp:
            found[1] += found[0]
            found[-2] += found[-1]
            found[0] = found[-1] = 0
        return found

    def _places(self, x: NDArray[np.float64]) -> Integers:
        """Both ways count the marks below x exactly; which one is taken follows from the marks."""
        if not len(self):
            places = np.zeros(len(x), dtype=np.int64)
        elif self._start is None:
            below = np.searchsorted(self.marks, x, side="left")
            nearest = self.marks[np.minimum(below, len(self) - 1)]
            places = 2 * below + (nearest == x)
        else:
            with np.errstate(invalid="ignore"):
                stretch = _stretch(x, self.marks[0], self.marks[-1], self._step)
            before = self._start[stretch]
            nearest = self.marks[before]  # the one mark in this stretch if there is one, else one above it
            places = 2 * before.astype(np.int64)
            places += nearest <= x
            places += nearest < x
        places[np.isnan(x)] = -1
        return places


def _stretch(x: NDArray[np.float64], first: np.float64, last: np.float64, step: float) -> NDArray[np.int32]:
    """A non-decreasing function of x: each step rounds, and rounding never swaps two numbers. NaN goes to 0."""
    scaled = np.fmax(x, first)
    np.fmin(scaled, last, out=scaled)
    scaled -= first
    scaled *= step
    return scaled.astype(np.int32)


def _stretches(marks: NDArray[np.float64]) -> tuple[NDArray[np.int32] | None, float]:
    """A table to find marks by, if stretches can be so narrow that none holds two marks."""
    if len(marks) < 2:
        return None, 0.0
    span = float(marks[-1]) / 2 - float(marks[0]) / 2
    fine = 1 << max(4, (4 * len(marks)).bit_length())
    while fine <= _FINEST and 1e-300 < span < 1e300:
        step = fine / (2 * span)
        stretch = _stretch(marks, marks[0], marks[-1], step)
        held = np.bincount(stretch, minlength=fine + 1)
        if held.max() == 1:
            start = np.concatenate([[0], np.cumsum(held)[:-1]])
            return np.minimum(start, len(marks) - 1).astype(np.int32), step
        fine *= 4
    return None, 0.0


def ruler(marks: Sequence[Number] | NDArray[Any], name: str) -> Ruler:
    """A ruler from public numbers, in any order; twice the same is once."""
    given: object = marks
    if isinstance(given, np.ndarray) and given.dtype.kind in "fiu" and given.ndim == 1:
        floats = given.astype(np.float64)
    elif isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, (str, bytes)):
        floats = np.array([float(number(mark, name)) for mark in given], dtype=np.float64)
    else:
        raise BadParameter(name, given, "must be a list of numbers")
    if not 1 <= len(floats) <= MOST or not np.isfinite(floats).all():
        raise BadParameter(name, f"a list of {len(floats)}", f"must hold 1 to {MOST} finite numbers")
    return Ruler(np.unique(floats + 0.0))  # -0.0 and 0.0 are one number


def ruler_between(low: Number, high: Number, step: Number) -> Ruler:
    """A ruler from public bounds: low, low + step, ..., and high.

    >>> ruler_between(0, 1, "0.25").marks.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    bottom, top, width = number(low, "low"), number(high, "high"), positive(step, "step")
    if bottom > top:
        raise BadParameter("low", low, f"must be at most high, which is {high}")
    count = floor((top - bottom) / width)
    if count >= MOST:
        raise BadParameter("step", step, f"must be wider: at most {MOST} marks fit between low and high")
    marks = float(bottom) + float(width) * np.arange(count + 1)
    return ruler(np.append(np.minimum(marks, float(top)), float(Fraction(top))), "low")
