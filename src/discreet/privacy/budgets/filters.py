"""A filter: a budget that may be spent as one goes, on questions and prices chosen after seeing earlier answers.

Promise: whatever is asked, all answers together keep the budget. What does not fit is refused before anything happens,
and the refusal changes nothing. Sums are exact. Any number of threads may spend. A filter can be neither copied, nor
stored, nor used after a fork: its budget is there once. All charges are stated for one relation between neighbours, and
at most one of them is a release from biased bits.
Believes: these theorems, each for parameters chosen adaptively:
  pure             Σε_i <= ε                            Rogers, Roth, Ullman and Vadhan 2016
  BASIC            Σε_i <= ε and Σδ_i <= δ              the same
  ADVANCED         √(2 log(1/δ') S) + S/2 <= ε with S = Σε_i², Σδ_i <= δ'', δ' + δ'' = δ
                                                        Whitehouse, Ramdas, Rogers and Wu 2023
  zCDP             Σρ_i <= ρ and Σδ_i <= δ              the same; Feldman and Zrnic 2021 for δ = 0
  EITHER           BASIC with a part of δ, or zCDP with the rest, whichever still admits    either_filter.md
  Rényi            Σε_i(α) <= ε(α) at every order α of the budget, all fixed in advance     Feldman and Zrnic 2021
  GDP              Σμ_i² <= μ²                          Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023
Interleaving open interactive mechanisms with anything else: Haney, Shoemate, Tian, Vadhan, Vyrros, Xu and Zhang 2023
extend every such filter for (ε, δ), f-DP or Rényi of a fixed order (and so zCDP with δ = 0, order by order). For
approximate zCDP no theorem is known: there one mechanism must be closed before the next question.
"""

from __future__ import annotations

import os
import threading
from enum import Enum
from fractions import Fraction
from typing import NoReturn

from discreet.errors import BadParameter, NoPrice, NotATheorem, OverBudget
from discreet.exact import Number, log_up, probability, sqrt_down, sqrt_up
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.accountants.gdp import price_gdp
from discreet.privacy.accountants.renyi import price_renyi
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.budgets.currency import Amounts, Currency, Limits, add
from discreet.privacy.budgets.either import either_currency
from discreet.privacy.budgets.together import Together
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Promise, Pure, Renyi
from discreet.privacy.promises.neighbours import RelationName
from discreet.privacy.promises.receipt import Receipt
from discreet.privacy.promises.record import short_down, show

__all__ = ["Amounts", "Currency", "Filter", "Open", "Rule", "currency_of", "default_rule"]


class Rule(Enum):
    """Which theorem guards an (ε, δ) budget."""

    BASIC = "epsilons and deltas add up"
    ADVANCED = "squares of epsilons add up"
    ZCDP = "rhos add up"
    EITHER = "epsilons add up, or rhos do: a charge is admitted while either sum is within its limits"
    PLD = "privacy loss distributions"
    OPTIMAL = "optimal composition"


def default_rule(budget: Measure) -> Rule | None:
    """The rule of a budget that names none: EITHER for (ε, δ), BASIC where δ is 0; other budgets have one rule."""
    if not isinstance(budget, Approx):
        return None
    return Rule.EITHER if budget.delta else Rule.BASIC


