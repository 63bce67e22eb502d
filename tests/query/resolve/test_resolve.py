"""Names are looked up and aggregates collected: equal questions become equal plans."""

from __future__ import annotations

import pytest

from discreet.errors import BadQuestion
from discreet.query.front.sql.parse import question
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import (
    Aggregate,
    Key,
    Measure,
    Order,
)
from tests.helpers.sql_questions import CLINIC, COST, call, measures, read


def test_equal_aggregates_appear_once() -> None:
    found = read("SELECT SUM(cost) / COUNT(*) AS a, COUNT(*) AS n, COUNT(*) AS m, ROUND(SUM(cost), 1) FROM visits")
    assert found.measures == (Measure("sum_cost", Aggregate.SUM, (COST,)), Measure("n", Aggregate.COUNT))
    assert found.outcome.columns == (
        ("a", call("div", "sum_cost", "n")),
        ("n", Column("n")),
        ("m", Column("n")),
        ("round_sum_cost", call("round", "sum_cost", 1)),
    )


def test_a_filter_makes_an_aggregate_another_one() -> None:
    assert len(measures("SUM(cost), SUM(cost) FILTER (WHERE paid)")) == 2


def test_unnamed_outputs_get_stable_names() -> None:
    found = read("SELECT COUNT(*), COUNT(*), SUM(cost * year), 1, cost + 1 FROM visits GROUP BY cost + 1")
    names = [name for name, _ in found.outcome.columns]
    assert names == ["count", "count_2", "sum_cost_year", "value", "add_cost"]


def test_hidden_measures_do_not_take_the_name_of_an_output() -> None:
    found = read("SELECT SUM(cost) / COUNT(*) AS count FROM visits")
    assert [m.name for m in found.measures] == ["sum_cost", "count_2"]


def test_names_are_found_whatever_their_case() -> None:
    expected = read("SELECT Name, COUNT(*) FROM visits GROUP BY Name")
    assert read("select NAME, count(*) from VISITS group by name") == expected
    assert read('SELECT "name", COUNT(*) FROM "Visits" v GROUP BY V."NAME"') == expected


def test_an_exact_name_wins() -> None:
    tables = {"t": ["x", "X"]}
    assert question("SELECT SUM(X) FROM t", tables).measures[0].arguments == (Column("X"),)
    assert question("SELECT SUM(x) FROM t", tables).measures[0].arguments == (Column("x"),)
    with pytest.raises(BadQuestion, match="ambiguous"):
        question("SELECT SUM(abc) FROM t", {"t": ["Abc", "ABC"]})


def test_group_by_finds_columns_first_and_then_outputs() -> None:
    assert read("SELECT year AS cost, COUNT(*) FROM visits GROUP BY year").keys == (Key("cost", Column("year")),)
    assert read("SELECT cost + 1 AS c, COUNT(*) FROM visits GROUP BY c").keys == (Key("c", call("add", "cost", 1)),)
    assert read("SELECT cost + 1 AS c, COUNT(*) FROM visits GROUP BY 1").keys == (Key("c", call("add", "cost", 1)),)
    with pytest.raises(BadQuestion, match="cost must be in GROUP BY"):
        read("SELECT cost + 1 AS year, COUNT(*) FROM visits GROUP BY year")


def test_having_finds_keys_first_and_order_by_outputs_first() -> None:
    found = read("SELECT MAX(cost) AS year FROM visits GROUP BY year HAVING year > 2000 ORDER BY year")
    assert found.keys == (Key("year_2", Column("year")),)
    assert found.outcome.having == call("gt", "year_2", 2000)
    assert found.outcome.order == (Order(Column("year")),)


def test_an_expression_of_a_key_is_found_inside_others() -> None:
    found = read("SELECT FLOOR(cost / 10) * 10 AS low, COUNT(*) FROM visits GROUP BY FLOOR(cost / 10)")
    assert found.outcome.columns[0] == ("low", call("mul", "floor_cost", 10))


def test_order_by_may_ask_for_an_aggregate_of_its_own() -> None:
    found = read("SELECT clinic FROM visits GROUP BY clinic ORDER BY COUNT(*) DESC LIMIT 5")
    assert found.measures == (Measure("count", Aggregate.COUNT),)
    assert found.outcome.columns == (("clinic", CLINIC),)


MISSPELLED = [
    ("SELECT SUM(costt) FROM visits", "no column costt; did you mean cost"),
    ("SELECT SUM(CSOT) FROM visits", "no column CSOT; did you mean cost"),
    ("SELECT COUNT(*) FROM visit", "no table visit; did you mean visits"),
    ("SELECT COUNT(*) FROM visits v WHERE visits.cost = 1", "no table visits"),
    ("SELECT COUNT(*) FROM visits WHERE zzz = 1", "no column zzz; there are Name, at,"),
    ("SELECT COUNT(*) FROM visits JOIN patients USING (id)", "no column id"),
]


@pytest.mark.parametrize(("text", "message"), MISSPELLED)
def test_unknown_names_get_a_hint(text: str, message: str) -> None:
    with pytest.raises(BadQuestion, match=message):
        read(text)
