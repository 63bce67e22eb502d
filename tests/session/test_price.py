"""The one request for a price, in a session and at a client alike."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadParameter
from discreet.session.price import Price
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
