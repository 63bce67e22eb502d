"""Error bars of prefixes of noisy trees: against exact laws, by all prefixes of small trees, and by drawing."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.integrate import quad
from scipy.stats import binom, gamma, norm

from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.additive.gaussian import gaussian as make_gaussian
from discreet.mechanisms.additive.laplace import Laplace
from discreet.mechanisms.additive.laplace import laplace as make_laplace
from discreet.mechanisms.statistics.tree import Tree
from discreet.mechanisms.statistics.worst_sum import (
    _wider,
    _wider_gaussian,
    laplace_sum,
    noise_sum,
    sub_exponential,
    tail,
)
from discreet.query.estimate.error_bounds import _laplace
from discreet.query.estimate.noise_plan import Noised, tree_of
from discreet.query.estimate.statistics import Bins
from discreet.query.lower.bounding import Noise
from discreet.query.plan.expressions import Column
from discreet.randomness import SystemBits

MISSES = (0.3, 0.05, 1e-3)
LEVELS = (Fraction(0), Fraction(1, 2), Fraction(9, 10))


def bins(many: int) -> Bins:
    return Bins(Column("b"), many, Fraction(0), Fraction(1), True)


def weights(tree: Tree, level: Fraction) -> np.ndarray:
    """For each node and each prefix: the weight of the node's noise in the prefix less its share of the total."""
    prefixes = np.array([np.cumsum(tree.consistent(one)) for one in np.eye(tree.size)])
    found: np.ndarray = prefixes - float(level) * prefixes[:, -1:]
    return found


# --- the bound ------------------------------------------------------------------------------------------------------


@settings(max_examples=40)  # each takes a transform of 65,536 points
@given(
    some.lists(some.sampled_from([0.02, 0.1, 0.3, 0.5, 0.7, 1.0]), min_size=1, max_size=40), some.sampled_from(MISSES)
)
def test_no_sum_is_beyond_the_worst(given: list[float], miss: float) -> None:
    """Against the exact law of the sum, by its transform (spread.py)."""
    scales = tuple((a, given.count(a)) for a in sorted(set(given), reverse=True))
    assert _laplace(scales, miss) <= laplace_sum(math.fsum(a * a for a in given), miss) * (1 + 1e-5)


@pytest.mark.parametrize("many", [1, 2, 4, 8, 12])
def test_it_is_near_the_truth(many: int) -> None:
    exact = _laplace(((1.0, many),), 0.05)
    assert exact * (1 - 1e-5) <= laplace_sum(many, 0.05) <= 1.03 * exact
    assert laplace_sum(many, 0.05) < 0.6 * sub_exponential(many, 0.05)


@pytest.mark.parametrize("weight", [0.3, 1.0, 2.7, 11.3])
@pytest.mark.parametrize("t", [0.5, 4.0, 20.0])
def test_the_tail_by_another_quadrature(weight: float, t: float) -> None:
    k = max(1, math.floor(weight))
    each, bend = weight / k, t * t / 6

    def g(v: float) -> float:
        if v <= bend:
            return float(2 * norm.sf(t / math.sqrt(2 * v)))
        slope = norm.pdf(math.sqrt(3)) * t / math.sqrt(2) * bend**-1.5
        return float(2 * norm.sf(math.sqrt(3)) + slope * (v - bend))

    law = gamma(k, scale=each)
    ends = [0.0, bend / 8, bend / 2, bend, max(2 * bend, law.ppf(0.5)), bend + law.isf(1e-30) + 60 * each]
    wanted = sum(quad(lambda v: g(v) * law.pdf(v), a, b, epsrel=1e-11, epsabs=0)[0] for a, b in pairwise(ends))
    assert wanted <= tail(t, weight) <= wanted * (1 + 2e-6)


