"""Exact sums of numbers by group, and counts by cell, with Gaussian noise: what means and tests are made of.

Guarantee: one release is at most as telling as ``event_of(budget)`` for adding or removing one unit with all of its
rows. Groups, bounds and cells are public; rows outside of them count nothing. Proof: grouped_sums.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats
from discreet.errors import BadData, BadParameter
from discreet.learning.budget import Budget, event_of, mu_squared
from discreet.learning.estimator import as_given, check_widths, numbers, read_bounds, scaled
from discreet.learning.sums import ExactSums, check_fits, exact_product, release
from discreet.learning.unit_weights import WEIGHT_BITS, Weights, unit_weights
from discreet.mechanisms.base.mechanism import check_receipt
from discreet.privacy.promises.receipt import Receipt

_BITS = 12
MOST_CELLS = 10_000
"""Of one release of counts: what is computed from them grows with their number, and must not fail when it is paid."""


@dataclass(frozen=True, slots=True)
class Released:
    """Noisy sums, and the standard deviation of the noise in each, in units of one full row."""

    values: Floats
    deviation: float


def release_counts(
    codes: NDArray[np.int64], cells: int, weights: Weights, budget: Budget, receipt: Receipt | None
) -> Released:
    """How many rows have each code, each unit counting once; codes below 0 count nothing."""
    square = mu_squared(budget)
    if cells > MOST_CELLS:
        raise BadParameter("cells", cells, f"must be at most {MOST_CELLS:,}: list fewer keys or times")
    check_fits(weights.scale**2, square)
    _pay(budget, receipt)
    return _released(count_sums(codes, cells, weights), square, float(weights.scale))


def count_sums(codes: NDArray[np.int64], cells: int, weights: Weights) -> ExactSums:
    """The weight in each cell: of one unit, entries that are at least 0 and add up to at most the scale.

    >>> from discreet.learning.unit_weights import unit_weights
    >>> count_sums(np.array([0, 1, 1, -1]), 2, unit_weights(None, 4)).values.tolist()
    [1, 2]
    """
    kept = codes >= 0
    counted = np.bincount(codes[kept], weights=weights.values[kept], minlength=cells)  # integers below 2^53 in doubles
    return ExactSums(counted.astype(np.int64), weights.scale**2)


def release_moments(
    values: Floats, codes: NDArray[np.int64], groups: int, weights: Weights, *, budget: Budget, receipt: Receipt | None
) -> Released:
    """By group the sums of 1, x and x² of scaled values; an array (groups, 3)."""
    square = mu_squared(budget)
    nobody = moment_sums(values[:0], codes[:0], groups, Weights(weights.values[:0], weights.scale))
    check_fits(nobody.moves_squared, square)
    _pay(budget, receipt)
    exact = moment_sums(values, codes, groups, weights)
    return _released(exact, square, float(weights.scale) * (1 << 2 * _BITS))


def moment_sums(values: Floats, codes: NDArray[np.int64], groups: int, weights: Weights) -> ExactSums:
    """Weighted sums of (1, x, x²) in cells of 2^-24, for x in [-1, 1]; each row adds to its own group alone.

    >>> from discreet.learning.unit_weights import unit_weights
    >>> sums = moment_sums(np.array([0.5]), np.array([0]), 1, unit_weights(None, 1))
    >>> (sums.values / 2**24).tolist(), sums.moves_squared == 3 * 2**48
    ([[1.0, 0.5, 0.25]], True)
    """
    grid = float(1 << _BITS)
    x = np.rint(values * grid) + 0.0
    terms = np.stack([np.full(len(x), grid * grid), x * grid, x * x], axis=1)
    total = np.zeros((groups, 3), dtype=np.int64)
    for group in range(groups):
        own = codes == group
        total[group] = exact_product(
            weights.values[own][:, None], terms[own], left_bits=WEIGHT_BITS, right_bits=2 * _BITS + 1
        )[0]
    return ExactSums(total, 3 * weights.scale**2 << 4 * _BITS)


def _released(exact: ExactSums, square: Any, unit: float) -> Released:
    noisy, deviation = release(exact, square)
    return Released(noisy / unit, deviation / unit)


def _pay(budget: Budget, receipt: Receipt | None) -> None:
    if receipt is not None:
        check_receipt(receipt).redeem(event_of(budget))


# --- reading ----------------------------------------------------------------------------------------------------------


def read_codes(values: Any, keys: Sequence[Any] | None, name: str, rows: int | None = None) -> NDArray[np.int64]:
    """The place of each value in a public list of keys; -1 for all others."""
    try:
        listed = [] if keys is None or isinstance(keys, str) else list(keys)
        is_list = len(listed) >= 2 and len(set(listed)) == len(listed) == how_many(keys)
    except (TypeError, ValueError):
        is_list = False
    if not is_list:
        raise BadParameter(name, keys, "must be the public list of at least two different keys")
    given = as_given(values)
    if given.ndim != 1 or (rows is not None and len(given) != rows):
        raise BadData("columns must be flat lists, all of one length")
    places = {key: place for place, key in enumerate(listed)}
    return np.array([_place(places, value) for value in given.tolist()], dtype=np.int64)


def how_many(keys: Sequence[Any] | None) -> int:
    """The length of a public list of keys, which may be an array; 0 where there is none."""
    return 0 if keys is None else len(list(keys))


def _place(places: dict[Any, int], value: Any) -> int:
    try:
        return places.get(value, -1)
    except Exception:  # a row must not decide whether a question fails
        return -1


def read_values(values: Any, bounds: Any) -> tuple[Floats, NDArray[np.bool_], float, float]:
    """Values scaled to [-1, 1], which of them are numbers, and middle and half width of the bounds."""
    given = numbers(values)
    if given.ndim != 1:
        raise BadData("values must be a flat list of numbers")
    middle, half = read_bounds(bounds, 1)
    check_widths(half, "bounds")
    return scaled(given, middle, half), ~np.isnan(given), float(middle[0]), float(half[0])


def weights_of(unit: Any, rows: int) -> Weights:
    """What each row counts."""
    return unit_weights(unit, rows)
