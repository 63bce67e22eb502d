"""Check a whole ledger, and move one elsewhere.

Promise: ``verify_ledger`` names the first entry that is not what it was when it was written, or says that there is
none; it changes nothing and needs no key. What it takes on trust is the head file and the receipts that it is given: a
chain that was rewritten from end to end is consistent in itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import BadSignature, LedgerMismatch, LedgerUnavailable
from discreet.ledger.entries import Broken, Entry, read_entry
from discreet.ledger.head_file import HeadFile
from discreet.ledger.journal import apply_row
from discreet.ledger.receipts import is_genuine, verify_receipt
from discreet.ledger.records import apply_entry
from discreet.ledger.state import State
from discreet.ledger.storage.database import open_database
from discreet.ledger.storage.transactions import Reading


@dataclass(frozen=True, slots=True)
class Report:
    """What a check of a ledger found."""

    ledger: str
    entries: int
    """How many entries are good, from the first on."""
    charges: int
    answers: int
    first_bad: int | None
    """The number of the first bad entry."""
    problems: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    def __str__(self) -> str:
        if self.good:
            counts = f"{self.entries} entries, of which charges: {self.charges}, answered: {self.answers}"
            return f"the chain is whole: {counts}"
        return "\n".join(self.problems)


def verify_ledger(
    location: str | Path,
    *,
    head: Path | str | None = None,
    receipts: Iterable[str] = (),
    public_key: str | None = None,
    cards: bool = False,
    patience: float = 10,
) -> Report:
    """Check every entry and sum of a ledger, against its head file and any receipts.

    ``public_key`` is what receipts must be signed with, one of the ledger's own unless given. ``cards`` checks the
    signature of every release card too.
    """
    database = open_database(location, create=False, patience=patience)
    problems: list[str] = []
    state, answers = State(), 0
    first_bad: int | None = None
    hashes: dict[int, str] = {}
    try:
        with database.read() as tx:
            try:
                for row in tx.lines():
                    entry = apply_row(state, row)
                    hashes[entry.sequence] = entry.hash
            except Broken as found:
                first_bad = state.sequence + 1
                problems.append(f"entry {first_bad} is bad: {found}")
            if first_bad is None and tx.head() != (state.sequence, state.hash):
                problems.append(f"the head of the database is not its last entry, {state.sequence}")
            answers = _check_answers(tx, state, hashes, problems, cards=cards)
        if not database.sound():
            problems.append("the file of the database is damaged")
        if head is not None and first_bad is None:
            _check_head(HeadFile(Path(head)), state, hashes, problems)
        for text in receipts:
            _check_receipt(text, [public_key] if public_key else state.public_keys, state.ledger, hashes, problems)
    except LedgerMismatch as found:
        problems.append(str(found))
    finally:
        database.close()
    return Report(state.ledger, state.sequence, state.charges, answers, first_bad, tuple(problems))


def _check_answers(tx: Reading, state: State, hashes: dict[int, str], problems: list[str], *, cards: bool) -> int:
    count = 0
    for charge, answer, card in tx.all_answers():
        count += 1
        answer_hash = f'"answer":"{hashlib.sha256(answer).hexdigest()}"'
        good = charge in hashes and hashes[charge] in str(card) and (not answer or answer_hash in str(card))
        if not good or (cards and answer and not is_genuine(card, state.public_keys, answer, charge, hashes[charge])):
            problems.append(f"the answer to entry {charge} is not the one on its card, or the card is not genuine")
    return count


def _check_head(heads: HeadFile, state: State, hashes: dict[int, str], problems: list[str]) -> None:
    remembered = heads.read()
    if remembered is None:
        problems.append("the head file is missing")
    elif remembered.ledger != state.ledger:
        problems.append("the head file belongs to another ledger")
    elif remembered.sequence > state.sequence:
        problems.append(
            f"entry {remembered.sequence} was there before, and the ledger ends with {state.sequence}: rolled back"
        )
    elif hashes[remembered.sequence] != remembered.hash:
        problems.append(f"entry {remembered.sequence} is not the one that the head file remembers")


def _check_receipt(text: str, keys: list[str], ledger: str, hashes: dict[int, str], problems: list[str]) -> None:
    for key in keys:
        with suppress(BadSignature):
            receipt = verify_receipt(text, key)
            if receipt.ledger != ledger or hashes.get(receipt.sequence) != receipt.hash:
                problems.append(f"a receipt names entry {receipt.sequence}, and the ledger does not have it")
            return
    problems.append("a receipt was not signed by this ledger, or was changed")


def import_ledger(
    lines: Iterable[str],
    location: str | Path,
    *,
    answers: Iterable[tuple[int, bytes, str]] = (),
    patience: float = 10,
) -> Report:
    """Write exported entries into a new place, each checked; nothing is written if one is bad.

    Give the key and head files of the old place when you open it. A shorter export than the head file remembers is
    a rollback: ``acknowledge`` it, and ``write_off`` what is missing. ``answers`` are those to be carried over, with
    their cards: ``copy_ledger`` takes them along.
    """
    state = State()
    entries: list[Entry] = []
    try:
        for line in lines:
            entries.append(read_entry(line.rstrip("\n")))
            apply_entry(state, entries[-1])
    except Broken as found:
        raise LedgerMismatch(f"entry {state.sequence + 1} is bad: {found}") from None
    if not entries:
        raise LedgerMismatch("there is no entry to import")
    database = open_database(location, create=True, patience=patience)
    try:
        if not database.set_up(entries):
            raise LedgerUnavailable("there is a ledger already: import into an empty place")
        many = 0
        with database.answer() as tx:
            for charge, answer, card in answers:
                tx.add_answer(charge, answer, card)
                many += 1
    finally:
        database.close()
    return Report(state.ledger, state.sequence, state.charges, many, None, ())


def copy_ledger(source: str | Path, location: str | Path, *, patience: float = 10) -> Report:
    """Copy a whole ledger with its answers into a new place, as it is at one moment, every entry checked.

    Key and head file are not copied: a copy without the head file of today cannot pass for the ledger of today.
    """
    database = open_database(source, create=False, patience=patience)
    try:
        with database.read() as tx:
            return import_ledger((row[-1] for row in tx.lines()), location, answers=tx.all_answers(), patience=patience)
    finally:
        database.close()
