"""The durable ledger: who protects whom, what was spent, and what was answered.

    ledger = open_ledger("curator.ledger", create=True)            # or "postgresql://..."; key and head files beside it
    ledger.owner.protect("patients", dp.Approx(2, "1e-9"))          # a budget belongs to the people protected
    ledger.owner.register("visits", "patients", marks=["/data/visits.parquet"], about={...})
    ledger.owner.add_analyst("ann")
    ledger.owner.grant("ann", "patients", dp.Approx(1, "5e-10"))    # a cap of her own, or None

    charge = ledger.spend("visits", "ann", event, key="...", query="SELECT ...", parameters={...})
    if charge.fresh:                                                # else charge.answer, or None: charged, none stored
        answer = mechanism.release(value, charge.receipt)           # read data and draw noise only now
        charge = ledger.store_answer(charge, answer_bytes, accuracy=...)
    send(charge.answer, charge.proof, charge.card)                  # nothing leaves before it is stored

Promise: ``spend`` returns a fresh charge only when it is durable, under the population's budget and the analyst's cap
both, and remembered outside of the database. Whatever crashes, however many servers ask: no answer without an earlier
charge, no charge is ever undone, no cap is exceeded by any amount. A key is charged once: with the same question it
gives the stored answer, with another one it is refused. A ledger that was rolled back or edited refuses to spend.
Believes: journal.py and what it believes; privacy/budgets/filters.py for why the charges add up to the budget.

Owner: ``ledger.owner`` has protect, set_budget, register, retire, add_analyst, grant, revoke_analyst, write_off,
acknowledge, and record/acts for whatever else must be in the chain, such as hashes of tokens (owner_acts.py).
To look: quote (free), look, standing, household, populations, datasets, analysts, entries, charge, unanswered, head,
public_key, trouble, cautions, export. In verify.py: verify_ledger, import_ledger. In receipts.py: verify_receipt,
verify_card. Errors: BadParameter, NoPrice, NotATheorem, OverBudget, ReceiptRefused and all under LedgerError; after
any of them nothing may be released.
"""

from __future__ import annotations

import platform
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

from discreet.errors import (
    BadParameter,
    DiscreetError,
    KeyReused,
    LedgerMismatch,
    LedgerUnavailable,
    LedgerUnsafe,
    NotRegistered,
    ReceiptRefused,
    StaleState,
)
from discreet.ledger import standing as standings
from discreet.ledger.charges import Charge, charged, check_permission, left_after, priced
from discreet.ledger.entries import BEFORE_ALL, Entry, canonical, digest, read_entry, write_entry, write_event
from discreet.ledger.head_file import Head, HeadFile
from discreet.ledger.journal import Clock, Draft, Journal, Point, nothing, utc
from discreet.ledger.owner_acts import Owner, check_name, check_reason, find_population
from discreet.ledger.receipts import is_genuine, write_card, write_receipt
from discreet.ledger.record_base import token_of
from discreet.ledger.records import FORMAT, ChargeRecord, KeyRecord, LedgerRecord, StreamRecord
from discreet.ledger.signing import Key, make_key, open_key
from discreet.ledger.state import Analyst, Dataset, Population, State, StreamPosition
from discreet.ledger.storage.connections import is_address
from discreet.ledger.storage.database import open_database
from discreet.ledger.storage.transactions import Reading
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.receipt import Receipt

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Line:
    """An entry, and whether an answer to it was stored."""

    entry: Entry
    answered: bool


