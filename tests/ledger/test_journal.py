"""journal.py: one chain, however many threads, processes and servers write it."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.errors import (
    LedgerMismatch,
    LedgerUnavailable,
    NotRegistered,
    OverBudget,
)
from discreet.ledger import journal as journal_module
from discreet.ledger.head_file import HeadFile
from discreet.ledger.journal import ARRIVED, Draft
from discreet.ledger.record_base import CustomRecord
from discreet.ledger.records import AnalystRecord, RetireRecord
from discreet.privacy.promises.measures import Pure
from tests.helpers.ledger_places import Place, answered, ask, prepared, refused


@pytest.mark.slow
def test_a_fork_must_open_the_ledger_itself(lite: Place) -> None:
    with prepared(lite) as ledger:
        charge = ask(ledger, "before")
        answered(ledger, "answered")
        uses: list[Callable[[], object]] = [
            lambda: ask(ledger, "k"),
            lambda: ledger.charge_of("ann", "answered"),
            lambda: ledger.store_answer(charge, b"1"),
            ledger.entries,
            ledger.unanswered,
            lambda: ledger.has(ledger.head),
            lambda: ledger.prune_answers(before="2999-01-01"),
            lambda: ledger.owner.add_analyst("eve"),
        ]
        child = os.fork()
        if child == 0:
            for use in uses:
                try:
                    use()
                except LedgerUnavailable:
                    continue
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        ledger.store_answer(charge, b"1")


def test_a_look_at_once_sees_all_or_says_that_it_does_not(lite: Place) -> None:
    """Fails if a server may decide in its loop by books that are older than the request, or waits there."""
    with prepared(lite) as one, lite.open() as two:
        journal = two._journal
        one.owner.add_analyst("eve")
        assert two.look_at_once()
        assert "eve" in journal._read.state.analysts
        with journal._reading:  # somebody reads
            assert not two.look_at_once()
        for i in range(journal_module._LITTLE + 1):
            one.owner.record("test.note", {"note": i})
        assert not two.look_at_once()  # too much for a loop
        assert len(two.look().acts["test.note"]) == journal_module._LITTLE + 1
        assert two.look_at_once()
        ask(one, "k")
        assert two.look_at_once()
        Path(lite.head).unlink()
        assert not two.look_at_once()  # a mismatch is for ``look``, which may wait


def test_a_store_on_a_server_is_never_looked_at_in_a_loop(postgres_place: Place) -> None:
    with prepared(postgres_place) as ledger:
        assert not ledger.local
        assert not ledger.look_at_once()


@pytest.mark.slow
def test_two_servers_see_each_other(place: Place) -> None:
    with prepared(place) as one, place.open() as two:
        for i in range(5):
            ask(one, f"a{i}")
            ask(two, f"b{i}")
        for ledger in (one, two):
            with pytest.raises(OverBudget):
                ask(ledger, "more")
            assert ledger.standing("town").remaining == Pure(0)
        one.owner.revoke_analyst("ann", reason="left")
        with pytest.raises(NotRegistered):
            ask(two, "again")
        assert two.analysts["ann"].revoked


@pytest.mark.slow
def test_a_rollback_under_a_running_server_is_found_out(place: Place) -> None:
    with prepared(place) as one, place.open() as two:
        answered(one, "k0")
        answered(two, "k1")
        ask(two, "k2")
        place.roll_back(one.head.sequence)
        refused(two, "rolled back")
        refused(one, "rolled back")
        one.owner.acknowledge(reason="a mistake of the administrator")
        ask(one, "k3")
        ask(two, "k4")  # it sees that the owner has acted, and starts from there
        assert two.standing("town").charged == one.standing("town").charged == Pure("0.3")


@pytest.mark.slow
def test_the_memory_of_a_server_is_a_witness_too(place: Place) -> None:
    """A snapshot of a whole machine takes the head file back as well: running servers and receipts remain."""
    with prepared(place) as ledger:
        answered(ledger, "k0")
        old = Path(place.head).read_bytes()
        to = ledger.head.sequence
        answered(ledger, "k1")
        place.roll_back(to)
        Path(place.head).write_bytes(old)
        refused(ledger, "while it was open")


def test_a_file_that_is_replaced_under_a_running_server(lite: Place, tmp_path: Path) -> None:
    with prepared(lite) as ledger:
        answered(ledger, "k0")
        ledger.close()
        backup = lite.copied(tmp_path / "backup")
        answered(ledger, "k1")
        ledger.close()
        Path(backup.location).replace(lite.location)
        with pytest.raises(LedgerMismatch, match="replaced"):
            ask(ledger, "k2")
        ledger.owner.acknowledge(reason="restored")
        ask(ledger, "k2")
        assert ledger.standing("town").charged == Pure("0.2")
    assert lite.verify().good


@pytest.mark.slow
def test_what_would_not_continue_the_ledger_is_not_written(place: Place) -> None:
    """A draft that the state refuses, from a fault of ours: nothing is written, and the next one is."""
    with prepared(place) as ledger:
        before = ledger.head
        for bad in (AnalystRecord("ann"), RetireRecord("nothing", "x"), CustomRecord("unheard", {})):
            with pytest.raises(LedgerUnavailable, match="nothing was written"):
                ledger._journal.append(lambda *_, bad=bad: Draft(bad, "owner"))
        assert ledger.head == before
        assert ledger._journal.append(lambda *_: None) is None
        ledger.owner.add_analyst("carl")
        assert ledger.head.sequence == before.sequence + 1
    assert place.verify().good


def test_a_head_file_that_a_crash_left_behind_is_brought_up(lite: Place) -> None:
    with prepared(lite) as ledger:
        old = Path(lite.head).read_bytes()
        ask(ledger, "k")
        Path(lite.head).write_bytes(old)  # older, and in the chain: no mismatch
        ledger._journal.update_head_file()
        assert HeadFile(Path(lite.head)).read() == ledger.head


@pytest.mark.slow
def test_whoever_looks_sees_all_that_was_written_before_they_came(place: Place) -> None:
    """Fails if a look returns what another thread has not finished reading, or waits for a write."""
    with prepared(place) as one, place.open() as two:
        one.owner.add_analyst("zoe")
        journal, seen = two._journal, []
        begun, go_on = threading.Event(), threading.Event()

        def decide(*_: object) -> None:
            begun.set()
            assert go_on.wait(30)  # a slow write of another thread, which holds the ledger

        writer = threading.Thread(target=journal.append, args=(decide,))
        writer.start()
        assert begun.wait(30)

        def look() -> None:
            seen.append("zoe" in two.look().analysts)

        readers = [threading.Thread(target=look) for _ in range(20)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(30)
        go_on.set()
        writer.join()
        assert seen == [True] * 20


def test_one_read_serves_all_who_came_before_it(lite: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with prepared(lite) as ledger:
        journal, came, reads = ledger._journal, threading.Semaphore(0), []
        read, now = journal.database.read, iter(range(1000))

        class Ticks:
            @staticmethod
            def monotonic_ns() -> int:
                came.release()
                return next(now)

        monkeypatch.setattr("discreet.ledger.journal.time", Ticks)

        def counted() -> object:
            reads.append(1)
            return read()

        monkeypatch.setattr(journal.database, "read", counted)
        threads = [threading.Thread(target=ledger.look) for _ in range(16)]
        with journal._reading:
            for thread in threads:
                thread.start()
            assert all(came.acquire(timeout=30) for _ in threads)  # all have come, and wait
        for thread in threads:
            thread.join(30)
        assert reads == [1]
        ledger.look()
        assert reads == [1, 1]


def test_what_is_not_durable_is_not_shown(lite: Place) -> None:
    """Fails if readers share the state into which an entry is put before it is committed."""
    shown: list[bool] = []

    def seen() -> set[str]:
        return set(ledger.look().populations)

    def at(point: str) -> None:
        if point == "appended":
            shown.append("town" in seen())

    ledger = lite.open(create=True, at=at)
    with ledger:
        ledger.owner.protect("town", Pure(1))
        assert shown == [False]
        assert seen() == {"town"}


@pytest.mark.slow
def test_one_request_is_read_for_once_and_sees_what_was_written_here(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with prepared(place) as ledger, place.open() as other:
        reads, read = [], ledger._journal.database.read

        def counted() -> object:
            reads.append(1)
            return read()

        monkeypatch.setattr(ledger._journal.database, "read", counted)
        token = ARRIVED.set(time.monotonic_ns())
        try:
            for _ in range(3):
                ledger.look()
            assert reads == [1]
            ledger.owner.add_analyst("zoe")
            assert "zoe" in ledger.look().analysts
            assert reads == [1, 1]
            other.owner.add_analyst("eve")
            assert "eve" not in ledger.look().analysts  # written after the request came
        finally:
            ARRIVED.reset(token)
        assert "eve" in ledger.look().analysts


def test_the_state_goes_on_from_an_acknowledgement(lite: Place, tmp_path: Path) -> None:
    """What the owner explained is in memory at once: the head is that of the file, and the next entry follows it."""
    with prepared(lite) as ledger:
        ledger.close()
        backup = lite.copied(tmp_path / "backup")
        answered(ledger, "k")
        ledger.close()
        shutil.copyfile(backup.location, lite.location)
        entry = ledger.owner.acknowledge(reason="restored")
        assert ledger.head.sequence == entry.sequence
        with ledger._journal.database.read() as tx:
            assert tx.head()[0] == ledger.head.sequence
        assert ledger.owner.add_analyst("zoe").sequence == entry.sequence + 1
