"""Noise in shares: laws by convolution, a simulated secure sum with dropouts, the proven gap against the truth."""

import secrets
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import exp, lgamma, log
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import BadData, BadParameter
from discreet.local.distributed import (
    GaussianShares,
    LaplaceShares,
    _thresholds,
    gaussian_shares,
    laplace_shares,
    negative_binomial,
)
from discreet.privacy.promises import events
from discreet.privacy.promises.neighbours import Neighbours
from discreet.randomness import SystemBits
from discreet.randomness.replay import Replay, TapeEnded
from tests.helpers.laws import misfit
from tests.helpers.tapes import Prefix

MODULUS = 1 << 32


def pmf(r: float, scale: float, reach: int) -> list[float]:
    """The negative binomial law, independently, through gamma functions."""
    q = exp(-1 / scale)
    return [
        exp(lgamma(k + r) - lgamma(r) - lgamma(k + 1) + r * log(1 - q) + k * log(q)) for k in range(reach)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("r", "scale"), [(Fraction(1, 7), Fraction(2)), (Fraction(1), Fraction(1)), (Fraction(1, 9), Fraction(9))]
)
def test_thresholds_enclose_the_law(r: Fraction, scale: Fraction) -> None:
    low, high = _thresholds(r, scale, 40)
    total = 0.0
    for j, chance in enumerate(pmf(float(r), float(scale), len(low))):
        total += chance
        assert low[j] <= high[j] <= low[j] + 2
        assert total == pytest.approx(low[j] / 2**40, abs=1e-10)
    assert low == sorted(low)
    finer, _ = _thresholds(r, scale, 72)
    assert len(finer) > len(low)
    assert all(a == b >> 32 or abs(a - (b >> 32)) <= 2 for a, b in zip(low, finer, strict=False))


@pytest.mark.slow
def test_draws_have_the_law() -> None:
    r, scale = Fraction(1, 3), Fraction(2)
    law = {k: (Fraction(p), Fraction(p)) for k, p in enumerate(pmf(1 / 3, 2.0, 80))}
    draws = [negative_binomial(r, scale, SystemBits()) for _ in range(20_000)]
    assert misfit(draws, law) < 1
    assert misfit([negative_binomial(Fraction(1, 2), scale, SystemBits()) for _ in range(5000)], law) > 1


@pytest.mark.parametrize("honest", [1, 2, 5])
def test_shares_add_up_to_discrete_laplace_noise(honest: int) -> None:
    """By convolution: honest times NB(1/honest), and the same subtracted."""
    scale, reach = 1.5, 120
    one = np.array(pmf(1 / honest, scale, reach))
    total = np.array([1.0])
    for _ in range(honest):
        total = np.convolve(total, one)[:reach]
    q = exp(-1 / scale)
    both = np.convolve(total, total[::-1])
    middle = len(both) // 2
    expected = [(1 - q) / (1 + q) * q ** abs(z) for z in range(-10, 11)]
    assert np.allclose(both[middle - 10 : middle + 11], expected, atol=1e-12)


def secure_sum(masked: list[int], lost: set[int]) -> int:
    """A simulated secure sum: pairwise masks that cancel; those of clients who dropped out are taken back."""
    n = len(masked)
    masks = {(i, j): secrets.randbelow(MODULUS) for i in range(n) for j in range(i + 1, n)}
    sent = [
        (masked[i] + sum(masks[i, j] for j in range(i + 1, n)) - sum(masks[j, i] for j in range(i))) % MODULUS
        for i in range(n)
    ]
    total = sum(sent[i] for i in range(n) if i not in lost)
    for i in lost:
        for j in set(range(n)) - lost:
            total -= masks[min(i, j), max(i, j)] * (1 if j < i else -1)
    result = total % MODULUS
    return result - MODULUS if result >= MODULUS // 2 else result