@pytest.mark.parametrize("noise", [make_laplace(sensitivity=1, scale="1/4"), make_laplace(sensitivity=1, scale=3)])
def test_the_wider_law_is_wider_in_every_cell(noise: Laplace) -> None:
    """P[|Z + U| > x] against e^(-x/b'), at many x; the scale of the noise itself would not do (twin)."""
    x = np.arange(0, 30, 0.01)
    n = np.floor(x + 0.5)
    q = math.exp(-1 / float(noise.scale))
    discrete = 2 * q ** (n + 1) / (1 + q) + (1 - q) / (1 + q) * q**n * (1 - 2 * (x - n))
    discrete = np.where(n > 0, discrete, 1 - 2 * x * (1 - q) / (1 + q))
    assert (discrete <= np.exp(-x / _wider(float(noise.scale))) * (1 + 1e-12)).all()
    assert (discrete > np.exp(-x / float(noise.scale)) * (1 + 1e-12)).any()


@pytest.mark.parametrize("squared", [1e-3, 0.04, 0.3, 1.0, 6.0, 100.0, 256.0, 4096.0, 2.0**24])
def test_the_wider_normal_law_is_found_for_every_noise(squared: float) -> None:
    """Against sums of the discrete law at many points of every cell; σ² alone is not enough (twin)."""
    wide = _wider_gaussian(squared)
    assert squared < wide**2 <= squared * (1 + 1 / 256) + 0.51
    if squared > 5000:
        return
    n = np.arange(0, 12 * math.sqrt(squared) + 3)
    law = np.exp(-(np.arange(len(n) + 200.0) ** 2) / (2 * squared))
    law /= law[0] + 2 * law[1:].sum()
    beyond = 2 * np.cumsum(law[::-1])[::-1][1:][: len(n)]
    y = np.linspace(-0.5, 0.5, 51)[:, None]
    discrete, x = beyond + law[: len(n)] * (1 - 2 * y), n + y
    kept = x >= 0
    assert (discrete[kept] <= 2 * norm.sf(x[kept] / wide) * (1 + 1e-12)).all()
    assert (discrete[kept] > 2 * norm.sf(x[kept] / math.sqrt(squared)) * (1 + 1e-12)).any()


@pytest.mark.parametrize("miss", [0.2, 0.05, 1e-4])
def test_discrete_sums_cost_little_more_than_continuous_ones(miss: float) -> None:
    for scale, most in ((6, 1.12), (40, 1.03), (10**5, 1.001)):
        normal = scale * math.sqrt(7.3) * -norm.ppf(miss / 2)
        assert 1 <= noise_sum(make_gaussian(sensitivity=1, sigma=scale), 7.3, miss) / normal < most
        continuous = scale * laplace_sum(7.3, miss)
        assert 1 <= noise_sum(make_laplace(sensitivity=1, scale=scale), 7.3, miss) / continuous < most


# --- trees ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", list(Noise))
@pytest.mark.parametrize("many", [1, 2, 5, 16, 17, 100, 257, 300])
def test_a_prefix_less_a_share_of_the_total_weighs_as_is_said(many: int, noise: Noise) -> None:
    """By the weights of every node's noise: Σ w² is at most what is said, and at the worst prefix just that."""
    tree = tree_of(bins(many), noise)
    for level in (*LEVELS, Fraction(1)):
        found = weights(tree, level)
        assert np.abs(found).max() <= 1
        assert (found**2).sum(axis=0).max() == pytest.approx(float(tree.prefix_weight(level)), rel=1e-8, abs=1e-12)
        assert (found**2).sum(axis=0).max() <= float(tree.prefix_weight(level)) + 1e-15
        assert ((found**2).sum(axis=0) <= tree.prefix_weights(level) + 1e-15).all()


NOISES: list[Laplace | Gaussian] = [make_laplace(sensitivity=64, epsilon=1), make_gaussian(sensitivity=64, rho="1/2")]
FINE: list[Laplace | Gaussian] = [
    make_laplace(sensitivity=1 << 22, epsilon=1),
    make_gaussian(sensitivity=1 << 22, rho="1/2"),
]


def mass(noise: Laplace | Gaussian) -> np.ndarray:
    """The law of the noise; what lies beyond weighs less than 1e-16."""
    if isinstance(noise, Laplace):
        law = np.exp(-np.abs(np.arange(-2600, 2601)) / float(noise.scale))
    else:
        law = np.exp(-(np.arange(-640, 641) ** 2.0) / (2 * float(noise.sigma_squared)))
    return np.asarray(law / law.sum())


