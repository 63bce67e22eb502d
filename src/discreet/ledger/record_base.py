"""What a record of a ledger is: a frozen class whose fields are the body of an entry, in all its versions.

Promise: a record is read as it was written, whichever version wrote it, or refused. ``body`` gives back what was read,
so the text of an entry, and with it its hash, follows from the record alone.
Believes: entries.py for the text of each field.

Three rules let later versions read earlier ledgers:

- The body of version 1 names no version; a later one holds ``"version": n``. A newer version than ours is refused.
- A body has exactly the fields of its version. Any other is refused, never skipped: it may hold a restriction.
- To change the fields of a kind, keep its class as it was, with ``upgrade`` to the new one, and name it in OLDER.
"""

from __future__ import annotations

from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from discreet.ledger.entries import Broken, Entry, Json, Newer, digest, read_fields, write_fields
from discreet.ledger.state import Act, State

_SUMMARY = ("query", "analyst", "dataset", "population", "name", "reason")
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)
"""What goes wrong in a body that does not read."""


class Columns(NamedTuple):
    """What an entry is found by in the database. All of it follows from its text."""

    kind: str
    population: str | None = None
    analyst: str | None = None
    token: str | None = None
    """Stands for an analyst and their idempotency key: no two charges share one."""


def token_of(analyst: str, key: str) -> str:
    """What stands for an analyst and an idempotency key: the hash of ``canonical([analyst, key])``.

    >>> from discreet.ledger.entries import canonical
    >>> token_of("ann", "\u00e9") == digest(canonical(["ann", "\u00e9"]))
    True
    """
    return digest(f"[{encode_basestring_ascii(analyst)},{encode_basestring_ascii(key)}]")  # one for each entry


class Older(Protocol):
    """An earlier version of a kind: a frozen dataclass with the fields of that version."""

    def upgrade(self) -> Any:
        """The same in the next version."""
        ...


@dataclass(frozen=True, slots=True)
class Record:
    """What one entry says. A subclass is one kind of record.

    >>> from discreet.ledger.records import RetireRecord
    >>> RetireRecord("visits", reason="moved").body()
    {'dataset': 'visits', 'reason': 'moved'}
    >>> RetireRecord.from_body({"dataset": "visits", "reason": "moved"})
    RetireRecord(dataset='visits', reason='moved')
    """

    KIND: ClassVar[str]
    OLDER: ClassVar[tuple[type[Older], ...]] = ()
    """The classes of earlier versions of this kind, the first one first."""

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """What an entry of this kind says; else Broken."""
        if entry.kind != cls.KIND:
            raise Broken(f"it is not an entry of kind {cls.KIND}")
        return cls.from_body(entry.body)

    @classmethod
    def from_body(cls, body: Json) -> Self:
        """What the body of an entry says; Broken if it cannot be read, Newer if only a later version can."""
        version, fields = 1, body
        if "version" in body:
            fields = dict(body)
            version = fields.pop("version")
            if type(version) is not int or version < 2:
                raise Broken(f"it does not read as an entry of kind {cls.KIND}")
        versions: tuple[type[Any], ...] = (*cls.OLDER, cls)
        if version > len(versions):
            raise Newer(f"it is of kind {cls.KIND} in version {version}, and {len(versions)} is the newest known here")
        try:
            record = read_fields(versions[version - 1], fields)
            while not isinstance(record, cls):
                record = record.upgrade()
            return record
        except UNREADABLE:
            raise Broken(f"it does not read as an entry of kind {cls.KIND}") from None

    @property
    def kind(self) -> str:
        """The kind under which it is recorded."""
        return self.KIND

    def body(self) -> dict[str, Any]:
        """The body of its entry."""
        return write_fields(self) | ({"version": len(self.OLDER) + 1} if self.OLDER else {})

    def apply(self, state: State, entry: Entry) -> None:
        """Change the state, or raise Broken. Unless a kind says otherwise it is kept, for ``Owner.acts``."""
        act = Act(entry.sequence, entry.kind, entry.by, entry.time, entry.body)
        state.acts.setdefault(entry.kind, []).append(act)

    def columns(self, by: str) -> Columns:
        """What it is found by, if ``by`` wrote it: its population and its analyst, where it has them."""
        return Columns(self.kind, getattr(self, "population", None), getattr(self, "analyst", None))

    def summary(self) -> str:
        """What tells most about it, in a list of entries."""
        body = self.body()
        return next((str(body[name]) for name in _SUMMARY if body.get(name)), "")


@dataclass(frozen=True, slots=True)
class CustomRecord(Record):
    """What another package records, under a kind with a dot such as "access.token". The ledger only keeps it."""

    name: str
    content: Json

    @property
    def kind(self) -> str:
        """The kind that was chosen for it."""
        return self.name

    def body(self) -> dict[str, Any]:
        """The content, as it was given."""
        return dict(self.content)

    def columns(self, by: str) -> Columns:
        """Its kind only: its content belongs to others."""
        return Columns(self.kind)
