"""The passes of a query, in their order: each takes what the one before has made."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadQuestion, DiscreetError
from discreet.privacy.promises.measures import Pure
from discreet.query import passes
from discreet.query.lower.lower import LoweredQuestion
from discreet.query.passes import PASSES, PREPARING, PRICING, READING, Given, through
from discreet.query.plan.nodes import Question
from discreet.query.run import Choice, Quote

TEXT = "SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean FROM visits GROUP BY clinic"


def session() -> dp.Session:
    rows = {"who": [1, 1, 2], "clinic": ["a", "b", "a"], "cost": [1, 2, 3]}
    declared = {"clinic": dp.keys(["a", "b"]), "cost": dp.bounds(0, 9)}
    return dp.Session(visits=dp.table(rows, unit="who", max_rows=2, columns=declared), budget=dp.Pure(1))


def given() -> Given:
    backend = session()._backend
    return Given(backend.schemas, backend.engine, Pure("1/2"), backend.terms.neighbours)


def test_each_pass_takes_what_the_one_before_has_made() -> None:
    value: Any = TEXT
    kinds = []
    for one in PASSES:
        value = one(value, given())
        kinds.append(type(value).__name__)
    assert kinds == ["Select", "Question", "LoweredQuestion", "Prepared", "Choice", "Quote"]
    assert value == session().sql(TEXT).quote("1/2")


def test_a_query_made_by_verbs_joins_at_lower() -> None:
    query = session()["visits"].group_by("clinic").agg(n=dp.agg.count())
    quote = through((*PREPARING, *PRICING), query.plan, given())
    assert isinstance(query.plan, Question)
    assert isinstance(quote, Quote)
    assert quote == query.quote("1/2")


def test_several_queries_are_priced_together() -> None:
    prepared = [session().sql(text).prepared for text in (TEXT, "SELECT COUNT(*) AS n FROM visits")]
    choice = passes.choose(prepared, given())
    assert isinstance(choice, Choice)
    assert choice.steps is None
    assert len(passes.price(choice, given()).questions) == 2


@pytest.mark.parametrize("text", ["SELECT cost FROM visits", "SELECT COUNT(*) FROM nothing", "DROP TABLE visits", ""])
def test_what_cannot_be_asked_is_refused_before_it_is_priced(text: str) -> None:
    with pytest.raises(DiscreetError):
        through((*READING, *PREPARING), text, given())


def test_without_an_engine_keys_of_public_tables_are_not_known_yet() -> None:
    lowered = passes.lower(through(READING, TEXT, given()), Given(given().schemas))
    assert isinstance(lowered, LoweredQuestion)
    with pytest.raises(BadQuestion):
        through(READING, "SELECT nobody FROM visits", given())
