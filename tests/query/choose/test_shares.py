"""The price of a query that chooses is split exactly: no step gets what another was paid for."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.query.choose.shares import answering_allowance, portion, pure_epsilon, selecting_allowance
from discreet.session.price import Price

CHOSEN_CAPS = True
ROWS = {"id": [1, 1, 2], "g": ["a", "b", "a"], "x": [1.5, 2.0, 3.0], "k": [1, 2, 3]}
TEXTS = [
    "SELECT COUNT(*) AS n FROM t",
    "SELECT SUM(x) AS s FROM t",
    "SELECT AVG(x) AS m, VARIANCE(k) AS v, MEDIAN(x) AS q FROM t",
    "SELECT l, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY l",
    "SELECT g, COUNT(*) AS n, COUNT(DISTINCT id) AS u FROM t GROUP BY g",
    "SELECT g, l, SUM(k) AS s FROM t GROUP BY ROLLUP (g, l)",
    "SELECT COUNT(DISTINCT k) AS d FROM t",
]


def session(budget: dp.Pure | dp.Approx | dp.ZCDP, **more: object) -> dp.Session:
    rows = {**ROWS, "l": ["p", "q", "p"]}
    table = dp.table(rows, unit="id", columns={"l": dp.keys(["p", "q"])})
    return dp.Session(t=table, budget=budget, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("epsilon", ["1", "0.1", "3/7"])
def test_all_steps_together_cost_the_price_and_no_more(text: str, epsilon: str) -> None:
    quote = session(dp.Approx(10, "1e-6"), rule=dp.Rule.BASIC).sql(text).quote(epsilon=epsilon)
    assert quote.choosing is not None
    price = price_basic(quote.plan.price)
    assert price.epsilon == Fraction(epsilon)
    assert price.delta <= quote.allowance.delta  # type: ignore[union-attr]
    parts = sum((one.together for one in quote.choosing.shares), Fraction(0))
    assert 0 < parts < 1


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_in_rho(text: str) -> None:
    quote = session(dp.ZCDP("1/2", "1e-6")).sql(text).quote(rho="1/10")
    price = price_zcdp(quote.plan.price)
    assert price.rho == Fraction(1, 10)
    assert isinstance(quote.allowance, ZCDP)
    assert price.delta <= quote.allowance.delta


def test_a_root_is_never_rounded_up() -> None:
    for rho in ("1/2", "1/3", "1e-9", "12345/67891", "1e-30"):
        budget = ZCDP(rho)
        epsilon = pure_epsilon(budget)
        assert 0 < epsilon**2 / 2 <= budget.rho
        assert float(epsilon**2 / 2 / budget.rho) > 1 - 1e-5


def test_delta_is_given_out_once() -> None:
    whole = Approx(1, "1e-6")
    for selecting in (1, 2, 5):
        first = selecting_allowance(whole, Fraction(1, 5), selecting)
        rest = answering_allowance(whole, Fraction(1, 2), selects=True, needs_delta=True)
        assert isinstance(first, Approx)
        assert isinstance(rest, Approx)
        assert selecting * first.delta + rest.delta <= whole.delta
    assert answering_allowance(whole, Fraction(1, 2), selects=False, needs_delta=False) == Pure("1/2")
    assert portion(ZCDP(1, "1e-6"), Fraction(1, 4)) == ZCDP("1/4")


def test_keys_of_a_closed_query_are_selected_beside_one_that_chooses() -> None:
    """In one workload: the answer needs delta for them, whatever its noise is."""
    table = dp.table(ROWS, unit="id", max_rows=2)
    for budget, price in ((dp.Approx(10, "1e-6"), {"epsilon": 1}), (dp.ZCDP(1, "1e-6"), {"rho": "1/10"})):
        own = dp.Session(t=table, budget=budget)
        texts = ["SELECT SUM(x) AS s FROM t", "SELECT g, COUNT(*) AS n FROM t GROUP BY g"]
        quote = own.workload(texts)._program(Price(**price)).answer.quote
        assert quote.choosing is not None
        assert [selection is not None for selection in quote.plan.selections].count(True) == 1
        assert len(own.workload(texts).release(**price)) == 2
