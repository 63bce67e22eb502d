"""Sums by group: what one person moves, by enumeration, and what counts nothing."""

from itertools import product

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.learning.inference.grouped_sums import (
    count_sums,
    moment_sums,
    product_sums,
    read_codes,
    read_values,
    release_counts,
    release_moments,
)
from discreet.learning.sums import ExactSums
from discreet.learning.unit_weights import unit_weights
from discreet.privacy.promises.measures import GDP

ROWS = [*product((-1.0, 0.3, 1.0), (-1, 0, 1))]


def far(whole: ExactSums, less: ExactSums) -> float:
    moved = sum(int(d) ** 2 for d in (whole.values - less.values).ravel())
    assert moved <= whole.moves_squared
    return moved / whole.moves_squared


def test_no_unit_moves_the_sums_further_than_claimed() -> None:
    """All pairs of rows of one person, beside somebody who stays."""
    counted, summed, multiplied = [], [], []
    for first, second in product(ROWS, ROWS):
        x, codes = (np.array(column) for column in zip(first, second, (0.5, 0), strict=True))
        for units in ("aab", "a b", "ab "):
            named = [None if unit == " " else unit for unit in units]
            weights = unit_weights(named, 3)
            stay = np.array([unit != "a" for unit in named])
            less = unit_weights([unit for unit in named if unit != "a"], int(stay.sum()))
            counted.append(far(count_sums(codes, 2, weights), count_sums(codes[stay], 2, less)))
            summed.append(far(moment_sums(x, codes, 2, weights), moment_sums(x[stay], codes[stay], 2, less)))
            multiplied.append(
                far(product_sums(x, 1.0 * codes, weights), product_sums(x[stay], 1.0 * codes[stay], less))
            )
    assert max(counted) == max(summed) == max(multiplied) == 1.0


def test_sums_are_exact() -> None:
    x, codes = np.array([0.5, -0.25, 1.0, 0.75]), np.array([0, 1, 1, -1])
    found = moment_sums(x, codes, 2, unit_weights(None, 4)).values / 2**24
    assert found.tolist() == [[1, 0.5, 0.25], [2, 0.75, 1.0625]]
    budget = GDP(10**4)
    near = release_moments(x, codes, 2, unit_weights(["a", "b", "c", "d"], 4), budget=budget, receipt=None)
    assert near.values == pytest.approx(found, abs=20 * near.deviation)
    counts = release_counts(codes, 2, unit_weights(None, 4), budget, None)
    assert counts.values == pytest.approx([1, 2], abs=20 * counts.deviation)
    assert counts.deviation == pytest.approx(1e-4, rel=1e-3)


def test_what_is_read() -> None:
    assert read_codes(["a", "x", "b", None, float("nan")], ["a", "b"], "keys").tolist() == [0, -1, 1, -1, -1]
    x, is_number, middle, half = read_values([0, 5, "x", 99], (0, 10))
    assert (x.tolist(), is_number.tolist(), middle, half) == ([-1, 0, 0, 1], [True, True, False, True], 5, 5)
    for keys in (None, ["a"], ["a", "a"], "ab"):
        with pytest.raises(BadParameter, match="keys"):
            read_codes(["a"], keys, "keys")
    with pytest.raises(BadData, match="one length"):
        read_codes(["a"], ["a", "b"], "keys", 2)
    with pytest.raises(BadData, match="flat"):
        read_values(np.array([[1.0]]), (0, 1))
    assert read_values([[1.0]], (0, 1))[1].tolist() == [False]  # a value that is a list is no number
