"""store.py: steps of streams that were paid for in advance come once and in order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.errors import StaleState
from discreet.ledger.entries import Broken, read_entry, write_entry
from discreet.ledger.records import StreamRecord, apply_entry
from discreet.ledger.state import State
from tests.helpers.ledger_places import Place, ask, prepared
from tests.ledger.test_records import LATER

FIRST = StreamRecord("pure", "ann/visits/x", 0, 0, "", "00")


def test_each_step_comes_once_and_in_order(lite: Place) -> None:
    with prepared(lite) as ledger:
        charge = ask(ledger, "x")
        opening = replace(FIRST, population=charge.record.population, charge=charge.sequence)
        assert ledger.stream(opening.stream) is None
        with pytest.raises(StaleState):
            ledger.record_step(replace(opening, position=1), by="ann")
        for position in range(3):
            ledger.record_step(replace(opening, position=position, step=f"day {position}"), by="ann")
        found = ledger.stream(opening.stream)
        assert found is not None
        assert (found.position, found.step, found.ended) == (2, "day 2", False)
        for position in (0, 1, 2, 4):
            with pytest.raises(StaleState, match="2 steps were answered"):
                ledger.record_step(replace(opening, position=position), by="ann")
    assert lite.verify().good


@pytest.mark.parametrize(
    "changes",
    [{"position": 1}, {"position": 3}, {"charge": 2}, {"population": "others"}, {"position": 0}],
    ids=str,
)
def test_an_entry_out_of_order_is_broken(changes: dict[str, object]) -> None:
    """Of the stored ledger all but the last step, and then another one in its place."""
    state = State()
    *before, last = [read_entry(line) for line in LATER[0]]
    for entry in before:
        apply_entry(state, entry)
    wrong = write_entry(
        sequence=last.sequence, previous=state.hash, ledger=state.ledger, kind="stream", by="ann", time="",
        body=dict(last.body) | changes,
    )  # fmt: skip
    with pytest.raises(Broken):
        apply_entry(state, wrong)
    assert state.streams["ann/visits/by clinic"].position == 1
    apply_entry(state, last)
    assert state.streams["ann/visits/by clinic"].position == 2
