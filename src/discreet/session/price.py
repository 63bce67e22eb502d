"""What a question may cost: the request of a caller, how it is read from a budget, and the least price for an error.

Promise: a price is worked out from public metadata alone; nothing is spent and no data is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

from discreet.answer import CONFIDENCE, confidence_level
from discreet.errors import BadParameter
from discreet.exact import Number, number, positive
from discreet.messages import message
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.conversions import largest_zcdp, zcdp_to_approx
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.budgets.either import slack_of
from discreet.privacy.budgets.filters import Rule, as_event
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.record import short_up
from discreet.query.answer.preview import preview
from discreet.query.choose.open_parts import open_parts
from discreet.query.choose.shares import as_event as share_event
from discreet.query.estimate.noise_plan import Allowance, check_allowance
from discreet.query.estimate.prepare import Prepared
from discreet.query.run import Quote, quote

RESERVE = Fraction(1, 2)
FIRST = Fraction(1, 5)
"""Of the price of a question: what a value costs that it needs first."""
FIRST_TOGETHER = Fraction(1, 2)
"""What all such values may cost."""


Target = Number | Mapping[str, Number]
"""The error of all columns of a question, or of some by name."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a question may cost: epsilon or rho, perhaps with delta; or the error that its answer must keep.

    ``confidence`` is that of the error bars. Numbers are checked when the price is used.

    >>> Price("0.1").texts()
    {'epsilon': '1/10', 'confidence': '19/20'}
    """

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    error: Target | Sequence[Target] | None = None
    """Of a plan, one for each question."""
    confidence: Number = CONFIDENCE

    def times(self, share: Fraction) -> Price:
        """This share of the price.

        >>> Price("0.1", delta="1e-6").times(Fraction(1, 2)).texts()
        {'epsilon': '1/20', 'delta': '1/2000000', 'confidence': '19/20'}
        """

        def part(value: Number | None, name: str) -> Number | None:
            return None if value is None else share * number(value, name)

        return replace(
            self, epsilon=part(self.epsilon, "epsilon"), delta=part(self.delta, "delta"), rho=part(self.rho, "rho")
        )

    def texts(self) -> dict[str, Any]:
        """All that was given as exact text, in canonical form: what is sent to a curator and kept in a ledger."""
        given = (("epsilon", self.epsilon), ("delta", self.delta), ("rho", self.rho), ("confidence", self.confidence))
        texts: dict[str, Any] = {name: str(number(value, name)) for name, value in given if value is not None}
        if self.error is not None:
            texts["error"] = _error_text(self.error)
        return texts


def _error_text(error: Target | Sequence[Target]) -> Any:
    if isinstance(error, Mapping):
        return {name: str(number(value, "error")) for name, value in error.items()}
    return [_error_text(target) for target in error] if isinstance(error, list | tuple) else str(number(error, "error"))  # type: ignore[arg-type]


def checked_targets(targets: Any, questions: int) -> tuple[Target, ...]:
    """An error for each of so many questions, as it was given."""
    if isinstance(targets, str | Mapping) or not isinstance(targets, Sequence) or len(targets) != questions:
        raise BadParameter("error", targets, f"must be a list of {questions} errors, one for each query")
    return tuple(targets)


def composed(prices: Sequence[Event | Measure]) -> Event | Measure:
    """One payment for all of these; of one, it is that price itself."""
    return prices[0] if len(prices) == 1 else events.Composed([as_event(price) for price in prices])


def shares(price: Price, many: int) -> tuple[Price, Price]:
    """What each value costs, and what is left for the answer."""
    if price.error is not None:
        raise BadParameter("error", price.error, "must be left out: a value is released first, for a part of the cost")
    each = min(FIRST, FIRST_TOGETHER / many)
    return price.times(each), price.times(1 - many * each)


class Account(Enum):
    """Under Rule.EITHER, the account that is to admit a question."""

    SUM = "epsilons and deltas add up"
    RHO = "rhos add up"


Fits = Callable[[Event | Measure], bool]
"""Whether a price could be paid now."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a question's price is read: from the session's budget and rule."""

    budget: Pure | Approx | ZCDP
    rule: Rule | None
    neighbours: Neighbours

    def quote(
        self, questions: Sequence[Prepared], price: Price, fits: Fits = lambda _: True, *, rows: int | None = None
    ) -> Quote:
        """Noise and price of these questions together, or the least price that keeps an error of one question, in
        groups where so many ``rows`` count.

        Under Rule.EITHER an epsilon is first read as a part of the sum: the best noise for it. If that does not fit any
        more, it is read as what a ρ stands for, with Gaussian noise: many of those fit.
        """
        confidence_level(price.confidence)  # an answer that was paid may not fail for its error bars
        return self._admitted(price, fits, lambda account: (self._quote(questions, price, account, rows),))[0]

    def quotes(self, steps: Sequence[tuple[Sequence[Prepared], Price]], fits: Fits = lambda _: True) -> list[Quote]:
        """The same for the steps of a program, each for its price.

        The last is charged all that its price allows: its queries are known only when earlier steps were released.
        """
        for _, price in steps:
            confidence_level(price.confidence)
        *first, (last, left) = steps

        def made(account: Account) -> Sequence[Quote]:
            before = [self._quote(questions, price, account) for questions, price in first]
            return *before, self._reserved(self._quote(last, left, account), left)

        return list(self._admitted(left, fits, made))

    def _admitted(self, price: Price, fits: Fits, made: Callable[[Account], Sequence[Quote]]) -> Sequence[Quote]:
        """The quotes in the account that admits them together; the first one, if none does."""
        if self.rule is not Rule.EITHER or price.rho is not None:
            return made(Account.RHO if price.rho is not None else Account.SUM)
        first = made(Account.SUM)
        if fits(composed([quote.plan.price for quote in first])):
            return first
        second = made(Account.RHO)
        return second if fits(composed([quote.plan.price for quote in second])) else first

    def _reserved(self, quote: Quote, price: Price) -> Quote:
        """The quote of queries like these, charged all that is allowed; without δ, if these need none."""
        match quote.allowance:
            case ZCDP(rho=rho) if not price_zcdp(quote.plan.event).delta:
                allowed: Allowance = ZCDP(rho, 0)
            case Approx(epsilon=epsilon) if not price_basic(quote.plan.price).delta:
                allowed = Pure(epsilon)
            case allowed:
                pass
        event = share_event(allowed)
        reserved = replace(quote, allowance=allowed, plan=replace(quote.plan, event=event, price=event))
        return self._stated(reserved, price) if self.rule is Rule.EITHER and isinstance(allowed, ZCDP) else reserved

    def _quote(self, questions: Sequence[Prepared], price: Price, account: Account, rows: int | None = None) -> Quote:
        if price.error is None:
            made = quote(questions, self.allowance(price, account), self.neighbours)
            return self._stated(made, price) if self.rule is Rule.EITHER and account is Account.RHO else made
        if price.epsilon is not None or price.rho is not None:
            raise BadParameter(
                "error", price.error, "must not be given together with a privacy cost: one follows from the other"
            )
        if len(questions) != 1:
            raise BadParameter(
                "error",
                price.error,
                "must be left out where several things are released together",
                message("epsilon_or_declare"),
            )
        check_closed(questions, price.error)
        return self._cheapest(questions[0], price, account, rows)

    def allowance(self, price: Price, account: Account = Account.SUM) -> Allowance:
        """What one question may cost; under Rule.EITHER, for this account to admit it.

        Of an (ε, δ) budget, a question that takes a share of ε takes the same share of δ unless it names another.
        """
        epsilon, delta, rho = price.epsilon, price.delta, price.rho
        match self.budget:
            case Pure():
                _absent(rho, "rho", "a budget in epsilon")
                _absent(delta, "delta", "a pure budget")
                return check_allowance(Pure(_wanted(epsilon, "epsilon")))
            case ZCDP(delta=whole):
                _absent(epsilon, "epsilon", "a budget in rho")
                own = whole / 16 if delta is None else number(delta, "delta")
                return check_allowance(ZCDP(_wanted(rho, "rho"), own))
            case Approx(delta=whole) if self.rule is Rule.ZCDP or account is Account.RHO:
                _absent(rho if self.rule is Rule.BASIC else None, "rho", "a budget whose epsilons add up")
                own = self._slack * RESERVE / 16 / (1 - RESERVE) if delta is None else number(delta, "delta")
                if rho is not None:
                    _absent(epsilon, "epsilon", "a cost in rho")
                    return check_allowance(ZCDP(positive(rho, "rho"), own))
                return check_allowance(ZCDP(largest_zcdp(Approx(_wanted(epsilon, "epsilon"), self._slack)).rho, own))
            case Approx(epsilon=most, delta=whole):
                _absent(rho, "rho", "a budget in epsilon and delta, and this is charged in epsilon")
                e = _wanted(epsilon, "epsilon")
                share = min(e / most, Fraction(1)) if most else Fraction(0)
                several = self.rule is Rule.EITHER and e < most  # else it is the first question, and the last
                all_of_it = whole * RESERVE if several else whole
                return check_allowance(Approx(e, all_of_it * share if delta is None else number(delta, "delta")))

    @property
    def _slack(self) -> Fraction:
        """The part of δ that pays for turning ρ into ε, where ρ's add up."""
        assert isinstance(self.budget, Approx)  # noqa: S101
        return slack_of(self.budget.delta, RESERVE) if self.rule is Rule.EITHER else (1 - RESERVE) * self.budget.delta

    def _stated(self, made: Quote, price: Price) -> Quote:
        """The quote with a price that names the (ε, δ) of its Gaussian noise too: as wanted, or as its ρ implies."""
        assert isinstance(self.budget, Approx)  # noqa: S101
        event = made.plan.event
        cost = price_zcdp(event)
        if price.rho is None:
            e, d = _wanted(price.epsilon, "epsilon"), self._slack
        else:
            all_of_it = largest_zcdp(Approx(self.budget.epsilon, self._slack)).rho
            d = rounded(self.budget.delta * RESERVE * min(cost.rho / all_of_it, Fraction(1)))
            e = rounded(zcdp_to_approx(ZCDP(cost.rho), delta=d).epsilon)
        stated = events.Stated(event, e, short_up(d + cost.delta))
        return replace(made, plan=replace(made.plan, price=stated))

    def stream(self, price: Price) -> tuple[Pure | ZCDP, Pure | ZCDP | Approx]:
        """What all releases of a stream together may cost, and what is charged for it, once."""
        if price.error is not None:
            raise BadParameter("error", price.error, "must be left out: a dashboard has one cost for all of its days")
        match self.allowance(price):
            case Approx(epsilon=epsilon, delta=delta) as allowed if delta:
                return ZCDP(largest_zcdp(Approx(epsilon, delta)).rho), allowed
            case Pure(epsilon=epsilon) | Approx(epsilon=epsilon):
                return Pure(epsilon), Pure(epsilon)
            case ZCDP(rho=rho):
                return ZCDP(rho), ZCDP(rho)

    def _cheapest(self, question: Prepared, price: Price, account: Account, rows: int | None) -> Quote:
        """The least price, to one part in a thousand or so, for which every column named keeps its error."""
        part = question.parts[0]
        wanted = wanted_errors(question, price.error)
        level = confidence_level(price.confidence)
        unpriced = replace(price, error=None)

        def at(amount: Fraction) -> Quote:
            in_rho = isinstance(self.budget, ZCDP)
            price_there = replace(unpriced, rho=amount) if in_rho else replace(unpriced, epsilon=amount)
            return self._quote((question,), price_there, account)

        def good(amount: Fraction) -> bool:
            shown = preview(at(amount), part, remaining="", affordable=True, rows=rows, confidence=level, at_most=True)
            return all(shown.error(name) <= e for name, e in wanted.items())

        return at(rounded(least(good)))


