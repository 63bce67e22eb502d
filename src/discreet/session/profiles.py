"""Profiles of a table and suggestions for declarations: private estimates, each a program of one step.

No query is answered with them: each chooses what is open in its own charge. Synthetic rows, streams of counts and trees
of a table whose contribution bound or value bounds are open release a profile as their first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from discreet.errors import BadParameter
from discreet.exact import Number
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.suggest import (
    Suggestion,
    bounds_words,
    find_column,
    rows_question,
    sizes_question,
    suggested,
    suggested_rows,
)
from discreet.query.estimate.prepare import prepare
from discreet.query.profile.profile import Profile
from discreet.query.profile.questions import HistogramQuery, table_questions
from discreet.session.backend import Backend
from discreet.session.price import Price
from discreet.session.program import Program, QueryStep, run
from discreet.session.query import frame_of, program_of


def profile_text(table: str, questions: Sequence[HistogramQuery]) -> str:
    """What is asked, as a ledger keeps it: there is no SQL for it."""
    return (
        f"profile({table}: {', '.join(f'{question.about.value} {question.column}'.strip() for question in questions)})"
    )


def profile_program(backend: Backend, questions: Sequence[HistogramQuery], text: str, price: Price) -> Program:
    """The histograms with their price: no data is touched."""
    if price.error is not None:
        raise BadParameter("error", price.error, "must be left out: a profile has a cost")
    quote = backend.quote([question.prepared for question in questions], price)
    return Program(
        (QueryStep(quote, tuple(question.prepared.outcome for question in questions)),), lambda: text, price.confidence
    )


def release_profile(backend: Backend, table: str, columns: Sequence[str] | None, price: Price) -> Profile:
    """Pay for a profile of a table, or of some columns of it."""
    if table not in backend.schemas:
        raise BadParameter("table", table, f"must be one of {', '.join(backend.schemas)}")
    questions = table_questions(table, backend.schemas, columns)
    program = profile_program(backend, questions, profile_text(table, questions), price)
    profile: Profile = run(program, backend, lambda answers: Profile.of(table, questions, answers))
    return profile


def sizes_program(backend: Backend, table: str, column: str, price: Price) -> Program:
    """Counts of a column's values by sign and power of two, from which bounds are suggested."""
    question, _ = sizes_question(table, column, backend.schemas)
    step = QueryStep(backend.quote((prepare(question),), price), (question.outcome,))
    return Program((step,), partial(bounds_words, table, column), price.confidence)


def suggest_bounds(backend: Backend, column: str, price: Price) -> Suggestion:
    """Bounds for a column ("cost", or "visits.cost") as a private estimate."""
    table, column = find_column(column, backend.schemas)
    _, step = sizes_question(table, column, backend.schemas)

    def shown(answers: tuple[TableAnswer, ...]) -> Suggestion:
        return suggested(f"{table}.{column}", step, answers[0])

    suggestion: Suggestion = run(sizes_program(backend, table, column, price), backend, shown)
    return suggestion


def suggest_max_rows(backend: Backend, table: str, price: Price, *, level: Number, most: int, where: str | None) -> int:
    """How many rows all but a few units have, as a private estimate."""
    frame = frame_of(backend, table)
    frame = frame if where is None else frame.filter(where)
    query = rows_question(frame, table, backend.schemas[table].table, level, most)
    max_rows: int = run(program_of(query, price), backend, lambda answers: suggested_rows(answers[0], level))
    return max_rows
