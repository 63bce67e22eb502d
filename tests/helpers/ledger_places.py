"""Places for ledgers in tests: an SQLite file or a PostgreSQL database, each with its key and head files."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.errors import LedgerMismatch
from discreet.ledger import Charge, Ledger, open_ledger, verify_ledger
from discreet.ledger.verify import Report
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure, Pure


@dataclass(frozen=True, slots=True)
class Place:
    """Where a ledger lies. Can be sent to another process."""

    location: str
    key: str
    head: str

    @property
    def is_file(self) -> bool:
        return not self.location.startswith("postgres")

    @property
    def file(self) -> Path:
        return Path(self.location)

    def open(self, **options: Any) -> Ledger:
        return open_ledger(self.location, key=self.key, head=self.head, **options)

    def verify(self, **options: Any) -> Report:
        return verify_ledger(self.location, head=self.head, **options)

    def run(self, *statements: str) -> list[Any]:
        """Do something to the database behind the ledger's back, as its administrator could."""
        if self.is_file:
            with sqlite3.connect(self.location, isolation_level=None) as lite:
                rows = [lite.execute(statement).fetchall() for statement in statements]
            lite.close()
            return rows[-1]
        found: list[Any] = []
        with psycopg.connect(self.location, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
                found = cursor.fetchall() if cursor.description else []
        return found

    def unguard(self) -> None:
        """Take away the triggers that keep entries from being changed by mistake."""
        tables = ("discreet_entries", "discreet_answers")
        if self.is_file:
            self.run(*(f"DROP TRIGGER IF EXISTS {t}_no_{verb}" for t in tables for verb in ("update", "delete")))
        else:
            self.run(*(f"ALTER TABLE {t} DISABLE TRIGGER ALL" for t in tables))

    def roll_back(self, to: int) -> None:
        """What a restored backup looks like: the entries up to one number, and no others."""
        self.unguard()
        self.run(
            f"DELETE FROM discreet_answers WHERE charge > {to}",
            f"DELETE FROM discreet_entries WHERE sequence > {to}",
            "UPDATE discreet_head SET sequence = (SELECT max(sequence) FROM discreet_entries)",
            "UPDATE discreet_head SET hash = (SELECT e.hash FROM discreet_entries e "
            "WHERE e.sequence = discreet_head.sequence)",
        )

    def copied(self, folder: Path) -> Place:
        """A copy of all files as they are now."""
        folder.mkdir()
        for path in Path(self.location).parent.iterdir():
            shutil.copy(path, folder)
        return replace(
            self,
            location=str(folder / Path(self.location).name),
            key=str(folder / Path(self.key).name),
            head=str(folder / Path(self.head).name),
        )


def prepared(
    place: Place,
    budget: Measure | None = None,
    *,
    cap: Measure | None = None,
    rule: Rule | None = None,
    **options: Any,
) -> Ledger:
    """A new ledger: the people of "town", the data set "visits", the analysts ann (capped) and bob (not)."""
    ledger = place.open(create=True, **options)
    ledger.owner.protect("town", Pure(1) if budget is None else budget, rule=rule)
    ledger.owner.register("visits", "town", marks=["/data/visits"], about={"columns": ["cost"]})
    for name, most in (("ann", cap), ("bob", None)):
        ledger.owner.add_analyst(name)
        ledger.owner.grant(name, "town", most)
    return ledger


def ask(
    ledger: Ledger, key: str, event: Event | Measure | None = None, *, analyst: str = "ann", query: str = "q"
) -> Charge:
    paid = events.Pure("0.1") if event is None else event
    return ledger.spend("visits", analyst, paid, key=key, query=query, parameters={"epsilon": "0.1"})


def answered(ledger: Ledger, key: str, *, analyst: str = "ann") -> Charge:
    return ledger.store_answer(ask(ledger, key, analyst=analyst), f"answer to {key}".encode(), accuracy="within 3")


def refused(ledger: Ledger, words: str) -> None:
    """It spends nothing, takes no act of the owner, and says why; what it knew can still be read."""
    for call in (lambda: ask(ledger, "refused"), lambda: ledger.owner.add_analyst("refused")):
        with pytest.raises(LedgerMismatch, match=words):
            call()
    assert ledger.trouble is not None
    assert ledger.standing("town")
