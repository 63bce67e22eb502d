"""The kinds of records in a ledger: what each one says, and what it does to the state.

Believes: record_base.py for reading and writing, entries.py for the chain, state.py for the sums.

A kind is one frozen class: its fields are the keys of the body, their annotations say how each is written, ``apply``
says what it changes. To add one, see CONTRIBUTING.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.ledger.entries import BEFORE_ALL, Broken, Entry, Json, Newer, follows
from discreet.ledger.head_file import Head
from discreet.ledger.record_base import UNREADABLE, Columns, CustomRecord, Record, token_of
from discreet.ledger.state import Analyst, Dataset, Population, State, StreamPosition, limits_of
from discreet.privacy.budgets.currency import Amounts, add
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours

FORMAT = 1
"""The format of a whole ledger: the form of its lines and the rules of record_base.py."""


# --- the ledger and its keys --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LedgerRecord(Record):
    """Opens the ledger: its first entry."""

    KIND = "ledger"
    format: int
    public_key: str
    versions: Json

    def apply(self, state: State, entry: Entry) -> None:
        """Name the ledger and its key."""
        if state.sequence or self.format != FORMAT:
            raise Broken("it opens a ledger in a format that is not known here, or a second time")
        state.ledger, state.public_keys = entry.ledger, [self.public_key]


@dataclass(frozen=True, slots=True)
class KeyRecord(Record):
    """Another key signs from now on."""

    KIND = "key"
    public_key: str
    before: str
    reason: str

    def apply(self, state: State, entry: Entry) -> None:
        """Make the key the newest."""
        state.public_keys.append(self.public_key)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the head file and the process remembered of a ledger."""

    file: Head | None
    memory: Head


@dataclass(frozen=True, slots=True)
class AcknowledgeRecord(Record):
    """The owner knows that the ledger is not what was expected, and goes on with what was found."""

    KIND = "acknowledge"
    reason: str
    trouble: str
    found: Head
    expected: Expected

    def apply(self, state: State, entry: Entry) -> None:
        """Keep its hash: other servers see by it that the owner has acted. Streams end: lost entries may be steps."""
        state.acknowledged.append(entry.hash)
        state.streams = {name: replace(stream, ended=True) for name, stream in state.streams.items()}


# --- budgets and data sets ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PopulationRecord(Record):
    """Opens a budget for the people of a population."""

    KIND = "population"
    population: str
    budget: Measure
    rule: Rule | None
    reserve: Fraction
    limits: Amounts
    neighbours: Neighbours
    unit: str

    def apply(self, state: State, entry: Entry) -> None:
        """Open it, once."""
        if self.population in state.populations:
            raise Broken("it opens a population a second time")
        limits = limits_of(self.budget, self.rule, self.limits)
        state.populations[self.population] = Population(
            self.population, self.budget, self.rule, self.reserve, limits, self.neighbours, self.unit
        )


@dataclass(frozen=True, slots=True)
class BudgetRecord(Record):
    """Raises or lowers the budget of a population."""

    KIND = "budget"
    population: str
    budget: Measure
    limits: Amounts
    reason: str

    def apply(self, state: State, entry: Entry) -> None:
        """Change the limits; what was spent stays spent."""
        population = state.populations[self.population]
        if len(self.limits) != len(population.limits.most):
            raise Broken("it changes the currency of a budget")
        limits = limits_of(self.budget, population.rule, self.limits)
        state.populations[population.name] = replace(population, budget=self.budget, limits=limits)


@dataclass(frozen=True, slots=True)
class DatasetRecord(Record):
    """Registers a data set about a population, or describes it anew."""

    KIND = "dataset"
    dataset: str
    population: str
    about: Json
    marks: tuple[str, ...]
    decision: str | None

    def apply(self, state: State, entry: Entry) -> None:
        """Put the data set under its population."""
        population = state.populations[self.population].name
        state.datasets[self.dataset] = Dataset(
            self.dataset, population, dict(self.about), frozenset(self.marks), state.public_key
        )


