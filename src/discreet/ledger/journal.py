"""The journal: one ledger, open in this process.

Promise: ``append`` decides and writes while it holds the ledger alone, over all threads, processes and servers; when it
returns, the entry is durable in the database and the head file is past it. Before anything is decided, the journal
catches up: all that others wrote is checked and taken into the state, and the entries that this process and the head
file remember must still be there. If they are not, it refuses with LedgerMismatch and nothing is written.
Believes: database.py for the lock and the commit, head_file.py for the file.

What is only looked at is followed apart from what is written: whoever looks never waits for a write, and never sees
less than what was durable when they came, on whichever server it was written.

After a crash the database may be ahead of the head file: the commit comes first. That is no mismatch. A head file
ahead of the database is a rollback; one that is not in the chain is an edit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from discreet.errors import BadParameter, LedgerBusy, LedgerError, LedgerMismatch, LedgerUnavailable, LedgerUnsafe
from discreet.ledger.entries import Broken, Entry, read_entry, write_entry
from discreet.ledger.head_file import Head, HeadFile
from discreet.ledger.record_base import Record
from discreet.ledger.records import AcknowledgeRecord, Expected, apply_entry, read_record
from discreet.ledger.signing import Key
from discreet.ledger.state import State
from discreet.ledger.storage.connections import TOO_LONG
from discreet.ledger.storage.database import Database
from discreet.ledger.storage.transactions import Reading

Clock = Callable[[], datetime]
Point = Callable[[str], None]
ARRIVED: ContextVar[int | None] = ContextVar("discreet.arrived", default=None)
"""When the request came that is being answered, by ``time.monotonic_ns``: it need not be read twice for it."""
_LITTLE = 50
"""Entries of others that are read in the loop of a server: about two milliseconds."""
_HELP = "restore a copy that has all entries, or let the owner acknowledge what happened"


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be written: what it says, and who says it."""

    record: Record
    by: str


def nothing(_: str) -> None:
    """What happens at the points of a write, unless a test says otherwise."""


def utc() -> datetime:
    """The time now."""
    return datetime.now(UTC)


