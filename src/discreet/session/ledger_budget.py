"""A session's budget, kept in the durable ledger.

Promise: ``spend`` returns only after the charge is durable, under the budget of the people and the cap of the analyst
both. A key that was charged before is never charged again: ``AlreadyCharged`` carries what was stored for it, and
nothing is read or drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import ReceiptRefused
from discreet.ledger.charges import Charge
from discreet.ledger.standing import Quote, Standing
from discreet.ledger.store import Ledger
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.receipt import Receipt


class AlreadyCharged(Exception):
    """This question was charged before, under the same key."""

    def __init__(self, charge: Charge) -> None:
        self.charge = charge
        super().__init__()


class LedgerBudget:
    """What one analyst may spend on one data set, by one question with its key."""

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        analyst: str,
        *,
        key: str,
        query: str,
        parameters: Mapping[str, Any],
    ) -> None:
        self._ledger = ledger
        self._dataset = dataset
        self._analyst = analyst
        self._question = {"key": key, "query": query, "parameters": parameters}
        self._quoted: tuple[Event | Measure, Quote] | None = None
        self.charge: Charge | None = None
        """The charge that was made, once there is one."""

    @property
    def remaining(self) -> Measure:
        """What is left to the analyst."""
        return self._standing.remaining

    @property
    def remaining_by_account(self) -> tuple[Measure, ...]:
        """What is left to the analyst of each sum that is counted."""
        return self._standing.accounts

    @property
    def _standing(self) -> Standing:
        return self._ledger.standing(self._ledger.datasets[self._dataset].population, self._analyst)

    def fits(self, what: Event | Measure) -> bool:
        """Whether this could be paid now."""
        return self.affords(what)

    def affords(self, what: Event | Measure) -> bool:
        """Whether this could be paid now, as a new question."""
        return self.quote(what).fits

    def quote(self, what: Event | Measure) -> Quote:
        """What this would do to the budget. The last one is remembered: a preview asks twice."""
        if self._quoted is None or self._quoted[0] is not what:
            self._quoted = what, self._ledger.quote(self._dataset, self._analyst, what)
        return self._quoted[1]

    def after(self, what: Event | Measure) -> Measure:
        """What would be left after this payment; what is left now, if it cannot be paid."""
        found = self.quote(what)
        return found.left if found.left_after is None else found.left_after

    def spend(self, what: Event | Measure) -> Receipt:
        """Pay durably, or raise OverBudget; AlreadyCharged if this key was charged before."""
        charge = self._ledger.spend(self._dataset, self._analyst, what, **self._question)  # type: ignore[arg-type]
        if not charge.fresh:
            raise AlreadyCharged(charge)
        self.charge = charge
        if charge.receipt is None:  # a fresh charge always has one
            raise ReceiptRefused("the ledger gave no receipt")
        return charge.receipt


class RetryBudget(LedgerBudget):
    """The budget for a question that may have been asked before: only ``spend`` decides, in one step."""

    def fits(self, what: Event | Measure) -> bool:
        """Always: a key that was charged before needs no budget."""
        return True
