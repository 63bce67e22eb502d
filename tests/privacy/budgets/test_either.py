"""Rule.EITHER: the best adaptive adversary, found exactly, stays within (ε, δ); with a planted bug it does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadParameter, NoPrice, OverBudget
from discreet.privacy.accountants.conversions import largest_zcdp, zcdp_to_approx
from discreet.privacy.accountants.discrete_gaussian import delta_up
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.budgets.currency import BEYOND, Amounts, Currency, add
from discreet.privacy.budgets.either import _brief, _converted
from discreet.privacy.budgets.filters import Filter, Rule, as_event, currency_of, default_rule
from discreet.privacy.budgets.odometers import Odometer
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure

BUDGET = Approx(1, "0.1")

# --- what the adversary may ask: pairs of laws whose losses are multiples of 1/8 ------------------------------------

Law = list[tuple[float, int | None]]
"""Probability under the first input, and eighths of loss; None where the answer gives the input away."""


def response(epsilon: Fraction, reveals: float = 0.0) -> Law:
    up = math.exp(epsilon) / (1 + math.exp(epsilon))
    step = int(8 * epsilon)
    return [(reveals, None), ((1 - reveals) * up, step), ((1 - reveals) * (1 - up), -step)]


def gaussian() -> Law:
    """Discrete Gaussian noise with σ² = 4 against its shift by 1: a loss of (1 - 2z)/8. What is far out reveals."""
    weights = {z: math.exp(-z * z / 8) for z in range(-40, 41)}
    total = sum(weights.values())
    near = [(w / total, 1 - 2 * z) for z, w in weights.items() if abs(z) <= 10]
    return [*near, (1 - sum(p for p, _ in near), None)]


NOISE = events.DiscreteGaussian(sigma_squared=4)
HALF, WHOLE = Fraction(1, 2), Fraction(1)


def stated(epsilon: Fraction) -> events.Stated:
    return events.Stated(NOISE, epsilon, delta_up(Fraction(4), 1, epsilon))


CHOICES: list[tuple[Event, Law]] = [
    (events.Pure("1/8"), response(Fraction(1, 8))),
    (events.Pure("1/2"), response(HALF)),
    (events.Pure(1), response(WHOLE)),
    (stated(HALF), gaussian()),
    (events.Approx("1/4", "0.02"), response(Fraction(1, 4), 0.02)),
    (events.Approx(0, "0.1"), response(Fraction(0), 0.1)),
]

Admits = Callable[[Currency, Amounts, Amounts], Amounts | None]
"""What is used after a question, or None if it is refused."""


def worst_delta(admits: Admits, most: int) -> float:
    """The largest δ(ε) over all adaptive choices of ``most`` of these questions.

    The adversary knows all answers so far, that is the loss so far, and asks on or stops. E[(1 - e^(ε - loss))+] under
    the first input is the hockey-stick divergence of the transcripts.
    """
    money = currency_of(BUDGET, Rule.EITHER)
    prices = [(money.amounts(event), law) for event, law in CHOICES]

    @cache
    def after(used: Amounts, i: int) -> Amounts | None:
        return admits(money, used, prices[i][0])

    @cache
    def value(used: Amounts, eighths: int, asked: int) -> float:
        best = max(0.0, 1 - math.exp(1 - eighths / 8))
        if asked == most or eighths < -16:  # from so far down nothing worth counting comes back
            return best
        for i, (_, law) in enumerate(prices):
            paid = after(used, i)
            if paid is not None:
                found = sum(p * (1.0 if step is None else value(paid, eighths + step, asked + 1)) for p, step in law)
                best = max(best, found)
        return best

    return value(money.limits.nothing, 0, 0)


def honest(money: Currency, used: Amounts, amounts: Amounts) -> Amounts | None:
    return add(used, amounts) if money.limits.fits(used, amounts) else None


def each_pays_for_its_own(money: Currency, used: Amounts, amounts: Amounts) -> Amounts | None:
    """Planted: an account is charged only for what it admitted itself, so two budgets are spent."""
    for account in money.limits.accounts:
        alone = tuple(a if i in range(*account.indices(4)) else Fraction(0) for i, a in enumerate(amounts))
        if all(
            u + a <= most
            for u, a, most in zip(used[account], amounts[account], money.limits.most[account], strict=True)
        ):
            return add(used, alone)
    return None


def neither_holds(money: Currency, used: Amounts, amounts: Amounts) -> Amounts | None:
    """Planted: any ε or any ρ that is within its limit by itself admits, whatever was spent of it."""
    after = add(used, amounts)
    fine = amounts[0] <= money.limits.most[0] and after[1] <= money.limits.most[1]
    return after if fine or money.limits.fits(used, amounts) else None


def deltas_are_free(money: Currency, used: Amounts, amounts: Amounts) -> Amounts | None:
    """Planted: δ's are not added up."""
    return honest(money, used, (amounts[0], Fraction(0), amounts[2], Fraction(0)))


