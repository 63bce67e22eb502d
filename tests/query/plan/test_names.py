"""Names in quotes where they need them: a hint that is pasted must work."""

from datetime import date

import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.errors import BadQuestion
from discreet.query.front.sql.parse import question
from discreet.query.front.sql.syntax_tree import _KEYWORDS
from discreet.query.plan.expressions import Column, Literal, walk
from discreet.query.plan.names import quoted

WORDS = sorted({word.lower() for word in _KEYWORDS if word.isidentifier()})


@pytest.mark.slow
def test_every_word_of_the_dialect_is_a_name_a_text_and_an_alias() -> None:
    """Once 'if', 'map' and 'connect_by_root' were read as columns of that name."""
    for word in WORDS:
        name = quoted(word)
        asked = f"SELECT {name}, SUM(t.{name}) AS s FROM t WHERE {name} > 'b' AND {name} = '{word}' GROUP BY {name}"
        plan = question(asked, {"t": [word]})
        assert plan.keys[0].expression == Column(word)
        text = f"SELECT COUNT(*) AS {name} FROM t WHERE c = '{word}' AND c IN ('{word}', 'x') AND c <> '{word.upper()}'"
        plan = question(text, {"t": ["c", word]})
        parts = list(walk(plan.source.predicate))  # type: ignore[union-attr]
        assert Column(word) not in parts
        assert Literal(word) in parts
        assert plan.outcome.columns[0][0] == word
        assert question(f"SELECT COUNT(*) AS n FROM t AS {name} WHERE {name}.c = 'a'", {"t": ["c"]}).measures


@pytest.mark.parametrize("column", ["order", "total cost", 'say "hi"', "naïve", "Group", "cost"])
def test_a_hint_can_be_pasted(column: str) -> None:
    session = dp.Session(t=dp.table({"id": [1], column: [1.5]}, unit="id"), budget=dp.Pure(1))
    with pytest.raises(BadQuestion, match="CLAMP") as caught:
        session.sql(f"SELECT SUM({quoted(column)} * {quoted(column)}) AS s FROM t")
    hint = str(caught.value).split("or write ")[1].replace("low, high", "0, 10")
    assert session.sql(f"SELECT SUM({hint} * {hint}) AS s FROM t").preview(epsilon=1).columns
    with pytest.raises(BadQuestion, match="did you mean") as caught:
        session.sql(f"SELECT COUNT({quoted(column + 'x')}) AS s FROM t")
    name = str(caught.value).split("did you mean ")[1].removesuffix("?")
    assert session.sql(f"SELECT COUNT({name}) AS s FROM t")


@pytest.mark.parametrize(
    "text",
    [
        'SELECT SUM("pay day" * "pay day") AS s FROM "my table"',
        'SELECT "pay day", COUNT(*) AS n FROM "my table" GROUP BY "pay day"',
        'SELECT "the id", COUNT(*) AS n FROM "my table" GROUP BY "the id"',
        'SELECT AVG(n) AS a FROM (SELECT "the id", "pay day", COUNT(*) AS n FROM "my table" GROUP BY 1, 2)',
    ],
)
def test_refusals_quote_names_as_sql_does(text: str) -> None:
    rows = {"the id": [1], "first name": ["a"], "pay day": [1.5], "born on": [date(2000, 1, 1)]}
    table = dp.table(rows, unit="the id", max_rows=1)
    session = dp.Session({"my table": table}, budget=dp.Pure(1), engine=memory())
    with pytest.raises(BadQuestion, match=r'"(first name|pay day|the id|born on)"'):
        session.sql(text).preview(epsilon=1)
