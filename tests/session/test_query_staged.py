"""A value that is released first: its price, its place in the answer, and what happens if there is none."""

from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion, OverBudget
from discreet.session.price import Price, shares

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
    assert "avg_e is released first, for epsilon 1/5" in str(shown)
    assert "The answer itself costs epsilon 4/5" in str(shown)
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


def test_what_does_not_go_with_two_releases_is_refused_for_nothing() -> None:
    asking = session()
    query = asking.sql(TEXT)
    for refused in (lambda: query.order(Price(1)), lambda: query.limit(1), lambda: asking.workload([query]).release(1)):
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
def test_all_payments_are_checked_together_before_the_first_value_is_released(delta: str | None) -> None:
    """One payment of this price fits what is left of ρ; its parts, each with noise of its own, do not."""
    asking = dp.Session(t=session().schemas["t"].table, budget=dp.Approx(1, "1e-6"))
    asking.sql("SELECT COUNT(*) AS n FROM t").release(rho="1/60")
    before = asking.remaining_by_account
    with pytest.raises(OverBudget):
        asking.sql(TWO).release(epsilon="1/3", delta=delta)
    assert asking.remaining_by_account == before


def test_nothing_is_answered_for_a_made_up_value_where_the_whole_price_does_not_fit() -> None:
    """A profile and the rest together cost less ρ than the whole: the question was answered with the stand-in."""
    table = dp.table(ROWS, unit="id", max_rows="auto", columns={"e": dp.bounds(0, 9)})
    asking = dp.Session(t=table, budget=dp.Approx(1, "1e-6"), rule=dp.Rule.ZCDP)
    with pytest.raises(OverBudget):
        asking.sql(TEXT).release(epsilon="1.1")
    assert asking.remaining == dp.Session(t=table, budget=dp.Approx(1, "1e-6"), rule=dp.Rule.ZCDP).remaining
