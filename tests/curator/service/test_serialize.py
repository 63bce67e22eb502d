"""Budgets and answers as JSON: exact numbers as text, floats finite."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import discreet as dp
from discreet.curator.service.serialize import answer_for_client, epsilon_of, standing
from discreet.ledger.standing import Standing
from discreet.ledger.state import Population, limits_of
from discreet.privacy.accountants.conversions import zcdp_to_approx
from discreet.privacy.promises.measures import Measure

HALF = Fraction(1, 2)


def people(budget: Measure, rule: dp.Rule | None = None) -> Population:
    return Population(
        "folk", budget, rule, HALF, limits_of(budget, rule, ()), dp.Neighbours.ADD_REMOVE, "one household"
    )


def test_an_amount_as_the_epsilon_that_people_think_in() -> None:
    approx = dp.Approx(1, "1e-6")
    assert epsilon_of(dp.Pure("0.3"), people(dp.Pure(1))) == 0.3
    assert epsilon_of(dp.Approx("0.3", "1e-9"), people(approx, dp.Rule.BASIC)) == 0.3
    counted = epsilon_of(dp.ZCDP("0.01"), people(approx, dp.Rule.ZCDP))
    assert counted == float(zcdp_to_approx(dp.ZCDP("0.01"), delta=Fraction(1, 2 * 10**6)).epsilon)
    assert epsilon_of(dp.ZCDP(0), people(approx, dp.Rule.ZCDP)) == 0.0


def test_where_there_is_no_such_epsilon_it_is_null() -> None:
    assert epsilon_of(dp.ZCDP("0.01"), people(dp.ZCDP(1))) is None
    assert epsilon_of(dp.Pure(10**400), people(dp.Pure(1))) is None


def test_a_standing_is_exact_and_in_shares() -> None:
    found = Standing("folk", "ann", dp.Pure(1), dp.Pure("1/3"), dp.Pure("2/3"), Fraction(1, 4), HALF)
    sent = json.loads(json.dumps(standing(found, people(dp.Pure(1))), allow_nan=False))
    assert (sent["population"], sent["analyst"], sent["unit"]) == ("folk", "ann", "one household")
    assert (sent["neighbours"], sent["rule"]) == ("ADD_REMOVE", None)
    assert [sent[name]["epsilon"] for name in ("budget", "charged", "remaining")] == ["1", "1/3", "2/3"]
    assert (sent["share"], sent["gone"]) == (0.25, 0.5)
    assert sent["remaining_epsilon"] == pytest.approx(2 / 3)


@pytest.mark.slow
def test_of_an_answer_that_agrees_only_what_differs_is_sent() -> None:
    table = dp.table({"u": list(range(9)), "k": ["a", "b", "c"] * 3}, unit="u", columns={"k": dp.keys(["a", "b", "c"])})
    session = dp.Session(t=table, budget=dp.Pure(1))
    found = session.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY ROLLUP (k)").release(epsilon="0.001")
    sent = answer_for_client(found, "0.95")
    assert set(sent["consistent"]) < set(sent) - {"consistent"}
    assert all(one != sent[name] for name, one in sent["consistent"].items())
    assert "columns" not in sent["consistent"]
    json.dumps(sent, allow_nan=False)
