"""A question: what its preview says is what its release costs and gives."""

import math
import re
from typing import Any

import pytest

import discreet as dp
from discreet.errors import (
    BadParameter,
    BadQuestion,
    OverBudget,
)
from tests.helpers.visits import VISITS, session


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "price", "key"),
    [
        ({"budget": dp.Pure(10)}, {"epsilon": "0.3"}, "clinic"),
        *(
            (options, price, key)
            for key in ("clinic", "drug")
            for options, price in (
                ({"budget": dp.Approx(10, "1e-6")}, {"epsilon": "0.3"}),
                ({"budget": dp.Approx(10, "1e-6"), "rule": dp.Rule.ZCDP}, {"epsilon": "0.3"}),
                ({"budget": dp.ZCDP(10, "1e-6")}, {"rho": "0.3"}),
            )
        ),
    ],
)
def test_what_a_preview_says_it_costs_is_what_is_charged(options: Any, price: dict[str, Any], key: str) -> None:
    """Not the allowance: keys that are listed need no delta, and none is taken."""
    s = session(**options)
    query = s.sql(f"SELECT {key}, COUNT(*) AS n, AVG(cost) AS a FROM visits GROUP BY {key}")
    said, told = query.preview(**price), query.explain(**price).splitlines()[-1]
    answer = query.release(**price)
    assert (said.cost, told) == (answer.cost, f"all together: {answer.cost}")
    assert said.remaining == str(s.remaining)
    dear: Any = dict.fromkeys(price, 10_000)
    with pytest.raises(OverBudget, match=f"^asked for {re.escape(query.preview(**dear).cost)}, and"):
        query.release(**dear)


def test_an_error_can_be_asked_for() -> None:
    s = session()
    asked = s.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
    answer = asked.release(error=25, confidence="0.95")
    errors = [e for e in answer.errors("0.95")["n"] if e is not None]
    assert 24 < max(errors) <= 25
    assert asked.preview(error={"n": 25}).error("n") <= 25
    with pytest.raises(BadParameter, match="error"):
        asked.release(error={"m": 1})
    with pytest.raises(BadParameter, match="error"):
        asked.release(epsilon=1, error=3)


def test_intervals_that_hold_together_are_wider() -> None:
    answer = session().sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic").release(epsilon=1)
    one, all_of_them = answer.errors("0.95")["n"], answer.errors("0.95", simultaneous=True)["n"]
    assert all(a is not None and b is not None and a < b for a, b in zip(one, all_of_them, strict=True))


def test_computed_columns_have_error_bars_where_they_can() -> None:
    s = session()
    ratio = s.sql("SELECT SUM(cost) / COUNT(*) AS r FROM visits").release(epsilon=5)
    low, high = ratio.intervals("0.999999999")["r"][0] or (math.nan, math.nan)
    assert low <= 49.5 <= high
    twice = s.sql("SELECT COUNT(*) * COUNT(*) AS r FROM visits").release(epsilon=1)
    low, high = twice.intervals("0.999999999")["r"][0] or (math.nan, math.nan)
    assert low <= len(VISITS) ** 2 <= high


def test_what_a_shell_shows_is_short() -> None:
    query = session().sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic")
    assert repr(query) == "Query(clinic, n of visits; preview(...) is free, release(...) spends)"
    assert repr(query.preview(epsilon=1)) == str(query.preview(epsilon=1))
    answer = query.release(epsilon=1)
    assert repr(answer) == str(answer)


def test_a_preview_says_what_would_halve_the_error() -> None:
    text = "SELECT COUNT(*) AS n FROM visits"
    query = session().sql(text)
    first = query.preview(epsilon="0.3")
    assert first.advice.endswith("epsilon 0.6")
    assert query.preview(epsilon="0.6").error("n") == pytest.approx(first.error("n") / 2, abs=0.5)
    in_rho = dp.Session(visits=dp.table(VISITS, unit="patient_id"), budget=dp.ZCDP(1, "1e-9")).sql(text)
    assert in_rho.preview(rho="0.1").advice.endswith("rho 0.4")
    assert in_rho.preview(rho="0.4").error("n") == pytest.approx(in_rho.preview(rho="0.1").error("n") / 2, abs=0.5)