@pytest.mark.slow
def test_a_secure_sum_with_dropouts_has_at_least_the_noise_that_is_priced() -> None:
    plain = secure_sum([5] * 10, {2, 7})
    assert plain == 40
    shares = laplace_shares(epsilon=1, clients=10, dropouts=2)
    law_scale = float(shares.scale)
    q = exp(-1 / law_scale)
    law = {z: (Fraction((1 - q) / (1 + q) * q ** abs(z)),) * 2 for z in range(-40, 41)}
    draws = [secure_sum([shares.masked(1) for _ in range(10)], {0, 1}) - 8 for _ in range(2000)]
    assert misfit(draws, law) < 1  # exactly as many as may: exactly the law
    short = [secure_sum([shares.masked(1) for _ in range(10)], {0, 1, 2, 3, 4, 5}) - 4 for _ in range(2000)]
    assert misfit(short, law) > 1  # too many dropped out: less noise
    assert shares.event == events.DiscreteLaplace(1).about(Neighbours.CHANGE_ONE)


@pytest.mark.parametrize("sigma_squared", [0.25, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_proven_gap_holds_for_sums_that_can_be_computed(sigma_squared: float, n: int) -> None:
    made = GaussianShares(Fraction(sigma_squared), 0, 1, n, 0)
    reach = 60
    one = np.array([exp(-k * k / (2 * sigma_squared)) for k in range(-reach, reach + 1)])
    one /= one.sum()
    total = np.array([1.0])
    for _ in range(n):
        total = np.convolve(total, one)
    for alpha in (1.5, 2.0, 4.0):
        p, q = total[1:], total[:-1]
        good = (p > 1e-60) & (q > 1e-60)  # what is left out adds nothing that floats can see
        divergence = log((p[good] * (p[good] / q[good]) ** (alpha - 1)).sum()) / (alpha - 1)
        assert divergence <= alpha * float(made.rho) + 1e-9
    if n == 1:
        assert made.gap == 0
    elif sigma_squared == 0.25:
        assert made.gap > Fraction(1, 10)  # and where shares are small, the gap is in the price


def test_gaussian_shares_cost_what_was_asked() -> None:
    for rho, n, lost in (("1/8", 10, 0), ("1/2", 3, 1), ("1/100", 50, 10)):
        shares = gaussian_shares(rho=rho, clients=n, dropouts=lost)
        assert shares.rho <= Fraction(rho)
        assert shares.event == events.ZCDP(shares.rho).about(Neighbours.CHANGE_ONE)
        assert shares.each >= Fraction(1, 4)
    total = gaussian_shares(rho="1/8", clients=100).shares(1000)
    assert total.shape == (1000,)


# --- change-one, with clients who drop out ----------------------------------------------------------------------------


def noise_law(shares: LaplaceShares | GaussianShares, count: int, reach: int) -> NDArray[np.float64]:
    """The law of the sum of so many shares on -reach..reach, by convolution."""
    if isinstance(shares, LaplaceShares):
        half = np.array(pmf(1 / shares.honest, float(shares.scale), reach + 1))
        one = np.convolve(half, half[::-1])
    else:
        one = np.array([exp(-k * k / (2 * float(shares.each))) for k in range(-reach, reach + 1)])
        one /= one.sum()
    total = np.zeros(2 * reach + 1)
    total[reach] = 1.0
    for _ in range(count):
        total = np.convolve(total, one)[reach:-reach]
    return total


def worlds(shares: LaplaceShares | GaussianShares) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], set[int]]]:
    """All numbers of all clients, one of whom has another number or a dummy, and all who drop out in both worlds."""
    numbers = range(shares.low, shares.high + 1)
    for before in product(numbers, repeat=shares.clients):
        for who, number in product(range(shares.clients), numbers):
            after = (*before[:who], number, *before[who + 1 :])
            for size in range(shares.dropouts + 1):
                for lost in combinations(range(shares.clients), size):
                    yield before, after, set(lost)


