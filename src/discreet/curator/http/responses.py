"""The shapes of replies, as the OpenAPI description shows them."""

from __future__ import annotations

from typing import Any, Literal, overload

from pydantic import BaseModel, ConfigDict

from discreet.curator.amounts import write_amount
from discreet.curator.service.access import Token
from discreet.privacy.promises.measures import Measure


class Problem(BaseModel):
    """What went wrong: its kind in the error tree, a sentence, and what to do."""

    kind: str
    message: str
    hint: str | None
    fields: dict[str, str | dict[str, str] | None] = {}
    """What the message names, for programs: of OverBudget, ``asked`` and ``left``."""


class Error(BaseModel):
    """Every refusal has this shape."""

    error: Problem


class Amount(BaseModel):
    """A promise with its exact numbers as text."""

    model_config = ConfigDict(extra="allow")

    kind: str
    text: str


@overload
def amount(measure: Measure) -> Amount: ...
@overload
def amount(measure: Measure | None) -> Amount | None: ...
def amount(measure: Measure | None) -> Amount | None:
    """A promise as it is sent."""
    return None if measure is None else Amount(**write_amount(measure))


class Me(BaseModel):
    """Who the token belongs to."""

    name: str
    role: str
    expires: str
    populations: list[str] | None
    """Whom somebody who is no analyst oversees; null for the whole service."""
    reads_answers: bool
    """Whether they read the answers of others."""


class PaperOut(BaseModel):
    """A genuine receipt or release card: what it says, and whether the ledger still holds its charge."""

    kind: Literal["receipt", "card"]
    number: int
    dataset: str
    query: str
    price: str
    hash: str
    stands: bool


class SyntheticResult(BaseModel):
    """What came of a job: how many rows of which columns, what was spent, and how well the model fits."""

    columns: list[str]
    rows: int
    spent: str
    complete: bool
    """Whether it came to its end; not if it was cancelled."""
    story: list[str]
    report: list[tuple[list[str], int, float, float, float]]
    """For each measured marginal: its columns, its cells, the noise in rows, and as shares of all rows how far the
    model is from it and how far the noise alone would put it; the worst first."""


class SyntheticOut(BaseModel):
    """A job that makes synthetic rows. ``number`` is that of its charge."""

    number: int
    state: Literal["running", "done", "failed", "lost"]
    doing: str
    result: SyntheticResult | None


class PublishedResult(BaseModel):
    """What came of a publication: its release card, and how many cells do not add up, which is 0."""

    card: dict[str, Any]
    mismatches: int


class PublicationOut(BaseModel):
    """A job that publishes tables. ``number`` is that of its charge."""

    number: int
    state: Literal["running", "done", "failed", "lost"]
    doing: str
    result: PublishedResult | None


class TableError(BaseModel):
    """How far off the cells of a table would be: ± ``error``, at the confidence that was asked for."""

    table: str
    cells: int
    error: float


class LevelShare(BaseModel):
    """Which part of the cost a level has."""

    level: str
    share: float


class PublicationPreviewOut(BaseModel):
    """What tables would cost, and how far off their cells would be, before they are made whole."""

    tables: list[TableError]
    shares: list[LevelShare]
    consequences: list[str]
    """What public totals mean for the guarantee."""
    price: Amount
    left: Amount
    left_after: Amount | None
    price_epsilon: float | None
    left_epsilon: float | None
    left_after_epsilon: float | None


class DatasetOut(BaseModel):
    """A data set that one may ask about."""

    name: str
    population: str
    protects: str
    tables: list[str]


class Standing(BaseModel):
    """Where a budget stands.

    ``share`` is the part that was spent, of an analyst's by themselves; ``gone`` the part that can be spent no more, by
    whomever it was spent. Where two numbers are counted, the larger part. ``remaining`` holds for their own cap and
    for the budget of all; ``accounts`` is what is left of each sum that is counted, where either of two is enough.
    ``charged`` is the sum of what was charged: no promise about the answers so far, which is ``budget``.
    """

    population: str
    analyst: str | None
    unit: str
    neighbours: str
    rule: str | None
    budget: Amount
    charged: Amount
    remaining: Amount
    accounts: list[Amount] = []
    share: float
    gone: float
    charged_epsilon: float | None
    remaining_epsilon: float | None
    analysts: list[Standing] = []


class ColumnOut(BaseModel):
    """A column, as everybody may know it."""

    name: str
    kind: str
    stored: str
    """How it is stored; ``scale`` is the number of digits after the point."""
    scale: int
    untyped: bool = False
    """Whether it is text of a CSV file, which is read as ``stored`` says."""
    unit: bool
    low: str | None
    high: str | None
    bounds: list[str] | Literal["auto"] | None
    """As they were declared, exactly."""
    nullable: bool
    keys: list[str | int | bool | None] | None
    more_keys: int
    unknown_keys: bool


