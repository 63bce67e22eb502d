"""A value that is released first: its price, its place in the answer, and what happens if there is none."""

from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion, OverBudget
from discreet.query.run import within
from discreet.session.price import Price, shares
from discreet.session.program import run
from discreet.session.query import program_of, release_query

ROWS = {"id": list(range(100)), "c": ["a"] * 50 + ["b"] * 30 + ["d"] * 20, "e": [n % 10 for n in range(100)]}
PUBLIC = {"k": ["a", "a", "b"], "w": [1, 2, 6]}
PRICE = 10**9


def session(budget: int = 10**15) -> dp.Session:
    people = dp.table(ROWS, unit="id", max_rows=1, columns={"e": dp.bounds(0, 9), "c": dp.keys(["a", "b", "d"])})
    public = dp.table(PUBLIC, public=True, columns={"w": dp.bounds(0, 9)})
    return dp.Session(t=people, p=public, budget=dp.Pure(budget))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM t WHERE e > (SELECT AVG(e) FROM t)",
        "SELECT c, COUNT(*) / (SELECT COUNT(*) FROM t) AS share FROM t GROUP BY c ORDER BY c",
        "WITH m AS (SELECT AVG(e) AS a, MAX(e) AS x FROM t) SELECT COUNT(*) AS n FROM t, m WHERE e > m.a AND e < x",
        "SELECT c, COUNT(*) AS n FROM t GROUP BY c HAVING COUNT(*) > (SELECT AVG(n) FROM (SELECT c, COUNT(*) AS n "
        "FROM t GROUP BY c) AS g) ORDER BY c",
        "SELECT COUNT(*) AS n FROM t WHERE e > (SELECT MAX(w) FROM p)",
        "SELECT COUNT(*) AS n FROM t WHERE e > (SELECT AVG(w) FROM p WHERE k = 'a') AND c = (SELECT MIN(k) FROM p)",
        "SELECT COUNT(*) AS n FROM t WHERE e > (SELECT w FROM p WHERE k = 'b')",
        "SELECT COUNT(*) AS n FROM t WHERE e > (SELECT w FROM p WHERE k = 'none')",
    ],
)
def test_as_sql_says(text: str) -> None:
    t, p = pa.table(ROWS), pa.table(PUBLIC)  # noqa: F841 - DuckDB finds them by their names
    asking = session()
    answer = asking.sql(text).release(epsilon=PRICE)
    assert [tuple(row.values()) for row in answer.rows] == duckdb.execute(text).fetchall()
    assert asking.remaining == dp.Pure(10**15 - PRICE)  # the whole price, and no more


TEXT = "SELECT COUNT(*) AS n FROM t WHERE e > (SELECT AVG(e) FROM t)"


def test_a_preview_shows_how_the_price_is_split() -> None:
    asking = session(1)
    shown = asking.sql(TEXT).preview(epsilon=1)
    assert "avg_e is released first, for epsilon 0.2" in str(shown)
    assert "The answer itself costs epsilon 0.8" in str(shown)
    assert shown.cost == "epsilon 1"
    assert shown.affordable
    alone = asking.sql("SELECT COUNT(*) AS n FROM t WHERE e > 4").preview(epsilon="0.8")
    assert shown.error("n") == alone.error("n")
    assert asking.remaining == asking.budget


def test_the_answer_says_what_was_released() -> None:
    answer = session().sql(TEXT).release(epsilon=PRICE)
    assert "avg_e = 4.5" in str(answer.notes)


def test_nothing_is_bought_unless_the_whole_fits() -> None:
    asking = session(1)
    with pytest.raises(OverBudget):
        asking.sql(TEXT).release(epsilon=2)
    assert asking.remaining == asking.budget


def test_a_value_that_is_null_leaves_no_rows() -> None:
    text = "SELECT COUNT(*) AS n FROM t WHERE e > (SELECT AVG(e) FROM t WHERE e > 100)"
    answer = session().sql(text).release(epsilon=PRICE)
    assert answer["n"] in ([0], [pytest.approx(0, abs=100)])


def test_a_refusal_after_the_first_release_keeps_its_value() -> None:
    keyed = dp.table(ROWS, unit="id", max_rows=1, columns={"e": dp.keys([0, 1, 2])})
    asking = dp.Session(t=keyed, budget=dp.Pure(10**15))
    text = "SELECT e, COUNT(*) AS n FROM t WHERE e > (SELECT COUNT(*) FROM t) GROUP BY e"
    with pytest.raises(BadQuestion):
        asking.sql(text).release(epsilon=PRICE)


def test_a_value_of_more_digits_than_constants_have_is_refused_before_it_is_paid() -> None:
    wide = dp.table({"id": [1], "x": [1e300]}, unit="id", max_rows=1, columns={"x": dp.bounds(-1e300, 1e300)})
    asking = dp.Session(t=wide, budget=dp.Pure(10**15))
    with pytest.raises(BadQuestion, match=r"beyond 10\^57"):
        asking.sql("SELECT COUNT(*) AS n FROM t WHERE x >= (SELECT MEDIAN(x) FROM t)").release(epsilon=PRICE)
    assert asking.remaining == asking.budget


