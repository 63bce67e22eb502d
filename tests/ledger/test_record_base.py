"""record_base.py: versions of a kind, a kind that is new, and what a record is found by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from discreet.errors import LedgerMismatch
from discreet.ledger.entries import Broken, Newer
from discreet.ledger.journal import Draft
from discreet.ledger.record_base import Columns, CustomRecord, Record, token_of
from discreet.ledger.records import KINDS, GrantRecord, LedgerRecord, RetireRecord, read_record
from tests.helpers.ledger_places import Place, ask, prepared
from tests.ledger.test_records import first_of


@pytest.mark.parametrize("version", [2, 7, 10**30])
def test_a_newer_version_is_refused_by_name(version: int) -> None:
    with pytest.raises(Newer, match=f"retire in version {version}"):
        RetireRecord.from_body({"dataset": "x", "reason": "y", "version": version})


@pytest.mark.parametrize("version", [1, 0, -1, True, "2", None, 2.0, [2]])
def test_a_version_is_written_in_one_way(version: Any) -> None:
    with pytest.raises(Broken):
        RetireRecord.from_body({"dataset": "x", "reason": "y", "version": version})


@dataclass(frozen=True, slots=True)
class PauseRecord(Record):
    """One class is all that reading, writing and finding a new kind takes."""

    KIND = "pause"
    analyst: str
    reason: str

    def upgrade(self) -> PauseUntil:
        return PauseUntil(self.analyst, self.reason, until=None)


@dataclass(frozen=True, slots=True)
class PauseUntil:
    """The same kind in version 2."""

    analyst: str
    reason: str
    until: str | None

    def upgrade(self) -> Pause3Record:
        return Pause3Record(self.analyst, self.reason, self.until, populations=())


@dataclass(frozen=True, slots=True)
class Pause3Record(Record):
    """The same kind in version 3."""

    KIND = "pause"
    OLDER = (PauseRecord, PauseUntil)
    analyst: str
    reason: str
    until: str | None
    populations: tuple[str, ...]


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, PauseRecord.KIND, PauseRecord)


@pytest.mark.slow
@pytest.mark.usefixtures("pause")
def test_a_new_kind_is_written_found_and_read(place: Place) -> None:
    with prepared(place) as ledger:
        ledger._journal.append(lambda *_: Draft(PauseRecord("ann", "a holiday"), "owner"))
        (line,) = ledger.entries(kind="pause", analyst="ann")
        assert read_record(line.entry) == PauseRecord("ann", "a holiday")
        assert line.entry.body == {"analyst": "ann", "reason": "a holiday"}
        assert [act.by for act in ledger.owner.acts("pause")] == ["owner"]
    assert place.verify().good


def test_a_later_version_reads_all_earlier_ones() -> None:
    one = PauseRecord("ann", "a holiday").body()
    two = one | {"until": "May", "version": 2}
    three = Pause3Record("ann", "a holiday", "May", ("town",)).body()
    assert three == two | {"populations": ["town"], "version": 3}
    assert Pause3Record.from_body(one) == Pause3Record("ann", "a holiday", None, ())
    assert Pause3Record.from_body(two) == Pause3Record("ann", "a holiday", "May", ())
    assert Pause3Record.from_body(three).body() == three
    for body in (one | {"version": 2}, two | {"version": 3}, {k: v for k, v in three.items() if k != "version"}):
        with pytest.raises(Broken):
            Pause3Record.from_body(body)
    with pytest.raises(Newer):
        PauseRecord.from_body(two)


def test_a_server_that_meets_a_newer_entry_stops_spending_and_says_what_to_do(
    lite: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two servers on one ledger, of which one was updated: the other does not guess what the new entry may forbid."""
    with prepared(lite) as old, lite.open() as new:
        with monkeypatch.context() as updated:
            updated.setitem(KINDS, PauseRecord.KIND, PauseRecord)
            new._journal.append(lambda *_: Draft(PauseRecord("ann", "a holiday"), "owner"))
        with pytest.raises(LedgerMismatch, match="kind 'pause', which is not known here; update discreet"):
            ask(old, "k")
        assert "update discreet" in str(old.trouble)
        with pytest.raises(LedgerMismatch):
            old.owner.acknowledge(reason="never mind")


def test_what_an_entry_is_found_by() -> None:
    charge = first_of("charge")
    key = charge.body["key"]
    assert read_record(charge).columns("ann") == Columns("charge", "pure", "ann", token_of("ann", key))
    assert token_of("ann", key) != token_of("bob", key)
    assert GrantRecord("ann", "town", None, None).columns("owner") == Columns("grant", "town", "ann")
    assert CustomRecord("a.b", {"analyst": "ann"}).columns("owner") == Columns("a.b")


def test_summaries() -> None:
    assert read_record(first_of("charge")).summary() == "SELECT COUNT(*) FROM t"
    assert RetireRecord("visits", "moved").summary() == "visits"
    assert CustomRecord("access.token", {"name": "ann", "token": "x"}).summary() == "ann"
    assert LedgerRecord(1, "00", {}).summary() == ""
