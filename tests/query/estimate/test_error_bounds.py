"""Error bars of weighted sums of noises, against the exact law of the sum."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.statistics.budget import Moves, noise_for
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.query.estimate.error_bounds import Share, sum_error
from discreet.query.estimate.noise_plan import Noised
from discreet.query.estimate.statistics import Rows
from discreet.query.plan.expressions import Literal

REACH = 600


def noised(budget: Pure | ZCDP) -> Noised:
    return Noised(Rows(Literal(1), 1, Fraction(1)), None, noise_for(budget, Moves(1, 1), 2))


def law(one: Noised) -> Floats:
    k = np.arange(-REACH, REACH + 1)
    if isinstance(one.noise, Gaussian):
        p = np.exp(-(k**2) / (2 * float(one.noise.sigma_squared)))
    else:
        p = np.exp(-np.abs(k) / float(one.noise.scale))
    return np.asarray(p / p.sum())


def tail(shares: list[Share], t: float) -> float:
    """P[|Σ w Z| > t], by convolution; the weights are whole numbers here."""
    total = np.ones(1)
    for share in shares:
        p = law(share.noise)
        wide = np.zeros(int(abs(share.weight)) * (len(p) - 1) + 1)
        wide[:: int(abs(share.weight))] = p
        for _ in range(share.many):
            total = np.convolve(total, wide)
    k = np.arange(len(total)) - len(total) // 2
    return float(total[np.abs(k) > t].sum())


LAPLACE, WIDER = noised(Pure("1/8")), noised(Pure("1/20"))
GAUSSIAN, NARROW = noised(ZCDP("1/100")), noised(ZCDP("1/2"))
SUMS = {
    "one Laplace": [Share(LAPLACE, 1, 1)],
    "several": [Share(LAPLACE, 1, 3), Share(WIDER, -1, 2)],
    "weighed": [Share(LAPLACE, 2, 2), Share(WIDER, 1, 1)],
    "Gaussian": [Share(GAUSSIAN, 1, 3), Share(GAUSSIAN, -2, 1)],
    "narrow": [Share(NARROW, 1, 4)],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("miss", [0.5, 0.05, 1e-3, 1e-7])
def test_the_error_bar_holds_and_is_not_much_too_wide(name: str, miss: float) -> None:
    shares = SUMS[name]
    cells = sum(s.many * abs(s.weight) for s in shares)
    error = sum_error(shares, miss)
    assert tail(shares, error) <= miss
    assert tail(shares, error * 0.98 - 2 * cells - 1) > miss


@pytest.mark.parametrize("name", ["several", "weighed", "Gaussian"])
def test_a_forgotten_part_is_noticed(name: str) -> None:
    """The planted twin: the error bar of all parts but one does not hold."""
    shares = SUMS[name]
    assert tail(shares, sum_error(shares[:1], 1e-3)) > 1e-3


@pytest.mark.slow
def test_tiny_misses_fall_back_on_moments() -> None:
    shares = SUMS["several"]
    assert sum_error(shares, 1e-9) < sum_error(shares, 1e-10) < 2 * sum_error(shares, 1e-9)