ORDERS = {
    "customer": [i // 4 for i in range(400)],
    "status": [("paid", "open", "sent")[i % 3] for i in range(400)],
    "books": [i % 5 == 0 for i in range(400)],
}


def shop(max_rows: int) -> dp.Session:
    """Orders, of which so many of a customer count, and one row for each customer."""
    orders = dp.table(ORDERS, unit="customer", max_rows=max_rows, columns={"status": dp.keys(["paid", "open", "sent"])})
    people = dp.table({"customer": range(100), "vip": [i % 2 == 0 for i in range(100)]}, unit="customer", max_rows=1)
    return dp.Session(orders=orders, people=people, budget=dp.Approx(10**6, "1e-6"))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT status, COUNT(DISTINCT customer) AS n FROM orders GROUP BY status",
        "SELECT COUNT(*) AS n FROM people WHERE customer IN (SELECT customer FROM orders WHERE books)",
        "SELECT vip, COUNT(*) AS n FROM people WHERE NOT EXISTS "
        "(SELECT * FROM orders WHERE orders.customer = people.customer AND books) GROUP BY vip",
        "SELECT vip, AVG(CLAMP(k, 0, 9)) AS n FROM people JOIN "
        "(SELECT customer, COUNT(*) AS k FROM orders GROUP BY customer) AS each USING (customer) GROUP BY vip",
    ],
)
def test_a_large_cap_adds_no_noise_where_a_unit_cannot_weigh_more(text: str) -> None:
    """Three listed keys are at most three groups, and a condition on other rows of a customer repeats no row."""
    few, many = (shop(cap).sql(text) for cap in (3, 300))
    assert few.preview(epsilon=1).columns == many.preview(epsilon=1).columns
    assert dp.check(many, searches=4).ok
    a, b = (query.release(epsilon=10**5) for query in (few, many))
    assert a["n"] == pytest.approx(b["n"], abs=0.01)


def test_where_only_units_are_counted_nothing_is_beyond_a_cap_and_nothing_more_is_to_be_bought() -> None:
    for text, words in (
        ("SELECT COUNT(DISTINCT customer) AS n FROM orders", "Each unit counts once;"),
        ("SELECT status, COUNT(DISTINCT customer) AS n FROM orders GROUP BY status", "once in each of its groups"),
    ):
        asked = shop(3).sql(text)
        assert words in str(asked.preview(epsilon=1))
        answer = asked.release(epsilon=1)
        assert words in answer.explain()
        assert {note.code for note in answer.notes} <= {"each_unit_once", "each_unit_once_per_group", "left_out"}
    cut = shop(2).sql("SELECT status, COUNT(DISTINCT customer) AS n FROM orders GROUP BY status")
    assert "Rows are limited to 2 per unit" in str(cut.preview(epsilon=1))
    assert "Rows are limited to 2 per unit" in str(cut.release(epsilon=1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT rating, COUNT(*) AS n FROM t GROUP BY rating", "round it before grouping, as in FLOOR(rating)"),
        ("SELECT shop, COUNT(*) AS n FROM t WHERE shop = 'Book' GROUP BY shop", "answered: listed are Books, Toys"),
        ("SELECT AVG(note) AS a FROM t", "CAST(x AS DECIMAL(10, 2)) read text"),
        ("SELECT AVG(CAST(note AS DOUBLE)) AS a FROM t", "CAST(x AS DECIMAL(10, 2)) and"),
    ],
)
def test_refusals_say_what_can_be_asked_instead(text: str, words: str) -> None:
    rows = {"u": [1, 2], "rating": [1.0, 5.0], "note": ["a", "b"], "shop": ["Books", "Toys"]}
    columns = {"rating": dp.bounds(1, 5), "shop": dp.keys(["Books", "Toys"])}
    own = dp.Session(t=dp.table(rows, unit="u", columns=columns, max_rows=1), budget=dp.Pure(1))
    with pytest.raises(BadQuestion, match=re.escape(words)):
        own.sql(text)


def test_what_the_refusals_advise_is_answered() -> None:
    rows = {"u": [1, 2, 2], "rating": [1.0, 5.0, None]}
    table = dp.table(rows, unit="u", columns={"rating": dp.bounds(1, 5)}, max_rows=2)
    own = dp.Session(t=table, budget=dp.Pure(10**6))
    by_rating = own.sql("SELECT CAST(rating AS BIGINT) AS r, COUNT(*) AS n FROM t GROUP BY 1").release(epsilon=10**5)
    assert by_rating["n"] == [1, 0, 0, 0, 1]
    text = (
        "SELECT CLAMP(k, 1, 3) AS k, COUNT(*) AS n FROM (SELECT u, COUNT(*) AS k FROM t GROUP BY u) AS each GROUP BY 1"
    )
    assert own.sql(text).release(epsilon=10**5)["n"] == [1, 1, 0]