@pytest.mark.parametrize(
    ("clients", "dropouts", "low", "high"), [(1, 0, 0, 1), (2, 1, 0, 1), (3, 1, -1, 1), (3, 2, 0, 2), (4, 2, 0, 1)]
)
def test_the_claims_hold_for_every_change_of_one_client_and_everybody_who_may_drop_out(
    clients: int, dropouts: int, low: int, high: int
) -> None:
    """By enumeration of all numbers, changes and drop-outs; laws by convolution, so up to 1e-9 of floats."""
    options: Any = {"clients": clients, "dropouts": dropouts, "low": low, "high": high}
    laplace, gaussian = laplace_shares(epsilon=1, **options), gaussian_shares(rho="1/2", **options)
    assert laplace.neighbours is gaussian.neighbours is Neighbours.CHANGE_ONE
    reach, seen, alpha = 120, 60, 2.0
    laws: dict[tuple[str, int], NDArray[np.float64]] = {}
    pairs = set()
    for before, after, lost in worlds(laplace):
        sums = [sum(v for i, v in enumerate(numbers) if i not in lost) for numbers in (before, after)]
        pairs.add((clients - len(lost), sums[1] - sums[0]))
    assert {moved for _, moved in pairs} == set(range(low - high, high - low + 1))
    for count, moved in pairs:
        for name, shares in (("laplace", laplace), ("gaussian", gaussian)):
            if (name, count) not in laws:
                laws[name, count] = noise_law(shares, count, reach)
        for name in ("laplace", "gaussian"):
            law = laws[name, count]
            p, q = law[reach - seen : reach + seen + 1], law[reach - seen - moved : reach + seen + 1 - moved]
            if name == "laplace":
                assert abs(np.log(p / q)).max() <= 1 + 1e-9
            else:
                good = (p > 1e-60) & (q > 1e-60)
                divergence = log((p[good] ** alpha * q[good] ** (1 - alpha)).sum()) / (alpha - 1)
                assert divergence <= alpha * float(gaussian.rho) + 1e-9
    exactly = laws["laplace", laplace.honest]
    moved = high - low
    ratio = exactly[reach - seen : reach + seen] / exactly[reach - seen - moved : reach + seen - moved]
    assert abs(np.log(ratio)).max() > 1 - 1e-9  # and no less would do


@pytest.mark.parametrize(("clients", "dropouts", "loss", "delta"), [(2, 1, 5.0, 0.091), (100, 20, 1.05, 2e-7)])
def test_adding_or_removing_a_client_is_not_covered(clients: int, dropouts: int, loss: float, delta: float) -> None:
    """The planted claim: no relation was named, and who is absent took a share of the noise away."""
    shares = laplace_shares(epsilon=1, clients=clients, dropouts=dropouts)
    reach = 160
    present, absent = noise_law(shares, clients, reach), noise_law(shares, clients - 1, reach)
    with_one = np.roll(present, 1)  # the client takes part, with the number 1
    middle = slice(reach - 120, reach + 121)
    losses = np.log(with_one[middle] / absent[middle])
    assert losses.max() == pytest.approx(loss, abs=0.02)
    assert losses.max() > 1
    missed = np.maximum(0, with_one - exp(1) * absent)[middle].sum()
    assert missed == pytest.approx(delta, rel=0.1)


def test_adding_or_removing_a_client_with_gaussian_shares_is_not_covered() -> None:
    """Two shares against one: the Rényi divergence of order 2 grows with how far one looks, without end."""
    shares = gaussian_shares(rho="1/2", clients=2, dropouts=1)
    reach = 60
    present, absent = noise_law(shares, 2, reach), noise_law(shares, 1, reach)
    seen = [
        log((present[reach - far : reach + far + 1] ** 2 / absent[reach - far : reach + far + 1]).sum())
        for far in (5, 10, 20)
    ]
    assert seen[0] < seen[1] - 0.3 < seen[2] - 0.6
    assert seen[-1] > 2 * float(shares.rho)


