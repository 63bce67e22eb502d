"""The variance of every answer of the binned strategy: ``python -m tools.binned_rows 65536``.

It carries the covariance of the errors of near values and bin sums from block to block, in doubles, and prints the
largest ratio of the variance after t steps to Σ_{k<t} c_k². ``binned.ROWS`` was taken from its run up to 2^20.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from discreet.continual import binned
from discreet.continual.toeplitz import UNIT

Floats = NDArray[np.float64]


def weights(steps: int) -> Floats:
    """Σ w² of the estimate after each step, times 2^40; ``steps`` is rounded down to whole blocks."""
    schedule, size = binned.Schedule(), binned.BLOCK
    solved = np.linalg.inv(binned._inner() / UNIT)
    near = binned._near_matrix() / UNIT
    added = np.tril(np.ones((size, size)))
    fresh = solved @ solved.T
    covariance, found = np.zeros((0, 0)), []
    for _ in range(steps // size):
        far = np.broadcast_to(schedule.coefficients() / UNIT, (size, schedule.bins))
        known = solved @ np.concatenate([far, near[:, near.shape[1] - schedule.near * size :]], axis=1)
        across = known @ covariance
        own = fresh + across @ known.T
        found.append(covariance.sum() - 2 * added @ across.sum(axis=1) + ((added @ own) * added).sum(axis=1))
        covariance = np.block([[covariance, -across.T], [-across, own]])
        before = schedule.bins
        left, joined = schedule.advance()
        if left:
            covariance = _together(covariance, before, 2 * size)
        for first in joined:
            covariance = _together(covariance, first, 2)
    return np.concatenate(found)


def _together(covariance: Floats, first: int, count: int) -> Floats:
    """Some neighbouring entries become their sum."""
    for _ in range(2):
        summed = covariance[first : first + count].sum(axis=0, keepdims=True)
        covariance = np.concatenate([covariance[:first], summed, covariance[first + count :]]).T
    return covariance


def best(steps: int) -> Floats:
    """Σ_{k<t} c_k² for each t: the same for the square root itself."""
    return np.asarray(np.cumsum(np.concatenate([[1.0], np.cumprod(1 - 1 / (2 * np.arange(1, steps)))]) ** 2))


def main() -> None:
    """Print the largest ratio up to each power of two."""
    found = weights(int(sys.argv[1]))
    ratio = found / best(len(found))
    for power in range(8, len(found).bit_length()):
        print(f"up to {1 << power}: {ratio[: 1 << power].max():.6f}")


if __name__ == "__main__":
    main()
