"""The shapes of requests and replies, as the OpenAPI description shows them. Anything else is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr


def _whole(value: Any) -> Any:
    """30.0 is the integer 30 in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[StrictStr, Field(min_length=1, max_length=40_000)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=100)]
Reason = Annotated[StrictStr, Field(min_length=1, max_length=2_000)]
Exact = Annotated[StrictStr, Field(min_length=1, max_length=400)] | StrictInt | StrictFloat
"""An exact number: text such as "0.1" or "1/3", or a JSON number, which means the decimal that is written."""
Count = Annotated[StrictInt, BeforeValidator(_whole), Field(ge=1, le=10**12)]
Days = Annotated[StrictInt, BeforeValidator(_whole), Field(ge=1, le=3660)]
Key = StrictStr | StrictInt | StrictBool | None


class In(BaseModel):
    """What a request may hold, and nothing more."""

    model_config = ConfigDict(extra="forbid")


class Promise(In):
    """A budget or cap: epsilon, epsilon and delta, or rho and perhaps delta."""

    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None


class Question(In):
    """A question in SQL, and either a price (epsilon or rho) or an error that the answer must keep."""

    sql: Text
    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    error: Exact | Annotated[dict[Name, Exact], Field(min_length=1, max_length=100)] | None = None
    confidence: Exact = "0.95"


class PreviewIn(Question):
    """A question whose price one wants to know."""

    rows: Count | None = None


class AskIn(Question):
    """A question to be answered. With a ``key``, asking again gives the same stored answer and costs nothing more."""

    key: Name | None = None


class Workload(In):
    """Several questions in SQL, planned together, and one price for all of them."""

    sqls: Annotated[list[Text], Field(min_length=1, max_length=50)]
    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    confidence: Exact = "0.95"


class WorkloadPreviewIn(Workload):
    """Questions whose price together one wants to know."""

    rows: Count | None = None


class WorkloadAskIn(Workload):
    """Questions to be answered together. With a ``key``, asking again gives the same answers and costs nothing more."""

    key: Name | None = None


class BoundsIn(In):
    """A column of numbers for which bounds shall be estimated, and a price.

    The answer counts its values by sign and power of two; the confidence is that of the error bars of the counts.
    """

    table: Name
    column: Annotated[StrictStr, Field(min_length=1, max_length=300)]
    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    confidence: Exact = "0.9999999"
    key: Name | None = None


class ColumnIn(In):
    """What is declared of a column."""

    bounds: Annotated[list[Exact], Field(min_length=2, max_length=2)] | None = None
    keys: Annotated[list[Key], Field(min_length=1, max_length=10_000)] | None = None
    unknown_keys: StrictBool = False
    null_key: StrictBool = False
    type: Literal["date"] | None = None
    nullable: StrictBool = True


class TableIn(In):
    """Where a table lies and what is declared of it."""

    source: Annotated[StrictStr, Field(min_length=1, max_length=1000)]
    unit: Annotated[StrictStr, Field(min_length=1, max_length=300)] | None = None
    public: StrictBool = False
    max_rows: Count | None = None
    max_groups: Count | None = None
    max_rows_per_group: Count | None = None
    columns: dict[Name, ColumnIn] = {}


class RegisterIn(In):
    """A data set: tables about the same people, and the budget that protects them."""

    name: Name
    tables: Annotated[dict[Name, TableIn], Field(min_length=1, max_length=50)]
    population: Name | None = None
    budget: Promise | None = None
    protects: Name = "one person"
    rule: Literal["zcdp", "basic"] | None = None
    neighbours: Literal["add_remove", "change_one"] = "add_remove"
    decision: Reason | None = None


class SourceIn(In):
    """A file or glob below the folder of the data."""

    source: Annotated[StrictStr, Field(min_length=1, max_length=1000)]


class ReasonIn(In):
    """Why the owner does something; it is recorded."""

    reason: Reason


