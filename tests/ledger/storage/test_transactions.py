"""transactions.py: an entry comes after the last one, and what was stored is what is read."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import LedgerBusy, LedgerMismatch
from discreet.ledger.entries import read_entry
from discreet.ledger.records import read_record
from tests.helpers.ledger_places import Place, answered, ask, prepared


def append_again(database: Any, line: str) -> None:
    """As a server would that has not seen the last entry."""
    last = read_entry(line)
    with database.write() as tx:
        tx._file.execute("DELETE FROM discreet_entries WHERE sequence = ?", [last.sequence])
        tx.append(last, read_record(last).columns(last.by), after=(last.sequence - 1, last.previous))


def test_an_entry_is_not_appended_after_one_that_is_not_the_last(lite: Place) -> None:
    with prepared(lite) as ledger:
        database = ledger._journal.database
        with database.read() as tx:
            before = tx.head()
            ((line, _),) = tx.texts(after=before[0] - 1)
        lite.unguard()
        with pytest.raises(LedgerBusy, match="same moment"):
            append_again(database, line)
        with database.read() as tx:
            assert tx.head() == before
            assert tx.hash_at(before[0]) == before[1]  # all of it was undone


def test_a_stored_answer_of_another_type_is_noticed(lite: Place) -> None:
    with prepared(lite) as ledger:
        answered(ledger, "a")
        database = ledger._journal.database
        with database.read() as tx:
            ((charge, answer, card),) = tx.all_answers()
            assert tx.answer(charge) == (answer, card)
            assert tx.answer(charge + 1) is None
        lite.unguard()
        lite.run("UPDATE discreet_answers SET answer = 7")
        with database.read() as tx, pytest.raises(LedgerMismatch, match="not the one that was stored"):
            tx.answer(charge)


def test_lines_say_which_entries_have_a_stored_answer(lite: Place) -> None:
    with prepared(lite) as ledger:
        answered(ledger, "a")
        ask(ledger, "b")
        with ledger._journal.database.read() as tx:
            kinds = [(read_entry(line).kind, stored) for line, stored in tx.texts()]
        assert [stored for kind, stored in kinds if kind == "charge"] == [True, False]
        assert not any(stored for kind, stored in kinds if kind != "charge")


@pytest.mark.parametrize("edit", ["DELETE FROM discreet_head", "UPDATE discreet_head SET sequence = 'seven'"])
def test_a_ledger_that_has_lost_its_head_is_not_gone_on_with(lite: Place, edit: str) -> None:
    with prepared(lite) as ledger:
        lite.run(edit)
        with ledger._journal.database.read() as tx, pytest.raises(LedgerMismatch, match="lost its head"):
            tx.head()
        with pytest.raises(LedgerMismatch, match="lost its head"):
            ask(ledger, "a")
    assert "the ledger has lost its head" in lite.verify().problems


def test_lines_are_chosen_by_what_they_are_about(lite: Place) -> None:
    """After a number, so many of them, of a kind or a person, and charges that still wait for their answer."""
    with prepared(lite) as ledger:
        answered(ledger, "a")
        ask(ledger, "b")
        ask(ledger, "c", analyst="bob")
        with ledger._journal.database.read() as tx:

            def sequences(**only: Any) -> list[int]:
                return [read_entry(line).sequence for line, _ in tx.texts(**only)]

            every = sequences()
            assert every == list(range(1, tx.head()[0] + 1))
            assert sequences(after=every[-2]) == every[-1:]
            assert sequences(limit=0) == []
            assert sequences(limit=2) == every[:2]
            assert sequences(kind="charge") == every[-3:]
            assert sequences(kind="charge", analyst="bob") == every[-1:]
            assert sequences(open_only=True) == every[-2:]
            assert sequences(kind=None) == every
            first = tx.texts(kind="charge")[0][0]
            token = read_record(read_entry(first)).columns("ann").token
            assert token is not None
            assert tx.by_token(token) == first
            assert tx.by_token("no such") is None
            assert tx.hash_at(every[-1] + 1) is None
