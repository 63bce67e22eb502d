"""How a session pays: where its budget is kept, and the one payment for a question.

Promise: one question is paid once, before it is answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from discreet.exact import Number
from discreet.privacy.budgets.filters import Rule, as_event
from discreet.privacy.promises.events import Composed, Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.query.answer.answer import TableAnswer


class BudgetStore(Protocol):
    """Where a session's budget is kept: a ``Filter``, or a ledger that outlives the process."""

    @property
    def remaining(self) -> Measure:
        """What is left."""

    def fits(self, what: Event | Measure) -> bool:
        """Whether this could be paid now."""

    def after(self, what: Event | Measure) -> Measure:
        """What would be left after this payment."""

    def spend(self, what: Event | Measure) -> Receipt:
        """Pay, or raise ``OverBudget``."""


@runtime_checkable
class Affords(Protocol):
    """A store that may take a payment that does not fit, as one that was made before."""

    def affords(self, what: Event | Measure) -> bool:
        """Whether this would fit now, as a new payment."""


@runtime_checkable
class FitsInTurn(Protocol):
    """A store that looks at several payments at once."""

    def fits_in_turn(self, payments: Sequence[Event | Measure]) -> bool:
        """Whether all of these could be paid now, one after the other."""


def fit_in_turn(store: BudgetStore, payments: Sequence[Event | Measure]) -> bool:
    """Whether all of these payments would fit, one after the other: so that a later one is not refused when the first
    are paid. Of a store that does not say, as one payment.
    """
    if isinstance(store, FitsInTurn):
        return store.fits_in_turn(payments)
    return store.fits(Composed([as_event(one) for one in payments]))


@runtime_checkable
class HasAccounts(Protocol):
    """A store that may keep several sums side by side."""

    @property
    def remaining_by_account(self) -> tuple[Measure, ...]:
        """What is left of each sum."""


class SessionLedger(Protocol):
    """A ledger that is open for a session: it has the terms, pays each question and keeps its answers."""

    @property
    def budget(self) -> Measure:
        """What all answers together keep."""

    @property
    def rule(self) -> Rule | None:
        """How it is counted."""

    @property
    def neighbours(self) -> Neighbours:
        """What it protects."""

    def budget_store(self, question: str) -> BudgetStore:
        """What pays for a question, once."""

    def board(self, name: str | None, query: str, parameters: dict[str, Any]) -> Any:
        """What keeps a dashboard."""

    def store(self, budget_store: Any, answers: Sequence[TableAnswer], confidence: Number) -> None:
        """Store the answers to a question that was paid from it."""

    def stored(self, question: str) -> Sequence[Mapping[str, Any]] | None:
        """The answers to this question that were stored last, if there are any."""

    def stored_after(self, beginning: str) -> Sequence[tuple[str, Sequence[Mapping[str, Any]]]]:
        """All questions that begin so, with their stored answers, the oldest first."""

    def store_bytes(self, budget_store: Any, answer: bytes) -> None:
        """Store an answer that is no table of numbers, as JSON."""


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