@dataclass(frozen=True, slots=True)
class RetireRecord(Record):
    """Closes a data set for questions."""

    KIND = "retire"
    dataset: str
    reason: str

    def apply(self, state: State, entry: Entry) -> None:
        """Mark it as retired."""
        state.datasets[self.dataset] = replace(state.datasets[self.dataset], retired=True)


# --- analysts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnalystRecord(Record):
    """Adds an analyst, who may ask nothing yet."""

    KIND = "analyst"
    analyst: str

    def apply(self, state: State, entry: Entry) -> None:
        """Add them, once."""
        if self.analyst in state.analysts:
            raise Broken("it adds an analyst a second time")
        state.analysts[self.analyst] = Analyst(self.analyst)


@dataclass(frozen=True, slots=True)
class RevokeRecord(Record):
    """Lets an analyst ask no more."""

    KIND = "revoke"
    analyst: str
    reason: str

    def apply(self, state: State, entry: Entry) -> None:
        """Mark them as revoked."""
        state.analysts[self.analyst] = replace(state.analysts[self.analyst], revoked=True)


@dataclass(frozen=True, slots=True)
class GrantRecord(Record):
    """Lets an analyst ask about a population, up to a cap of their own or, with None, up to its budget."""

    KIND = "grant"
    analyst: str
    population: str
    cap: Measure | None
    limits: Amounts | None

    def apply(self, state: State, entry: Entry) -> None:
        """Set or change the cap."""
        analyst, population = state.analysts[self.analyst], state.populations[self.population]
        if self.limits is not None and len(self.limits) != len(population.limits.most):
            raise Broken("it caps an analyst in another currency")
        state.analysts[analyst.name] = replace(analyst, caps={**analyst.caps, population.name: self.cap})
        limits = None if self.limits is None else limits_of(self.cap, population.rule, self.limits)
        state.caps[population.name, analyst.name] = limits


# --- payments -----------------------------------------------------------------------------------------------------


def _adds_up(before: Amounts, price: Amounts, after: Amounts) -> bool:
    """Whether ``after`` is the sum, or what ``add`` makes of it; in integers, since all of a long ledger is checked."""
    for b, p, a in zip(before, price, after, strict=True):
        b_top, b_low = b.as_integer_ratio()
        p_top, p_low = p.as_integer_ratio()
        a_top, a_low = a.as_integer_ratio()
        if (b_top * p_low + p_top * b_low) * a_low != a_top * b_low * p_low:
            return after == add(before, price)  # a sum whose fraction would grow too long is a hair more
    return True


@dataclass(frozen=True, slots=True)
class Sums:
    """What an account had spent before and after a payment."""

    before: Amounts
    after: Amounts

    def check(self, state: State, account: tuple[str, str | None], price: Amounts) -> None:
        """Check that they are the state's own, exactly; else Broken."""
        before = state.used(*account)
        if self.before != before or not _adds_up(before, price, self.after):
            raise Broken("its sums are wrong")


@dataclass(frozen=True, slots=True)
class CappedSums(Sums):
    """The same, under the limit of the account; None for an analyst without a cap of their own."""

    limit: Amounts | None

    def check(self, state: State, account: tuple[str, str | None], price: Amounts) -> None:
        """Check the sums, and that they stay under the limit that holds now; else Broken."""
        Sums.check(self, state, account, price)
        limit = state.limit(*account)
        if self.limit != (None if limit is None else limit.most):
            raise Broken("it goes over a cap, or names another one")
        if limit is None or limit.within(self.after):
            return
        if not limit.fits(self.before, price):  # ``after`` may have been rounded up past the limit
            raise Broken("it goes over a cap")


