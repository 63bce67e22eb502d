"""Subset selection: every set of its size is as likely as its law says."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.local.oracle import pack
from discreet.local.subset import Subset, subset_selection
from tests.helpers.laws import misfit


def test_every_subset_is_as_likely() -> None:
    oracle = subset_selection(k=5, epsilon="1/10")
    sets = list(combinations(range(5), oracle.size))
    assert len(oracle.law(0)) == len(sets)
    draws = [tuple(np.flatnonzero(np.unpackbits(line, bitorder="little"))) for line in oracle.simulate([0] * 20_000)]
    own = [d for d in draws if 0 in d]
    inside = [s for s in sets if 0 in s]
    assert misfit(own, {s: (Fraction(1, len(inside)),) * 2 for s in inside}) < 1
    assert pack(np.array([258]), 2).tolist() == [[2, 1]]


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_no_other_size_of_sets_has_less_error(epsilon: str) -> None:
    oracle = subset_selection(k=12, epsilon=epsilon)
    others = [Subset(12, oracle.epsilon, d).variance(1) for d in range(1, 12)]
    assert oracle.variance(1) == min(others)


def test_sets_of_another_size_are_not_reports() -> None:
    oracle = subset_selection(k=5, epsilon=1)
    right = (1 << oracle.size) - 1
    assert oracle.valid(np.array([[right], [right >> 1], [1 << 7 | right >> 1]], dtype=np.uint8)).tolist() == [
        True,
        False,
        False,
    ]