def beyond(noise: Laplace | Gaussian, given: np.ndarray, cells: float) -> float:
    """P[|Σ a_i Z_i| > cells] for rational weights: the law of the sum, by convolution."""
    exact = [Fraction(float(a)).limit_denominator(5000) for a in given if abs(a) > 1e-12]
    assert max(abs(float(a) - b) for a, b in zip(exact, given[np.abs(given) > 1e-12], strict=True)) < 1e-9
    common = reduce(math.lcm, (a.denominator for a in exact))
    one = mass(noise)
    reach = len(one) // 2
    wide = [abs(int(a * common)) for a in exact]
    size = 1 << (2 * reach * sum(wide) + 1).bit_length()
    transform = np.ones(size // 2 + 1, dtype=complex)
    for step in wide:
        spread = np.zeros(size)
        np.add.at(spread, np.arange(-reach, reach + 1) * step % size, one)
        transform *= np.fft.rfft(spread)
    law = np.fft.irfft(transform, size)
    at = np.minimum(np.arange(size), size - np.arange(size))
    return float(law[at > cells * common].sum())


@pytest.mark.parametrize("noise", NOISES, ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("many", [1, 2, 3, 4])
@pytest.mark.parametrize("level", LEVELS[:2], ids=str)
def test_every_prefix_of_small_trees_by_its_exact_law(noise: Laplace | Gaussian, many: int, level: Fraction) -> None:
    """No prefix misses more often than said; and bars that are a fifth shorter would be caught by this test."""
    one = Noised(bins(many), None, noise)
    found = weights(tree_of(bins(many), noise), level)
    places = [p for p in range(many) if np.abs(found[:, p]).max() > 1e-12]
    for miss in MISSES:
        assert max(beyond(noise, found[:, p], one.share_error(level, miss)) for p in places) <= miss
        assert max(beyond(noise, found[:, p], one.share_errors(level, miss)[p]) for p in places) <= miss
        assert (one.share_errors(level, miss) <= one.share_error(level, miss)).all()
    assert max(beyond(noise, found[:, p], 0.8 * one.share_error(level, 0.05)) for p in places) > 0.06


@pytest.mark.parametrize("noise", FINE, ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("many", [121, 256])
def test_drawn_trees_miss_as_often_as_said(noise: Laplace | Gaussian, many: int) -> None:
    """The worst prefix less half of the total, drawn 3,000 times: an alarm for true bars has probability below 1e-7."""
    tree, level, draws = tree_of(bins(many), noise), Fraction(1, 2), 3000
    one, bits = Noised(bins(many), None, noise), SystemBits()
    worst = int((weights(tree, level) ** 2).sum(axis=0).argmax())
    drawn = np.asarray(noise.draw(np.zeros(draws * tree.size, dtype=np.int64), bits)).reshape(draws, tree.size)
    sums = np.array([np.cumsum(tree.consistent(nodes)) for nodes in drawn])
    off = np.abs(sums[:, worst] - float(level) * sums[:, -1])
    bar, alarm = one.share_error(level, 0.05), int(binom.isf(1e-7, draws, 0.05))
    assert (off > bar).sum() <= alarm
    assert (off > 0.8 * bar).sum() > alarm  # the planted twin: bars that are a fifth shorter


@pytest.mark.parametrize("many", [16, 121, 4096])
def test_bars_are_as_long_as_normal_ones_or_little_more(many: int) -> None:
    """For noise in fine cells, as tables draw it."""
    for noise in FINE:
        variance = 2 * noise.scale**2 if isinstance(noise, Laplace) else noise.sigma_squared
        normal = 1.96 * math.sqrt(variance * tree_of(bins(many), noise).prefix_weight())
        assert 0.999 * normal < Noised(bins(many), None, noise).error(0.05) < 1.035 * normal


@pytest.mark.parametrize("weight", [0.3, 1.0, 8.0, 60.0])
def test_misses_too_rare_for_the_quadrature_have_the_older_bound(weight: float) -> None:
    assert laplace_sum(weight, 1e-13) == sub_exponential(weight, 1e-13) > laplace_sum(weight, 1e-11)