def starts_again(money: Currency, used: Amounts, amounts: Amounts) -> Amounts | None:
    """Planted: an account that is full is opened anew when the other one is full too."""
    found = honest(money, used, amounts)
    if found is None and any(used[:2]):
        found = honest(money, (Fraction(0), Fraction(0), *used[2:]), amounts)
    return found


def first_one_is_forgotten(money: Currency, used: Amounts, amounts: Amounts) -> Amounts | None:
    """Planted: what the first question took beyond the accounts leaves room in them."""
    found = honest(money, used, amounts)
    if found is None:
        return None
    return tuple(u if u <= most else Fraction(0) for u, most in zip(found, money.limits.most, strict=True))


def test_no_adaptive_adversary_exceeds_the_budget() -> None:
    found = worst_delta(honest, 9)
    assert 0.09 < found <= 0.1 + 1e-12  # the first question may take the whole delta, and no more comes after it


@pytest.mark.slow
@pytest.mark.parametrize(
    "planted", [each_pays_for_its_own, neither_holds, deltas_are_free, starts_again, first_one_is_forgotten]
)
def test_a_planted_bug_is_seen(planted: Admits) -> None:
    assert worst_delta(planted, 5) > 0.1 + 1e-6


# --- what fits ------------------------------------------------------------------------------------------------------


def test_many_small_questions_fit_where_the_sum_does_not() -> None:
    budget, small = Filter(Approx(1, "1e-6")), events.Pure("1/1000")
    for _ in range(40):
        budget.spend(events.Repeat(small, 100))
    basic, zcdp = Filter(Approx(1, "1e-6"), Rule.BASIC), Filter(Approx(1, "1e-6"), Rule.ZCDP)
    basic.spend(events.Repeat(small, 1000))
    with pytest.raises(OverBudget):
        basic.spend(small)
    assert zcdp.fits(events.Repeat(small, 4000))


def test_one_large_question_fits_where_rho_does_not() -> None:
    budget = Filter(Approx(1, "1e-6"))
    assert not Filter(Approx(1, "1e-6"), Rule.ZCDP).fits(Pure(1))
    assert budget.remaining == Approx(1, "1e-6")
    budget.spend(Pure(1))
    with pytest.raises(OverBudget):
        budget.spend(Pure("0.1"))


def test_the_first_question_may_take_all_and_is_then_the_last() -> None:
    budget = Filter(Approx(1, "1e-6"))
    assert not budget.fits(Approx(1, "1.1e-6"))
    budget.spend(Approx("1/2", "1e-6"))
    assert budget.remaining == Approx(0, 0)
    for what in (Pure("1e-6"), ZCDP("1e-9"), events.Threshold(0, "1e-12")):
        assert not budget.fits(what)
    later = Filter(Approx(1, "1e-6"))
    later.spend(Pure("1/1000"))
    assert not later.fits(Approx("1/2", "1e-6"))
    assert later.fits(Approx("1/2", "5e-7"))


def test_what_left_the_sum_goes_on_under_rho_alone() -> None:
    budget = Filter(Approx(1, "1e-6"))
    for _ in range(101):
        budget.spend(Pure("1/100"))  # the last one leaves the first account for good
    assert not budget.fits(Pure("0.9"))
    assert budget.fits(Pure("0.05"))
    delta = events.Approx(0, "4e-7")  # more than the second account has; the first has it, but was left
    spent = Filter(Approx(1, "1e-6"))
    spent.spend(Pure("1/1000"))
    assert spent.fits(delta)
    assert not budget.fits(delta)


