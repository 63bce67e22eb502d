"""No step draws noise that costs more than was paid for it: every small price beside every small allowance."""

from fractions import Fraction
from itertools import product

import pytest

import discreet as dp
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.run import Quote, closed_quote, within

SIZES = (Fraction(1, 2), Fraction(1), Fraction(1) + Fraction(1, 1 << 40), Fraction(2))
DELTAS = (Fraction(0), Fraction(1, 10**9), Fraction(1, 10**6))


def quoted(allowance: Pure | Approx | ZCDP) -> Quote:
    """Users by city: keys are selected, so that all of ε, and δ where there is one, are used."""
    keys = {} if getattr(allowance, "delta", 0) else {"g": dp.keys(["a", "b"])}
    table = dp.table({"id": [1, 2], "g": ["a", "b"]}, unit="id", max_rows=2, columns=keys)
    own = dp.Session(t=table, budget=dp.Approx(9, "1e-3"))
    text = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
    questions = own.sql(text).quote(epsilon=1).questions
    return closed_quote(questions, allowance, Neighbours.ADD_REMOVE)


def fits(planned: Quote, allowance: Pure | Approx | ZCDP) -> bool:
    try:
        return within(planned, allowance) is planned
    except AssertionError:
        return False


def test_what_costs_more_than_an_allowance_is_refused_and_nothing_else() -> None:
    budgets = [Pure(size) if not delta else Approx(size, delta) for size, delta in product(SIZES, DELTAS)]
    quotes = {paid: quoted(paid) for paid in budgets}
    tried = 0
    for paid, allowed in product(budgets, budgets):
        price = [Fraction(getattr(paid, name, 0)) for name in ("epsilon", "delta")]
        limit = [Fraction(getattr(allowed, name, 0)) for name in ("epsilon", "delta")]
        assert fits(quotes[paid], paid)
        if not all(a <= b for a, b in zip(price, limit, strict=True)):
            spent = quotes[paid].price
            spends = [Fraction(getattr(spent, name, 0)) for name in ("epsilon", "delta")]
            assert fits(quotes[paid], allowed) == all(a <= b for a, b in zip(spends, limit, strict=True))
            tried += not fits(quotes[paid], allowed)
        else:
            assert fits(quotes[paid], allowed)
    assert tried > 50


@pytest.mark.parametrize(("rho", "most"), list(product(SIZES, SIZES)))
def test_rho_is_compared_with_rho(rho: Fraction, most: Fraction) -> None:
    delta = Fraction(1, 10**9)
    planned = quoted(ZCDP(rho, delta))
    assert fits(planned, ZCDP(most, delta)) == (planned.price.rho <= most)  # type: ignore[union-attr]
    assert not fits(planned, ZCDP(most, 0))
    assert fits(planned, ZCDP(rho, delta))
