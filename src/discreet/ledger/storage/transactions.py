"""What is read and written inside one transaction on a ledger's database.

Promise: an entry is appended after the one that was read as the last, or not at all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.errors import LedgerBusy, LedgerMismatch
from discreet.ledger.entries import Entry
from discreet.ledger.migrations import answers, entries, head, sa
from discreet.ledger.record_base import Columns


class Reading:
    """What can be read inside a transaction."""

    def __init__(self, connection: sa.Connection | None = None, *, file: sqlite3.Connection | None = None) -> None:
        self._connection: Any = connection
        self._file = file

    def _execute(self, statement: _Statement, parameters: Mapping[str, object]) -> Any:
        """Run a statement; on an SQLite file without SQLAlchemy, which takes several times as long as SQLite."""
        if self._file is None:
            return self._connection.execute(statement.made, parameters)
        return self._file.execute(statement.text, parameters)

    def _select(self, wanted: sa.Select[Any]) -> Any:
        """The rows of a query that is made for one occasion."""
        if self._file is None:
            return self._connection.execute(wanted)
        written = wanted.compile(dialect=_SQLITE)
        return self._file.execute(str(written), written.params)

    def _first_row(self, statement: _Statement, **parameters: object) -> Sequence[Any] | None:
        """The first row, if there is one."""
        row: Sequence[Any] | None = self._execute(statement, parameters).fetchone()
        return row

    def head(self) -> tuple[int, str]:
        """The number and hash of the last entry, as the database keeps them."""
        row = self._first_row(_HEAD)
        if row is None or not isinstance(row[0], int):
            raise LedgerMismatch("the ledger has lost its head")
        return row[0], row[1]

    def lines(self, after: int = 0) -> Sequence[Sequence[Any]]:
        """All entries after a number, in order, column by column; the text is the last one."""
        rows: Sequence[Sequence[Any]] = self._execute(_LINES, {"after": after}).fetchall()
        return rows

    def by_token(self, token: str) -> str | None:
        """The line of the charge that was made under an idempotency key."""
        row = self._first_row(_BY_TOKEN, wanted=token)
        return None if row is None else row[0]

    def hash_at(self, sequence: int) -> str | None:
        """The hash of one entry."""
        row = self._first_row(_HASH, wanted=sequence)
        return None if row is None else row[0]

    def texts(
        self, *, after: int = 0, limit: int = -1, open_only: bool = False, **only: object
    ) -> list[tuple[str, bool]]:
        """The lines of some entries, and whether each has a stored answer."""
        wanted = (
            sa.select(entries.c.text, answers.c.charge)
            .outerjoin(answers, answers.c.charge == entries.c.sequence)
            .where(entries.c.sequence > after)
            .order_by(entries.c.sequence)
        )
        for name, value in only.items():
            if value is not None:
                wanted = wanted.where(entries.c[name] == value)
        if open_only:
            wanted = wanted.where(entries.c.kind == "charge", answers.c.charge.is_(None))
        if limit >= 0:
            wanted = wanted.limit(limit)
        return [(text, charge is not None) for text, charge in self._select(wanted)]

    def answer(self, charge: int) -> tuple[bytes, str] | None:
        """The stored answer to a charge, and its card."""
        row = self._first_row(_ANSWER, wanted=charge)
        return None if row is None else (_stored(row[0], charge), row[1])

    def all_answers(self) -> Iterator[tuple[int, bytes, str]]:
        """Every stored answer."""
        for charge, answer, card in self._select(sa.select(answers).order_by(answers.c.charge)):
            yield charge, _stored(answer, charge), card


class Writing(Reading):
    """What can be done while the ledger is held alone."""

    def append(self, entry: Entry, columns: Columns, *, after: tuple[int, str]) -> None:
        """Add an entry after the last one, if that is still the last one; ``columns`` are those of its record."""
        self._execute(
            _APPEND, {"sequence": entry.sequence, **columns._asdict(), "hash": entry.hash, "text": entry.text}
        )
        moved = self._execute(
            _MOVE, {"sequence": entry.sequence, "hash": entry.hash, "before": after[0], "hash_before": after[1]}
        )
        if moved.rowcount != 1:
            raise LedgerBusy("another process wrote to the ledger at the same moment; ask again")

    def add_answer(self, charge: int, answer: bytes, card: str) -> None:
        """Store the answer to a charge, once."""
        self._execute(_STORE, {"charge": charge, "answer": answer, "card": card})


@contextmanager
def on_file(engine: sa.Engine, begin: str) -> Iterator[sqlite3.Connection]:
    """A transaction on an SQLite file: committed at the end, undone by an error."""
    held = engine.raw_connection()
    try:
        file: Any = held.dbapi_connection
        file.execute(begin)
        try:
            yield file
        except BaseException:
            file.rollback()
            raise
        file.commit()
    finally:
        held.close()  # what a commit that failed has left is undone


def _stored(answer: object, charge: int) -> bytes:
    if not isinstance(answer, (bytes, memoryview)):  # SQLite lets any column hold anything
        raise LedgerMismatch(f"the answer to entry {charge} is not the one that was stored")
    return bytes(answer)


_SQLITE: Any = sa.make_url("sqlite://").get_dialect()
_SQLITE = _SQLITE(paramstyle="named")


class _Statement:
    """A statement that is run for every question, with its text for SQLite."""

    def __init__(self, made: Any) -> None:
        self.made = made
        self.text = str(made.compile(dialect=_SQLITE))


_HEAD = _Statement(sa.select(head.c.sequence, head.c.hash))
_LINES = _Statement(sa.select(entries).where(entries.c.sequence > sa.bindparam("after")).order_by(entries.c.sequence))
_BY_TOKEN = _Statement(sa.select(entries.c.text).where(entries.c.token == sa.bindparam("wanted")))
_HASH = _Statement(sa.select(entries.c.hash).where(entries.c.sequence == sa.bindparam("wanted")))
_ANSWER = _Statement(sa.select(answers.c.answer, answers.c.card).where(answers.c.charge == sa.bindparam("wanted")))
_APPEND = _Statement(entries.insert())
_STORE = _Statement(answers.insert())
_MOVE = _Statement(
    head.update()
    .where(
        head.c.one == sa.literal_column("1"),
        head.c.sequence == sa.bindparam("before"),
        head.c.hash == sa.bindparam("hash_before"),
    )
    .values(sequence=sa.bindparam("sequence"), hash=sa.bindparam("hash"))
)
