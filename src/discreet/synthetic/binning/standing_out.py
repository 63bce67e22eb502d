"""Which values of an ordered column stand out from the noise of its released counts.

Promise: a function of released numbers alone. Noise makes half of all empty values look as if somebody had them; taken
at its word, it fills the empty end of a skewed column and moves the mean far away. So neighbouring values are put
together into stretches, and a stretch that does not stand out from noise counts as empty.
"""

from __future__ import annotations

from math import log

import numpy as np

from discreet.arrays import Floats

MOST_VALUES = 1 << 11
"""Of more values none is found empty: the search takes the square of their number."""
_CLEAR = 5.0  # standard deviations by which a stretch stands out


def levels(noisy: Floats, variance: float, widths: Floats | None = None) -> Floats:
    """What each value counts, alike over stretches: 0 where a stretch does not stand out from noise.

    Of all ways to cut the values into stretches it is the one with the least sum of squares over twice the variance,
    each stretch charged by the logarithm of how many values there are (so that pure noise is one empty stretch). In a
    stretch all values count the same; or as much as they are wide, if that fits better.

    >>> levels(np.array([100.0, 104, 96, 3, -2, 1, -4, 2, 0, 1]), 4.0).tolist()
    [100.0, 100.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    many = len(noisy)
    if many > MOST_VALUES or not variance:
        return np.maximum(noisy, 0.0)
    shapes = [_Shape(noisy, np.ones(many), variance)]
    if widths is not None:
        shapes.append(_Shape(noisy, widths, variance))
    squares = np.concatenate([[0.0], np.cumsum(noisy**2)]) / (2 * variance)
    price = log(many) + 1
    best = np.zeros(many + 1)
    begin = np.zeros(many + 1, dtype=np.int64)
    for end in range(1, many + 1):
        explained = np.max([shape.explained(end) for shape in shapes], axis=0)
        cost = best[:end] + squares[end] - squares[:end] - explained + price
        begin[end] = int(np.argmin(cost))
        best[end] = cost[begin[end]]
    fitted = np.zeros(many)
    end = many
    while end:
        first = int(begin[end])
        shape = max(shapes, key=lambda candidate: float(candidate.explained(end)[first]))
        if shape.explained(end)[first] > 0:
            fitted[first:end] = shape.fitted(first, end)
        end = first
    return fitted


class _Shape:
    """How values of a stretch count relative to each other."""

    def __init__(self, noisy: Floats, weights: Floats, variance: float) -> None:
        self._weights, self._variance = weights, variance
        self._sums = np.concatenate([[0.0], np.cumsum(noisy * weights)])
        self._squares = np.concatenate([[0.0], np.cumsum(weights**2)])
        self._least = 1e-9 * self._squares[-1]  # below it, differences are lost in rounding

    def explained(self, end: int) -> Floats:
        """Of the squares of stretches that end here, over twice the variance: 0 where they do not stand out."""
        summed, squared = self._sums[end] - self._sums[:end], self._squares[end] - self._squares[:end]
        share = summed / np.sqrt(np.maximum(squared, self._least) * self._variance)
        return np.where((share > _CLEAR) & (squared > self._least), share**2 / 2, 0.0)

    def fitted(self, first: int, end: int) -> Floats:
        """What the values of a stretch count."""
        share = (self._sums[end] - self._sums[first]) / (self._squares[end] - self._squares[first])
        return np.asarray(share * self._weights[first:end])
