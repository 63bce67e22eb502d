"""What Laplace noise costs in zCDP: its own ρ, which is less than that of an arbitrary ε-DP mechanism.

Guarantee: D_α(P‖Q) <= ρα for every α > 1, P and Q being the noise around two answers that are ``sensitivity`` apart in
L1; the least such ρ, rounded up. Proof: laplace_zcdp.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from discreet.exact import BITS, exp_down, exp_up
from discreet.privacy.accountants.conversions import pure_to_zcdp_tight
from discreet.privacy.promises.measures import HUGE, Pure
from discreet.privacy.promises.record import short_up


@lru_cache(maxsize=4096)
def laplace_rho(epsilon: Fraction) -> Fraction:
    """ε - 1 + e^-ε, for noise on the line with ε = sensitivity/scale.

    >>> float(laplace_rho(Fraction(1)))
    0.367879...
    """
    return _rho(epsilon, Fraction(1))


@lru_cache(maxsize=4096)  # one event is priced when it is quoted, paid and read again
def discrete_laplace_rho(scale: Fraction, sensitivity: int) -> Fraction:
    """ε - β(1 - e^-ε) with β = (1/b)/sinh(1/b), for noise of scale b on the integers and ε = sensitivity/b.

    At sensitivity 1 this is ε tanh(ε/2), as for randomized response; on a fine grid it tends to ε - 1 + e^-ε.

    >>> float(discrete_laplace_rho(Fraction(1), 1)), float(discrete_laplace_rho(Fraction(100), 100))
    (0.462117..., 0.367889...)
    """
    each = 1 / scale
    epsilon = sensitivity * each
    if each > HUGE:
        return pure_to_zcdp_tight(Pure(epsilon)).rho
    bits = _bits(each)
    sinh_up = (exp_up(each, bits) - exp_down(-each, bits)) / 2
    return _rho(epsilon, min(each / sinh_up, Fraction(1)))


def _rho(epsilon: Fraction, beta: Fraction) -> Fraction:
    """ε - β(1 - e^-ε), rounded up; never above the ρ of any ε-DP mechanism."""
    gone = exp_up(-min(epsilon, Fraction(HUGE)), _bits(epsilon))
    return min(short_up(epsilon - beta * (1 - gone)), pure_to_zcdp_tight(Pure(epsilon)).rho)


def _bits(x: Fraction) -> int:
    """Bits enough for a difference of the size x²."""
    return BITS + 3 * max(0, x.denominator.bit_length() - x.numerator.bit_length())
