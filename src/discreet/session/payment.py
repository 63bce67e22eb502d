"""How a session pays: where its budget is kept, and the one payment for a program.

Promise: one program is paid once, before its first step reads data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from discreet.privacy.budgets.filters import Filter, Open, Rule
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt


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
class CountsTimes(Protocol):
    """A store that knows how often something still fits."""

    def times(self, what: Event | Measure) -> int:
        """How often this could be paid from now on."""


@runtime_checkable
class HasAccounts(Protocol):
    """A store that may keep several sums side by side."""

    @property
    def remaining_by_account(self) -> tuple[Measure, ...]:
        """What is left of each sum."""


class SessionLedger(Protocol):
    """A ledger that is open for a session: it has the terms, pays each program and keeps its answers."""

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
        """What pays for a program, once."""

    def board(self, name: str | None, query: str, parameters: dict[str, Any]) -> Any:
        """What keeps a dashboard."""

    def store_bytes(self, budget_store: Any, answer: bytes) -> None:
        """Store an answer, as JSON, before it is shown."""


@dataclass(slots=True)
class Payment:
    """What pays for one program, once, however often it is then tried."""

    budget_store: BudgetStore
    receipt: Receipt | None = None

    def __call__(self, price: Event | Measure) -> Receipt:
        """Pay, unless it is paid."""
        if self.receipt is None:
            self.receipt = self.budget_store.spend(price)
        return self.receipt

    def failed(self, *, may_go_on: bool) -> bool:
        """The program failed; whether it may go on under this payment when it is asked for again."""
        return may_go_on


@dataclass(slots=True)
class HeldOpen(Payment):
    """The payment for something that goes on answering, where no theorem lets other queries come in between."""

    held: Open | None = None

    def __call__(self, price: Event | Measure) -> Receipt:
        """Pay and hold the budget; once it is paid, hold it again."""
        if self.held is not None:
            self.held.go_on()
        else:
            assert isinstance(self.budget_store, Filter)  # noqa: S101 - others cannot be held
            self.held = self.budget_store.open(price)
            self.receipt = self.held.receipt
        return self.held.receipt

    def failed(self, *, may_go_on: bool) -> bool:
        """Let other queries come first while nothing was drawn; hold on while something was and it may go on."""
        if self.held is None:
            return may_go_on
        if not may_go_on:
            self.held.close()
        elif not self.held.receipt.used:
            self.held.wait()
        return may_go_on
