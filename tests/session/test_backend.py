"""What a session is made of: it serves other budgets over the same tables, and is never doubled."""

from copy import deepcopy

import pytest

import discreet as dp
from discreet.errors import NotATheorem
from discreet.privacy.budgets.filters import Filter
from discreet.session.price import Price
from discreet.session.session import backend_of, session_of

BUDGET = dp.Approx(1, "1e-6")


def session(budget: dp.Approx | dp.ZCDP = BUDGET) -> dp.Session:
    return dp.Session(t=dp.table({"id": [1, 2]}, unit="id", max_rows=1), budget=budget, progress=True)


def test_it_serves_another_budget_over_the_same_tables_and_shows_nothing() -> None:
    own, store = backend_of(session()), Filter(dp.Pure(3))
    other = own.serving(store)
    assert (other.schemas, other.engine, other.terms) == (own.schemas, own.engine, own.terms)
    assert (other.budget_store, other.ledger, other.progress) == (store, None, False)
    session_of(other).sql("SELECT COUNT(*) AS n FROM t").release(epsilon="1/2")
    assert (store.remaining, own.budget_store.remaining) == (dp.Pure("5/2"), dp.Approx(1, "1e-6"))


def test_it_is_never_doubled() -> None:
    with pytest.raises(NotATheorem, match="neither deep-copied nor pickled"):
        deepcopy(backend_of(session()))


def test_more_noise_is_quoted_only_where_a_whole_may_be_paid_as_an_epsilon_and_a_delta() -> None:
    for budget, times in ((dp.Approx(1, "1e-6"), 2), (dp.ZCDP(1), None)):
        own = backend_of(session(budget))
        price = Price(rho="1/2") if times is None else Price("1/2")
        prepared = session(budget).sql("SELECT COUNT(*) AS n FROM t").prepared
        quote = own.quote_beyond([prepared], price, 2)
        assert (quote is None) == (times is None)
        assert quote is None or quote.allowance.epsilon == 1  # type: ignore[union-attr]