class Filter:
    """A budget for fully adaptive use.

    Guarantee: all that was charged, together, keeps ``budget``, however it was chosen.

    >>> spending = Filter(Pure(1))
    >>> for _ in range(10):
    ...     receipt = spending.spend(events.Laplace(scale=10))
    >>> spending.remaining, receipt.number
    (Pure(epsilon=0), 10)
    >>> spending.spend(events.Pure("0.001"))
    Traceback (most recent call last):
        ...
    discreet.errors.OverBudget: asked for epsilon 0.001, and epsilon 0 is left; only its owner can raise the budget
    """

    def __init__(
        self,
        budget: Measure,
        rule: Rule | None = None,
        *,
        reserve: Number = "1/2",
        neighbours: RelationName | None = None,
    ) -> None:
        """Open a budget. An (ε, δ) budget is counted by Rule.EITHER unless ``rule`` names another.

        ``reserve`` is the share of δ set aside, now and for good, for the δ's of the events themselves (ADVANCED
        and ZCDP) or for the sum of δ's (EITHER); the rest pays for the rule. ``neighbours`` says for whom the budget
        is meant; unless it is given, the first charge that is stated for some neighbours decides.
        """
        self._budget = budget
        self._currency = currency_of(budget, rule or default_rule(budget), reserve=reserve)
        self._used: Amounts = self._currency.limits.nothing
        self._together = Together(neighbours)
        self._charges = 0
        self._open = 0
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def budget(self) -> Measure:
        """The promise that all charges together keep."""
        return self._budget

    @property
    def charged(self) -> Measure:
        """The sum of what was charged so far, in the currency of the rule: a budget that would have covered it.

        It is no promise about the answers so far. A filter promises its ``budget``, whatever happens. Who stops when
        the answers say so, and reads this sum then, has lost more with more than its δ (a test attains 1.5 times it).
        A sum of pure ε's alone holds at any time. For a reading that always does, see ``Odometer``.
        """
        return self._currency.charged(self._used)

    @property
    def remaining(self) -> Measure:
        """What one further charge may cost, in the currency of the rule."""
        return self._currency.left(self._used)

    @property
    def remaining_by_account(self) -> tuple[Measure, ...]:
        """The same for each sum that the rule keeps: under EITHER, what is left of (ε, δ) and what is left of ρ.

        >>> Filter(Approx(1, "1e-6")).remaining_by_account
        (Approx(epsilon=1, delta='1/1000000'), ZCDP(rho='...', delta='1/4000000'))
        """
        return self._currency.left_by_account(self._currency.limits.rest(self._used))

    @property
    def neighbours(self) -> RelationName | None:
        """The relation that all charges are stated for, as far as they name one; None while nothing has named one."""
        return self._together.neighbours

    def hold_for(self, neighbours: RelationName) -> None:
        """From now on the budget is for these neighbours; refused if it is for others already.

        >>> from discreet.privacy.promises.neighbours import Neighbours
        >>> Filter(Pure(1), neighbours=Neighbours.ADD_REMOVE).hold_for(Neighbours.CHANGE_ONE)
        Traceback (most recent call last):
            ...
        discreet.errors.NotATheorem: this price is stated for the neighbours ...
        """
        with self._lock:
            self._together = self._together.held_for(neighbours)

    def fits(self, what: Event | Measure) -> bool:
        """Whether this could be paid now. Spends nothing."""
        amounts = self._currency.amounts(what)
        self._together.plus(what)
        if self._open and self._currency.interleaved is not None:
            amounts = self._currency.interleaved(amounts)
        return self._currency.limits.fits(self._used, amounts)

    def times(self, what: Event | Measure) -> int:
        """How often this could be paid from now on. Spends nothing.

        >>> Filter(Pure(1)).times(Pure("0.3"))
        3
        """
        return self._currency.limits.times(self._used, self._currency.amounts(what)) if self.fits(what) else 0

    def after(self, what: Event | Measure) -> Measure:
        """What would be left after this payment. Spends nothing."""
        return self._currency.left(add(self._used, self._currency.amounts(what)))

    def spend(self, what: Event | Measure) -> Receipt:
        """Pay for an event, or for anything that keeps this promise, or raise OverBudget and change nothing.

        The receipt is good for one release of that event.
        """
        return self._pay(what, opens=False)

    def open(self, what: Event | Measure) -> Open:
        """Pay for an interactive mechanism and keep it open; close it when its last answer is out.

        >>> spending = Filter(Pure(1))
        >>> with spending.open(events.AboveThreshold("0.5")):
        ...     charge = spending.spend(events.Pure("0.5"))  # interleaved: a theorem for pure promises
        """
        return Open(self._pay(what, opens=True), self)

    def _pay(self, what: Event | Measure, *, opens: bool) -> Receipt:
        if os.getpid() != self._process:
            raise NotATheorem("a budget belongs to the process that opened it; a fork may have doubled it")
        amounts = self._currency.amounts(what)  # may refuse; nothing has happened yet
        alone = self._currency.concurrent or self._currency.interleaved is not None
        if not (opens or alone) and is_interactive(what):
            raise NotATheorem(
                "an interactive mechanism stays open, and no theorem lets approximate zCDP interleave: "
                "pay with open(...), and close it before the next query"
            )
        price = self._currency.shown(amounts)
        with self._lock:
            if self._open and not alone:
                raise NotATheorem(
                    "an interactive mechanism is still open, and no theorem lets approximate zCDP interleave; close it"
                )
            together = self._together.plus(what)
            if self._currency.interleaved is not None and (self._open or (is_interactive(what) and not opens)):
                amounts = self._currency.interleaved(amounts)
            if not self._currency.limits.fits(self._used, amounts):
                raise OverBudget(asked=price, left=self._currency.left(self._used))
            self._used = add(self._used, amounts)
            self._together = together
            self._charges += 1
            self._open += opens
            return Receipt(what, number=self._charges, price=price, left=self._currency.left(self._used))

    def __repr__(self) -> str:
        return f"Filter(budget={self._budget!r}, remaining={self.remaining!r})"

    def _close(self, held: Open) -> None:
        with self._lock:
            held.receipt.end()  # first: what cannot be told to end stays open
            self._open -= held._is_open
            held._is_open = False

    def _wait(self, held: Open) -> None:
        with self._lock:
            if held.receipt.used:
                raise NotATheorem("this mechanism has begun to answer, so nothing can come before it; close it")
            self._open -= held._is_open
            held._is_open = False

    def _go_on(self, held: Open) -> None:
        with self._lock:
            if held.receipt.ended:
                raise NotATheorem("this mechanism was closed; pay for another one")
            if not held._is_open and self._open and not self._currency.concurrent:
                raise NotATheorem("an interactive mechanism was opened meanwhile; close it first")
            self._open += not held._is_open
            held._is_open = True

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("a budget can be neither copied nor stored: each copy could be spent")


