"""The discrete Gaussian's tails, masses and δ against sums of the law by ball arithmetic, in every regime."""

from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpq

from discreet.mechanisms.additive.gaussian import gaussian
from discreet.privacy.accountants.discrete_gaussian import delta_up, expected_size_up, pmf, tail_down, tail_up

SPREADS = [Fraction(1, 100), Fraction("0.37"), Fraction(1), Fraction(9), Fraction(2500), Fraction(600**2)]


def ball(x: Fraction) -> Any:
    return arb(fmpq(x.numerator, x.denominator))


def masses(s2: Fraction) -> dict[int, Any]:
    """P[Z = z] for all z that matter; what is left out is below e^-200."""
    ctx.prec = 300
    reach = int(20 * float(s2) ** 0.5) + 25
    weights = {z: (-ball(Fraction(z * z)) / (2 * ball(s2))).exp() for z in range(reach + 1)}
    total = 2 * sum(weights.values(), arb(0)) - weights[0]
    return {z: weights[abs(z)] / total for z in range(-reach, reach + 1)}


@pytest.mark.parametrize("s2", SPREADS, ids=str)
def test_tails_and_masses_enclose_the_sums(s2: Fraction) -> None:
    law = masses(s2)
    sigma = float(s2) ** 0.5
    for a in sorted({-2, 0, 1, 2, *(int(k * sigma) + 1 for k in (1, 2, 4, 7))}):
        truth = sum((p for z, p in law.items() if z >= a), arb(0))
        low, high = tail_down(s2, a), tail_up(s2, a)
        assert ball(low) <= truth + arb(10) ** -80
        assert truth <= ball(high) + arb(10) ** -80
        assert high - low <= Fraction(1, 200) * high  # beyond 512 the sums are bounded, not added up
        assert high - low <= 1 / (4 * s2)
        inside, outside = pmf(s2, a)
        assert ball(inside) <= law.get(a, arb(0)) + arb(10) ** -80
        assert law.get(a, arb(0)) <= ball(outside) + arb(10) ** -80
    mean = sum((abs(z) * p for z, p in law.items()), arb(0))
    assert mean <= ball(expected_size_up(s2)) <= mean * ball(Fraction(1002, 1000)) + arb(10) ** -30


def hockey_stick(law: dict[int, Any], shift: int, epsilon: Fraction) -> Any:
    """Σ max(0, p(z) - e^ε p(z - shift)), the definition."""
    growth = ball(epsilon).exp()
    gains = (p - growth * law.get(z - shift, arb(0)) for z, p in law.items())
    return sum((gain for gain in gains if gain > 0), arb(0))


@pytest.mark.slow
@pytest.mark.parametrize("s2", SPREADS[1:], ids=str)
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_delta_is_the_hockey_stick_of_the_definition(s2: Fraction, shift: int) -> None:
    """Never below the truth, and within 1 % of it where it is not tiny; off by one cell would be seen."""
    law = masses(s2)
    for epsilon in (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3)):
        for sign in (1, -1):  # both directions
            truth = hockey_stick(law, sign * shift, epsilon)
            claimed = ball(delta_up(s2, shift, epsilon))
            assert truth <= claimed + arb(10) ** -80
        if truth > arb(10) ** -12 and s2 <= 2500:
            assert claimed <= truth * ball(Fraction(101, 100))


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "delta"), [(1, "1e-3"), (1, "1e-6"), (3, "1e-2"), (20, "1e-4")])
def test_a_gaussian_made_for_epsilon_and_delta_keeps_them(shift: int, delta: str) -> None:
    m = gaussian(sensitivity=shift, epsilon=1, delta=delta)
    law = masses(m.sigma_squared)
    for moved in range(1, shift + 1):
        assert hockey_stick(law, moved, Fraction(1)) <= ball(Fraction(delta))
    less = masses(m.sigma_squared * Fraction(95, 100))
    assert hockey_stick(less, shift, Fraction(1)) > ball(Fraction(delta))  # and with 5 % less it would not
