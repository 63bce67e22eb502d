"""What can be read from a ledger: where a budget stands, what a question would cost, what a household is promised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import BadParameter, NotATheorem
from discreet.exact import integer, log_up, sqrt_up
from discreet.ledger.state import Population, State
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.budgets.currency import BEYOND, Amounts, Limits, add, fits
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import ZCDP, Approx, Measure
from discreet.privacy.promises.record import short_up


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a budget stands: the population's, or an analyst's share of it."""

    population: str
    analyst: str | None
    budget: Measure
    """The promise to the population, or the analyst's own cap."""
    charged: Measure
    """The sum of what was charged: a budget that would have covered it. What is promised is ``budget``."""
    remaining: Measure
    """What one further question may cost, in the currency in which the budget is counted."""
    share: Fraction
    """Which part of the budget was spent; of an analyst's, by themselves. Of several numbers, the largest part; of
    several accounts, the one of which least was spent."""
    gone: Fraction
    """Which part of it can be spent no more, by whomever it was spent."""
    accounts: tuple[Measure, ...] = ()
    """What is left of each sum that is counted: where either of two may admit a question, of both."""


@dataclass(frozen=True, slots=True)
class Quote:
    """What a question would cost now. Free, and nothing is spent."""

    price: Measure
    fits: bool
    left: Measure
    """What is left before it."""
    left_after: Measure | None
    """What would be left after it, None if it does not fit."""
    times: int = 0
    """How often it fits, if nothing else is charged meanwhile."""


@dataclass(frozen=True, slots=True)
class Household:
    """What a group of ``people`` units is promised, and what was charged; None where no theorem says anything.

    ``promised`` restates the budget for the group: it holds however the questions were chosen, also those still to
    come. ``charged`` restates the sum of all charges: a group's share of the books, no promise about them.
    """

    people: int
    charged: Measure | None
    promised: Measure | None


def standing(state: State, population: Population, analyst: str | None = None) -> Standing:
    """Where the budget of a population stands, or an analyst's share."""
    money, used = population.currency, state.used(population.name, analyst)
    left = remaining(state, population, analyst)
    cap = state.analysts[analyst].caps.get(population.name) if analyst is not None else None
    limits = state.limit(population.name, analyst) or population.limits
    gone = tuple(m - r for m, r in zip(limits.most, left, strict=True))
    return Standing(
        population=population.name,
        analyst=analyst,
        budget=population.budget if cap is None else cap,
        charged=replace(money, limits=limits).charged(used),
        remaining=money.show_left(left),
        accounts=money.left_by_account(left),
        share=_part(limits, used, Fraction(0)),
        gone=_part(limits, gone, Fraction(1)),
    )


def _part(limits: Limits, amounts: Amounts, empty: Fraction) -> Fraction:
    """Which part of the limits these are: the largest of an account, of the account of which it is least."""
    part = min(
        max((max(a, Fraction(0)) / m for a, m in zip(amounts[own], limits.most[own], strict=True) if m), default=empty)
        for own in limits.accounts
    )
    within = limits.alone and fits(limits.alone, limits.nothing[: limits.together], amounts[: limits.together])
    return min(part, Fraction(1)) if within else part


def remaining(state: State, population: Population, analyst: str | None) -> Amounts:
    """What is left to be spent: of the population's budget and, for an analyst, of their own cap too."""
    return least([limits.rest(used) for limits, used in _held(state, population, analyst)])


def least(rests: list[Amounts]) -> Amounts:
    """What all of these leave."""
    return tuple(map(min, zip(*rests, strict=True)))


def _held(state: State, population: Population, analyst: str | None) -> list[tuple[Limits, Amounts]]:
    """What a charge must fit: the population's limits and, for an analyst with a cap, their own."""
    held = [(population.limits, state.used(population.name))]
    cap = state.limit(population.name, analyst) if analyst is not None else None
    return held if cap is None else [*held, (cap, state.used(population.name, analyst))]


def quote(state: State, population: Population, analyst: str, price: Amounts) -> Quote:
    """What a price would do to the budgets that it is charged to."""
    money, held = population.currency, _held(state, population, analyst)
    fits = all(limits.fits(used, price) for limits, used in held)
    left = money.show_left(remaining(state, population, analyst))
    after = least([limits.rest(add(used, price)) for limits, used in held]) if fits else None
    times = min(limits.times(used, price) for limits, used in held)
    return Quote(money.shown(price), fits, left, None if after is None else money.show_left(after), times)


def household(state: State, population: Population, people: int) -> Household:
    """What was charged so far and what is promised at most, for a group of this many units."""
    people = integer(people, "people", at_least=1)
    used, most = state.used(population.name), population.limits.most
    if isinstance(population.budget, Approx) and population.rule is Rule.EITHER:
        return Household(people, _either(population.budget, used, people), _approx(population.budget, people))
    return Household(people, _group(population, used, people), _group(population, most, people))


def _either(budget: Approx, used: Amounts, people: int) -> Measure | None:
    """What was charged, for a group, by the account that gives it the smaller ε: both have added up every charge."""
    by_epsilon = _approx(Approx(used[0], used[1]), people) if used[0] < BEYOND and used[1] < 1 else None
    if used[2] < BEYOND and not used[3]:
        by_rho = zcdp_to_approx(ZCDP(used[2]).group(people), delta=budget.delta)
        by_epsilon = by_rho if by_epsilon is None else min(by_epsilon, by_rho, key=lambda either: either.epsilon)
    return by_epsilon


def _approx(promise: Approx, people: int) -> Approx | None:
    try:
        return promise.group(people)
    except (NotATheorem, BadParameter):
        return None


def _group(population: Population, amounts: Amounts, people: int) -> Measure | None:
    """Amounts, as a promise to a group: by the group theorem of the currency, else by that of (ε, δ)."""
    budget, shown = population.budget, population.currency.shown(amounts)
    try:
        if isinstance(budget, Approx) and isinstance(shown, ZCDP):
            if not shown.delta:
                return zcdp_to_approx(shown.group(people), delta=budget.delta)
            return zcdp_to_approx(shown, delta=budget.delta).group(people)
        if isinstance(budget, Approx) and population.rule is Rule.ADVANCED:
            return _advanced(amounts, (1 - population.reserve) * budget.delta).group(people)
        return shown.group(people)
    except (NotATheorem, BadParameter):
        return None


def _advanced(amounts: Amounts, slack: Fraction) -> Approx:
    """The (ε, δ) of a sum of squares: √(2 log(1/slack) S) + S/2, as in the filter."""
    squares, deltas = amounts
    return Approx(short_up(sqrt_up(2 * log_up(1 / slack) * squares) + squares / 2), short_up(deltas + slack))