class TableOut(BaseModel):
    """A table, as everybody may know it."""

    unit: str | None
    through: str | None
    leads_to: list[str] | None
    """The table and the column that the foreign key names."""
    public: bool
    max_rows: int | Literal["auto"] | None
    max_groups: int | None
    max_rows_per_group: int | None
    columns: list[ColumnOut]
    unusable: dict[str, str]
    """Columns of types that cannot be read here, with their types."""
    places: list[list[str]] = []
    """The levels of each declared hierarchy, the coarsest first."""


class SchemaOut(BaseModel):
    """The public schema of a data set."""

    name: str
    population: str
    protects: str
    neighbours: str
    tables: dict[str, TableOut]
    replies: str
    """When replies to questions leave, and what that tells."""


class ColumnError(BaseModel):
    """The error bar of one column of the answer; ``rows`` says for how many rows in a group, where that matters."""

    name: str
    error: float | None
    rows: int | None
    unit: str
    """Of the error: days for dates and times, else empty."""
    evenly: bool
    """Whether it is for values that are spread evenly over their bounds: for others it may be far longer."""
    relative: float | None = None
    """The error beside the number itself in a group of so many rows, where its size can be said."""


class Share(BaseModel):
    """Which share of the price is for one of the numbers that are released."""

    what: str
    share: float


class Note(BaseModel):
    """Something to know: a code with its fields, and a text that says the same."""

    code: str
    fields: dict[str, Any]
    text: str


class LibraryLine(BaseModel):
    """An answer that is there and may be shown, without its numbers."""

    number: int
    by: str
    """Who paid for it."""
    time: str
    query: str
    cost: str
    data: str
    """Of which data version: the owner's word, or a hash of what the files looked like."""


class LibraryOut(BaseModel):
    """Answers about a data set, the newest first, and the data version that it has now."""

    data: str | None
    answers: list[LibraryLine]


class PreviewOut(BaseModel):
    """What a question would cost and how far off its answer would be."""

    columns: list[ColumnError]
    confidence: float
    cost: str
    remaining: str
    affordable: bool
    more: int | None = None
    """About how many more like this the budget would cover after it."""
    noise: str
    named_from: int | None
    notes: list[Note] = []
    """What there is to know before it is paid, worst first."""
    shares: list[Share] = []
    """Where the price goes."""
    advice: str
    price: Amount
    left: Amount
    left_after: Amount | None
    price_epsilon: float | None
    left_epsilon: float | None
    left_after_epsilon: float | None
    allowance: Amount
    story: list[str]
    earlier: LibraryLine | None = None
    """The answer that releasing this would give, for nothing."""


class WorkloadPreviewOut(BaseModel):
    """What each question of a workload would get; the price in each is that of all together."""

    questions: list[PreviewOut]


class PlannedQuestionOut(BaseModel):
    """What one question of a plan gets: relative errors in a group of ``rows`` rows, one deviation.

    Where errors were asked for, they are shares of these.
    """

    question: str
    tables: list[str]
    error: float | None
    rows: int
    alone: float | None
    """Its error, were it asked by itself for an equal part of the price."""


class PlanOut(BaseModel):
    """What all questions of a plan cost together, and what each of them gets."""

    targets: bool
    """Whether errors were asked for, and the price follows from them."""
    cost: str
    noise: str
    questions: list[PlannedQuestionOut]
    saving: float | None
    """The mean error (where errors were asked for, the price) beside that of asking one by one: 0.7 is 30 % less."""


class PlanPreviewOut(WorkloadPreviewOut):
    """A plan, and the error bars of each question; the price in each is that of all together."""

    plan: PlanOut


class AnswerTable(BaseModel):
    """Rows with their error bars, and how they were made. Answers that were stored earlier may have less."""

    columns: list[str]
    rows: list[list[str | int | float | bool | None]]
    kinds: dict[str, str] = {}
    """The columns that have dates or timestamps; their errors are in days."""
    errors: dict[str, list[float | None]]
    errors_together: dict[str, list[float | None]] = {}
    intervals: dict[str, list[list[str | int | float | None] | None]] = {}
    intervals_together: dict[str, list[list[str | int | float | None] | None]] = {}
    confidence: str
    cost: str
    clipped: list[dict[str, Any]] = []
    """To what contributions of one unit were scaled down, where the query chose that."""
    notes: list[Note | str] = []
    """What a reader must know of the numbers, worst first. An older version stored sentences, one in ``counted``."""
    counted: str = ""
    story: list[str]
    bins: dict[str, float] = {}
    """Keys that are the lower ends of bins, and how wide these are."""
    consistent: dict[str, Any] | None = None
    """What is different in the numbers that agree."""
    about: str = ""
    """Of a profile: what this histogram is about."""
    labels: list[str] = []
    """Of a profile: its classes in words, in the order of the rows."""


class AnswerTables(BaseModel):
    """The answers to the questions of a workload, in their order."""

    answers: list[AnswerTable]
    confidence: str = ""
    cost: str = ""


def read_answer(stored: dict[str, Any]) -> AnswerTable | AnswerTables:
    """A stored answer: to a workload, or to one question."""
    return AnswerTables(**stored) if "answers" in stored else AnswerTable(**stored)


