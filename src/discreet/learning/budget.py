"""What a model may cost, as Gaussian differential privacy: the one currency of this package.

Guarantee: a model that spends the whole of ``mu_squared(budget)`` on Gaussian noise keeps ``budget``. Squares of mu add
up exactly, also for questions that were chosen after seeing earlier answers, so parts of a budget are exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from discreet.errors import BadParameter
from discreet.privacy.accountants.conversions import largest_gdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx
from discreet.privacy.promises.neighbours import Neighbours

Budget: TypeAlias = Approx | ZCDP | GDP
_MUST = (
    'must be what the model may cost, such as dp.Approx(1, "1e-5"), dp.ZCDP("1/8") or dp.GDP(1), with epsilon and '
    "delta above 0: its noise is Gaussian, which is never purely private"
)


def mu_squared(budget: Budget) -> Fraction:
    """The square of the largest mu that keeps the budget.

    >>> from discreet.privacy.promises.measures import GDP, ZCDP
    >>> mu_squared(ZCDP("1/8")), mu_squared(GDP(2))
    (Fraction(1, 4), Fraction(4, 1))
    """
    given: object = budget
    match given:
        case Approx(epsilon=epsilon, delta=delta) if epsilon and delta:
            return largest_gdp(given).mu_squared
        case ZCDP(rho=rho, delta=delta) if rho and not delta:
            return 2 * rho  # the Gaussian mechanism of this mu has D_α = α mu²/2
        case GDP(mu_squared=square) if square:
            return square
    raise BadParameter("budget", given, _MUST)


def event_of(budget: Budget) -> events.Gaussian:
    """What spending the whole budget writes into a ledger, for one row more or less.

    >>> from discreet.privacy.promises.measures import GDP
    >>> event_of(GDP("1/2"))
    Gaussian(sigma_squared=4, sensitivity_squared=1).about(Neighbours.ADD_REMOVE)
    """
    return events.Gaussian(sigma_squared=1 / mu_squared(budget)).about(Neighbours.ADD_REMOVE)


def split(total: Fraction, *shares: int) -> tuple[Fraction, ...]:
    """Parts of a squared mu, in proportion to ``shares``; they add up to it exactly.

    >>> split(Fraction(1), 1, 3)
    (Fraction(1, 4), Fraction(3, 4))
    """
    whole = sum(shares)
    return tuple(total * share / whole for share in shares)
