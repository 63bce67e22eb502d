"""Pairs with a density: masses of cells against closed forms in balls, within the errors that they state."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from discreet.privacy.pld.beliefs import PLACE, Array
from discreet.privacy.pld.certify import Workload
from discreet.privacy.pld.continuous import (
    BoundedRangePair,
    GaussianPair,
    LaplacePair,
    WideDiscreteGaussianPair,
    WideDiscreteLaplacePair,
)
from discreet.privacy.pld.pair import Pair
from tests.helpers import hockey as ref

F = Fraction


@pytest.fixture(autouse=True)
def _precise() -> None:
    ctx.prec = 160


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
def test_bounded_range_covers_its_members(share: float) -> None:
    """Mechanisms of range ε with losses t and t - ε, composed with themselves, cost no more than the pair says."""
    e, k = 0.8, 6
    t = share * e
    top = (1.0 - math.exp(t - e)) / (1.0 - math.exp(-e))
    workload = Workload([(BoundedRangePair(F(4, 5), e), k)])
    for epsilon in (0.3, 1.0, 2.0, 3.0):
        member = sum(
            math.comb(k, j) * top**j * (1 - top) ** (k - j) * max(0.0, 1.0 - math.exp(epsilon - (k * (t - e) + j * e)))
            for j in range(k + 1)
        )
        assert member <= workload.delta(F(epsilon))[1] + 1e-15


def gaussian_cell(mu: float, low: float, high: float) -> tuple[arb, arb]:
    """P and Q of {low < L <= high}: L is N(±μ²/2, μ²)."""
    m, a, b = ref.ball(mu), ref.ball(low), ref.ball(high)
    return tuple(ref.phi((b - s * m * m / 2) / m) - ref.phi((a - s * m * m / 2) / m) for s in (1, -1))  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.01, 1.0, 8.0, 60.0])
def test_the_cells_of_gaussian_noise(mu: float) -> None:
    ctx.prec = 8000  # differences of tails, multiplied by e to the power of up to 2400
    pair = GaussianPair(mu)
    edges = np.linspace(*pair.reach(1e-12), 40)
    cells = pair.cells(edges)
    off = pair.slip + PLACE * (1 + float(np.abs(edges).max()))
    density = off / mu * 0.8  # an edge that is off moves at most this mass from one cell to the next
    for i, (low, high) in enumerate(itertools.pairwise(edges)):
        p, q = gaussian_cell(mu, float(low), float(high))
        assert abs(float(p - ref.ball(float(cells.p[i])))) <= cells.p_error[i] + density
        assert abs(float(q - ref.ball(float(cells.q[i])))) <= cells.q_error[i] + density
        s = q * ref.ball(float(low)).exp()
        assert abs(float(s - ref.ball(float(cells.s[i])))) <= cells.s_error[i] + 4 * density


def exponential_cell(epsilon: float, factor: arb, low: float, high: float) -> tuple[arb, arb]:
    """The density factor·e^{(l-ε)/2}/2 between -ε and ε, and e^{-l} times it."""
    e = ref.ball(epsilon)
    a, b = ref.ball(max(low, -epsilon)), ref.ball(min(high, epsilon))
    p = factor * (((b - e) / 2).exp() - ((a - e) / 2).exp())
    return p, factor * ((-(a + e) / 2).exp() - (-(b + e) / 2).exp())


@pytest.mark.parametrize("epsilon", [F(1, 8), F(2), F(32)])
@pytest.mark.parametrize("kind", [LaplacePair, BoundedRangePair])
def test_the_cells_of_laplace_noise_and_bounded_range(
    kind: type[LaplacePair] | type[BoundedRangePair], epsilon: Fraction
) -> None:
    value = float(epsilon)
    pair = kind(epsilon, value)
    factor = arb(1) / 2 if kind is LaplacePair else 1 / (1 - (-ref.ball(value)).exp())
    edges = np.linspace(-1.25 * value, 1.25 * value, 21)
    cells = pair.cells(edges)
    inside = [(i, low, high) for i, (low, high) in enumerate(itertools.pairwise(edges)) if -value <= low]
    for i, low, high in [each for each in inside if each[2] <= value]:
        p, q = exponential_cell(value, factor, float(low), float(high))
        assert abs(float(p - ref.ball(float(cells.p[i])))) <= cells.p_error[i]
        assert abs(float(q - ref.ball(float(cells.q[i])))) <= cells.q_error[i]
    whole = float(cells.p.sum() + pair.atoms.p.sum()), float(cells.q.sum() + pair.atoms.q.sum())
    assert whole == pytest.approx((1.0, 1.0), abs=1e-12)
    assert pair.top == (epsilon, epsilon)
    assert pair.bottom == (-epsilon, -epsilon)


def cumulated(pair: Pair, losses: Array) -> Array:
    edges = np.concatenate([[-math.inf], losses])
    return np.cumsum(pair.cells(edges).p)


def test_wide_discrete_laplace_noise_against_the_list_of_its_integers() -> None:
    b, shift = 90, 41
    pair = WideDiscreteLaplacePair(F(shift, b), shift / b, float(b), float(shift))
    a = math.exp(-1 / b)
    losses = np.linspace(-shift / b * 0.999, shift / b * 0.999, 33)
    z = np.arange(1, shift)
    mass, at = (1 - a) / (1 + a) * a**z, (shift - 2.0 * z) / b
    by_hand = [float(mass[at <= x].sum()) for x in losses]
    assert np.allclose(cumulated(pair, losses), by_hand, rtol=1e-12, atol=1e-15)
    assert float(pair.atoms.p.sum() + mass.sum()) == pytest.approx(1.0, abs=1e-13)


def test_wide_discrete_gaussian_noise_against_the_list_of_its_integers() -> None:
    sigma, shift = 1500.0, 700
    pair = WideDiscreteGaussianPair(sigma, float(shift))
    z = np.arange(-20_000, 20_001)
    weight = np.exp(-(z.astype(float) ** 2) / (2 * sigma**2))
    mass, at = weight / weight.sum(), shift * (shift - 2.0 * z) / (2 * sigma**2)
    losses = np.linspace(*pair.reach(1e-6), 25)
    cells = pair.cells(losses)
    for i, (low, high) in enumerate(itertools.pairwise(losses)):
        by_hand = float(mass[(at > low) & (at <= high)].sum())
        assert abs(by_hand - cells.p[i]) <= cells.p_error[i] + 1e-14


@pytest.mark.parametrize("pair", [GaussianPair(1.0), LaplacePair(F(2), 2.0), BoundedRangePair(F(2), 2.0)], ids=repr)
def test_tails_and_reach(pair: Pair) -> None:
    low, high = pair.reach(1e-6)
    assert pair.below(low)[0] <= 1e-6
    assert pair.above(high)[0] <= 1e-6
    for loss in (-1.0, 0.0, 0.5):
        assert pair.above(loss)[0] + pair.below(loss)[0] + pair.atoms.p.sum() == pytest.approx(1.0, abs=1e-12)
        assert pair.above(loss)[1] + pair.below(loss)[1] + pair.atoms.q.sum() == pytest.approx(1.0, abs=1e-12)
