"""How a session pays: where its budget is kept, and how the price of a question is read from it.

Promise: one question is paid once, before it is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from discreet.errors import BadParameter
from discreet.exact import Number, number, positive
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer.answer import TableAnswer
from discreet.query.estimate.noise_plan import Allowance, check_allowance

RESERVE = Fraction(1, 2)


class BudgetStore(Protocol):
    """Where a session's budget is kept: a ``Filter``, or a ledger that outlives the process."""

    @property
    def remaining(self) -> Measure:
        """What is left."""
        ...

    def fits(self, what: Event | Measure) -> bool:
        """Whether this could be paid now."""
        ...

    def after(self, what: Event | Measure) -> Measure:
        """What would be left after this payment."""
        ...

    def spend(self, what: Event | Measure) -> Receipt:
        """Pay, or raise ``OverBudget``."""
        ...


class SessionLedger(Protocol):
    """A ledger that is open for a session: it has the terms, pays each question and keeps its answers."""

    @property
    def budget(self) -> Measure:
        """What all answers together keep."""
        ...

    @property
    def rule(self) -> Rule | None:
        """How it is counted."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """What it protects."""
        ...

    def budget_store(self, question: str) -> BudgetStore:
        """What pays for a question, once."""
        ...

    def store(self, budget_store: Any, answers: Sequence[TableAnswer], confidence: Number) -> None:
        """Store the answers to a question that was paid from this store."""
        ...


@dataclass(slots=True)
class Payment:
    """What pays for one question, once, however often it is then tried."""

    budget_store: BudgetStore
    receipt: Receipt | None = None

    def __call__(self, price: Event | Measure) -> Receipt:
        """Pay, unless it is paid."""
        if self.receipt is None:
            self.receipt = self.budget_store.spend(price)
        return self.receipt


@dataclass(frozen=True, slots=True)
class Terms:
    """How a question's price is read: from the session's budget and rule."""

    budget: Pure | Approx | ZCDP
    rule: Rule | None

    def allowance(self, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Allowance:
        """What one question may cost.

        Of an (ε, δ) budget, a question that takes a share of ε takes the same share of δ unless it says otherwise.
        """
        match self.budget:
            case Pure():
                _absent(rho, "rho", "a budget in epsilon")
                _absent(delta, "delta", "a pure budget")
                return check_allowance(Pure(_wanted(epsilon, "epsilon")))
            case ZCDP(delta=whole):
                _absent(epsilon, "epsilon", "a budget in rho")
                own = whole / 16 if delta is None else number(delta, "delta")
                return check_allowance(ZCDP(_wanted(rho, "rho"), own))
            case Approx(delta=whole) if self.rule is Rule.ZCDP:
                own = whole * RESERVE / 16 if delta is None else number(delta, "delta")
                if rho is not None:
                    _absent(epsilon, "epsilon", "a price in rho")
                    return check_allowance(ZCDP(positive(rho, "rho"), own))
                slack = whole * (1 - RESERVE)
                return check_allowance(ZCDP(largest_zcdp(Approx(_wanted(epsilon, "epsilon"), slack)).rho, own))
            case Approx(epsilon=most, delta=whole):
                _absent(rho, "rho", "a budget in epsilon and delta (open the session with rule=dp.Rule.ZCDP)")
                e = _wanted(epsilon, "epsilon")
                share = min(e / most, Fraction(1)) if most else Fraction(0)
                return check_allowance(Approx(e, whole * share if delta is None else number(delta, "delta")))


def _absent(value: Number | None, name: str, why: str) -> None:
    if value is not None:
        raise BadParameter(name, value, f"must be left out: this session has {why}")


def _wanted(value: Number | None, name: str) -> Fraction:
    if value is None:
        raise BadParameter(name, None, f"must say what the answer may cost, such as {name}=0.1; or give error=...")
    return positive(value, name)
