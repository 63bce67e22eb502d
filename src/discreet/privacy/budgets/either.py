"""Two accounts side by side: a charge is admitted while either of them admits it.

Promise: all that is admitted keeps (ε, δ), however it was chosen. Proof: either_filter.md.
Believes: the filters for sums of (ε, δ) and of (ρ, δ) in filters.py.

Of δ, ``share`` limits the sum of δ's in the first account; the rest is split again, with ``share`` of it for the δ's in
the second account and what is left for turning ρ into ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from functools import lru_cache
from math import ceil

from discreet.errors import BadParameter, NoPrice
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.budgets.currency import BEYOND, Amounts, Currency, Limits
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Measure

_BITS = 64
_DIGITS = 10**9
_QUESTIONS = 16

Prices = Callable[[Event | Measure], Amounts]


def slack_of(delta: Fraction, share: Fraction) -> Fraction:
    """The part of δ that pays for turning ρ into ε."""
    return (1 - share) ** 2 * delta


def either_currency(
    budget: Approx, share: Fraction, basic: Prices, second: Currency, interactive: Callable[[Event | Measure], bool]
) -> Currency:
    """(Σε, Σδ) by ``basic``, or (Σρ, Σδ) as ``second`` counts them.

    What has a ρ alone counts in the first account as the ε that it implies with a sixteenth of the δ there (unless it
    is interactive: what is interleaved is not what its ρ is about). An event that an account cannot price counts there
    as more than every limit, so that account is left for good.
    The first charge of all may take the whole (ε, δ): if that is more than either account has, it is the last one.
    """
    if max(budget.epsilon, second.limits.most[0]) * 2 >= BEYOND:
        raise BadParameter("epsilon", budget.epsilon, "must be smaller: this is no promise at all")
    slack = slack_of(budget.delta, share)
    most = (budget.epsilon, share * budget.delta, *second.limits.most)
    unknown = (BEYOND, Fraction(0))

    @lru_cache(maxsize=64)  # a question is priced when it is planned, quoted and paid
    def by_rho(what: Event | Measure) -> Amounts:
        return tuple(map(_brief, second.amounts(what)))

    def implied(rho: Amounts) -> Amounts:
        """The (ε, δ) of what is ρ-zCDP but for a δ of its own."""
        return _implied(rho[0], most[1] / _QUESTIONS), most[1] / _QUESTIONS + rho[1]

    def amounts(what: Event | Measure) -> Amounts:
        try:
            summed = basic(what)
        except NoPrice:
            other = by_rho(what)
            return (*(implied(other) if most[1] and not interactive(what) else unknown), *other)
        try:
            return (*summed, *by_rho(what))
        except NoPrice:
            return (*summed, *unknown)

    def shown(a: Amounts) -> Measure:
        by_sum = a[0] < BEYOND and not (most[1] and any(a[2:]) and a[:2] == implied(a[2:]))
        return Approx(a[0], a[1]) if by_sum else second.shown(a[2:])

    def shown_left(a: Amounts) -> Measure:
        other = _epsilon_left(a[2], slack) if a[2] else Fraction(0)
        return Approx(a[0], a[1]) if a[0] >= other else Approx(other, a[3])

    def shown_sum(a: Amounts, limits: Limits) -> Measure:
        """The smaller ε of the accounts that still hold; of what no account admitted, the sum. No odometer."""
        held = [not limits.is_left(a, account) for account in limits.accounts]
        if held[1] and a[2]:
            other = _epsilon(a[2], slack)
            if not held[0] or other < a[0]:
                return Approx(other, a[3] + slack)
        return shown(a)

    def by_account(a: Amounts) -> tuple[Measure, ...]:
        return Approx(a[0], a[1]), ZCDP(a[2], a[3])

    return Currency(
        "epsilon, delta or rho, delta",
        Limits(most, together=2, alone=(budget.epsilon, budget.delta)),
        amounts,
        shown,
        concurrent=False,
        shown_left=shown_left,
        shown_sum=shown_sum,
        interleaved=lambda a: (*a[:2], *unknown),
        by_account=by_account,
    )


@lru_cache(maxsize=256)
def _implied(rho: Fraction, delta: Fraction) -> Fraction:
    """The ε of ρ-zCDP with this δ, rounded up to nine digits after the point."""
    if not rho or rho >= BEYOND:
        return min(rho, BEYOND)
    return Fraction(ceil(zcdp_to_approx(ZCDP(rho), delta=delta).epsilon * _DIGITS), _DIGITS)


def _brief(amount: Fraction) -> Fraction:
    """An amount that many sums can hold: itself if it is short, else a little more, with a power of two below."""
    if amount.denominator.bit_length() <= _BITS:
        return amount
    scale = _BITS + amount.denominator.bit_length() - amount.numerator.bit_length()
    return Fraction(-(-(amount.numerator << scale) // amount.denominator), 1 << scale)


def _epsilon(rho: Fraction, slack: Fraction) -> Fraction:
    """The ε of one question that costs this ρ, rounded up to four digits."""
    return _rounded(_converted(rho, slack) * (1 + 1e-9), ROUND_CEILING)


def _epsilon_left(rho: Fraction, slack: Fraction) -> Fraction:
    """The ε of one question for which this ρ is enough, rounded down to four digits."""
    return _rounded(_converted(rho, slack) * (1 - 1e-6), ROUND_FLOOR)


def _converted(rho: Fraction, slack: Fraction) -> float:
    """The tight conversion of ρ in floats, to some twelve digits: it is shown, and decides nothing.

    At order α it is ρα + (log(1/δ) - log α)/(α - 1) + log(1 - 1/α), least where (α - 1)² = (log(1/δ) - log α)/ρ.
    """
    r, log_inverse = max(float(rho), 1e-300), math.log(slack.denominator) - math.log(slack.numerator)
    low, high = 0.0, math.sqrt(log_inverse / r)  # of α - 1
    for _ in range(50):
        above = (low + high) / 2
        low, high = (low, above) if r * above * above + math.log1p(above) > log_inverse else (above, high)
    epsilon = r * (1 + above) + (log_inverse - math.log1p(above)) / above - math.log1p(1 / above)
    return max(epsilon, 0.0)


def _rounded(epsilon: float, towards: str) -> Fraction:
    return Fraction(Context(prec=4, rounding=towards).create_decimal(epsilon))
