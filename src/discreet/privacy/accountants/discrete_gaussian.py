"""The discrete Gaussian law itself: certified tails and moments, and its exact (ε, δ).

Promise: ``tail_down(s2, a) <= P[Z >= a] <= tail_up(s2, a)`` for P(z) ∝ e^{-z²/(2σ²)} on the integers, ``variance`` and
``overlap`` enclose what they name, and ``delta_up`` is never below the true δ. The continuous formula is not borrowed:
sums over integers are bounded.

How: for σ up to 512 the sums themselves, each term rounded outwards. Beyond, f(x) = e^{-x²/2σ²} is compared with its
integral. f falls for x >= 0, so the integral from a bounds the sum from a from below and that from a-1 from above.
Where f is convex (x >= σ) a term is at most the integral over the unit interval around it, and the trapezoid rule
overestimates, so the sum from a lies between the integral from a plus f(a)/2 and the integral from a - 1/2. Where it is
not, the two still differ by at most an eighth of the variation 2e^{-1/2}/σ of f': the midpoint rule of one unit is off
by an integral of f'' with a weight of at most 1/8. Beside N that is below 1/(16σ²). The normaliser N satisfies
σ√2π <= N <= σ√2π (1 + 2^-400) for σ >= 512, by Poisson summation: N = σ√2π (1 + 2 Σ_k e^{-2π²σ²k²}).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt

from discreet.exact import BITS, exp_down, exp_fixed, exp_up, sqrt_down, sqrt_up
from discreet.privacy.numerics.normal import cdf_down, cdf_up, pi_bounds

_SUM_UP_TO = 512
_W = 256  # bits of the fixed-point terms; what is below one unit is accounted for
_SURPLUS = 1 + Fraction(1, 1 << 400)
_NEARLY_NORMAL = 64
_NEARLY_ALL = 1 - Fraction(1, 1 << 400)


def tail_up(sigma_squared: Fraction, a: int) -> Fraction:
    """An upper bound of P[Z >= a].

    >>> float(tail_up(Fraction(1), 0)) > 0.5 > float(tail_up(Fraction(1), 1))
    True
    """
    far = _far(sigma_squared)
    return _tail(sigma_squared, min(a, far))[1] if a >= -far else Fraction(1)


def tail_down(sigma_squared: Fraction, a: int) -> Fraction:
    """A lower bound of P[Z >= a]."""
    far = _far(sigma_squared)
    return _tail(sigma_squared, max(a, -far))[0] if a <= far else Fraction(0)


def _far(sigma_squared: Fraction) -> int:
    """Where the tail is below e^-8192: beyond, on both sides, it is bounded by what it is here, never written out."""
    return isqrt(floor(16384 * sigma_squared)) + 1


def delta_up(sigma_squared: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """The least δ, rounded up, for which noise around 0 against noise around ``shift`` is (ε, δ)-DP.

    δ(ε) = P[Z > t] - e^ε P[Z > t + shift] with t = εσ²/shift - shift/2 (Canonne, Kamath, Steinke 2020, theorem 7): the
    set where the loss exceeds ε is a half-line. By symmetry both directions of the pair give the same value.

    >>> float(delta_up(Fraction(100), 1, Fraction(1)))
    1.27...e-25
    """
    first = floor(epsilon * sigma_squared / shift - Fraction(shift, 2)) + 1
    sure = tail_up(sigma_squared, first) - exp_down(epsilon) * tail_down(sigma_squared, first + shift)
    return max(sure, Fraction(0))


def expected_size_up(sigma_squared: Fraction) -> Fraction:
    """An upper bound of E|Z|: the sum itself for σ up to 512, σ√(2/π) + 1/2 beyond.

    z f(z) rises to its maximum σ e^{-1/2} at σ and falls after it, so its sum over z >= 1 is at most its integral σ²
    plus that maximum; twice that over N >= σ√2π is σ√(2/π) + 2 e^{-1/2}/√2π, and the last term is below 1/2.
    """
    if sigma_squared <= _SUM_UP_TO**2:
        terms = _terms(sigma_squared)
        weighted = sum(z * high for z, (_, high) in enumerate(terms)) + 2 * len(terms)
        return Fraction(2 * weighted, _normaliser(sigma_squared)[0])
    low_pi, _ = pi_bounds(BITS)
    return sqrt_up(2 * sigma_squared / low_pi) + Fraction(1, 2)


def variance(sigma_squared: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of E Z²: the sums for σ up to 8; beyond, σ² less a share below 2^-400.

    By Poisson summation N = σ√2π Θ with Θ = Σ_k e^{-2π²σ²k²}, and E Z² = -N'/N in 1/2σ², which is σ² less
    8π²σ⁴ Σ_(k>0) k² e^{-2π²σ²k²}/Θ: at most σ² e^{-2π²σ²} 80σ², below σ² 2^-400 for σ >= 8.

    >>> [float(bound) for bound in variance(Fraction(1, 4))]
    [0.215012..., 0.215012...]
    """
    if sigma_squared > _NEARLY_NORMAL:
        return sigma_squared * _NEARLY_ALL, sigma_squared
    (low_all, high_all), (low, high) = _moved_sums(sigma_squared, Fraction(0))
    return low / high_all, high / low_all


