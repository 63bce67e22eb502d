"""Questions that were cancelled after they were paid.

Promise: a cancellation is an entry of the ledger, so that every server knows it. It is looked at once, on the grid of
time, just before an answer is stored: whether the engine was done by then decides nothing. Nothing is given back.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.curator.error_replies import error_body
from discreet.curator.service.people import read_act
from discreet.ledger.record_base import Record
from discreet.ledger.state import State

CANCELLED = error_body("Cancelled", "this query was cancelled after it was charged; nothing is given back")
"""What is stored in place of an answer."""


@dataclass(frozen=True, slots=True)
class CancelRecord(Record):
    """Somebody wants no answer to a question any more."""

    KIND = "question.cancelled"
    charge: int


def cancelled_charges(state: State) -> frozenset[int]:
    """The numbers of all charges that were cancelled."""
    return frozenset(read_act(CancelRecord, act).charge for act in state.acts.get(CancelRecord.KIND, ()))