class AnswerOut(BaseModel):
    """A stored answer: its rows and error bars, the signed receipt and the signed release card."""

    number: int
    dataset: str
    query: str
    parameters: dict[str, Any]
    price: Amount
    answer: AnswerTable | AnswerTables
    by: str
    """Who paid for it."""
    time: str
    """When it was charged."""
    data: str | None
    """Of which data version: the owner's word, or a hash of what the files looked like; null if that is not known."""
    receipt: str | None
    """Null where another analyst paid; the card is there for everybody who may see the answer."""
    card: str | None
    paid_before: bool = False
    """Whether an earlier request paid for it, with the same key or for the same query: this one cost nothing."""
    derived: bool = False
    """Whether it follows from the numbers of the answer with this number; the price is that of that one."""


class JobOut(BaseModel):
    """A question that was paid, and how it stands."""

    number: int
    state: str
    """running, done, failed, cancelled, lost (with a server that ended) or pruned."""
    answer: AnswerOut | None = None


class ChargeOut(BaseModel):
    """A question that was paid."""

    number: int
    by: str
    time: str
    dataset: str
    key: str
    """What the same question was asked again under, for nothing."""
    query: str
    parameters: dict[str, Any]
    answered: bool


class Charges(BaseModel):
    """Questions that were paid, oldest first."""

    charges: list[ChargeOut]


class EntryOut(BaseModel):
    """An entry of the ledger; ``text`` is the line whose SHA-256 is ``hash``."""

    sequence: int
    kind: str
    by: str
    time: str
    hash: str
    previous: str
    answered: bool
    price: str | None = None
    """What was paid, for a question."""
    body: dict[str, Any]
    text: str


class Entries(BaseModel):
    """Entries of the ledger, oldest first."""

    entries: list[EntryOut]


class HeadOut(BaseModel):
    """The last entry: whoever wrote it down can show that the ledger was rolled back."""

    ledger: str
    sequence: int
    hash: str


class Verdict(BaseModel):
    """Whether the ledger is whole."""

    ok: bool
    entries: int
    problems: list[str]


class AuditOut(BaseModel):
    """What the owner should know: whether the ledger spends, and all acts that are not questions."""

    trouble: str | None
    cautions: list[str]
    head: HeadOut
    unanswered: list[int]
    acts: list[EntryOut]


class TokenOut(BaseModel):
    """A token without its secret."""

    token: str
    expires: str
    revoked: bool


def token(issued: Token) -> TokenOut:
    """A token as it is shown to owners."""
    expires = issued.expires.isoformat(timespec="seconds")
    return TokenOut(token=issued.identity, expires=expires, revoked=issued.revoked)


class PersonOut(BaseModel):
    """An owner, steward or auditor; ``populations`` is whom they oversee, null for the whole service."""

    name: str
    role: str
    populations: list[str] | None
    reads_answers: bool
    left: bool
    tokens: list[TokenOut]


class BudgetRequestOut(BaseModel):
    """A request for a cap, and what was decided: ``state`` is open, granted or refused."""

    request: str
    analyst: str
    population: str
    cap: Amount
    reason: str
    time: str
    state: Literal["open", "granted", "refused"]
    granted: Amount | None
    decided_by: str | None
    decided: str | None
    decision: str | None


class AnalystOut(BaseModel):
    """An analyst, what they may spend, and their tokens."""

    name: str
    revoked: bool
    caps: dict[str, Amount | None]
    tokens: list[TokenOut]


class Issued(BaseModel):
    """A new token. It is shown here and never again."""

    name: str
    token: str


class SignOnProvider(BaseModel):
    """Where a browser goes to sign on, and what it names there."""

    address: str
    client: str
    redirect: str
    scope: str


class SignOnOut(BaseModel):
    """How people sign on; without a provider they have tokens."""

    provider: SignOnProvider | None


class Done(BaseModel):
    """The entry in which an act was recorded."""

    sequence: int


class Health(BaseModel):
    """Whether the service is up. It reveals nothing about the ledger or the data."""

    ok: bool


class PublicKey(BaseModel):
    """The Ed25519 key with which receipts and cards can be checked, in hexadecimal."""

    public_key: str


class StoredColumn(BaseModel):
    """A column of a file, and how it is stored."""

    name: str
    kind: str
    may_be_unit: bool


class HouseholdOut(BaseModel):
    """What was charged so far, for a group of people, and what they are promised; null where no bound is known."""

    people: int
    charged: Amount | None
    promised: Amount | None


class Attacker(BaseModel):
    """The best attack: true positives for each rate of false positives; ``guess`` is how often it guesses right."""

    false_positives: list[float]
    true_positives: list[float]
    guess: float


class Composition(BaseModel):
    """The epsilon of so many questions together: by adding up, and by zCDP."""

    questions: list[int]
    basic: list[float]
    zcdp: list[float]


class NoiseSample(BaseModel):
    """Draws of noise, the probability of each value, and the error that 19 draws out of 20 keep."""

    samples: list[int]
    law: dict[str, float]
    error: float