def overlap(sigma_squared: Fraction, moved: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of Σ_z e^{-(z - t)²/2σ²} beside the same sum at t = 0: 1 for whole t, less in between.

    The sum is σ√2π Σ_k e^{-2π²σ²k²} cos 2πkt: never more than at 0, and for σ >= 8 less by a share below 2^-400.

    >>> overlap(Fraction(1, 4), Fraction(3)), [float(bound) for bound in overlap(Fraction(1, 4), Fraction(1, 2))]
    ((Fraction(1, 1), Fraction(1, 1)), [0.97..., 0.97...])
    """
    part = moved - round(moved)
    if not part:
        return Fraction(1), Fraction(1)
    if sigma_squared > _NEARLY_NORMAL:
        return _NEARLY_ALL, Fraction(1)
    (low_all, high_all), (low, high) = (_moved_sums(sigma_squared, t)[0] for t in (Fraction(0), part))
    return low / high_all, min(high / low_all, Fraction(1))


def _moved_sums(
    sigma_squared: Fraction, moved: Fraction
) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """Bounds of Σ g(z) and Σ z² g(z) with g(z) = e^{-(z - t)²/2σ²}, t in [-1/2, 1/2].

    From z = ``last`` >= max(3, 3σ²) on each term on a side is below half of the one before: ((z+1)/z)² <= 16/9, and the
    exponent falls by at least (2z + 1 - 1)/2σ² >= 3. So what follows is at most as much as twice the first of it.
    """
    last = isqrt(floor(600 * sigma_squared)) + ceil(3 * sigma_squared) + 3

    def term(z: int) -> tuple[Fraction, Fraction]:
        exponent = -((z - moved) ** 2) / (2 * sigma_squared)
        return exp_down(exponent), exp_up(exponent)

    places = range(-last, last + 1)
    terms = [term(z) for z in places]
    (low, high), (low_square, high_square) = (
        tuple(sum((z**power * g[side] for z, g in zip(places, terms, strict=True)), Fraction(0)) for side in (0, 1))
        for power in (0, 2)
    )
    rest = 2 * (term(last + 1)[1] + term(-last - 1)[1])
    return (low, high + rest), (low_square, high_square + (last + 1) ** 2 * rest)


def _tail(sigma_squared: Fraction, a: int) -> tuple[Fraction, Fraction]:
    if a <= 0:  # symmetric: P[Z >= a] = 1 - P[Z >= 1 - a]
        low, high = _tail(sigma_squared, 1 - a)
        return 1 - high, 1 - low
    if sigma_squared <= _SUM_UP_TO**2:
        return _tail_by_sum(sigma_squared, a)
    low_sigma, high_sigma = sqrt_down(sigma_squared), sqrt_up(sigma_squared)
    high_pi = pi_bounds(BITS)[1]
    convex = (a - 1) ** 2 > sigma_squared
    upper = 1 - cdf_down((a - Fraction(1, 2) if convex else Fraction(a - 1)) / high_sigma)
    if upper <= Fraction(1, 1 << 40):  # 1 - Φ(x) = Φ(-x) keeps the relative precision
        upper = cdf_up(-(a - Fraction(1, 2) if convex else Fraction(a - 1)) / high_sigma)
    lower = cdf_down(-Fraction(a) / low_sigma)
    if convex:
        lower += exp_down(-Fraction(a * a) / (2 * sigma_squared)) / (2 * sqrt_up(2 * high_pi * sigma_squared))
        return lower / _SURPLUS, upper
    middle, off = a - Fraction(1, 2), 1 / (16 * sigma_squared)
    lower = max(lower, cdf_down(-middle / low_sigma) - off)
    return lower / _SURPLUS, min(upper, cdf_up(-middle / high_sigma) + off)


def _tail_by_sum(sigma_squared: Fraction, a: int) -> tuple[Fraction, Fraction]:
    terms = _terms(sigma_squared)
    low_all, high_all = _normaliser(sigma_squared)
    low = sum(t for t, _ in terms[a:])
    high = sum(t for _, t in terms[a:])
    if not low:  # so far out that fixed point says nothing: f(a) and a geometric series, in exact numbers
        return _far_tail(sigma_squared, a, low_all, high_all)
    return Fraction(low, high_all), Fraction(high + 2, low_all)


def _far_tail(sigma_squared: Fraction, a: int, low_all: int, high_all: int) -> tuple[Fraction, Fraction]:
    exponent, ratio = -Fraction(a * a) / (2 * sigma_squared), -Fraction(2 * a + 1) / (2 * sigma_squared)
    low = exp_down(exponent) * (1 << _W) / high_all
    high = exp_up(exponent) / (1 - exp_up(ratio)) * (1 << _W) / low_all
    return low, high


def _normaliser(sigma_squared: Fraction) -> tuple[int, int]:
    """Bounds of 2^W Σ_z f(z); what is left out is below 2 units on each side."""
    terms = _terms(sigma_squared)
    low = 2 * sum(t for t, _ in terms) - terms[0][0]
    high = 2 * sum(t for _, t in terms) - terms[0][1]
    return low, high + 4


@lru_cache(maxsize=8)
def _terms(sigma_squared: Fraction) -> list[tuple[int, int]]:
    """Bounds of 2^W f(z) for z = 0, 1, 2, ... until f < 2^-(W + 8), when all that follows is below one unit.

    f(z+1)/f(z) = e^{-(2z+1)c}, c = 1/2σ², and each ratio is e^{-2c} times the last.
    """
    c = 1 / (2 * sigma_squared)
    last = isqrt(floor((_W + 24) / c)) + 2
    guard = 64
    w = _W + guard
    low_ratio, high_ratio = exp_fixed(-c, w)
    low_shrink, high_shrink = exp_fixed(-2 * c, w)
    low = high = 1 << w
    terms = []
    for _ in range(last):
        terms.append((low >> guard, -(-high >> guard)))
        low, high = low * low_ratio >> w, -(-high * high_ratio >> w)
        low_ratio, high_ratio = low_ratio * low_shrink >> w, -(-high_ratio * high_shrink >> w)
    return terms


def pmf(sigma_squared: Fraction, z: int) -> tuple[Fraction, Fraction]:
    """Bounds of P[Z = z].

    >>> low, high = pmf(Fraction(1), 0)
    >>> 0.39894 < float(low) <= float(high) < 0.39895
    True
    """
    exponent = -Fraction(z * z) / (2 * sigma_squared)
    if sigma_squared <= _SUM_UP_TO**2:
        low_all, high_all = (Fraction(n, 1 << _W) for n in _normaliser(sigma_squared))
    else:
        low_pi, high_pi = pi_bounds(BITS)
        low_all, high_all = sqrt_down(2 * low_pi * sigma_squared), sqrt_up(2 * high_pi * sigma_squared) * _SURPLUS
    return exp_down(exponent) / high_all, exp_up(exponent) / low_all
