"""The journal: one ledger, open in this process.

Promise: ``append`` decides and writes while it holds the ledger alone, over all threads, processes and servers; when it
returns, the entry is durable in the database and the head file is past it. Before anything is decided, the journal
meets the ledger: all that others wrote is checked and taken into the books, and the entries that this process and the
head file remember must still be there. If they are not, it refuses with LedgerMismatch and nothing is written.
Believes: database.py for the lock and the commit, head_file.py for the file.

After a crash the database may be ahead of the head file: the commit comes first. That is no mismatch. A head file
ahead of the database is a rollback; one that is not in the chain is an edit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from discreet.errors import BadParameter, LedgerMismatch, LedgerUnavailable
from discreet.ledger.database import Database, Reading
from discreet.ledger.entries import Broken, Columns, Entry, columns, read_entry, write_entry
from discreet.ledger.head_file import Head, HeadFile
from discreet.ledger.signing import Key
from discreet.ledger.state import Books

Clock = Callable[[], datetime]
Point = Callable[[str], None]
_HELP = "restore a copy that has all entries, or let the owner acknowledge what happened"


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be written."""

    kind: str
    by: str
    body: Mapping[str, Any]


def nothing(_: str) -> None:
    """What happens at the points of a write, unless a test says otherwise."""


def utc() -> datetime:
    """The time now."""
    return datetime.now(UTC)


class Journal:
    """A ledger, its head file, its key and its books. Any number of threads may use it; a forked process may not."""

    def __init__(
        self, database: Database, heads: HeadFile, key: Key, *, clock: Clock = utc, at: Point = nothing
    ) -> None:
        self.database = database
        self.key = key
        self.at = at
        self._heads = heads
        self._clock = clock
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._stale = False
        with database.read() as tx:
            self.books = replay(tx)
        self._committed = _head(self.books)

    @property
    def head(self) -> Head:
        """The last entry that this process knows to be durable."""
        return self._committed

    def append(self, decide: Callable[[Books, Reading], Draft | None]) -> Entry | None:
        """Write what ``decide`` makes of the books, or nothing if it returns None; it may refuse by raising."""
        self._check_process()
        with self._lock:
            try:
                with self.database.write() as tx:
                    self._meet(tx)
                    draft = decide(self.books, tx)
                    if draft is None:
                        return None
                    after = self.books.sequence, self.books.hash
                    entry = self._entry(self.books, draft)
                    self._stale = True  # until it is known to be written, the books are ahead of the ledger
                    self.books.apply(entry)
                    tx.append(entry, after=after)
                    self.at("appended")
            except Broken:
                raise LedgerUnavailable("this would not continue the ledger; nothing was written") from None
            mine = self._taken_in()
            self.at("committed")
        self._heads.advance(mine, latest=lambda: self.head)
        self.at("head")
        return entry

    def refresh(self) -> Books:
        """The books with all that others wrote, for looking only: what is wrong is told when it matters."""
        self._check_process()
        if self._lock.acquire(blocking=False):  # else somebody is writing here, and meets the ledger for us
            try:
                # on a mismatch, what was known before is shown; append refuses
                with suppress(LedgerMismatch), self.database.read() as tx:
                    self._meet(tx)
            finally:
                self._lock.release()
        return self.books

    def trouble(self) -> str | None:
        """Why this ledger refuses to spend, if it does."""
        self._check_process()
        with self._lock:
            try:
                with self.database.write() as tx:
                    self._meet(tx)
            except LedgerMismatch as found:
                return str(found)
            return None

    def acknowledge(self, reason: str, by: str) -> Entry:
        """Record that the owner knows what happened, and go on from the entries that are there."""
        self._check_process()
        told = self.trouble()
        if told is None:
            raise BadParameter("reason", reason, "must have a mismatch to explain, and there is none")
        with self._lock:
            self.database.reopen()
            with self.database.write() as tx:
                books, known = replay(tx), None
                if books.ledger != self.books.ledger:
                    raise LedgerMismatch("this is another ledger altogether: restore the one that was opened")
                with suppress(LedgerMismatch):
                    known = self._heads.read()
                body = {
                    "reason": reason,
                    "trouble": told,
                    "found": _said(_head(books)),
                    "expected": {"file": _said(known), "memory": _said(self.head)},
                }
                entry = self._entry(books, Draft("acknowledge", by, body))
                tx.append(entry, after=(books.sequence, books.hash))
                books.apply(entry)
            self.books = books
            self._heads.replace(self._taken_in())
        return entry

    def remember(self) -> None:
        """Bring the head file up to the books, if the two agree: a crash may have left it behind."""
        with self._lock:
            with self.database.write() as tx:
                self._meet(tx)
            self._heads.advance(self._taken_in())

    # --- meeting the ledger ---------------------------------------------------------------------------------------

    def _meet(self, tx: Reading) -> None:
        """Check the head file and the memory of this process against the ledger, then take in what is new."""
        known, last = self._heads.read(), tx.head()  # in this order: others may be writing while we only read
        self._check_file(tx, known, last)
        try:
            self._check_memory(tx, last)
        except LedgerMismatch:
            fresh = replay(tx)
            if set(fresh.acknowledged) <= set(self.books.acknowledged):
                raise
            self.books = fresh  # the owner has acted since, in another process
        if self._stale:
            self.books = replay(tx)
        if (self.books.sequence, self.books.hash) != last:
            take_in(self.books, tx)
        self._taken_in()

    def _check_file(self, tx: Reading, known: Head | None, last: tuple[int, str]) -> None:
        sequence, hash_ = last
        if known is None:
            if self.books.charges:
                raise LedgerMismatch(f"the head file is missing, so a rollback could not be seen; {_HELP}")
        elif known.ledger != self.books.ledger:
            raise LedgerMismatch("the head file belongs to another ledger")
        elif known.sequence > sequence:
            raise LedgerMismatch(
                f"the ledger ends with entry {sequence}, and entry {known.sequence} was there before: it was rolled "
                f"back; {_HELP}"
            )
        elif known.hash != (hash_ if known.sequence == sequence else tx.hash_at(known.sequence)):
            raise LedgerMismatch(f"entry {known.sequence} is not the one that was there before; {_HELP}")

    def _check_memory(self, tx: Reading, last: tuple[int, str]) -> None:
        sequence, hash_ = last
        mine = self._committed
        if sequence < mine.sequence:
            raise LedgerMismatch(f"the ledger was rolled back while it was open; {_HELP}")
        if mine.hash != (hash_ if sequence == mine.sequence else tx.hash_at(mine.sequence)):
            raise LedgerMismatch(f"the ledger was edited while it was open; {_HELP}")

    def _taken_in(self) -> Head:
        """Note that all that is in the books is durable."""
        self._stale = False
        self._committed = _head(self.books)
        return self._committed

    def _entry(self, books: Books, draft: Draft) -> Entry:
        return write_entry(
            sequence=books.sequence + 1,
            previous=books.hash,
            ledger=books.ledger,
            kind=draft.kind,
            by=draft.by,
            time=self._clock().isoformat(timespec="seconds"),
            body=draft.body,
        )

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise LedgerUnavailable("a ledger belongs to the process that opened it: open it again here")