def test_what_is_left_is_an_epsilon_that_can_be_asked_for() -> None:
    budget = Filter(Approx(1, "1e-6"))
    for _ in range(100):
        budget.spend(Pure("1/100"))
    left = budget.remaining
    assert isinstance(left, Approx)
    assert Fraction(4, 5) < left.epsilon < 1  # by rho, although the epsilons have added up to 1
    whole, rho = budget.remaining_by_account
    assert whole == Approx(0, "5e-7")
    assert isinstance(rho, ZCDP)
    assert budget.fits(largest_zcdp(Approx(left.epsilon, "2.5e-7")))
    assert not budget.fits(largest_zcdp(Approx(left.epsilon * Fraction(1001, 1000), "2.5e-7")))


def test_spent_and_prices_are_promises() -> None:
    budget = Filter(Approx(1, "1e-6"))
    assert budget.spend(Pure("0.1")).price == Approx("0.1", 0)
    assert budget.charged == Approx("0.1", 0)
    receipt = budget.spend(ZCDP("1/1000"))
    assert receipt.price == ZCDP("1/1000")
    spent = budget.charged
    assert isinstance(spent, Approx)
    assert Fraction(1, 10) < spent.epsilon < 1
    assert spent.delta == Fraction(1, 32 * 10**6), "a sixteenth of what the sum may have"


def test_spent_is_the_smaller_of_what_both_accounts_say() -> None:
    budget = Filter(Approx(1, "1e-6"))
    for _ in range(90):
        budget.spend(Pure("1/100"))
    spent = budget.charged
    assert isinstance(spent, Approx)
    assert spent.epsilon < Fraction(1, 2)


def test_interleaving_leaves_the_second_account() -> None:
    budget = Filter(Approx(1, "1e-6"))
    with budget.open(events.AboveThreshold("1/100")):
        budget.spend(Pure("1/100"))
    for _ in range(98):
        budget.spend(Pure("1/100"))
    with pytest.raises(OverBudget):  # without the interleaving, rho would admit some more
        budget.spend(Pure("1/100"))
    apart = Filter(Approx(1, "1e-6"))
    for _ in range(101):
        apart.spend(Pure("1/100"))


def test_the_deltas_of_both_accounts_add_up_to_the_budget() -> None:
    limits = currency_of(Approx(1, "1e-6"), Rule.EITHER).limits
    epsilon, first, _, aside = limits.most
    slack = Fraction(1, 10**6) - first - aside
    assert epsilon == 1
    assert slack == Fraction(1, 4 * 10**6)
    assert limits.most[2:] == currency_of(Approx(1, "5e-7"), Rule.ZCDP).limits.most
    assert limits.alone == (Fraction(1), Fraction(1, 10**6))


def test_what_no_account_can_price_is_refused() -> None:
    budget = Filter(Approx(1, "1e-6"))
    with pytest.raises(NoPrice):
        budget.spend(events.Subsampled(events.Gaussian(1), "0.01"))
    assert budget.charged == Approx(0, 0)


@pytest.mark.parametrize("event", [events.ZCDP("1/1000"), events.DiscreteGaussian(sigma=23), GDP(mu_squared="0.002")])
def test_what_has_a_rho_alone_is_admitted_by_the_epsilon_that_it_implies(event: Event | Measure) -> None:
    """Pure questions have used up ρ: they are counted there with more than they cost."""
    budget = Filter(Approx(1, "1e-6"))
    for _ in range(7):
        budget.spend(Pure("1/10"))
    assert budget.remaining_by_account[1] == ZCDP(0)
    budget.spend(event)
    assert not budget.fits(event), "0.22 of the 0.3 that were left"
    whole = budget.remaining_by_account[0]
    assert isinstance(whole, Approx)
    rho = price_zcdp(as_event(event)).rho
    implied = zcdp_to_approx(ZCDP(rho), delta=Fraction(1, 32 * 10**6)).epsilon
    assert 0 <= Fraction(3, 10) - implied - whole.epsilon <= Fraction(1, 10**9)
    assert whole.delta == Fraction(15, 32 * 10**6)


def test_an_unknown_amount_is_above_every_limit() -> None:
    money = currency_of(Approx(1, "1e-6"), Rule.EITHER)
    assert money.amounts(events.Interactive(events.ZCDP("1/1000")))[0] == BEYOND
    assert money.amounts(events.Stated(NOISE, 1, "1e-3"))[0] == 1
    with pytest.raises(BadParameter, match="smaller"):
        Filter(Approx(10**30, "1e-6"))


