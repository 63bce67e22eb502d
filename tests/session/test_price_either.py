"""Rule.EITHER in a session: few questions as good as by the sum, many as good as by rho, with and without a ledger."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from bench.budgets import error_of_each
from discreet.errors import OverBudget
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.events import Stated
from discreet.session.price import Price

BUDGET = dp.Approx(1, "1e-6")
SLACK = Fraction(1, 4 * 10**6)
RHO = largest_zcdp(dp.Approx(1, SLACK)).rho
COUNT = "SELECT COUNT(*) AS n FROM visits"
RULES = (dp.Rule.BASIC, dp.Rule.ZCDP)
GROUPS = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"


def session(rule: dp.Rule | None = None, caps: dict[str, Any] | None = None, **options: Any) -> dp.Session:
    clinics = [f"c{i:02}" for i in range(60)]
    table = dp.table(
        {"patient": list(range(120)), "clinic": clinics * 2},
        unit="patient",
        columns={"clinic": dp.keys(clinics)},
        **(caps or {"max_rows": 3}),
    )
    return dp.Session(visits=table, budget=BUDGET, rule=rule, **options)


def test_it_is_the_default() -> None:
    made = session()
    assert made.remaining == BUDGET
    with pytest.raises(dp.errors.NotATheorem):
        session(rule=dp.Rule.ADVANCED)


def test_one_question_is_as_good_as_by_the_sum() -> None:
    either, basic, zcdp = (session(rule).sql(COUNT).preview(epsilon=1).error("n") for rule in (None, *RULES))
    assert either == basic
    assert either < zcdp / 2


@pytest.mark.slow
def test_a_hundred_questions_are_as_good_as_by_rho() -> None:
    made = session()
    asked = made.sql(COUNT)
    error = asked.preview(rho=RHO / 100).error("n")
    by_sum = session(dp.Rule.BASIC).sql(COUNT).preview(epsilon="1/100").error("n")
    by_rho = session(dp.Rule.ZCDP).sql(COUNT).preview(rho=largest_zcdp(dp.Approx(1, "5e-7")).rho / 100).error("n")
    assert error < by_sum / 2
    assert error < by_rho * 1.05
    assert made._backend.budget_store.fits(dp.events.Repeat(asked.quote(rho=RHO / 100).plan.price, 100))


@pytest.mark.slow
def test_an_epsilon_is_read_as_a_rho_when_the_sum_is_used_up() -> None:
    made = session()
    asked = made.sql(COUNT)
    for _ in range(100):
        asked.release(epsilon="1/100")
    left = made.remaining
    assert isinstance(left, dp.Approx)
    assert left.epsilon > Fraction(3, 4)
    answer = asked.release(epsilon=left.epsilon)
    assert any("Gaussian" in line for line in answer.story)
    after = made.remaining
    assert isinstance(after, dp.Approx)
    assert after.epsilon < Fraction(1, 20)
    with pytest.raises(OverBudget):
        asked.release(epsilon="1/2")


@pytest.mark.slow
def test_an_error_is_bought_from_whichever_account_has_it() -> None:
    made = session()
    for _ in range(100):
        made.sql(COUNT).release(epsilon="1/100")
    found = made.sql(COUNT).preview(error=200)
    assert found.affordable
    assert found.error("n") <= 200


@pytest.mark.parametrize("price", [Price("0.1"), Price(rho="0.0002"), Price("0.1", delta="1e-7")])
def test_every_price_of_gaussian_noise_holds_both(price: Price) -> None:
    made = session(caps={"max_groups": 40, "max_rows_per_group": 1})
    plan = made._backend.quote([made.sql(GROUPS).prepared], price).plan
    assert isinstance(plan.price, Stated)
    assert plan.price.event == plan.event
    summed, rho = price_basic(plan.price), price_zcdp(plan.price)
    assert rho == price_zcdp(plan.event)
    assert 0 < summed.delta <= BUDGET.delta / 2
    if price.rho is None:
        assert summed.epsilon == Fraction(1, 10)


@pytest.mark.slow
def test_a_ledger_counts_the_same(tmp_path: Path) -> None:
    plain, kept = session(), session(ledger=tmp_path / "budget.db")
    for _ in range(3):
        for one in (plain, kept):
            one.sql(GROUPS).release(epsilon="0.1")
    for one in (plain, kept):
        one.sql(COUNT).release(rho="1e-4")
    assert plain.remaining == kept.remaining
    again = dp.Session(visits=session().schemas["visits"].table, ledger=tmp_path / "budget.db")
    assert again.remaining == plain.remaining


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_ledger_of_another_rule_keeps_it(tmp_path: Path, rule: dp.Rule) -> None:
    kept = session(rule, ledger=tmp_path / "budget.db")
    kept.sql(GROUPS).release(epsilon="0.1")
    left = kept.remaining
    again = dp.Session(visits=session().schemas["visits"].table, ledger=tmp_path / "budget.db")
    assert again.remaining == left
    again.sql(GROUPS).release(epsilon="0.1")
    assert type(again.remaining) is type(left)


@pytest.mark.slow
def test_the_table_in_the_documentation_is_true() -> None:
    """docs/how-to/tables.md shows the error of each of 1, 17 and 100 questions by rule."""
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "tables.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ± ([\d.]+) \| ± ([\d.]+) \| ± ([\d.]+) \|$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["1", "17", "100"]
    for questions, *shown in rows:
        for rule, error in zip((dp.Rule.BASIC, dp.Rule.ZCDP, dp.Rule.EITHER), shown, strict=True):
            assert float(f"{error_of_each(rule, int(questions)):.2g}") == float(error)
