"""Where numbers lie among public marks, by exact comparisons.

Guarantee: the place of a record follows from that record and the public marks alone; NaN has no place. No arithmetic
on records decides anything: a float only leads to the few marks that a record is then compared with. Proof: marks.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import BadParameter
from discreet.exact import Number, number, positive
from discreet.noise.grid import as_doubles

MOST = 1 << 24
_COARSEST, _FINEST = 1 << 14, 1 << 18
_CHUNK = 1 << 16
_SHORT = 1 << 10  # so few records are all compared


@dataclass(frozen=True, slots=True, eq=False)
class Ruler:
    """Public marks c_0 < c_1 < ... as floats. A number x has place 2 #{marks below x} + [x is a mark].

    The way from the first to the last mark is cut into many equal stretches. Most records lie in a stretch without a
    mark: all marks in earlier stretches are below them, and no other. The rest is compared with the marks.

    >>> Ruler(np.array([0.0, 1.0, 5.0])).places([-3, 0, 0.5, 1, 7, float("nan")]).tolist()
    [0, 1, 2, 3, 6, -1]
    """

    marks: NDArray[np.float64]
    _step: float = field(init=False, repr=False)
    """Stretches per unit; 0 if all records are to be compared with the marks."""
    _place: Integers = field(init=False, repr=False)
    """For each stretch the place of its records, or -1 if it holds a mark."""

    def __post_init__(self) -> None:
        step, place = _stretches(self.marks)
        object.__setattr__(self, "_step", step)
        object.__setattr__(self, "_place", place)

    def __len__(self) -> int:
        return len(self.marks)

    def places(self, values: Any) -> Integers:
        """The place of each record; -1 for NaN and whatever is not a number."""
        x = as_doubles(values)
        if len(x) <= _SHORT:
            return self._compared(x)
        out = np.empty(len(x), dtype=np.int64)
        for begin in range(0, len(x), _CHUNK):
            part = x[begin : begin + _CHUNK]
            places = self._place[self._stretch(part)]
            doubtful = np.flatnonzero(places < 0)
            places[doubtful] = self._compared(part[doubtful])
            out[begin : begin + _CHUNK] = places
        return out

    def counts(self, values: Any, *, clamp: bool) -> Integers:
        """How many records have each place 0, ..., 2 len(marks); NaN is in none of them.

        With ``clamp`` a record beyond the first or last mark counts as that mark.
        """
        x = as_doubles(values)
        size = 2 * len(self) + 2
        by_place = self._counted(x, size) if len(x) > _SHORT else np.bincount(self._compared(x) + 1, minlength=size)
        counts = by_place[1:].astype(np.int64, copy=False)
        if clamp:
            counts[1] += counts[0]
            counts[-2] += counts[-1]
            counts[0] = counts[-1] = 0
        return counts

    def _counted(self, x: NDArray[np.float64], size: int) -> Integers:
        """How many records have each place -1, 0, 1, ..., by stretches where that is enough."""
        marked = self._place < 0
        held = np.zeros(len(self._place), dtype=np.int64)
        doubtful = [x[:0]]
        for begin in range(0, len(x), _CHUNK):
            part = x[begin : begin + _CHUNK]
            stretch = self._stretch(part)
            held += np.bincount(stretch, minlength=len(held))
            doubtful.append(part[marked.take(stretch)])
        counts = np.bincount(self._compared(np.concatenate(doubtful)) + 1, minlength=size).astype(np.int64, copy=False)
        np.add.at(counts, self._place[~marked] + 1, held[~marked])
        return counts

    def _stretch(self, x: NDArray[np.float64]) -> Integers:
        if not self._step:
            return np.zeros(len(x), dtype=np.int64)
        return _stretch(x, self.marks[0], self.marks[-1], self._step)

    def _compared(self, x: NDArray[np.float64]) -> Integers:
        """The places by comparisons alone."""
        below = np.searchsorted(self.marks, x, side="left").astype(np.int64)
        places = 2 * below
        if len(self):
            places += self.marks[np.minimum(below, len(self) - 1)] == x
        places[np.isnan(x)] = -1
        return places


def _stretch(x: NDArray[np.float64], first: np.float64, last: np.float64, step: float) -> Integers:
    """A non-decreasing function of x: each step rounds, and rounding never swaps two numbers. NaN goes to the first."""
    scaled = np.fmax(x, first)
    np.fmin(scaled, last, out=scaled)
    scaled -= first
    scaled *= step
    return scaled.astype(np.int64)


def _stretches(marks: NDArray[np.float64]) -> tuple[float, Integers]:
    """Stretches per unit, and the place of the records in each stretch; one stretch for all if floats allow no more."""
    span = float(marks[-1]) / 2 - float(marks[0]) / 2 if len(marks) else 0.0
    if not 1e-300 < span < 1e300:
        return 0.0, np.array([-1])
    fine = min(max(1 << (32 * len(marks)).bit_length(), _COARSEST), _FINEST)
    step = fine / (2 * span)
    held = np.bincount(_stretch(marks, marks[0], marks[-1], step))
    return step, np.where(held > 0, -1, 2 * np.cumsum(held))


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
    if count and top - (bottom + count * width) < width / 1024:
        count -= 1  # the last one is high itself, but for the rounding of the step
    marks = np.minimum(float(bottom) + float(width) * np.arange(count + 1), float(top))
    return ruler(np.append(marks, float(top)), "low")