@pytest.mark.slow
@given(st.fractions(min_value=Fraction(1, 10**40), max_value=10**6))
def test_long_amounts_are_rounded_up_by_a_hair(amount: Fraction) -> None:
    found = _brief(amount)
    assert amount <= found <= amount * (1 + Fraction(1, 2**60))
    assert found == amount or found.denominator & (found.denominator - 1) == 0


@pytest.mark.parametrize("rho", ["1e-15", "1e-9", "0.0001", "0.02", "1", "300", "1e9"])
@pytest.mark.parametrize("slack", ["0.1", "1e-6", "1e-300"])
def test_what_is_shown_is_the_tight_conversion(rho: str, slack: str) -> None:
    exact = zcdp_to_approx(ZCDP(rho), delta=slack).epsilon
    shown = Fraction(_converted(Fraction(rho), Fraction(slack)))
    assert abs(shown - exact) <= exact * Fraction(1, 10**9) + Fraction(1, 10**12)


def test_the_default_rule() -> None:
    assert default_rule(Approx(1, "1e-6")) is Rule.EITHER
    assert default_rule(Approx(1, 0)) is Rule.BASIC
    assert default_rule(Pure(1)) is None
    assert Filter(Approx(1, 0)).remaining == Approx(1, 0)


# --- Gaussian noise with the (ε, δ) it was made for -----------------------------------------------------------------


def test_a_stated_gaussian_is_paid_in_every_budget() -> None:
    gaussian = events.Stated(events.DiscreteGaussian(sigma_squared=18), 1, "1e-6")
    for rule in (None, Rule.BASIC):
        budget = Filter(Approx(1, "1e-6"), rule)
        receipt = budget.spend(gaussian)
        assert receipt.price == Approx(1, "1e-6")
        assert budget.remaining.epsilon == 0  # type: ignore[union-attr]
    zcdp = Filter(ZCDP("1/36"))
    zcdp.spend(gaussian)
    assert zcdp.remaining == ZCDP(0)
    with pytest.raises(NoPrice):
        Filter(Pure(1)).spend(gaussian)


# --- what was charged is no odometer --------------------------------------------------------------------------------

STEP = Fraction(1, 10)


def stopped_best(thresholds: list[float]) -> float:
    """The most that P[S] - Σ e^(ε_t) P'[S and t steps] reaches over all ways to stop: steps of randomized response at
    STEP, a threshold ε_t for those who stop after t of them. Backwards over (t, loss), so over every strategy.
    """
    step = float(STEP)
    up = math.exp(step) / (1 + math.exp(step))

    def stopped(t: int, steps_up: int) -> float:
        return max(0.0, 1 - math.exp(thresholds[t - 1] - (2 * steps_up - t) * step))

    best = [stopped(len(thresholds), k) for k in range(len(thresholds) + 1)]
    for t in range(len(thresholds) - 1, 0, -1):
        best = [max(stopped(t, k), up * best[k + 1] + (1 - up) * best[k]) for k in range(t + 1)]
    return up * best[1] + (1 - up) * best[0]


@pytest.mark.parametrize(("delta", "times"), [("0.01", 1.45), ("0.1", 1.55)])
def test_what_was_charged_is_no_promise_about_the_answers_so_far(delta: str, times: float) -> None:
    """Planted: the sum of charges read as a promise, as it was once called. Who stops when the loss is above it loses
    more than its δ; the budget as a whole, and the reading of an odometer, are kept by every way to stop.
    """
    budget = Approx(5, delta)
    spending, odometer = Filter(budget), Odometer(delta)
    charged, read = [], []
    while spending.fits(events.Pure(STEP)):
        spending.spend(events.Pure(STEP))
        reading: Any = spending.charged
        charged.append(reading)
        read.append(float(odometer.record(events.Pure(STEP)).epsilon))
    most = max(float(reading.delta) for reading in charged)
    assert stopped_best([float(reading.epsilon) for reading in charged]) > times * most
    assert stopped_best([float(budget.epsilon)] * len(charged)) <= float(budget.delta)
    assert stopped_best(read) <= float(budget.delta)
