"""What a secret sample adds to a promise.

Promise: each function is one theorem, for one kind of sample and one relation of neighbours; all other pairs are
refused. Results are rounded up.
Believes: Balle, Barthe and Gaboardi 2018 (cited below).
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import BadParameter, NotATheorem
from discreet.exact import BITS, Number, exp_up, log_up, number
from discreet.privacy.promises.events import Sampling
from discreet.privacy.promises.measures import HUGE, Approx
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.record import short_up


def amplified(promise: Approx, rate: Number, how: Sampling, neighbours: Neighbours) -> Approx:
    """The promise of a mechanism that runs on a secret random sample of the units.

    Guarantee: (log(1 + q(e^ε - 1)), qδ), where q is the rate, in two cases. POISSON with ADD_REMOVE: Theorem 8 of
    Balle, Barthe and Gaboardi 2018. WITHOUT_REPLACEMENT with CHANGE_ONE, q = m/n: their Theorem 9. The promise given
    must be stated for the same relation.

    >>> float(amplified(Approx(1, "1e-6"), "0.01", Sampling.POISSON, Neighbours.ADD_REMOVE).epsilon)
    0.017036...
    """
    q = sampling_rate(rate)
    match how, neighbours:
        case (Sampling.POISSON, Neighbours.ADD_REMOVE) | (Sampling.WITHOUT_REPLACEMENT, Neighbours.CHANGE_ONE):
            return Approx(amplified_epsilon_up(promise.epsilon, q), q * promise.delta)
        case _:
            raise NotATheorem(
                f"no theorem here for a sample of {how.value!r} under {neighbours.value!r}; "
                "Poisson goes with add/remove, without replacement with change-one"
            )


def amplified_epsilon_up(epsilon: Fraction, rate: Fraction) -> Fraction:
    """An upper bound of log(1 + q(e^ε - 1)), never above ε."""
    if not epsilon or rate == 1 or epsilon > HUGE:
        return epsilon
    bits = BITS + max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
    return min(epsilon, short_up(log_up(1 + rate * (exp_up(epsilon, bits) - 1))))


def sampling_rate(rate: Number) -> Fraction:
    """The exact rate, which must lie in (0, 1]."""
    q = number(rate, "rate")
    if not 0 < q <= 1:
        raise BadParameter("rate", rate, "must be above 0 and at most 1")
    return q
