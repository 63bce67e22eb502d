"""A plan shares one price: equal relative errors, shown before, and never more than the price, which is certified."""

import html

import pytest

import discreet as dp
from discreet.errors import OverBudget
from discreet.privacy.accountants.compose import compose
from discreet.session import plan as planning

ROWS = {"patient": range(2000), "clinic": ["N", "S"] * 1000, "cost": [i % 100 for i in range(2000)]}
COLUMNS = {"clinic": dp.keys(["N", "S"]), "cost": dp.bounds(0, 1000)}
COUNT = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
SUM = "SELECT clinic, AVG(cost) AS m FROM visits GROUP BY clinic"


def session(budget: dp.Pure | dp.Approx) -> dp.Session:
    return dp.Session(visits=dp.table(ROWS, unit="patient", max_rows=1, columns=COLUMNS), budget=budget)


def test_questions_are_about_equally_far_off_and_better_than_one_by_one() -> None:
    own = session(dp.Pure(1))
    found = own.plan([COUNT, SUM, "SELECT COUNT(*) AS n FROM visits"], epsilon=1)
    assert own.remaining == dp.Pure(1)
    assert max(found.errors) <= 2 * min(found.errors)
    assert found.saving < 1
    assert "times the error of asking one by one" in str(found)
    assert found._repr_html_() == f"<pre>{html.escape(str(found))}</pre>"
    answers = found.release()
    assert [answer.columns for answer in answers] == [("clinic", "n"), ("clinic", "m"), ("n",)]
    assert own.remaining == dp.Pure(0)
    with pytest.raises(OverBudget):
        found.release()


MANY = [f"SELECT COUNT(*) AS n FROM visits WHERE cost < {i}" for i in range(1, 26)]


def test_many_questions_are_priced_by_a_certified_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = dp.Approx(1, "0.01")
    found = session(budget).plan(MANY, epsilon=1)
    quote = found.order.quote
    assert compose([quote.plan.event]).epsilon(delta=budget.delta).upper <= 1
    assert quote.price == budget
    monkeypatch.setattr(planning, "TRIES", (50.0,))  # a bound that is not kept is not used
    plain = session(budget).plan(MANY, epsilon=1)
    assert compose([plain.order.quote.plan.event]).epsilon(delta=budget.delta).upper <= 1
    assert sum(found.errors) < sum(plain.errors)


def test_caps_are_chosen_in_a_plan_too() -> None:
    table = dp.table(ROWS, unit="patient", max_rows="auto", columns=COLUMNS)
    own = dp.Session(visits=table, budget=dp.Pure(3))
    own.profile("visits", epsilon=1)
    answers = own.plan([COUNT, SUM], epsilon=1).release()
    assert all(answer.cut is not None for answer in answers)
    assert own.remaining == dp.Pure(1)
