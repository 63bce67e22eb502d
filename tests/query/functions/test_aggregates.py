"""The aggregates: each has SQL, a verb and a text."""

from __future__ import annotations

import re

import pytest

from discreet.query.front import verbs
from discreet.query.front.sql.parse import question
from discreet.query.front.unparse import as_sql
from discreet.query.functions import aggregates
from discreet.query.functions.catalogue import BY_SQL_NAME
from tests.helpers.examples import COLUMNS

TABLES = {"t": tuple(COLUMNS)}


@pytest.mark.parametrize("one", aggregates.AGGREGATES, ids=lambda one: one.aggregate.value)
def test_every_aggregate_has_sql_a_verb_and_a_text(one: aggregates.AggregateFunction) -> None:
    text = re.sub(r"\b[xy]\b", "number", one.usage)
    plan = question(f"SELECT {text} AS a FROM t", TABLES)
    assert plan.measures[0].aggregate is one.aggregate
    assert question(as_sql(plan, TABLES), TABLES) == plan
    assert callable(getattr(verbs, one.method))
    for name in one.sql:
        assert name in aggregates.NAMES
        assert name not in BY_SQL_NAME