class Open:
    """An interactive mechanism that was paid for and may still answer. Closing it gives nothing back."""

    __slots__ = ("_filter", "_is_open", "receipt")

    def __init__(self, receipt: Receipt, spending: Filter) -> None:
        self.receipt = receipt
        self._filter = spending
        self._is_open = True

    def close(self) -> None:
        """No more answers from it. Closing twice is the same as once."""
        self._filter._close(self)

    def wait(self) -> None:
        """Let other questions come first: nothing was drawn for it yet, as its receipt says, and it stays paid."""
        self._filter._wait(self)

    def go_on(self) -> None:
        """The same as opening it now, without another payment: sums do not depend on the order of charges."""
        self._filter._go_on(self)

    def __reduce__(self) -> NoReturn:
        raise NotATheorem("an open mechanism can be neither copied nor stored: a copy could be closed in its place")

    def __enter__(self) -> Open:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_interactive(what: Event | Measure) -> bool:
    """Whether this may still answer after later questions were asked."""
    match what:
        case events.AboveThreshold() | events.Interactive():
            return True
        case events.Repeat(event=inner) | events.Subsampled(event=inner) | events.Stated(event=inner):
            return is_interactive(inner)
        case events.Composed(events=parts) | events.Parallel(events=parts):
            return any(map(is_interactive, parts))
        case _:
            return False


# --- currencies ---------------------------------------------------------------------------------------------------


def currency_of(budget: Measure, rule: Rule | None = None, *, reserve: Number = "1/2") -> Currency:
    """How a budget is counted; ``rule`` and ``reserve`` are for an (ε, δ) budget, as in ``Filter``.

    Without a rule ε's and δ's add up: what a budget is opened with unless a rule is given, ``default_rule`` says.
    """
    given: object = budget
    if not isinstance(given, Promise):
        raise BadParameter("budget", given, "must be a promise, such as Approx(1, 1e-6)")
    share = probability(reserve, "reserve")
    if rule in (Rule.PLD, Rule.OPTIMAL):
        raise NotATheorem(
            f"{rule.value} compose what was declared in advance; here the next price may depend on earlier answers, "
            "and no theorem covers that: declare the workload and use compose, or choose another rule"
        )
    if rule is not None and not isinstance(budget, Approx):
        raise BadParameter("rule", rule.name, "must be left out: only an (epsilon, delta) budget has a choice of rules")
    match budget:
        case Pure(epsilon=e):
            return Currency("epsilon", Limits((e,)), _pure_amounts, lambda a: Pure(a[0]), concurrent=True)
        case ZCDP(rho=r, delta=d):
            return _zcdp_currency((r, d))
        case Renyi(bounds=bounds, orders=orders):
            return Currency(
                f"epsilon at orders {', '.join(map(str, orders))}",
                Limits(tuple(epsilon for _, epsilon in bounds)),
                lambda what: _renyi_amounts(what, orders),
                lambda a: Renyi(dict(zip(orders, a, strict=True))),
                concurrent=True,
            )
        case GDP(mu_squared=m):
            return Currency(
                "mu squared",
                Limits((m,)),
                lambda what: (price_gdp(as_event(what)).mu_squared,),
                lambda a: GDP(mu_squared=a[0]),
                concurrent=True,
            )
        case Approx(epsilon=e, delta=d) if rule in (None, Rule.BASIC):
            most = Limits((e, d))
            return Currency("epsilon, delta", most, _basic_amounts, lambda a: Approx(a[0], a[1]), concurrent=True)
        case Approx(epsilon=e, delta=d):
            slack = (1 - share) * d
            if rule is Rule.EITHER and slack:
                within = currency_of(Approx(e, slack), Rule.ZCDP, reserve=reserve)
                return either_currency(budget, share, _basic_amounts, within, is_interactive)
            if not slack:
                raise BadParameter("reserve", reserve, "must leave some delta for the rule itself")
            if rule is Rule.ZCDP:
                # (1 - aside) slack' + aside <= δ: the slack is a lower bound of what the conversion may use
                return _zcdp_currency((largest_zcdp(Approx(e, slack)).rho, share * d))
            return Currency(
                "squared epsilon, delta",
                Limits((_squares(e, slack), share * d)),
                _squared_amounts,
                lambda a: Approx(sqrt_up(a[0]), a[1]),  # the single (ε, δ) that these sums stand for
                concurrent=True,
                shown_left=lambda a: Approx(sqrt_down(a[0]), a[1]),
            )


