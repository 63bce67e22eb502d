"""Additive noise: roots are exact, whole answers move in whole steps, and one line dominates every direction."""

from fractions import Fraction

import pytest

from discreet.privacy.promises import events


def test_squares_allow_roots() -> None:
    assert events.Gaussian(sigma=10) == events.Gaussian(10, 1) == events.Gaussian(sigma_squared=100)
    assert events.Gaussian(sigma=1, sensitivity_squared=2).mu_squared == 2
    assert events.DiscreteGaussian(sigma=1, dimension=2, sensitivity_squared=2).shift is None
    assert events.DiscreteGaussian(sigma=1, dimension=5).shift == 1
    assert events.DiscreteGaussian(sigma=1, sensitivity=3).shift == 3
    assert events.DiscreteGaussian(sigma_squared=2).sigma ** 2 >= 2


@pytest.mark.slow
def test_laplace_on_the_line_dominates_any_direction() -> None:
    """Discrete Laplace in two coordinates, moved by (1, 1), against one coordinate moved by 2: exact enumeration."""
    a, cut = Fraction(1, 2), 40  # P(z) ∝ a^|z|, tails lumped at ±cut
    weight = {z: a ** abs(z) for z in range(-cut, cut + 1)}
    total = sum(weight.values())
    p = {z: w / total for z, w in weight.items()}

    def ratio(x: int, shift: int) -> Fraction:
        return Fraction(1) / a ** (abs(x - shift) - abs(x))  # Q/P as a power of a

    for x in (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3)):
        one = sum(p[z] * max(Fraction(0), 1 - x / ratio(z, 2)) for z in p)
        two = sum(p[y] * p[z] * max(Fraction(0), 1 - x / (ratio(y, 1) * ratio(z, 1))) for y in p for z in p)
        assert two <= one + Fraction(1, 2**30)
