"""What can be read from a ledger: where a budget stands, what a question would cost, what a household has lost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadParameter, NotATheorem
from discreet.exact import integer, log_up, sqrt_up
from discreet.ledger.state import Population, State
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.budgets.filters import Amounts, Rule, rest
from discreet.privacy.promises.measures import ZCDP, Approx, Measure
from discreet.privacy.promises.record import short_up


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a budget stands: the population's, or an analyst's share of it."""

    population: str
    analyst: str | None
    budget: Measure
    """The promise to the population, or the analyst's own cap."""
    spent: Measure
    remaining: Measure
    """What one further question may cost, in the currency in which the budget is counted."""
    share: Fraction
    """Which part of the budget was spent; of an analyst's, by themselves. Of several numbers, the largest part."""
    gone: Fraction
    """Which part of it can be spent no more, by whomever it was spent."""


@dataclass(frozen=True, slots=True)
class Quote:
    """What a question would cost now. Free, and nothing is spent."""

    price: Measure
    fits: bool
    left: Measure
    """What is left before it."""
    left_after: Measure | None
    """What would be left after it, None if it does not fit."""


@dataclass(frozen=True, slots=True)
class Household:
    """What a group of ``people`` units has lost, and what it was promised at most; None where no theorem says anything.

    ``spent`` restates for the group what was spent so far. ``promised`` restates the budget: it holds however the
    questions were chosen, also those still to come.
    """

    people: int
    spent: Measure | None
    promised: Measure | None


def standing(state: State, population: Population, analyst: str | None = None) -> Standing:
    """Where the budget of a population stands, or an analyst's share."""
    money, used = population.currency, state.used(population.name, analyst)
    left = remaining(state, population, analyst)
    cap = state.analysts[analyst].caps.get(population.name) if analyst is not None else None
    most = state.limit(population.name, analyst) or population.limits
    parts = [(u / m, 1 - r / m) for u, r, m in zip(used, left, most, strict=True) if m]
    return Standing(
        population=population.name,
        analyst=analyst,
        budget=population.budget if cap is None else cap,
        spent=money.shown(used),
        remaining=(money.shown_left or money.shown)(left),
        share=max((spent for spent, _ in parts), default=Fraction(0)),
        gone=max((gone for _, gone in parts), default=Fraction(1)),
    )


def remaining(state: State, population: Population, analyst: str | None) -> Amounts:
    """What is left to be spent: of the population's budget and, for an analyst, of their own cap too."""
    left = rest(population.limits, state.used(population.name))
    cap = state.limit(population.name, analyst) if analyst is not None else None
    if cap is None:
        return left
    own = rest(cap, state.used(population.name, analyst))
    return tuple(min(pair) for pair in zip(left, own, strict=True))


def quote(state: State, population: Population, analyst: str, price: Amounts) -> Quote:
    """What a price would do to the budgets that it is charged to."""
    money, left = population.currency, remaining(state, population, analyst)
    shown_left = money.shown_left or money.shown
    fits = all(p <= r for p, r in zip(price, left, strict=True))
    after = tuple(r - p for p, r in zip(price, left, strict=True)) if fits else None
    return Quote(money.shown(price), fits, shown_left(left), None if after is None else shown_left(after))


def household(state: State, population: Population, people: int) -> Household:
    """What a group of this many units has lost so far, and at most."""
    people = integer(people, "people", at_least=1)
    used = state.used(population.name)
    return Household(people, _group(population, used, people), _group(population, population.limits, people))


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