def _absent(value: Number | None, name: str, why: str) -> None:
    if value is not None:
        raise BadParameter(name, value, f"must be left out: this session has {why}")


def _wanted(value: Number | None, name: str) -> Fraction:
    if value is None:
        raise BadParameter(name, None, f"must say what the answer may cost, such as {name}=0.1; or give error=...")
    return positive(value, name)


def check_closed(questions: Sequence[Prepared], error: object) -> None:
    """Refuses an error of a query with something open: its noise is known only when the choice is made."""
    if open_parts(tuple(questions)):
        raise BadParameter(
            "error", error, "must be left out where a contribution bound or value bounds are open",
            message("epsilon_or_declare"),
        )  # fmt: skip


def wanted_errors(question: Prepared, error: Any) -> dict[str, Fraction]:
    """The error that each column must keep."""
    part = question.parts[0]
    wanted = (
        {name: positive(e, "error") for name, e in error.items()}
        if isinstance(error, Mapping)
        else dict.fromkeys(part.names, positive(error, "error"))
    )
    for name in wanted:
        if name not in part.names:
            raise BadParameter("error", name, f"must name columns of the answer: {', '.join(part.names)}")
        if part.recipes[part.names.index(name)].depends_on_values:
            raise BadParameter(
                "error",
                name,
                "must not be of this column: how far off it is depends on how the values lie, so no price is sure to "
                "give it; say epsilon=... (preview shows what is likely), or error={...} of other columns",
            )
    return wanted


def rounded(price: Fraction) -> Fraction:
    """The next price above with four digits: more of it is never worse, and people can read it."""
    context = Context(prec=4, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(price.numerator), Decimal(price.denominator)))


def least(good: Callable[[Fraction], bool]) -> Fraction:
    """A price that is good, at most about 1/1024 above the least: first by doubling, then by halving the gap."""
    high = Fraction(1, 1 << 10)
    while not good(high):
        high *= 2
        if high > 1 << 20:
            raise BadParameter("error", "this small", "must be larger: no privacy cost gives it")
    low = high / 2 if high > Fraction(1, 1 << 10) else Fraction(0)
    for _ in range(10):
        middle = (low + high) / 2
        if good(middle):
            high = middle
        else:
            low = middle
    return high
