"""standing.py: what is left, what a question would cost, what a household has lost."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet.ledger import Ledger, standing
from discreet.privacy.budgets.filters import Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from tests.helpers.ledger_places import Place, prepared


def charges(ledger: Ledger) -> int:
    return len(ledger.entries(kind="charge"))


def test_a_quote_is_free_and_right(lite: Place) -> None:
    with prepared(lite, Pure(1), cap=Pure("0.5")) as ledger:
        quote = ledger.quote("visits", "ann", events.Pure("0.4"))
        assert (quote.price, quote.fits, quote.left_after) == (Pure("0.4"), True, Pure("0.1"))
        assert charges(ledger) == 0
        assert not ledger.quote("visits", "ann", events.Pure("0.6")).fits
        assert ledger.quote("visits", "bob", events.Pure("0.6")).fits


@pytest.mark.slow
def test_what_a_household_has_lost(lite: Place) -> None:
    with lite.open(create=True) as ledger:
        ledger.owner.add_analyst("ann")
        cases: list[tuple[Measure, Rule | None, Measure | events.Event]] = [
            (Pure(1), None, Pure("0.1")),
            (ZCDP(1), None, ZCDP("0.01")),
            (GDP(1), None, GDP("0.1")),
            (Renyi({2: 1, 16: 2}), None, Renyi({2: "0.1", 16: "0.2"})),
            (Approx(1, "1e-6"), Rule.BASIC, Approx("0.1", "1e-8")),
            (Approx(1, "1e-6"), Rule.ADVANCED, Approx("0.1", "1e-8")),
            (Approx(1, "1e-6"), Rule.ZCDP, events.Gaussian(sigma=100)),
            (Approx(1, "1e-6"), Rule.ZCDP, Approx("0.001", "1e-8")),
        ]
        spent = []
        for i, (budget, rule, event) in enumerate(cases):
            ledger.owner.protect(f"p{i}", budget, rule=rule)
            ledger.owner.register(f"d{i}", f"p{i}", marks=[f"d{i}"])
            ledger.owner.grant("ann", f"p{i}")
            ledger.spend(f"d{i}", "ann", event, key=f"k{i}", query="q")
            alone: Any = ledger.household(f"p{i}", 1)
            four: Any = ledger.household(f"p{i}", 4)
            assert alone.promised is not None
            assert alone.charged <= four.charged
            spent.append(four.charged)
        assert spent[:3] == [Pure("0.4"), ZCDP("0.16"), GDP("0.4")]
        assert isinstance(spent[4], Approx)
        assert spent[4].epsilon == Fraction(4, 10)
        gaussian = spent[6]
        assert isinstance(gaussian, Approx)
        assert gaussian.epsilon < 4 * Fraction(3, 10)  # sigma 25 for the household: some epsilon 0.17 at delta 1e-6
        assert gaussian.delta == Fraction(1, 10**6)
        assert ledger.household("p4", 40).promised is None  # delta would reach 1


def test_a_sum_of_squares_is_shown_as_the_filter_counts_it() -> None:
    """√(2 log(1/δ') S) + S/2 for S = 1/4 and δ' = 1e-6."""
    shown = standing._advanced((Fraction(1, 4), Fraction(1, 10**9)), Fraction(1, 10**6))
    exact = math.sqrt(2 * math.log(10**6) / 4) + 1 / 8
    assert exact <= float(shown.epsilon) < exact * (1 + 1e-6)
    assert Fraction(1001, 10**9) <= shown.delta < Fraction(1002, 10**9)