# --- what a client sends ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [partial(laplace_shares, epsilon=200), partial(gaussian_shares, rho=10**6)])
def test_a_client_clamps_its_own_number(make: Any) -> None:
    """Before, a client could move the sum by any number; here Laplace noise is 0, up to 1e-17."""
    shares = make(clients=1, low=-2, high=3)
    width = 0 if isinstance(shares, LaplaceShares) else 20
    for value, clamped in ((-(10**9), -2), (-2, -2), (0, 0), (3, 3), (4, 3), (10**30, 3), (np.int64(7), 3)):
        assert abs(shares.masked(value) - clamped) <= width
    assert abs(shares.dummy()) <= width
    assert abs(make(clients=1, low=5, high=9).dummy() - 5) <= width
    assert abs(make(clients=1, low=-9, high=-4).dummy() + 4) <= width
    for wrong in (0.5, "7", None, True, float("nan")):
        with pytest.raises(BadData) as refused:
            shares.masked(wrong)
        assert str(refused.value) == "a client's value must be an integer"


def test_a_law_without_end_never_answers_beyond_its_thresholds() -> None:
    """At this scale the list of 32 bits ends after some 64 terms: more bits must be drawn, or noise would be cut."""
    r, scale = Fraction(1), Fraction(1 << 90)
    ends = _thresholds(r, scale, 32)[1]
    assert len(ends) < 100
    assert ends[-1] <= 1  # of 2^32: nearly all draws lie beyond
    with pytest.raises(TapeEnded):
        negative_binomial(r, scale, Replay(value=1 << 31, length=32))
    assert negative_binomial(Fraction(1), Fraction(2), Replay(value=1 << 31, length=32)) == 1


@pytest.mark.parametrize(("r", "scale"), [(Fraction(1, 3), Fraction(2)), (Fraction(1), Fraction(1, 2))])
@pytest.mark.parametrize("ones", [40, 64, 90])
def test_a_draw_beyond_the_first_thresholds_goes_on(r: Fraction, scale: Fraction, ones: int) -> None:
    """Bit by bit: a uniform number of so many ones and then zeros is inverted as mpmath inverts it."""
    drawn = negative_binomial(r, scale, Prefix((1 << ones) - 1, ones, then=0))
    assert drawn >= len(_thresholds(r, scale, 32)[0])
    with mpmath.workdps(80):
        q = mpmath.exp(-1 / mpmath.mpf(scale.numerator) * scale.denominator)
        shape = mpmath.mpf(r.numerator) / r.denominator
        term, beyond, expected = (1 - q) ** shape, mpmath.mpf(2) ** -ones, 0
        left = 1 - term
        while left >= beyond:  # U = 1 - 2^-ones is not below P(0) + ... + P(expected)
            term *= q * (expected + shape) / (expected + 1)
            expected += 1
            left -= term
    assert drawn == expected


@pytest.mark.parametrize(
    "given", [{"clients": 0}, {"dropouts": 10}, {"dropouts": -1}, {"high": 0}, {"low": 2}, {"low": 0.5}]
)
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        laplace_shares(**{"epsilon": 1, "clients": 10, **given})
    with pytest.raises(BadParameter):
        gaussian_shares(**{"rho": 1, "clients": 10, **given})
    with pytest.raises(BadParameter):
        laplace_shares(epsilon=0, clients=3)


@pytest.mark.parametrize("ones", [10, 63, 64, 65, 130, 200])
def test_a_draw_has_no_end(ones: int) -> None:
    """Bit by bit, far into the tail: a table that ended would give its last number for all that lies beyond."""
    r, scale, more = Fraction(1, 3), Fraction(2), 64
    low, high = _thresholds(r, scale, ones + more)
    place = ((1 << ones) - 1) << more
    expected = next(j for j, end in enumerate(low) if place < end)
    assert all(end <= place for end in high[:expected])
    assert negative_binomial(r, scale, Prefix((1 << ones) - 1, ones, 0)) == expected
