"""``SELECT k FROM t GROUP BY k`` where all keys are listed: SQL asks which of them there are, and so does this.

A key counts as there if its noisy number of rows is at least 1; the question becomes one for that number. (Keys that
nobody listed are selected by ``key_selection.py`` and need no number.)
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.query.lower.lower import lower_question
from discreet.query.lower.relation_facts import Catalog
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import (
    Aggregate,
    Measure,
    Outcome,
    Question,
    ReleasedJoin,
    ReleasedUnion,
)
from discreet.query.resolve.build import fresh
from discreet.query.resolve.resolve import called

COUNT = "count"


def with_presence(question: Question, catalog: Catalog) -> Question:
    """The question with a number of rows wherever it asks for nothing but listed keys."""
    every = [question, *question.beside]
    for i, each in enumerate(every):
        if each.measures or not each.keys or not _all_listed(each, catalog):
            continue
        taken = {*(name for name, _ in question.outcome.columns), *(key.name for key in each.keys)}
        name = fresh(COUNT, taken)
        every[i] = replace(each, measures=(Measure(name, Aggregate.COUNT),))
        every[0] = replace(every[0], outcome=_kept(every[0].outcome, i, name))
    return replace(every[0], beside=tuple(every[1:]))


def _all_listed(question: Question, catalog: Catalog) -> bool:
    plain = Outcome(tuple((key.name, Column(key.name)) for key in question.keys))
    keys = lower_question(replace(question, outcome=plain, beside=()), catalog).keys
    return all(key.typed.keys is not None or key.typed.keys_from is not None for key in keys)


def _kept(outcome: Outcome, place: int, name: str) -> Outcome:
    """The outcome with a condition on the rows of one question."""
    match outcome.below:
        case None if outcome.question == place:
            present = Call("ge", (Column(name), Literal(Fraction(1))))
            return replace(
                outcome, having=present if outcome.having is None else called("and", [outcome.having, present])
            )
        case None:
            return outcome
        case Outcome() as below:
            return replace(outcome, below=_kept(below, place, name))
        case ReleasedUnion(parts=parts):
            return replace(outcome, below=ReleasedUnion(tuple(_kept(part, place, name) for part in parts)))
        case ReleasedJoin(left=left, right=right) as join:
            kept = replace(join, left=_kept(left, place, name), right=_kept(right, place, name))
            return replace(outcome, below=kept)