def test_where_no_group_passes_the_list_that_is_released_first_the_refusal_says_so() -> None:
    few = dp.table({"id": [1], "c": ["a"]}, unit="id", max_rows=1)
    asking = dp.Session(t=few, budget=dp.Approx(10**6, "1e-3"), rule=dp.Rule.BASIC)
    text = (
        "SELECT UPPER(c) AS u, COUNT(*) AS n FROM t WHERE c IN (SELECT c FROM t GROUP BY c LIMIT 2) GROUP BY UPPER(c)"
    )
    with pytest.raises(BadQuestion, match="no group passed the list that was released first"):
        asking.sql(text).release(epsilon="0.01", delta="1e-9")


def test_what_does_not_go_with_two_releases_is_refused_for_nothing() -> None:
    asking = session()
    query = asking.sql(TEXT)
    for refused in (lambda: query.quote(1), lambda: query.limit(1), lambda: asking.workload([query]).release(1)):
        with pytest.raises(BadQuestion, match=r"released first|say it in the text"):
            refused()
    with pytest.raises(BadParameter, match="must be left out"):
        query.release(error=1)
    assert asking.remaining == asking.budget


def test_the_shares_add_up_to_the_price() -> None:
    for many in range(1, 9):
        each, left = shares(Price("0.3", "1e-7"), many)
        assert many * each.epsilon + left.epsilon == Fraction(3, 10)  # type: ignore[operator]
        assert many * each.delta + left.delta == Fraction(1, 10**7)  # type: ignore[operator]
        assert left.epsilon >= Fraction(3, 20)  # type: ignore[operator]


TWO = f"{TEXT} AND e < (SELECT MAX(e) FROM t)"


@pytest.mark.parametrize("delta", [None, "6e-7"])
@pytest.mark.parametrize("price", ["1/3", "9/10"])
def test_a_query_with_values_is_one_charge_that_fits_or_is_not_made(price: str, delta: str | None) -> None:
    asking = dp.Session(t=session().schemas["t"].table, budget=dp.Approx(1, "1e-6"))
    asking.sql("SELECT COUNT(*) AS n FROM t").release(rho="1/60")
    before, charges = asking.remaining_by_account, asking._backend.budget_store._charges  # type: ignore[attr-defined]
    query = asking.sql(TWO)
    if query.preview(epsilon=price, delta=delta).affordable:
        receipt = query.release(epsilon=price, delta=delta).receipt
        assert receipt is not None
        assert receipt.number == charges + 1
        assert asking.remaining_by_account != before
    else:
        with pytest.raises(OverBudget):
            query.release(epsilon=price, delta=delta)
        assert asking.remaining_by_account == before


@pytest.mark.parametrize("rule", [None, dp.Rule.BASIC, dp.Rule.ZCDP])
@pytest.mark.parametrize("budget", [dp.Approx(1, "1e-6"), dp.Pure(1), dp.ZCDP(1), dp.ZCDP(1, "1e-6")])
def test_what_is_charged_covers_all_steps_whichever_values_are_released(budget: Any, rule: Any) -> None:
    """The last step is charged its whole share: the query with any value in it fits, and no step costs more."""
    if rule is not None and not isinstance(budget, dp.Approx):
        return
    asking = dp.Session(t=session().schemas["t"].table, budget=budget, rule=rule)
    price = Price(rho="1/10") if isinstance(budget, dp.ZCDP) else Price("1/2")
    query = asking.sql(TEXT)
    program = program_of(query, price)
    planned = program.answer
    answers = [run(program_of(asking.sql(f"SELECT {value} * COUNT(*) AS avg_e FROM t"), price.times(Fraction(1, 100))),
                   asking._backend) for value in (0, 1, -10**6)]  # fmt: skip
    for answer in answers:
        filled = planned.fill([answer])
        assert filled.price == planned.price
        within(filled.quote, planned.quote.allowance)
    answer = release_query(query, price)
    assert answer.receipt is not None
    assert answer.receipt.what == program.price == answer.event
    assert answer.cost == str(answer.receipt.price)


def test_nothing_is_answered_for_a_made_up_value_where_the_whole_price_does_not_fit() -> None:
    table = dp.table(ROWS, unit="id", max_rows="auto", columns={"e": dp.bounds(0, 9)})
    asking = dp.Session(t=table, budget=dp.Approx(1, "1e-6"), rule=dp.Rule.ZCDP)
    with pytest.raises(OverBudget):
        asking.sql(TEXT).release(epsilon=3)
    assert asking.remaining == dp.Session(t=table, budget=dp.Approx(1, "1e-6"), rule=dp.Rule.ZCDP).remaining


def test_the_text_is_that_of_the_query_and_can_be_asked_again() -> None:
    asking = session()
    query = asking.sql(f"  {TEXT} ")
    assert query.text == TEXT
    assert asking.sql(query.text).explain() == query.explain()
