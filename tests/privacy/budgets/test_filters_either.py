"""Rule.EITHER: the best adaptive adversary, found exactly, stays within (ε, δ); with a planted bug it does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest

from discreet.errors import NoPrice, OverBudget
from discreet.privacy.budgets.filters import Amounts, Currency, Filter, Rule, currency_of
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure

BUDGET = Approx(1, "0.1")
CHOICES = [Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1)]
MOST = 14  # questions

Admits = Callable[[Currency, Amounts, Amounts], Amounts | None]
"""What is used after a question, or None if it is refused."""


def honest(money: Currency, used: Amounts, amounts: Amounts) -> Amounts | None:
    return money.add(used, amounts) if money.fits(used, amounts) else None


def each_pays_for_its_own(money: Currency, used: Amounts, amounts: Amounts) -> Amounts | None:
    """The planted bug: an account is charged only for what it admitted itself, so two budgets are spent."""
    for account in money.accounts:
        alone = tuple(a if i in range(*account.indices(4)) else Fraction(0) for i, a in enumerate(amounts))
        rest = [limit - u for limit, u in zip(money.limits[account], used[account], strict=True)]
        if all(a <= left for a, left in zip(amounts[account], rest, strict=True)):
            return money.add(used, alone)
    return None


def worst_delta(money: Currency, admits: Admits, epsilon: float) -> float:
    """The largest δ(ε) over all adaptive choices of randomized responses: the pair with the largest losses there is.

    The adversary knows all answers so far, that is the loss so far, and asks on or stops. E[(1 - e^(ε - loss))+] under
    the first input is the hockey-stick divergence of the transcripts.
    """
    prices = [(float(e), money.amounts(events.Pure(e))) for e in CHOICES]

    @cache
    def value(used: Amounts, eighths: int, asked: int) -> float:
        best = max(0.0, 1 - math.exp(epsilon - eighths / 8))
        for e, amounts in prices if asked < MOST else ():
            after = admits(money, used, amounts)
            if after is not None:
                up = math.exp(e) / (1 + math.exp(e))
                step = round(8 * e)
                found = up * value(after, eighths + step, asked + 1) + (1 - up) * value(
                    after, eighths - step, asked + 1
                )
                best = max(best, found)
        return best

    return value(money.nothing, 0, 0)


def test_no_adaptive_adversary_exceeds_the_budget() -> None:
    money = currency_of(BUDGET, Rule.EITHER)
    found = worst_delta(money, honest, 1.0)
    assert 0 < found <= 0.1


def test_two_accounts_that_each_pay_for_their_own_would_be_seen() -> None:
    assert worst_delta(currency_of(BUDGET, Rule.EITHER), each_pays_for_its_own, 1.0) > 0.1


def test_many_small_questions_fit_where_the_sum_does_not() -> None:
    budget = Filter(Approx(1, "1e-6"), Rule.EITHER)
    small = events.Pure("1/1000")
    for _ in range(4000):
        budget.spend(small)
    basic, zcdp = Filter(Approx(1, "1e-6")), Filter(Approx(1, "1e-6"), Rule.ZCDP)
    for _ in range(1000):
        basic.spend(small)
    with pytest.raises(OverBudget):
        basic.spend(small)
    assert zcdp.fits(events.Repeat(small, 4000))


def test_one_large_question_fits_where_rho_does_not() -> None:
    budget = Filter(Approx(1, "1e-6"), Rule.EITHER)
    assert not Filter(Approx(1, "1e-6"), Rule.ZCDP).fits(Pure(1))
    assert budget.remaining == Approx(1, "5e-7")
    budget.spend(Pure(1))
    with pytest.raises(OverBudget):
        budget.spend(Pure("0.1"))


def test_what_left_the_sum_goes_on_under_rho_alone() -> None:
    budget = Filter(Approx(1, "1e-6"), Rule.EITHER)
    budget.spend(ZCDP("1/1000"))  # has no epsilon: the first account is left for good
    assert not budget.fits(Pure("0.9"))
    assert budget.fits(Pure("0.05"))
    left = budget.remaining
    assert isinstance(left, Approx)
    assert 0 < left.epsilon < Fraction(1, 4)
    assert budget.fits(Pure(left.epsilon))
    delta = events.Approx(0, "4e-7")  # more than the second account has; the first has it, but was left
    assert Filter(Approx(1, "1e-6"), Rule.EITHER).fits(delta)
    assert not budget.fits(delta)


def test_spent_and_prices_are_told_as_promises() -> None:
    budget = Filter(Approx(1, "1e-6"), Rule.EITHER)
    assert budget.spend(Pure("0.1")).price == Approx("0.1", 0)
    assert budget.spent == Approx("0.1", 0)
    receipt = budget.spend(ZCDP("1/1000"))
    assert receipt.price == ZCDP("1/1000")
    assert str(budget.spent).startswith("rho ")


def test_interleaving_leaves_the_second_account() -> None:
    budget = Filter(Approx(1, "1e-6"), Rule.EITHER)
    with budget.open(events.AboveThreshold("1/100")):
        budget.spend(Pure("1/100"))
    for _ in range(98):
        budget.spend(Pure("1/100"))
    with pytest.raises(OverBudget):  # without the interleaving, rho would admit some more
        budget.spend(Pure("1/100"))
    apart = Filter(Approx(1, "1e-6"), Rule.EITHER)
    for _ in range(101):
        apart.spend(Pure("1/100"))


def test_the_deltas_of_both_accounts_add_up_to_the_budget() -> None:
    money = currency_of(Approx(1, "1e-6"), Rule.EITHER)
    epsilon, first, _, aside = money.limits
    slack = Fraction(1, 10**6) - first - aside
    assert epsilon == 1
    assert slack == Fraction(1, 4 * 10**6)
    assert money.limits[2:] == currency_of(Approx(1, "5e-7"), Rule.ZCDP).limits


def test_what_no_account_can_price_is_refused() -> None:
    budget = Filter(Approx(1, "1e-6"), Rule.EITHER)
    with pytest.raises(NoPrice):
        budget.spend(events.Subsampled(events.Gaussian(1), "0.01"))
    assert budget.spent == Approx(0, 0)