class BudgetIn(ReasonIn):
    """A new budget for a population."""

    budget: Promise


class GrantIn(In):
    """Leave to ask about a population, up to a cap."""

    population: Name
    cap: Promise | None = None


class AnalystIn(In):
    """A new analyst."""

    name: Name
    grants: Annotated[list[GrantIn], Field(max_length=50)] = []
    days: Days = 90


class TokenIn(In):
    """A new token for an analyst."""

    days: Days = 90


# --- replies --------------------------------------------------------------------------------------------------------


class Problem(BaseModel):
    """What went wrong: its kind in the error tree, a sentence, and what to do."""

    kind: str
    message: str
    hint: str | None


class Error(BaseModel):
    """Every refusal has this shape."""

    error: Problem


class Amount(BaseModel):
    """A promise with its exact numbers as text."""

    model_config = ConfigDict(extra="allow")

    kind: str
    text: str


class Me(BaseModel):
    """Who the token belongs to."""

    name: str
    role: Literal["owner", "analyst"]
    expires: str


class DatasetOut(BaseModel):
    """A data set that one may ask about."""

    name: str
    population: str
    protects: str
    tables: list[str]


class Standing(BaseModel):
    """Where a budget stands; ``share`` is the part that was spent, ``gone`` what can be spent no more by anybody."""

    population: str
    analyst: str | None
    unit: str
    neighbours: str
    rule: str | None
    budget: Amount
    spent: Amount
    remaining: Amount
    share: float
    gone: float
    spent_epsilon: float | None
    remaining_epsilon: float | None
    analysts: list[Standing] = []


class ColumnOut(BaseModel):
    """A column, as everybody may know it."""

    name: str
    kind: str
    stored: str
    """How it is stored; ``scale`` is the number of digits after the point."""
    scale: int
    unit: bool
    low: str | None
    high: str | None
    bounds: list[str] | None
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
    max_rows: int | None
    max_groups: int | None
    max_rows_per_group: int | None
    columns: list[ColumnOut]
    unusable: dict[str, str]
    """Columns of types that cannot be read here, with their types."""


class SchemaOut(BaseModel):
    """The public schema of a data set."""

    name: str
    population: str
    protects: str
    neighbours: str
    tables: dict[str, TableOut]


class ColumnError(BaseModel):
    """The error bar of one column of the answer; ``rows`` says for how many rows in a group, where that matters."""

    name: str
    error: float | None
    rows: int | None
    unit: str
    """Of the error: days for dates and times, else empty."""


class PreviewOut(BaseModel):
    """What a question would cost and how far off its answer would be."""

    columns: list[ColumnError]
    confidence: float
    cost: str
    remaining: str
    affordable: bool
    noise: str
    named_from: int | None
    counted: str
    """What counts of one unit."""
    advice: str
    price: Amount
    left: Amount
    left_after: Amount | None
    price_epsilon: float | None
    left_epsilon: float | None
    left_after_epsilon: float | None
    allowance: Amount
    story: list[str]


class WorkloadPreviewOut(BaseModel):
    """What each question of a workload would get; the price in each is that of all together."""

    questions: list[PreviewOut]


class AnswerOut(BaseModel):
    """A stored answer: its rows and error bars, the signed receipt and the signed release card.

    That of a workload has a list of ``answers``, one for each question.
    """

    number: int
    dataset: str
    query: str
    parameters: dict[str, Any]
    price: Amount
    answer: dict[str, Any]
    receipt: str
    card: str | None


class ChargeOut(BaseModel):
    """A question that was paid."""

    number: int
    by: str
    time: str
    dataset: str
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


class Done(BaseModel):
    """The entry in which an act was recorded."""

    sequence: int


class Health(BaseModel):
    """Whether the service is up. Nothing of the ledger or the data is told."""

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
    """What a group of people has lost so far, and at most; null where no theorem says anything."""

    people: int
    spent: Amount | None
    promised: Amount | None