def _zcdp_currency(limits: Amounts) -> Currency:
    def amounts(what: Event | Measure) -> Amounts:
        price = price_zcdp(as_event(what))
        return price.rho, price.delta

    return Currency("rho, delta", Limits(limits), amounts, lambda a: ZCDP(a[0], a[1]), concurrent=not limits[1])


def _squares(epsilon: Fraction, slack: Fraction) -> Fraction:
    """The largest S with √(2 log(1/slack) S) + S/2 <= ε: s = √(l + 2ε) - √l with l = 2 log(1/slack), rounded down."""
    twice = 2 * log_up(1 / slack)
    return short_down(max(Fraction(0), sqrt_down(twice + 2 * epsilon) - sqrt_up(twice)) ** 2)


def _pure_amounts(what: Event | Measure) -> Amounts:
    try:
        price = price_basic(as_event(what))
    except NoPrice:
        raise NoPrice(
            "a pure budget pays for pure events only, and Gaussian noise is never pure; use Laplace"
        ) from None
    if price.delta:
        raise NoPrice(f"a pure budget pays for pure events only, not for delta {show(price.delta)}")
    return (price.epsilon,)


def _basic_amounts(what: Event | Measure) -> Amounts:
    try:
        price = price_basic(as_event(what))
    except NoPrice as refusal:
        raise NoPrice(
            f"{refusal}; say what it was calibrated to, with events.Stated(event, epsilon, delta), open the budget "
            "with rule=Rule.ZCDP, which pays for Gaussian noise, or ask for Laplace noise"
        ) from None
    return price.epsilon, price.delta


def _squared_amounts(what: Event | Measure) -> Amounts:
    """The sums of squares and of δ's: parts that run one after the other count one by one."""
    match as_event(what):
        case events.Repeat(event=inner, times=k):
            each = _squared_amounts(inner)
            return k * each[0], k * each[1]
        case events.Composed(events=parts):
            prices = [_squared_amounts(part) for part in parts]
            return sum((p[0] for p in prices), Fraction(0)), sum((p[1] for p in prices), Fraction(0))
        case event:
            price = price_basic(event)
            return price.epsilon**2, price.delta


def _renyi_amounts(what: Event | Measure, orders: Amounts) -> Amounts:
    if isinstance(what, Renyi):
        return tuple(what.epsilon(order) for order in orders)
    return tuple(epsilon for _, epsilon in price_renyi(as_event(what), orders).bounds)


def as_event(what: Event | Measure) -> Event:
    """A promise as the event of anything that keeps it.

    >>> as_event(Approx(1, "1e-6"))
    Approx(epsilon=1, delta='1/1000000')
    """
    match what:
        case Event():
            return what
        case Pure(epsilon=e):
            return events.Pure(e)
        case Approx(epsilon=e, delta=d):
            return events.Approx(e, d)
        case ZCDP(rho=r, delta=d):
            return events.ZCDP(r, d)
        case GDP(mu_squared=m) if m:
            return events.Gaussian(sigma_squared=1, sensitivity_squared=m)  # the pair that dominates μ-GDP
        case GDP():
            return events.Composed([])
        case Renyi():
            raise NoPrice("Rényi bounds are paid from a Rényi budget only")
        case _:
            raise BadParameter("what", what, "must be an event or a promise")
