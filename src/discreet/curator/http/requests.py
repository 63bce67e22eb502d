"""The shapes of requests, as the OpenAPI description shows them. Anything else is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from discreet.curator.service.job_questions import PublicationQuestion, SyntheticQuestion
from discreet.curator.service.questions import (
    PlanQuestion,
    ProfileQuestion,
    SizesQuestion,
    SqlQuestion,
    WorkloadQuestion,
)
from discreet.errors import BadParameter
from discreet.query.answer.suggest import SURE
from discreet.query.front.sql.privacy_clause import take_privacy_clause
from discreet.session.price import Price
from discreet.synthetic.hierarchical.plan import publication


def _whole(value: Any) -> Any:
    """30.0 is the integer 30 in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text(value: Any) -> str | None:
    """A JSON number as the decimal that was written, text as it is."""
    return None if value is None else str(value)


Text = Annotated[StrictStr, Field(min_length=1, max_length=40_000)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=100)]
Reason = Annotated[StrictStr, Field(min_length=1, max_length=2_000)]
Exact = Annotated[StrictStr, Field(min_length=1, max_length=400)] | StrictInt | StrictFloat
"""An exact number: text such as "0.1" or "1/3", or a JSON number, which means the decimal that is written."""
Count = Annotated[StrictInt, BeforeValidator(_whole), Field(ge=1, le=10**12)]
Wait = Annotated[StrictInt, BeforeValidator(_whole), Field(ge=0, le=60)]
Days = Annotated[StrictInt, BeforeValidator(_whole), Field(ge=1, le=3660)]
Key = StrictStr | StrictInt | StrictBool | None


class In(BaseModel):
    """What a request may hold, and nothing more."""

    model_config = ConfigDict(extra="forbid")


class PaperIn(In):
    """A receipt or release card, to be checked."""

    text: Annotated[StrictStr, Field(min_length=1, max_length=60_000)]


class Promise(In):
    """A budget or cap: epsilon, epsilon and delta, or rho and perhaps delta."""

    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None


class Priced(Promise):
    """What may be paid, and the confidence of the error bars."""

    confidence: Exact = "0.95"

    def price(self) -> Price:
        """The price: JSON numbers mean the decimals that are written."""
        return Price(_text(self.epsilon), _text(self.delta), _text(self.rho), None, str(self.confidence))


class Paid(In):
    """What is paid once and perhaps waited for."""

    key: Name | None = None
    wait: Wait | None = None
    """Seconds to wait for the answer: if it is not there by then, the reply has the number of the job."""
    fresh: StrictBool = False
    """Whether to pay for a new answer, also where the same query was answered before and that answer is free."""


Target = Exact | Annotated[dict[Name, Exact], Field(min_length=1, max_length=100)]
"""An error that an answer must keep: of all columns, or of each by its name."""


def _kept(error: Target) -> str | dict[str, str]:
    return {name: str(one) for name, one in error.items()} if isinstance(error, dict) else str(error)


class Question(Priced):
    """A question in SQL, and either a price (epsilon or rho) or an error that the answer must keep.

    The text may state its price, as BigQuery spells that: then there is no other.
    """

    sql: Text
    dialect: Name | None = None
    error: Target | None = None

    def question(self, rows: int | None = None) -> SqlQuestion:
        """What is asked."""
        price = replace(self.price(), error=None if self.error is None else _kept(self.error))
        clause = take_privacy_clause(self.sql)[1]
        if clause is not None and (clause.epsilon, clause.delta) != (None, None):
            if (price.epsilon, price.delta, price.rho, price.error) != (None, None, None, None):
                raise BadParameter(
                    "epsilon", price.epsilon, "must be left out: the text states the cost in OPTIONS(...)"
                )
            price = replace(price, epsilon=clause.epsilon, delta=clause.delta)
        return SqlQuestion(sql=self.sql, price=price, rows=rows, dialect=self.dialect)


class DerivedIn(In):
    """A question in SQL whose answer may follow from one that is there."""

    sql: Text
    dialect: Name | None = None
    confidence: Exact = "0.95"

    def question(self) -> SqlQuestion:
        """What is asked; it has no price."""
        price = Price(None, None, None, None, str(self.confidence))
        return SqlQuestion(sql=self.sql, price=price, dialect=self.dialect)


class PreviewIn(Question):
    """A question whose price one wants to know."""

    rows: Count | None = None


class AskIn(Question, Paid):
    """A question to be answered. With a ``key``, asking again gives the same stored answer and costs nothing more."""


class Workload(Priced):
    """Several questions in SQL, planned together, and one price for all of them."""

    sqls: Annotated[list[Text], Field(min_length=1)]
    dialect: Name | None = None

    def question(self, rows: int | None = None) -> WorkloadQuestion:
        """What is asked."""
        return WorkloadQuestion(sqls=tuple(self.sqls), price=self.price(), rows=rows, dialect=self.dialect)


class WorkloadPreviewIn(Workload):
    """Questions whose price together one wants to know."""

    rows: Count | None = None


class WorkloadAskIn(Workload, Paid):
    """Questions to be answered together. With a ``key``, asking again gives the same answers and costs nothing more."""


class PlanPreviewIn(Priced):
    """Several questions in SQL, and either one price that they share or, in their order, an error that each keeps."""

    sqls: Annotated[list[Text], Field(min_length=1)]
    dialect: Name | None = None
    error: Annotated[list[Target], Field(min_length=1)] | None = None

    def question(self) -> PlanQuestion:
        """What is asked."""
        kept = None if self.error is None else tuple(map(_kept, self.error))
        return PlanQuestion(sqls=tuple(self.sqls), price=replace(self.price(), error=kept), dialect=self.dialect)