class View:
    """What was read of a ledger so far: the state after it, and the last entry that is known to be durable."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.durable = _head(state)
        self.stale = False
        """Whether the state may hold an entry that was not written."""

    def catch_up(self, tx: Reading, heads: HeadFile) -> None:
        """Check the head file and what was read before against the ledger, then take in what is new."""
        remembered, last = heads.read(), tx.head()  # in this order: others may be writing while we only read
        self._check_file(tx, remembered, last)
        try:
            self._check_memory(tx, last)
        except LedgerMismatch:
            fresh = replay(tx)
            if set(fresh.acknowledged) <= set(self.state.acknowledged):
                raise
            self.state = fresh  # the owner has acted since, in another process
        if self.stale:
            self.state = replay(tx)
        if (self.state.sequence, self.state.hash) != last:
            apply_rows(self.state, tx)
        self.mark_durable()

    def mark_durable(self) -> Head:
        """Note that all that is in the state is durable."""
        self.stale = False
        self.durable = _head(self.state)
        return self.durable

    def _check_file(self, tx: Reading, remembered: Head | None, last: tuple[int, str]) -> None:
        sequence, hash_ = last
        if remembered is None:
            if self.state.charges:
                raise LedgerMismatch(f"the head file is missing, so a rollback could not be seen; {_HELP}")
        elif remembered.ledger != self.state.ledger:
            raise LedgerMismatch("the head file belongs to another ledger")
        elif remembered.sequence > sequence:
            raise LedgerMismatch(
                f"the ledger ends with entry {sequence}, and entry {remembered.sequence} was there before: it was "
                f"rolled back; {_HELP}"
            )
        elif remembered.hash != (hash_ if remembered.sequence == sequence else tx.hash_at(remembered.sequence)):
            raise LedgerMismatch(f"entry {remembered.sequence} is not the one that was there before; {_HELP}")

    def _check_memory(self, tx: Reading, last: tuple[int, str]) -> None:
        sequence, hash_ = last
        mine = self.durable
        if sequence < mine.sequence:
            raise LedgerMismatch(f"the ledger was rolled back while it was open; {_HELP}")
        if mine.hash != (hash_ if sequence == mine.sequence else tx.hash_at(mine.sequence)):
            raise LedgerMismatch(f"the ledger was edited while it was open; {_HELP}")


class Journal:
    """A ledger, its head file, its key and its state. Any number of threads may use it; a forked process may not."""

    def __init__(
        self,
        database: Database,
        heads: HeadFile,
        key: Key,
        *,
        newer_key: Callable[[], Key] | None = None,
        clock: Clock = utc,
        at: Point = nothing,
    ) -> None:
        self.database = database
        self.key = key
        self.at = at
        self._newer_key = newer_key
        self._heads = heads
        self._clock = clock
        self._writing = threading.RLock()
        self._reading = threading.Lock()
        self._read_since = -1
        """When the last read began that is done, in nanoseconds of this process."""
        self.mismatch: str | None = None
        """What the last read found wrong, if anything."""
        self.stopped: str | None = None
        """Why this process may write no more, if so."""
        with database.read() as tx:
            self._written = View(replay(tx))
        self._read = View(self._written.state.copied())

    @property
    def state(self) -> State:
        """The state that the next entry is decided by."""
        return self._written.state

    @property
    def head(self) -> Head:
        """The last entry that this process knows to be durable."""
        return self._written.durable

    def append(self, decide: Callable[[State, Reading], Draft | tuple[Draft, ...] | None]) -> Entry | None:
        """Write what ``decide`` makes of the state, or nothing if it returns None; it may refuse by raising.

        Several drafts are written together, or none of them is; what comes back is the last entry.
        """
        self.database.check_process()
        with self._held(self._writing):
            if self.stopped is not None:
                raise LedgerMismatch(self.stopped)
            view = self._written
            try:
                with self.database.write() as tx:
                    view.catch_up(tx, self._heads)
                    self._take_key(view.state)
                    drafts = decide(view.state, tx)
                    if drafts is None:
                        return None
                    for draft in drafts if isinstance(drafts, tuple) else (drafts,):
                        after = view.state.sequence, view.state.hash
                        entry = self._entry(view.state, draft)
                        record = read_record(entry)
                        view.stale = True  # until it is known to be written, the state is ahead of the ledger
                        apply_entry(view.state, entry, record)
                        tx.append(entry, record.columns(entry.by), after=after)
                    self.at("appended")
            except Broken:
                raise LedgerUnavailable("this would not continue the ledger; nothing was written") from None
            mine = view.mark_durable()
            self.at("committed")
        self._heads.advance(mine, latest=lambda: self.head)
        self.at("head")
        return entry

    def refresh(self) -> State:
        """The state with all that was durable on any server when this was called, to be read only.

        One read serves all who came before it began, and one request (``ARRIVED``) need not be read for twice, unless
        something was written here since. After a mismatch it is the last good state; ``append`` refuses.
        """
        self.database.check_process()
        arrived = ARRIVED.get()
        came = time.monotonic_ns() if arrived is None else arrived
        with self._held(self._reading):
            if self._read_since < came or self._read.durable.sequence < self._written.durable.sequence:
                since = time.monotonic_ns()
                try:
                    with self.database.read() as tx:
                        self._read.catch_up(tx, self._heads)
                    self._found_good()
                except LedgerMismatch as found:
                    self.mismatch = str(found)
                    self._keep_what_was_written()
                self._read_since = since
            return self._read.state

    def refresh_at_once(self) -> bool:
        """Whether ``refresh`` need not wait: all that was durable when this was called has now been read, quickly.

        For the loop of a server, which may not wait. It is so only if the ledger is a file of this machine, nobody
        reads it at this moment, nothing is wrong with it, and others have written little since.
        """
        self.database.check_process()
        if not self.database.local or not self._reading.acquire(blocking=False):
            return False
        try:
            since = time.monotonic_ns()
            with self.database.read() as tx:
                if tx.head()[0] > self._read.state.sequence + _LITTLE:
                    return False
                self._read.catch_up(tx, self._heads)
            self._found_good()
            self._read_since = since
        except LedgerError:
            return False
        finally:
            self._reading.release()
        return True

    def trouble(self) -> str | None:
        """Why this ledger refuses to spend, if it does."""
        self.database.check_process()
        if self.stopped is not None:
            return self.stopped
        with self._held(self._writing):
            try:
                with self.database.write() as tx:
                    self._written.catch_up(tx, self._heads)
            except LedgerMismatch as found:
                return str(found)
            return None

    def acknowledge(self, reason: str, by: str) -> Entry:
        """Record that the owner knows what happened, and go on from the entries that are there."""
        self.database.check_process()
        trouble = self.trouble()
        if trouble is None:
            raise BadParameter("reason", reason, "must have a mismatch to explain, and there is none")
        with self._held(self._writing):
            self.database.reopen()
            with self.database.write() as tx:
                state, remembered = replay(tx), None
                if state.ledger != self.state.ledger:
                    raise LedgerMismatch("this is another ledger altogether: restore the one that was opened")
                with suppress(LedgerMismatch):
                    remembered = self._heads.read()
                record = AcknowledgeRecord(reason, trouble, _head(state), Expected(remembered, self.head))
                entry = self._entry(state, Draft(record, by))
                tx.append(entry, record.columns(by), after=(state.sequence, state.hash))
                apply_entry(state, entry)
            self._written.state = state
            self._heads.replace(self._written.mark_durable())
        return entry

    def update_head_file(self) -> None:
        """Bring the head file up to the state, if the two agree: a crash may have left it behind."""
        with self._held(self._writing):
            with self.database.write() as tx:
                self._written.catch_up(tx, self._heads)
            self._heads.advance(self._written.mark_durable())

    def _found_good(self) -> None:
        self.mismatch = None
        with suppress(LedgerError):  # whoever only looks need not have the key
            self._take_key(self._read.state)

    def _take_key(self, state: State) -> None:
        """Sign with the key that was rotated to since; LedgerUnsafe if its file is not here."""
        if self._newer_key is None or state.public_key == self.key.public:
            return
        newer = self._newer_key()
        if newer.public != state.public_key:
            raise LedgerUnsafe("the key of this ledger was replaced: put the new key file into its place here, too")
        self.key = newer

    def _keep_what_was_written(self) -> None:
        """After a mismatch: show what this process wrote before it, even if nobody has read that yet."""
        with self._held(self._writing):
            if not self._written.stale and self._written.durable.sequence > self._read.durable.sequence:
                self._read = View(self._written.state.copied())

    @contextmanager
    def _held(self, lock: threading.Lock | threading.RLock) -> Iterator[None]:
        """Hold a lock of this process, or give up in time: a store that hangs must not keep everybody waiting."""
        if not lock.acquire(timeout=self.database.patience):
            raise LedgerBusy(TOO_LONG)
        try:
            yield
        finally:
            lock.release()

    def _entry(self, state: State, draft: Draft) -> Entry:
        return write_entry(
            sequence=state.sequence + 1,
            previous=state.hash,
            ledger=state.ledger,
            kind=draft.record.kind,
            by=draft.by,
            time=self._clock().isoformat(timespec="seconds"),
            body=draft.record.body(),
        )


# --- reading a chain ----------------------------------------------------------------------------------------------


def replay(tx: Reading) -> State:
    """The state after a whole ledger, every entry checked; LedgerMismatch names the first that is bad."""
    state = State()
    apply_rows(state, tx)
    if not state.sequence:
        raise LedgerMismatch("the ledger is empty: its first entry is gone")
    return state


def apply_rows(state: State, tx: Reading) -> None:
    """Take all further entries into the state."""
    for row in tx.lines(state.sequence):
        try:
            apply_row(state, row)
        except Broken as found:
            raise LedgerMismatch(f"entry {state.sequence + 1} is bad: {found}; {found.advice}") from None
    if (state.sequence, state.hash) != tx.head():
        raise LedgerMismatch(f"the head of the ledger is not its last entry, {state.sequence}; {_HELP}")


def apply_row(state: State, row: Any) -> Entry:
    """Take the entry in a row of the table into the state; its columns must agree with its text, else Broken."""
    sequence, kind, population, analyst, token, hash_, text = row
    entry = read_entry(text)
    if entry.hash != hash_:
        raise Broken("its hash is not that of its text")
    record = read_record(entry)
    if sequence != entry.sequence or (kind, population, analyst, token) != record.columns(entry.by):
        raise Broken("its columns do not agree with its text")
    apply_entry(state, entry, record)
    return entry


def _head(state: State) -> Head:
    return Head(state.ledger, state.sequence, state.hash)
