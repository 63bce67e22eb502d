"""Rollback, edits, damage: a ledger that is not the one that was seen before is detected, and refuses to spend."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from discreet.errors import DiscreetError, LedgerError, LedgerMismatch, LedgerUnavailable
from discreet.ledger import import_ledger, open_ledger
from discreet.ledger.entries import canonical, digest, read_entry
from discreet.ledger.head_file import HeadFile
from discreet.privacy.promises.measures import Pure
from tests.helpers.ledger_places import Place, answered, ask, prepared, refused

# --- rollback -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_restored_backup_is_found_out(place: Place) -> None:
    with prepared(place) as ledger:
        proofs = [answered(ledger, f"k{i}").proof for i in range(4)]
        before = ledger.head.sequence
    place.roll_back(before - 2)
    assert "rolled back" in str(place.verify())
    assert place.verify(receipts=proofs).problems[-1].startswith("a receipt names entry")
    with place.open() as ledger:
        refused(ledger, "rolled back")
        with pytest.raises(LedgerMismatch):  # also a retry of what was lost
            ask(ledger, "k3")
        told = ledger.owner.acknowledge(reason="the disk was lost; restored from last night")
        assert told.body["expected"]["file"]["sequence"] == before
        assert told.body["found"]["sequence"] == before - 2
        assert ledger.trouble is None
        ledger.owner.write_off("town", Pure("0.2"), reason="two charges were lost")
        assert ledger.standing("town").charged == Pure("0.4")
        assert ask(ledger, "k0").answer == b"answer to k0"
        ask(ledger, "new")
    assert place.verify().good
    report = place.verify(receipts=proofs)  # the analysts' receipts still tell what was lost
    assert len(report.problems) == 2
    with place.open() as ledger:
        ask(ledger, "more")


@pytest.mark.slow
def test_an_answer_does_not_leave_without_its_charge(place: Place) -> None:
    with prepared(place) as ledger:
        charge = ask(ledger, "k")
        place.roll_back(charge.sequence - 1)
        with pytest.raises(LedgerMismatch, match="gone"):
            ledger.store_answer(charge, b"42")


@pytest.mark.slow
def test_a_rollback_that_grew_again_is_found_out(place: Place, tmp_path: Path) -> None:
    with prepared(place) as ledger:
        for i in range(3):
            answered(ledger, f"k{i}")
        before = ledger.head.sequence
    place.roll_back(before - 2)
    elsewhere = replace(place, head=str(tmp_path / "elsewhere.head"))  # a server that had never seen the lost entries
    with elsewhere.open() as ledger:
        refused(ledger, "missing")
        ledger.owner.acknowledge(reason="a new server, says the attacker")
        for i in range(4):
            ask(ledger, f"new{i}")
    with place.open() as ledger:
        refused(ledger, "not the one that was there before")
    assert "not the one" in str(place.verify())
    assert elsewhere.verify().good


@pytest.mark.slow
def test_each_machine_has_a_head_of_its_own(postgres_place: Place, tmp_path: Path) -> None:
    other = replace(postgres_place, head=str(tmp_path / "other.head"))
    with prepared(postgres_place) as one:
        shutil.copy(postgres_place.head, other.head)  # how a machine is added
        with other.open() as two:
            for i in range(3):
                answered(one, f"a{i}")
            behind = HeadFile(Path(other.head)).read()
            assert behind is not None
            assert behind.sequence < one.head.sequence  # older, but in the chain: no mismatch
            answered(two, "b")
            answered(one, "c")
        assert one.trouble is None
    assert postgres_place.verify().good
    assert other.verify().good


@pytest.mark.slow
def test_a_head_file_that_is_gone_or_garbled_or_foreign(lite: Place, tmp_path: Path) -> None:
    with prepared(lite) as ledger:
        pass
    Path(lite.head).unlink()
    with lite.open() as ledger:  # nothing was charged yet: nothing can have been lost
        answered(ledger, "k")
        Path(lite.head).unlink()
        refused(ledger, "missing")
        Path(lite.head).write_text("garbled")
        refused(ledger, "understood")
        other = Place(str(tmp_path / "l"), str(tmp_path / "k"), str(tmp_path / "h"))
        prepared(other).close()
        shutil.copy(other.head, lite.head)
        refused(ledger, "another ledger")
        ledger.owner.acknowledge(reason="the head file was overwritten by mistake")
        ask(ledger, "k2")
    assert lite.verify().good


def test_a_lost_ledger_is_not_made_anew(lite: Place) -> None:
    prepared(lite).close()
    for path in lite.file.parent.glob("ledger*"):
        if path.suffix not in (".head", ".key"):
            path.unlink()
    with pytest.raises(LedgerMismatch, match="remembers"):
        lite.open(create=True)
    with pytest.raises(LedgerUnavailable):
        lite.open()


# --- edits --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE discreet_entries SET text = replace(text, '1/10', '1/20') WHERE sequence = 8",
        "UPDATE discreet_entries SET hash = 'x' WHERE sequence = 8",
        "UPDATE discreet_entries SET analyst = 'bob' WHERE sequence = 8",
        "UPDATE discreet_entries SET token = NULL WHERE sequence = 8",
        "UPDATE discreet_entries SET sequence = 80 WHERE sequence = 8",
        "DELETE FROM discreet_entries WHERE sequence = 9",
        "UPDATE discreet_answers SET answer = '43' WHERE charge = 8",
        "UPDATE discreet_answers SET card = replace(card, 'charge', 'charged') WHERE charge = 8",
    ],
)
def test_an_edit_is_stopped_or_named(place: Place, edit: str, guarded: bool) -> None:
    with prepared(place) as ledger:
        for i in range(3):
            answered(ledger, f"k{i}")
    if guarded:
        with pytest.raises(Exception, match="only grows"):
            place.run(edit)
        assert place.verify().good
        return
    place.unguard()
    if not place.is_file:
        edit = edit.replace("'43'", "'43'::bytea")
        place.run("ALTER TABLE discreet_answers DROP CONSTRAINT discreet_answers_charge_fkey")
    place.run(edit)
    report = place.verify(cards=True)
    assert not report.good
    if "answers" in edit:
        assert "answer to entry 8" in str(report)
        with place.open() as ledger, pytest.raises(LedgerMismatch):
            ask(ledger, "k0")  # an answer that was changed does not leave
        return
    assert report.first_bad == (9 if "DELETE" in edit else 8)
    with pytest.raises(LedgerMismatch, match=f"entry {report.first_bad}"):
        place.open()


@pytest.mark.slow
def test_a_chain_that_was_rewritten_is_whole_but_not_the_one_remembered(place: Place) -> None:
    """Somebody halves the price of every charge and hashes all again. The head file and the receipts know better."""
    with prepared(place) as ledger:
        proofs = [answered(ledger, f"k{i}").proof for i in range(3)]
        lines = list(ledger.export())
    place.unguard()
    previous, edits = "", []
    for line in lines:
        text = line.replace('"query":"q"', '"query":"r"')
        if previous:
            text = text.replace(read_entry(line).previous, digest(previous))
        edits.append((read_entry(text).sequence, text))
        previous = text
    for sequence, text in edits:
        place.run(f"UPDATE discreet_entries SET text = '{text}', hash = '{digest(text)}' WHERE sequence = {sequence}")
    place.run(f"UPDATE discreet_head SET hash = '{digest(previous)}'")
    place.run("DELETE FROM discreet_answers")
    with place.open() as ledger:
        refused(ledger, "not the one that was there before")
    assert place.verify().first_bad is None
    assert len(place.verify(receipts=proofs).problems) == 4


def test_the_cards_of_answers_are_signed(lite: Place) -> None:
    with prepared(lite) as ledger:
        charge = answered(ledger, "k")
        assert charge.card is not None
        forged = charge.card.replace("within 3", "within 1")
    lite.unguard()
    lite.run(f"UPDATE discreet_answers SET card = '{forged}'")
    assert lite.verify().good
    assert "genuine" in str(lite.verify(cards=True))


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bit_flips_are_found_or_harmless(lite: Place, tmp_path: Path) -> None:
    """Flip bits all over the file: either it is found, or nothing that counts has changed."""
    with prepared(lite, Pure(2)) as ledger:
        for i in range(10):
            answered(ledger, f"k{i}")
        lines = list(ledger.export())
    content = lite.file.read_bytes()
    chosen = random.Random(7)
    found = 0
    for number in range(80):
        at = chosen.randrange(100) if number < 20 else chosen.randrange(len(content))
        damaged = bytearray(content)
        damaged[at] ^= 1 << chosen.randrange(8)
        copy = lite.copied(tmp_path / f"copy{number}")
        copy.file.write_bytes(damaged)
        try:
            report = copy.verify(cards=True)
            good = report.good
            with copy.open() as ledger:
                assert list(ledger.export()) == lines
                ask(ledger, "after")
        except LedgerError:
            good = False
        found += not good
        shutil.rmtree(copy.file.parent)
    assert found > 25


@pytest.mark.parametrize("cut", [1, 24, 500, 4096, 4097, 10_000])
def test_a_torn_tail_of_the_log_is_a_rollback(lite: Place, tmp_path: Path, cut: int) -> None:
    """SQLite drops a commit that is not whole without a word; the head file remembers it."""
    ledger = prepared(lite)
    for i in range(4):
        ask(ledger, f"k{i}")
    copy = lite.copied(tmp_path / "copy")
    log = Path(f"{copy.location}-wal")
    log.write_bytes(log.read_bytes()[:-cut])
    Path(f"{copy.location}-shm").unlink()
    with copy.open() as torn:
        refused(torn, "rolled back")
    ledger.close()


@pytest.mark.slow
def test_a_cut_file(lite: Place, tmp_path: Path) -> None:
    with prepared(lite) as ledger:
        for i in range(4):
            answered(ledger, f"k{i}")
    whole = lite.file.read_bytes()
    for number, size in enumerate((0, 1, 99, 100, 4096, len(whole) // 2, len(whole) - 4096)):
        copy = lite.copied(tmp_path / f"copy{number}")
        copy.file.write_bytes(whole[:size])
        with pytest.raises(LedgerError):
            copy.open()
        with pytest.raises(LedgerError):
            copy.open(create=True)


# --- the clock ----------------------------------------------------------------------------------------------------


def test_a_clock_that_is_set_back_changes_nothing(lite: Place) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)

    def back() -> datetime:
        nonlocal now
        now -= timedelta(days=400)
        return now

    with prepared(lite, clock=back) as ledger:
        for i in range(10):
            ask(ledger, f"k{i}")
        with pytest.raises(DiscreetError):
            ask(ledger, "k10")
        times = [line.entry.time for line in ledger.entries()]
        assert times == sorted(times, reverse=True)
        assert [line.entry.sequence for line in ledger.entries()] == list(range(1, len(times) + 1))
    assert lite.verify().good


# --- copies -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_ledger_moves_to_another_place(place: Place, tmp_path: Path) -> None:
    with prepared(place) as ledger:
        for i in range(3):
            answered(ledger, f"k{i}")
        lines = list(ledger.export())
    target = replace(place, location=str(tmp_path / "moved"))
    assert import_ledger([f"{line}\n" for line in lines], target.location).good
    with pytest.raises(LedgerUnavailable, match="already"):
        import_ledger(lines, target.location)
    with target.open() as moved:
        assert list(moved.export()) == lines
        assert moved.standing("town").charged == Pure("0.3")
        assert ask(moved, "k0").pending  # charged once; the answer stayed behind
        ask(moved, "new")
    assert target.verify().good


def test_only_a_whole_chain_is_imported(lite: Place, tmp_path: Path) -> None:
    with prepared(lite) as ledger:
        answered(ledger, "k")
        lines = list(ledger.export())
    target = tmp_path / "target"
    for bad in ([], lines[1:], [*lines[:3], *lines[4:]], [lines[0], "x"], [*lines, canonical({})]):
        with pytest.raises(LedgerMismatch):
            import_ledger(bad, target)
        assert not target.exists()
    import_ledger(lines[:-1], target)  # a good beginning, such as of a damaged ledger
    with open_ledger(target, key=lite.key, head=lite.head) as shorter:
        refused(shorter, "rolled back")
        shorter.owner.acknowledge(reason="the rest was damaged")
        shorter.owner.write_off("town", Pure("0.1"), reason="what the receipts of the analysts show")
        assert shorter.standing("town").charged == Pure("0.1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        ("UPDATE discreet_answers SET answer = X'00' WHERE charge = {last}", True),
        ("UPDATE discreet_answers SET answer = X'' WHERE charge = {last}", False),  # pruned: its card stays
        ("UPDATE discreet_answers SET card = replace(card, 'answer', 'Answer') WHERE charge = {last}", True),
        ("UPDATE discreet_answers SET card = '' WHERE charge = {last}", True),
        ("UPDATE discreet_answers SET answer = X'', card = '' WHERE charge = {last}", True),
        ("UPDATE discreet_answers SET charge = 1 WHERE charge = {last}", True),
    ],
)
def test_an_answer_that_is_not_the_one_on_its_card_is_named(lite: Place, edit: str, problem: bool) -> None:
    """Also without a look at every signature."""
    with prepared(lite) as ledger:
        answered(ledger, "k0")
        last = answered(ledger, "k1").sequence
    lite.unguard()
    lite.run(edit.format(last=last))
    number = 1 if "charge = 1" in edit else last
    told = f"the answer to entry {number} is not the one on its card, or the card is not genuine"
    report = lite.verify()
    assert report.problems == ((told,) if problem else ())
    assert (report.first_bad, report.charges, report.answers) == (None, 2, 2)
    assert str(report) == (told if problem else f"the chain is whole: {last} entries, of which charges: 2, answered: 2")


def test_a_head_or_receipt_of_another_ledger_is_named(lite: Place, tmp_path: Path) -> None:
    with prepared(lite) as ledger:
        proof = answered(ledger, "k").proof
        public, last = ledger.public_key, ledger.head
    (tmp_path / "other").mkdir()
    other = Place(*(str(tmp_path / "other" / name) for name in ("ledger", "key", "head")))
    with prepared(other) as ledger:
        foreign = answered(ledger, "k").proof
    assert lite.verify(receipts=[proof], public_key=public).good
    unsigned = "a receipt was not signed by this ledger, or was changed"
    assert lite.verify(receipts=[foreign, proof, "x"]).problems == (unsigned, unsigned)
    assert lite.verify(receipts=[proof], public_key="00" * 32).problems == (unsigned,)
    for head, told in (
        (replace(last, ledger="x"), "the head file belongs to another ledger"),
        (replace(last, hash="x"), f"entry {last.sequence} is not the one that the head file remembers"),
        (replace(last, sequence=last.sequence + 1), f"entry {last.sequence + 1} was there before, and the ledger"),
    ):
        HeadFile(Path(lite.head)).replace(head)
        (problem,) = lite.verify().problems
        assert problem.startswith(told)
    Path(lite.head).write_bytes(b"x")
    assert lite.verify().problems == ("the head file cannot be understood",)
    Path(lite.head).unlink()
    assert lite.verify().problems == ("the head file is missing",)
