"""The one request for a price, in a session and at a client alike."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadParameter
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.budgets.either import slack_of
from discreet.privacy.budgets.filters import Rule
from discreet.session.price import Account, Price, Terms, checked_targets, least, rounded, shares
from discreet.session.query import program_of, together

SQL = "SELECT COUNT(*) AS n FROM t"


def session(budget: Any = None) -> dp.Session:
    table = dp.table({"u": [1, 2, 3], "x": [1, 2, 3]}, unit="u", columns={"x": dp.bounds(0, 9)}, max_rows=1)
    return dp.Session(t=table, budget=budget or dp.Approx(10, "1e-6"))


def test_a_price_does_not_stand_in_the_place_of_epsilon() -> None:
    own = session()
    for asked in (own.sql(SQL).preview, own.sql(SQL).release, own.sql(SQL).quote, own.workload([SQL, SQL]).release):
        with pytest.raises(BadParameter, match="epsilon is"):
            asked(Price("0.5"))  # type: ignore[arg-type]
    assert own.remaining == own.budget


def test_an_error_is_of_one_question_and_has_no_price_beside_it() -> None:
    mine = session()
    with pytest.raises(BadParameter, match="one follows from the other"):
        mine.sql(SQL).preview(epsilon=1, error=3)
    with pytest.raises(BadParameter, match="several things are released together"):
        together(mine._backend, [mine.sql(SQL), mine.sql(SQL)], Price(error=3))
    assert mine.remaining == mine.budget


def test_texts_are_exact_and_canonical() -> None:
    assert Price(0.5, delta="1e-9").texts() == {"epsilon": "1/2", "delta": "1/1000000000", "confidence": "19/20"}
    assert Price(rho=Fraction(1, 3), confidence="0.9").texts() == {"rho": "1/3", "confidence": "9/10"}
    assert Price(error={"n": "2.50"}).texts() == {"confidence": "19/20", "error": {"n": "5/2"}}
    assert Price(error=7).texts() == Price(error="7.0").texts()
    with pytest.raises(BadParameter, match="epsilon"):
        Price("much").texts()


@pytest.mark.parametrize("budget", [dp.Approx(10, "1e-6"), dp.Pure(10), dp.ZCDP(10, "1e-6")])
def test_the_least_price_for_an_error_keeps_it_and_half_of_it_does_not(budget: Any) -> None:
    query = session(budget).sql(SQL)
    asked = program_of(query, Price(error=20)).answer.quote
    found = asked.allowance
    name = "rho" if isinstance(found, dp.ZCDP) else "epsilon"
    paid = getattr(found, name)
    assert query.preview(**{name: paid}).error("n") <= 20 < query.preview(**{name: paid / 2}).error("n")


@pytest.mark.parametrize("confidence", [1, 2, "x", None])
def test_a_confidence_that_no_error_bar_has_is_refused_before_the_payment(confidence: Any, tmp_path: Path) -> None:
    """With a ledger the answer was paid, could not be stored with its error bars, and was lost."""
    table = dp.table({"u": [1, 2, 3]}, unit="u", max_rows=1)
    kept = dp.Session(t=table, budget=dp.Pure(1), ledger=tmp_path / "budget.db")
    for own in (kept, session()):
        with pytest.raises(BadParameter, match="confidence"):
            own.sql(SQL).release("0.5", confidence=confidence)
        assert own.remaining == own.budget


def test_a_pure_budget_has_no_delta_and_no_rho() -> None:
    query = session(dp.Pure(1)).sql(SQL)
    for wrong in ({"delta": "1e-9"}, {"delta": 0}, {"rho": "1/2"}):
        with pytest.raises(BadParameter, match=next(iter(wrong))):
            query.preview(epsilon="1/2", **wrong)


MILLIONTH = Fraction(1, 10**6)


def terms(budget: Any, rule: Rule | None = None) -> Terms:
    return Terms(budget, rule, dp.Neighbours.ADD_REMOVE)


@pytest.mark.parametrize(
    ("own", "price", "allowed"),
    [
        (terms(dp.Pure(1)), Price("0.3"), dp.Pure("0.3")),
        (terms(dp.ZCDP(1, MILLIONTH)), Price(rho="0.5"), dp.ZCDP("0.5", MILLIONTH / 16)),
        (terms(dp.ZCDP(1, MILLIONTH)), Price(rho="0.5", delta=0), dp.ZCDP("0.5")),
        # a share of ε takes the same share of δ, and never more than all of it
        (terms(dp.Approx(2, MILLIONTH), Rule.BASIC), Price("0.5"), dp.Approx("0.5", MILLIONTH / 4)),
        (terms(dp.Approx(2, MILLIONTH), Rule.BASIC), Price(2), dp.Approx(2, MILLIONTH)),
        (terms(dp.Approx(2, MILLIONTH), Rule.BASIC), Price(3), dp.Approx(3, MILLIONTH)),
        (terms(dp.Approx(2, MILLIONTH), Rule.BASIC), Price("0.5", delta="1e-9"), dp.Approx("0.5", "1e-9")),
        (terms(dp.Approx(0, MILLIONTH), Rule.BASIC), Price(1), dp.Approx(1, 0)),
        # half of it, where ρ may add up; all of it for the first question, and the last
        (terms(dp.Approx(2, MILLIONTH), Rule.EITHER), Price("0.5"), dp.Approx("0.5", MILLIONTH / 8)),
        (terms(dp.Approx(2, MILLIONTH), Rule.EITHER), Price(2), dp.Approx(2, MILLIONTH)),
        (terms(dp.Approx(2, MILLIONTH), Rule.ZCDP), Price(rho="0.01"), dp.ZCDP("0.01", MILLIONTH / 32)),
        (terms(dp.Approx(2, MILLIONTH), Rule.ZCDP), Price(rho="0.01", delta="1e-9"), dp.ZCDP("0.01", "1e-9")),
    ],
)
def test_what_one_question_may_cost(own: Terms, price: Price, allowed: Any) -> None:
    assert own.allowance(price) == allowed


def test_in_rho_a_question_has_a_sixteenth_of_what_is_set_aside() -> None:
    """Of the δ that turns ρ into ε, which is less than half of all: the other part is for the questions' own δ."""
    either = terms(dp.Approx(2, MILLIONTH), Rule.EITHER)
    slack = slack_of(MILLIONTH, Fraction(1, 2))
    assert either.allowance(Price(rho="0.01"), Account.RHO) == dp.ZCDP("0.01", slack / 16)
    for rule, whole in ((Rule.EITHER, slack), (Rule.ZCDP, MILLIONTH / 2)):
        found = terms(dp.Approx(2, MILLIONTH), rule).allowance(Price("0.5"), Account.RHO)
        assert found == dp.ZCDP(largest_zcdp(dp.Approx("0.5", whole)).rho, whole / 16)