# --- reading a chain ----------------------------------------------------------------------------------------------


def replay(tx: Reading) -> Books:
    """The books of a whole ledger, every entry checked; LedgerMismatch names the first that is bad."""
    books = Books()
    take_in(books, tx)
    if not books.sequence:
        raise LedgerMismatch("the ledger is empty: its first entry is gone")
    return books


def take_in(books: Books, tx: Reading) -> None:
    """Take all further entries into the books."""
    for row in tx.lines(books.sequence):
        try:
            books.apply(read_line(row))
        except Broken as found:
            raise LedgerMismatch(f"entry {books.sequence + 1} is bad: {found}; restore a copy that verifies") from None
    if (books.sequence, books.hash) != tx.head():
        raise LedgerMismatch(f"the ledger says that it ends elsewhere than with entry {books.sequence}; {_HELP}")


def read_line(row: Any) -> Entry:
    """The entry in a row of the table, whose columns must say what its line says."""
    entry = read_entry(row.text)
    if entry.hash != row.hash:
        raise Broken("its hash is not that of its text")
    said = Columns(row.kind, row.population, row.analyst, row.token)
    if row.sequence != entry.sequence or said != columns(entry):
        raise Broken("its columns do not say what its text says")
    return entry


def _head(books: Books) -> Head:
    return Head(books.ledger, books.sequence, books.hash)


def _said(head: Head | None) -> dict[str, Any] | None:
    return None if head is None else {"ledger": head.ledger, "sequence": head.sequence, "hash": head.hash}
