"""What a promise means to the person it protects, in words that need no e.

Promise: every figure is an upper bound of what any attacker achieves, whatever he knows, rounded up.
Believes: tradeoff.py.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import BadParameter
from discreet.exact import Number, exp_down, exp_up, float_up, number, sqrt_up
from discreet.privacy.accountants.tradeoff import power_up
from discreet.privacy.numerics import normal
from discreet.privacy.promises.measures import GDP, HUGE, ZCDP, Approx, Measure, Pure, Renyi


def true_positive_rate(promise: Measure, false_positive: Number) -> float:
    """The largest share of members that an attacker can find, if he accuses this share of the others wrongly.

    >>> true_positive_rate(Approx(1, "1e-6"), "0.01")
    0.0271838...
    """
    return float_up(power_up(promise, false_positive))


def advantage(promise: Measure) -> float:
    """The largest gap between the true-positive and the false-positive rate: the total variation distance.

    Guarantee: (e^ε - 1 + 2δ)/(e^ε + 1) for (ε, δ) and 2Φ(μ/2) - 1 for μ-GDP, both attained; for Rényi promises
    √(D/2) (Pinsker) or √(1 - e^{-D}) (Bretagnolle, Huber 1979), as D_1 <= D_α.

    >>> advantage(Pure(1)), advantage(GDP(1))
    (0.46211715..., 0.38292492...)
    """
    return float_up(min(Fraction(1), _advantage(promise)))


def posterior(promise: Measure, prior: Number, *, false_positive: Number = 0) -> float:
    """The most that an attacker can come to believe, from this prior, that the person is in the data.

    For a pure promise that holds whatever he sees. Other promises allow rare outputs that say more, so there it is
    the belief after an alarm that goes off for at least this share of the others, which must be above 0.

    >>> posterior(Pure(1), "0.5"), posterior(Approx(1, "1e-6"), "0.01", false_positive="0.001")
    (0.7310585..., 0.0267...)
    """
    before = number(prior, "prior")
    if not 0 < before < 1:
        raise BadParameter("prior", prior, "must lie strictly between 0 and 1")
    alarm = number(false_positive, "false_positive")
    if not 0 <= alarm <= 1:
        raise BadParameter("false_positive", false_positive, "must lie between 0 and 1")
    if alarm:
        hit, wrong = power_up(promise, alarm), alarm
    elif isinstance(promise, Pure):
        hit, wrong = _grown(promise.epsilon), Fraction(1)
    else:
        raise BadParameter("false_positive", false_positive, "must be above 0 unless the promise is pure")
    return float_up(before * hit / (before * hit + (1 - before) * wrong))


def _advantage(promise: Measure) -> Fraction:
    match promise:
        case Pure(epsilon=e):
            return 1 - 2 / (_grown(e) + 1)
        case Approx(epsilon=e, delta=d):
            return 1 - 2 * (1 - d) / (_grown(e) + 1)
        case GDP(mu_squared=m):
            return 2 * normal.cdf_up(sqrt_up(m) / 2) - 1
        case ZCDP(rho=rho, delta=d):
            return d + (1 - d) * _from_divergence(rho)
        case Renyi(bounds=bounds):
            return _from_divergence(min(epsilon for _, epsilon in bounds))


def _grown(epsilon: Fraction) -> Fraction:
    """e^ε rounded up; beyond what can matter, a number that makes every figure 1 when it leaves for floats."""
    if epsilon > HUGE:
        return Fraction(1 << HUGE * 2)
    return exp_up(epsilon) if epsilon else Fraction(1)


def _from_divergence(d: Fraction) -> Fraction:
    return min(sqrt_up(d / 2), sqrt_up(1 - exp_down(-d))) if d <= HUGE else Fraction(1)