@dataclass(frozen=True, slots=True)
class ChargeRecord(Record):
    """A question that was paid, by the analyst who wrote the entry: the question, its price, and the sums."""

    KIND = "charge"
    dataset: str
    population: str
    price: Amounts
    own: CappedSums
    total: CappedSums
    key: str
    asked: str
    query: str
    parameters: Json
    event: Json

    def apply(self, state: State, entry: Entry) -> None:
        """Charge the population and the analyst, both or neither."""
        analyst, population, dataset = entry.by, state.populations[self.population].name, state.datasets[self.dataset]
        if dataset.population != population or dataset.retired or state.analysts[analyst].revoked:
            raise Broken("it charges for what could not be asked")
        self.total.check(state, (population, None), self.price)
        self.own.check(state, (population, analyst), self.price)
        state.spent[population, None], state.spent[population, analyst] = self.total.after, self.own.after
        state.charges += 1
        state.charged[self.dataset] = state.charged.get(self.dataset, 0) + 1

    def columns(self, by: str) -> Columns:
        """Its population, its analyst and their key."""
        return Columns(self.KIND, self.population, by, token_of(by, self.key))


@dataclass(frozen=True, slots=True)
class WriteOffRecord(Record):
    """Charges a budget for what was released elsewhere, or lost from the ledger; also beyond its limit."""

    KIND = "write_off"
    population: str
    event: Json
    price: Amounts
    total: Sums
    reason: str

    def apply(self, state: State, entry: Entry) -> None:
        """Charge the population."""
        account = state.populations[self.population].name, None
        self.total.check(state, account, self.price)
        state.spent[account] = self.total.after


# --- streams ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamRecord(Record):
    """A step of a stream that a charge has paid for: position 0 opens it, then each position comes once, in order."""

    KIND = "stream"
    population: str
    stream: str
    charge: int
    position: int
    step: str
    state: str
    """The hash of what the stream goes on from, which is kept elsewhere: it holds data."""

    def apply(self, state: State, entry: Entry) -> None:
        """Move the stream on by one step."""
        population = state.populations[self.population].name
        stream = state.streams.get(self.stream)
        if stream is None and (self.position != 0 or not 0 < self.charge <= state.sequence):
            raise Broken("it goes on with a stream that was not opened, or not paid for")
        here = self.position, self.charge, population, entry.by
        if stream is not None and (
            stream.ended or here != (stream.position + 1, stream.charge, stream.population, stream.by)
        ):
            raise Broken("it is not the next step of its stream")
        state.streams[self.stream] = StreamPosition(
            self.stream, population, entry.by, self.charge, self.position, self.step, self.state
        )


KINDS: dict[str, type[Record]] = {
    kind.KIND: kind
    for kind in (
        LedgerRecord, KeyRecord, AcknowledgeRecord, PopulationRecord, BudgetRecord, DatasetRecord, RetireRecord,
        AnalystRecord, RevokeRecord, GrantRecord, ChargeRecord, WriteOffRecord, StreamRecord,
    )
}  # fmt: skip
"""Every kind of record that this version reads."""


# --- reading entries ----------------------------------------------------------------------------------------------


def read_record(entry: Entry) -> Record:
    """What an entry says; Broken if it cannot be read, Newer if only a later version can."""
    if "." in entry.kind:
        return CustomRecord(entry.kind, entry.body)
    if entry.kind not in KINDS:
        raise Newer(f"it is of kind {entry.kind!r}, which is not known here")
    return KINDS[entry.kind].read(entry)


def apply_entry(state: State, entry: Entry, record: Record | None = None) -> None:
    """Take the next entry into the state, or raise Broken and change nothing. ``record`` is what it says, if known."""
    if state.sequence:
        follows(entry, sequence=state.sequence, previous=state.hash, ledger=state.ledger)
    else:
        follows(entry, sequence=0, previous=BEFORE_ALL, ledger=entry.ledger)
        if entry.kind != LedgerRecord.KIND:
            raise Broken("it is the first, and does not open a ledger")
    read = read_record(entry) if record is None else record
    try:
        read.apply(state, entry)
    except UNREADABLE:  # it names what is not there, or amounts of another currency
        raise Broken(f"it does not read as an entry of kind {entry.kind}") from None
    state.sequence, state.hash = entry.sequence, entry.hash