class Ledger:
    """A durable ledger, open in this process for any number of threads. Made by ``open_ledger``."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.owner = Owner(journal)

    # --- asking ---------------------------------------------------------------------------------------------------

    def spend(
        self,
        dataset: str,
        analyst: str,
        event: Event | Measure,
        *,
        key: str,
        query: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> Charge:
        """Pay for a question, durably, or refuse and change nothing.

        ``query`` is the canonical form of the question and ``parameters`` all else that decides the answer; numbers
        in them are whole or text. ``key`` is chosen by the analyst, new for each question, the same for a retry.
        """
        given: object = query
        if not isinstance(given, str):
            raise BadParameter("query", type(given).__name__, "must be the text of the query")
        digested = digest(canonical([dataset, query, dict(parameters or {})]))
        token = token_of(analyst, check_name(key, "key"))
        try:
            population, price = priced(self._journal.state, dataset, analyst, event)
        except DiscreetError:  # other servers may know more; and what was paid before needs no price
            state = self._journal.refresh()
            with self._journal.database.read() as tx:
                earlier = self._charged_before(tx, token, digested)
            if earlier is not None:
                return earlier
            population, price = priced(state, dataset, analyst, event)
        self._journal.at("planned")
        charges: list[Charge] = []

        def decide(state: State, tx: Reading) -> Draft | None:
            earlier = self._charged_before(tx, token, digested)
            if earlier is not None:
                charges.append(earlier)
                return None
            record = charged(
                state, dataset, analyst, price, key=key, asked=digested, query=query, parameters=dict(parameters or {}),
                event=write_event(event),
            )  # fmt: skip
            return Draft(record, analyst)

        entry = self._journal.append(decide)
        if entry is None:
            return charges[0]
        shown = population.currency.shown(price)
        left = left_after(population, ChargeRecord.read(entry))
        receipt = Receipt(event, number=entry.sequence, price=shown, left=left)
        return Charge(entry, True, receipt, shown, write_receipt(entry, self._journal.key))

    def store_answer(
        self, charge: Charge, answer: bytes, *, accuracy: Any = None, versions: Mapping[str, str] | None = None
    ) -> Charge:
        """Store the answer to a fresh charge, once, with its release card; send only what comes back from here.

        ``accuracy`` says in text or JSON how far off the answer may be; ``versions`` adds to those of discreet and
        Python, for instance the engine's.
        """
        if not charge.fresh:
            raise ReceiptRefused("only a fresh charge can be answered: this one was charged by an earlier call")
        population = find_population(self._journal.state, charge.record.population)
        card = write_card(
            charge.entry,
            population,
            self._journal.key,
            answer=answer,
            accuracy=accuracy,
            versions=_versions() | dict(versions or {}),
        )
        with self._journal.database.answer() as tx:
            if tx.hash_at(charge.sequence) != charge.entry.hash:
                raise LedgerMismatch("the charge is gone from the ledger, so its answer may not leave")
            if tx.answer(charge.sequence) is not None:
                raise ReceiptRefused("this charge was answered already")
            tx.add_answer(charge.sequence, answer, card)
        self._journal.at("stored")
        return replace(charge, fresh=False, answer=answer, card=card)

    def prune_answers(self, *, before: str, by: str = "owner") -> int:
        """Forget the answers to questions that were charged before a time; how many. Charges, receipts, cards stay.

        ``before`` is compared with the times of entries as text, such as "2026-01-31". Recorded in the chain.
        """
        if not _DAY.fullmatch(before):
            raise BadParameter("before", before, 'must be a day such as "2026-01-31"')
        with self._journal.database.read() as tx:
            entries = [read_entry(text) for text, answered in tx.texts(kind=ChargeRecord.KIND) if answered]
        old = [entry.sequence for entry in entries if entry.time < before]
        self.owner.record("ledger.pruned", {"before": before, "reason": "answers are kept no longer"}, by=by)
        return self._journal.database.prune(old)

    def stream(self, name: str) -> StreamPosition | None:
        """Where a stream stands that was paid for in advance, if it was opened."""
        return self._journal.refresh().streams.get(name)

    def record_step(self, record: StreamRecord, *, by: str) -> None:
        """Record the next step of a stream, durably, before its answer leaves; StaleState if it was taken already."""

        def decide(state: State, _: object) -> Draft:
            stream = state.streams.get(record.stream)
            if stream is not None and stream.ended:
                raise StaleState("the ledger was set back, and this stream may have gone further; open another one")
            if record.position != (0 if stream is None else stream.position + 1):
                raise StaleState(
                    f"another process went on with this stream: {stream.position if stream else 0} steps were "
                    "answered; open it again"
                )
            return Draft(record, by)

        self._journal.append(decide)
        self._journal.at("stored")

    def quote(self, dataset: str, analyst: str, event: Event | Measure) -> standings.Quote:
        """What a question would cost now, and what would be left. Free."""
        state = self._journal.refresh()
        population, price = priced(state, dataset, analyst, event)
        return standings.quote(state, population, analyst, price)

    def _charged_before(self, tx: Reading, token: str, digested: str) -> Charge | None:
        """What was charged under a key before, if it was for the same question."""
        text = tx.by_token(token)
        if text is None:
            return None
        entry = read_entry(text)
        if ChargeRecord.read(entry).asked != digested:
            raise KeyReused("this key was used for another query: choose a new one")
        return self._charge(tx, entry)

    def _charge(self, tx: Reading, entry: Entry) -> Charge:
        stored = tx.answer(entry.sequence)
        keys = self._journal.state.public_keys
        pruned = stored is not None and not stored[0]
        if stored is not None and not pruned and not is_genuine(stored[1], keys, stored[0], entry.sequence, entry.hash):
            raise LedgerMismatch("the stored answer is not the one that was signed for this charge; it stays here")
        record = ChargeRecord.read(entry)
        price = find_population(self._journal.state, record.population).currency.shown(record.price)
        proof = write_receipt(entry, self._journal.key)
        answer, card = stored or (None, None)
        return Charge(entry, False, None, price, proof, answer or None, card)

    # --- looking --------------------------------------------------------------------------------------------------

    def standing(self, population: str, analyst: str | None = None) -> standings.Standing:
        """Where a population's budget stands, or what an analyst has spent of it and may still spend."""
        state = self._journal.refresh()
        found_population = find_population(state, population)
        if analyst is not None:
            check_permission(state, found_population, analyst)
        return standings.standing(state, found_population, analyst)

    def household(self, population: str, people: int) -> standings.Household:
        """What a household of so many has lost so far, and at most."""
        state = self._journal.refresh()
        return standings.household(state, find_population(state, population), people)

    def look(self) -> State:
        """What the ledger adds up to now, with all that other servers wrote: one read. To be looked at only."""
        return self._journal.refresh()

    @property
    def local(self) -> bool:
        """Whether it is a file of this machine: reading it waits for nobody."""
        return self._journal.database.local

    def look_at_once(self) -> bool:
        """Whether ``look`` need not wait, with all that is durable now: for the loop of a server."""
        return self._journal.refresh_at_once()

    @property
    def populations(self) -> Mapping[str, Population]:
        """All populations with a budget."""
        return MappingProxyType(dict(self._journal.refresh().populations))

    @property
    def datasets(self) -> Mapping[str, Dataset]:
        """All data sets, retired ones too."""
        return MappingProxyType(dict(self._journal.refresh().datasets))

    @property
    def analysts(self) -> Mapping[str, Analyst]:
        """All analysts, revoked ones too."""
        return MappingProxyType(dict(self._journal.refresh().analysts))

    def entries(
        self,
        *,
        after: int = 0,
        limit: int = 1000,
        kind: str | None = None,
        population: str | None = None,
        analyst: str | None = None,
    ) -> list[Line]:
        """Entries in order. For an analyst: their charges and what the owner decided about them."""
        with self._journal.database.read() as tx:
            texts = tx.texts(after=after, limit=limit, kind=kind, population=population, analyst=analyst)
        return [Line(read_entry(text), answered) for text, answered in texts]

    def unanswered(self, *, analyst: str | None = None) -> list[Entry]:
        """Charges without a stored answer: under way, or lost in a crash. They stay charged."""
        with self._journal.database.read() as tx:
            return [read_entry(text) for text, _ in tx.texts(open_only=True, analyst=analyst)]

    def charge(self, sequence: int) -> Charge:
        """A charge that was made before, with its stored answer, receipt and card."""
        self._journal.refresh()
        with self._journal.database.read() as tx:
            texts = tx.texts(after=sequence - 1, limit=1, kind=ChargeRecord.KIND)
            entry = read_entry(texts[0][0]) if texts else None
            if entry is None or entry.sequence != sequence:
                raise NotRegistered("there is no such charge")
            return self._charge(tx, entry)

    def charge_of(self, analyst: str, key: str) -> Charge | None:
        """What was charged under a key of an analyst, if anything was."""
        self._journal.refresh()
        with self._journal.database.read() as tx:
            text = tx.by_token(token_of(analyst, check_name(key, "key")))
            return None if text is None else self._charge(tx, read_entry(text))

    @property
    def head(self) -> Head:
        """The last entry that this process knows."""
        return self._journal.head

    def has(self, head: Head) -> bool:
        """Whether this ledger has the entry that was its head once."""
        with self._journal.database.read() as tx:
            return head.ledger == self._journal.state.ledger and tx.hash_at(head.sequence) == head.hash

    @property
    def identity(self) -> str | None:
        """What tells the database of this ledger from copies of it; None if its server does not say."""
        return self._journal.database.identity()

    def stop_spending(self, reason: str) -> None:
        """Write nothing more in this process, with LedgerMismatch: another one writes to this ledger, or a copy."""
        self._journal.stopped = reason

    @property
    def public_key(self) -> str:
        """The key with which receipts and cards can be checked: the one that signs now."""
        return self._journal.key.public

    @property
    def trouble(self) -> str | None:
        """Why this ledger refuses to spend, if it does."""
        return self._journal.trouble()

    @property
    def mismatch(self) -> str | None:
        """What the last look at the ledger found wrong, if anything: free, unlike ``trouble``."""
        return self._journal.stopped or self._journal.mismatch

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the owner should know about where the ledger is stored."""
        return self._journal.database.cautions

    def export(self) -> Iterator[str]:
        """Every entry as its line, for a copy elsewhere; ``import_ledger`` takes them back. Answers are not in it."""
        with self._journal.database.read() as tx:
            yield from (row[-1] for row in tx.lines())

    def close(self) -> None:
        """Close the database."""
        self._journal.database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- opening ------------------------------------------------------------------------------------------------------


def open_ledger(
    location: str | Path,
    *,
    key: Path | str | None = None,
    head: Path | str | None = None,
    create: bool = False,
    patience: float = 10,
    clock: Clock = utc,
    at: Point = nothing,
) -> Ledger:
    """Open a ledger: an SQLite file, or a PostgreSQL database by its address, for several servers.

    ``key`` is the file of the signing key and ``head`` that of the head, beside an SQLite file unless given; keep the
    head on another disk, out of the database's backup. All servers of one ledger share the key; each machine has a
    head of its own. ``patience`` is how many seconds to wait for others. ``at`` is called at named points of every
    write, for tests of crashes: planned, appended, committed, head, stored.

    Every entry is checked. If the chain is bad, LedgerMismatch names the first bad entry. If it is good but not what
    the head file remembers, the ledger opens for reading, and ``trouble`` says why it does not spend.
    """
    key_path, head_path = _beside(location, key, "key"), _beside(location, head, "head")
    heads = HeadFile(head_path)
    database = open_database(location, create=create, patience=patience)
    try:
        remembered = heads.read() is not None  # looked at first: another process may be making both, the head file last
        new = not database.exists()
        if new and not create:
            raise LedgerUnavailable("there is no ledger here; create one with create=True")
        if new and remembered:
            raise LedgerMismatch("the head file remembers a ledger, and there is none here: restore it")
        signing = _open_or_make(key_path, create=new)
        database.set_up([_first(signing, clock)] if create else [])
        journal = Journal(database, heads, signing, newer_key=lambda: open_key(key_path), clock=clock, at=at)
        if journal.state.public_key != signing.public:
            raise LedgerUnsafe("this is not the ledger's key: give its key file, or replace it with replace_key")
        if journal.trouble() is None:
            journal.update_head_file()
    except BaseException:
        database.close()
        raise
    return Ledger(journal)


def _open_or_make(path: Path, *, create: bool) -> Key:
    if create and not path.exists():
        try:
            return make_key(path)
        except BadParameter:  # another process was quicker
            return open_key(path)
    return open_key(path)


def _first(key: Key, clock: Clock) -> Entry:
    record = LedgerRecord(FORMAT, key.public, dict(_versions()))
    return write_entry(
        sequence=1,
        previous=BEFORE_ALL,
        ledger=secrets.token_hex(16),
        kind=record.kind,
        by="owner",
        time=clock().isoformat(timespec="seconds"),
        body=record.body(),
    )


def _beside(location: str | Path, given: Path | str | None, what: str) -> Path:
    if given is not None:
        return Path(given)
    if is_address(location):
        raise BadParameter(what, None, f"must be the path of the {what} file: with PostgreSQL there is no place for it")
    path = Path(location)
    return path.with_name(f"{path.name}.{what}")


@cache  # reading them takes longer than signing
def _versions() -> dict[str, str]:
    return {"discreet": metadata.version("discreet"), "python": platform.python_version()}


def replace_key(
    location: str | Path, *, key: Path | str, reason: str, head: Path | str | None = None, by: str = "owner"
) -> None:
    """Let a new key file sign from now on, because the old one was lost or seen; recorded.

    Servers that run take it from the place of their key file, with the next entry.
    """
    heads, signing = HeadFile(_beside(location, head, "head")), open_key(Path(key))
    database = open_database(location, create=False, patience=10)
    try:
        database.set_up([])
        journal = Journal(database, heads, signing)
        if journal.key.public in journal.state.public_keys:
            raise BadParameter("key", Path(key).name, "must be a new key: this ledger has used it already")
        record = KeyRecord(journal.key.public, before=journal.state.public_key, reason=check_reason(reason))
        journal.append(lambda *_: Draft(record, by))
    finally:
        database.close()