class PlanAskIn(PlanPreviewIn, Paid):
    """A plan to be answered. With a ``key``, asking again gives the same answers and costs nothing more."""


class BoundsIn(Priced, Paid):
    """A column of numbers for which bounds shall be estimated, and a price.

    The answer counts its values by sign and power of two; the confidence is that of the error bars of the counts.
    """

    table: Name
    column: Annotated[StrictStr, Field(min_length=1, max_length=300)]
    confidence: Exact = SURE

    def question(self) -> SizesQuestion:
        """What is asked."""
        return SizesQuestion(table=self.table, column=self.column, price=self.price())


class SyntheticIn(Priced):
    """Synthetic rows of one table, and a price. With a ``key``, asking again is the same job and costs nothing more."""

    table: Name
    rows: Annotated[StrictInt, BeforeValidator(_whole), Field(ge=1, le=1_000_000)]
    columns: Annotated[list[Annotated[StrictStr, Field(min_length=1, max_length=300)]], Field(min_length=1)] | None = (
        None
    )
    workload: Annotated[StrictStr, Field(min_length=1, max_length=100)] | None = None
    quick: StrictBool = False
    key: Name | None = None

    def question(self) -> SyntheticQuestion:
        """What is asked."""
        return SyntheticQuestion(
            table=self.table,
            price=self.price(),
            rows=self.rows,
            columns=None if self.columns is None else tuple(self.columns),
            workload=self.workload,
            quick=self.quick,
        )


class PublicationIn(Priced):
    """Tables of counts that add up over the places of a table, and a price.

    Each table is a list of columns, at most one of them a level of the places. ``weights``: how much the error of each
    table matters; ``split``: which share of the cost each level has, instead of the best.
    """

    table: Name
    tables: Annotated[
        list[Annotated[list[Annotated[StrictStr, Field(min_length=1, max_length=300)]], Field(max_length=20)]],
        Field(min_length=1, max_length=100),
    ]
    weights: Annotated[list[Exact], Field(min_length=1, max_length=100)] | None = None
    split: dict[Annotated[StrictStr, Field(max_length=300)], Exact] | None = None
    rows: StrictBool = False
    format: Literal["csv", "parquet", "xlsx"] = "csv"
    key: Name | None = None

    def question(self) -> PublicationQuestion:
        """Which tables are asked for, and their price."""
        wanted = publication(
            self.tables,
            weights=None if self.weights is None else [str(weight) for weight in self.weights],
            split=None if self.split is None else {level: str(share) for level, share in self.split.items()},
            rows=self.rows,
        )
        return PublicationQuestion(table=self.table, price=self.price(), wanted=wanted, format=self.format)


class ProfileIn(Priced, Paid):
    """A table, perhaps some of its columns, and a price: the answers are the histograms of a private profile."""

    table: Name
    columns: Annotated[list[Name], Field(max_length=200)] | None = None

    def question(self) -> ProfileQuestion:
        """What is asked."""
        columns = None if self.columns is None else tuple(self.columns)
        return ProfileQuestion(table=self.table, columns=columns, price=self.price())


AnyPaid = AskIn | WorkloadAskIn | PlanAskIn | BoundsIn | ProfileIn


class ColumnIn(In):
    """What is declared of a column."""

    bounds: Annotated[list[Exact], Field(min_length=2, max_length=2)] | Literal["auto"] | None = None
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
    max_rows: Count | Literal["auto"] | None = None
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
    rule: Literal["either", "zcdp", "basic"] | None = None
    neighbours: Literal["add_remove", "change_one"] = "add_remove"
    decision: Reason | None = None
    version: Name | None = None
    """Which data these are: answers are shared as long as it stays; without it, as long as the files stay."""
    answers_apart: StrictBool = False
    """Whether analysts get their own answers only."""


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
    """Permission to ask about a population, up to a cap."""

    population: Name
    cap: Promise | None = None


class AnalystIn(In):
    """A new analyst."""

    name: Name
    grants: Annotated[list[GrantIn], Field(max_length=50)] = []
    days: Days = 90


class RoleIn(In):
    """What somebody is, and whom they oversee: the whole service if ``populations`` is left out."""

    role: Literal["owner", "steward", "auditor"]
    populations: Annotated[list[Name], Field(min_length=1, max_length=50)] | None = None
    reads_answers: StrictBool = False


class PersonIn(RoleIn):
    """A new owner, steward or auditor."""

    name: Name
    days: Days = 90


class BudgetRequestIn(In):
    """A cap that an analyst asks for, and what for."""

    population: Name
    cap: Promise
    reason: Reason


class GrantRequestIn(In):
    """What is granted; the cap that was asked for, if it is left out."""

    cap: Promise | None = None
    reason: Annotated[StrictStr, Field(max_length=2_000)] = ""


class SignOnIn(In):
    """What a browser brings back from the provider, and what it kept for itself meanwhile."""

    code: Annotated[StrictStr, Field(min_length=1, max_length=4_000)]
    verifier: Annotated[StrictStr, Field(min_length=43, max_length=128)]
    nonce: Annotated[StrictStr, Field(min_length=20, max_length=128)]


class SignOnLinkIn(In):
    """What the provider calls somebody; None: they may sign on no more."""

    subject: Annotated[StrictStr, Field(min_length=1, max_length=200)] | None


class TokenIn(In):
    """A new token for an analyst or another person."""

    days: Days = 90
