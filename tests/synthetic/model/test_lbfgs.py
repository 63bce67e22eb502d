"""The minimiser beside SciPy's, on quadratics and on a soft maximum, inside and at the edge of the box."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from discreet.synthetic.model.lbfgs import minimise

Floats = NDArray[np.float64]


@pytest.mark.slow
@pytest.mark.parametrize("bound", [0.1, 100.0])
@pytest.mark.parametrize("seed", range(4))
def test_as_low_as_scipy(bound: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, wanted = draw.normal(size=(40, 12)), draw.normal(size=12)

    def function(x: Floats) -> tuple[float, Floats]:
        logs = rows @ x
        weights = np.exp(logs - logs.max())
        share = weights / weights.sum()
        value = float(np.log(weights.sum()) + logs.max() - wanted @ x * 0.1 + 0.01 * x @ x)
        return value, rows.T @ share - 0.1 * wanted + 0.02 * x

    ours = minimise(function, np.zeros(12), np.full(12, bound), steps=300, gain=1e-13)
    theirs = minimize(function, np.zeros(12), jac=True, method="L-BFGS-B", bounds=Bounds(-bound, bound)).fun
    assert np.abs(ours).max() <= bound
    assert function(ours)[0] <= theirs + 1e-7


def test_every_step_goes_down() -> None:
    def function(x: Floats) -> tuple[float, Floats]:
        return float((x**4).sum() + (x[0] - 3) ** 2), 4 * x**3 + np.array([2 * (x[0] - 3), 0.0])

    start, box = np.array([5.0, -4.0]), np.full(2, 50.0)
    seen = [function(minimise(function, start, box, steps=steps))[0] for steps in range(12)]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < seen[0] / 50
