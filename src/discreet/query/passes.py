"""How a query is planned: one list of passes, each a function from one value to the next. No private data is read.

    text -parse-> tree -resolve-> question -lower-> typed relations -bound-> statistics -choose-> steps -price-> quote

Verbs (``session["visits"].group_by(...)``) make a question by themselves and join at ``lower``. ``run.release`` takes
the quote: it pays, runs the engine once for each step, and adds noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sqlglot import exp

from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.engine import Engine
from discreet.query.estimate.noise_plan import Allowance
from discreet.query.estimate.prepare import Prepared, prepare
from discreet.query.front.sql.constants import Staged, staged_question
from discreet.query.front.sql.parse import select_of
from discreet.query.lower.listed_groups import with_presence
from discreet.query.lower.lower import LoweredQuestion, lower_question
from discreet.query.lower.public_keys import with_public_keys
from discreet.query.plan.nodes import Question
from discreet.query.plan.schema import Schema
from discreet.query.run import Choice, Quote, choose_steps, priced


@dataclass(frozen=True, slots=True)
class Given:
    """What a pass may look at beside the value that it is given: public things alone."""

    schemas: Mapping[str, Schema]
    engine: Engine | None = None
    """Only for keys that public tables list; without it they are not known yet."""
    allowance: Allowance | None = None
    """What the query may cost; the passes before ``choose`` do not need it."""
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    dialect: str | None = None
    """Whose spelling a text has; ours, if None."""


def parse(text: str, given: Given) -> exp.Expr:
    """The syntax tree of one SELECT, within limits of size and time."""
    return select_of(text, given.schemas, given.dialect)


def resolve(tree: exp.Expr, given: Given) -> Question | Staged:
    """The query with all names looked up; where subqueries are one value, what must be released first."""
    return staged_question(tree, given.schemas)


def lower(question: Question, given: Given) -> LoweredQuestion:
    """Typed relations that carry the unit of each row, and how often one unit may count in each."""
    lowered = lower_question(with_presence(question, given.schemas), given.schemas)
    return lowered if given.engine is None else with_public_keys(lowered, given.engine, given.schemas)


def bound(lowered: LoweredQuestion, _: Given) -> Prepared:
    """The statistics to compute, each with how far one unit moves it, and the estimators made of them."""
    return prepare(lowered)


def choose(prepared: Prepared | Sequence[Prepared], given: Given) -> Choice:
    """How bounds and groups that are not declared will be chosen within the price, and how it is split for that."""
    assert given.allowance is not None  # noqa: S101
    questions = (prepared,) if isinstance(prepared, Prepared) else prepared
    return choose_steps(questions, given.allowance, given.neighbours)


def price(choice: Choice, _: Given) -> Quote:
    """The noise of each statistic, and what all of it costs."""
    return priced(choice)


READING: tuple[Callable[..., Any], ...] = (parse, resolve)
PREPARING: tuple[Callable[..., Any], ...] = (lower, bound)
PRICING: tuple[Callable[..., Any], ...] = (choose, price)
PASSES = (*READING, *PREPARING, *PRICING)


def through(passes: Sequence[Callable[..., Any]], value: object, given: Given) -> Any:
    """What a value becomes, one pass after the other."""
    return reduce(lambda made, step: step(made, given), passes, value)
