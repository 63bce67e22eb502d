"""A question: what its preview says is what its release costs and gives."""

import math
import re
from typing import Any

import pytest

import discreet as dp
from discreet.errors import (
    BadParameter,
    OverBudget,
)
from tests.helpers.visits import VISITS, session


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
    dear = dict.fromkeys(price, 10_000)
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
    assert repr(query) == "Query(clinic, n of visits; preview(...) is free, release(...) pays)"
    assert repr(query.preview(epsilon=1)) == str(query.preview(epsilon=1))
    answer = query.release(epsilon=1)
    assert repr(answer) == str(answer)


def test_a_preview_says_what_would_halve_the_error() -> None:
    text = "SELECT COUNT(*) AS n FROM visits"
    query = session().sql(text)
    first = query.preview(epsilon="0.3")
    assert first.advice.endswith("epsilon 3/5")
    assert query.preview(epsilon="0.6").error("n") == pytest.approx(first.error("n") / 2, abs=0.5)
    in_rho = dp.Session(visits=dp.table(VISITS, unit="patient_id"), budget=dp.ZCDP(1, "1e-9")).sql(text)
    assert in_rho.preview(rho="0.1").advice.endswith("rho 2/5")
    assert in_rho.preview(rho="0.4").error("n") == pytest.approx(in_rho.preview(rho="0.1").error("n") / 2, abs=0.5)