@pytest.mark.parametrize(
    ("own", "price", "words"),
    [
        (terms(dp.Pure(1)), Price(), "epsilon is None, but it must say"),
        (terms(dp.Pure(1)), Price(0), "epsilon"),
        (terms(dp.Pure(1)), Price(-1), "epsilon"),
        (terms(dp.Pure(1)), Price(1, delta="1e-9"), "delta .* a pure budget"),
        (terms(dp.Pure(1)), Price(rho=1), "rho .* a budget in epsilon"),
        (terms(dp.ZCDP(1)), Price(1), "epsilon .* a budget in rho"),
        (terms(dp.ZCDP(1)), Price(1, rho=1), "epsilon .* a budget in rho"),
        (terms(dp.ZCDP(1)), Price(), "rho is None, but it must say"),
        (terms(dp.Approx(1, MILLIONTH), Rule.BASIC), Price(rho=1), "rho .* charged in epsilon"),
        (terms(dp.Approx(1, MILLIONTH), Rule.BASIC), Price(), "epsilon is None"),
        (terms(dp.Approx(1, MILLIONTH), Rule.ZCDP), Price(1, rho=1), "epsilon .* a cost in rho"),
        (terms(dp.Approx(1, MILLIONTH), Rule.ZCDP), Price(), "epsilon is None"),
        (terms(dp.Pure(1)), Price("1e-13"), "between 1e-12 and 1e12"),
    ],
)
def test_a_cost_that_the_budget_does_not_know_is_refused(own: Terms, price: Price, words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        own.allowance(price)


@pytest.mark.parametrize(
    ("own", "price", "each", "charged"),
    [
        (terms(dp.Pure(1)), Price("0.3"), dp.Pure("0.3"), dp.Pure("0.3")),
        (terms(dp.ZCDP(1)), Price(rho="0.3"), dp.ZCDP("0.3"), dp.ZCDP("0.3")),
        (terms(dp.Approx(1, MILLIONTH), Rule.BASIC), Price("0.3", delta=0), dp.Pure("0.3"), dp.Pure("0.3")),
        (
            terms(dp.Approx(1, MILLIONTH), Rule.BASIC), Price("0.3", delta="1e-9"),
            dp.ZCDP(largest_zcdp(dp.Approx("0.3", "1e-9")).rho), dp.Approx("0.3", "1e-9"),
        ),
    ],
)  # fmt: skip
def test_what_all_days_of_a_dashboard_cost(own: Terms, price: Price, each: Any, charged: Any) -> None:
    assert own.stream(price) == (each, charged)
    with pytest.raises(BadParameter, match="one cost for all of its days"):
        own.stream(replace(price, error=3))


def test_values_that_are_released_first_have_a_fifth_each_and_half_together() -> None:
    price = Price(1, delta="1e-6")
    for many, each in ((1, Fraction(1, 5)), (2, Fraction(1, 5)), (3, Fraction(1, 6)), (10, Fraction(1, 20))):
        first, left = shares(price, many)
        assert (first.epsilon, left.epsilon) == (each, 1 - many * each)
        assert (first.delta, left.delta) == (each * MILLIONTH, (1 - many * each) * MILLIONTH)
    with pytest.raises(BadParameter, match="released first"):
        shares(Price(error=3), 1)


@pytest.mark.parametrize(
    ("price", "shown"), [("1/3", "3334/10000"), ("1", "1"), ("0.12341", "0.1235"), ("99999", "1e5")]
)
def test_a_found_price_is_rounded_up_to_four_digits(price: str, shown: str) -> None:
    assert rounded(Fraction(price)) == Fraction(shown)


@pytest.mark.parametrize("wanted", [Fraction(1, 5000), Fraction(1, 1024), Fraction(1, 3), Fraction(100)])
def test_the_least_good_price_is_found_to_a_thousandth(wanted: Fraction) -> None:
    asked: list[Fraction] = []

    def good(amount: Fraction) -> bool:
        asked.append(amount)
        return amount >= wanted

    found = least(good)
    gap = Fraction(1, 1 << 20) if wanted < Fraction(1, 1024) else wanted / 500
    assert wanted <= found <= wanted + gap
    assert len(asked) <= 30


def test_a_price_without_end_is_refused() -> None:
    asked: list[Fraction] = []

    def good(amount: Fraction) -> bool:
        asked.append(amount)
        return False

    with pytest.raises(BadParameter, match="no privacy cost gives it"):
        least(good)
    assert asked[-1] == 1 << 20


@pytest.mark.parametrize("targets", ["10", {"n": 3}, [1], [1, 2, 3], 7, None])
def test_a_plan_has_an_error_for_each_query(targets: Any) -> None:
    with pytest.raises(BadParameter, match="a list of 2 errors"):
        checked_targets(targets, 2)
    assert checked_targets([1, {"n": 2}], 2) == (1, {"n": 2})


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        (SQL, {"m": 3}, "name columns of the answer: n"),
        (SQL, 0, "error"),
        (SQL, {"n": -1}, "error"),
        ("SELECT MEDIAN(x) AS m FROM t", 3, "how the values lie"),
        ("SELECT COUNT(*) AS n, MEDIAN(x) AS m FROM t", 3, "how the values lie"),
    ],
)
def test_an_error_that_no_price_is_sure_to_give_is_refused_and_costs_nothing(sql: str, error: Any, words: str) -> None:
    own = session()
    with pytest.raises(BadParameter, match=words):
        own.sql(sql).release(error=error)
    assert own.remaining == own.budget
