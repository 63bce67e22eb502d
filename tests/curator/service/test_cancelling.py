"""Which charges were cancelled, as the ledger has it."""

from __future__ import annotations

from discreet.curator.service.cancelling import CANCELLED, CancelRecord, cancelled_charges
from discreet.ledger.state import Act, State


def test_cancelled_charges_are_those_of_the_entries() -> None:
    state = State()
    assert cancelled_charges(state) == frozenset()
    state.acts[CancelRecord.KIND] = [Act(i, CancelRecord.KIND, "ann", "", CancelRecord(i - 1).body()) for i in (5, 9)]
    assert cancelled_charges(state) == {4, 8}
    assert CANCELLED["error"]["kind"] == "Cancelled"
