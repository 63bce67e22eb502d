"""Which oracle: the least variance that is practical, and the formulas of the literature."""

import numpy as np
import pytest

from discreet.local.best import best, compare
from discreet.local.unary import optimised_unary


def test_the_best_oracle() -> None:
    assert best(2, 1, 1000).name == "response"
    assert best(3, 3, 1000).name == "response"
    assert best(1 << 20, 1, 10**6).name == "hadamard"
    for k, e in ((2, 1), (10, "1/2"), (100, 2), (1000, 4)):
        ordered = compare(k, e, 1000)
        assert [c.variance for c in ordered] == sorted(c.variance for c in ordered)
        chosen = best(k, e, 1000)
        assert chosen.variance(1000, 1 / k) <= 1.03 * ordered[0].variance
    assert optimised_unary(k=100, epsilon=1).variance(1) == pytest.approx(
        4 * np.e / (np.e - 1) ** 2, rel=1e-6
    )  # the formula of the paper
