"""standing.py: what is left, what a question would cost, what a household has lost."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet.ledger import Ledger, standing
from discreet.privacy.budgets.currency import BEYOND, Limits
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


BOTH = Limits((Fraction(1), Fraction(2), Fraction(4), Fraction(8)), together=2)
ALONE = Limits(BOTH.most, together=2, alone=(Fraction(3), Fraction(3)))


@pytest.mark.parametrize(
    ("limits", "amounts", "part"),
    [
        (Limits((Fraction(2), Fraction(4))), ("1", "1"), "1/2"),
        (Limits((Fraction(2), Fraction(4))), ("-1", "1"), "1/4"),
        (Limits((Fraction(2), Fraction(0))), ("3", "0"), "3/2"),  # over the limit, after a write-off
        (Limits((Fraction(0),)), ("0",), "1/9"),  # no limit to be a part of
        (BOTH, ("1/2", "0", "1", "0"), "1/4"),  # of two accounts the one of which less is gone
        (BOTH, ("0", "1", "4", "1"), "1/2"),
        (ALONE, ("3", "3", "16", "8"), "1"),  # all was spent at once, as may be
        (ALONE, ("4", "3", "16", "8"), "4"),
    ],
)
def test_which_part_of_a_budget_is_gone(limits: Limits, amounts: tuple[str, ...], part: str) -> None:
    assert standing._part(limits, tuple(map(Fraction, amounts)), Fraction(1, 9)) == Fraction(part)


def test_where_everybody_stands(lite: Place) -> None:
    """Ann has a cap of half, bob none: what he could still spend is what she and he have left of the whole."""
    with prepared(lite, Pure(1), cap=Pure("0.5")) as ledger:
        ledger.spend("visits", "ann", Pure("0.4"), key="a", query="q")
        ledger.spend("visits", "bob", Pure("0.2"), key="b", query="q")
        found = {who: ledger.standing("town", who) for who in (None, "ann", "bob")}
        assert [(one.population, one.analyst) for one in found.values()] == [("town", who) for who in found]
        assert {who: (one.budget, one.charged, one.remaining) for who, one in found.items()} == {
            None: (Pure(1), Pure("0.6"), Pure("0.4")),
            "ann": (Pure("0.5"), Pure("0.4"), Pure("0.1")),
            "bob": (Pure(1), Pure("0.2"), Pure("0.4")),
        }
        parts = {who: (one.share, one.gone) for who, one in found.items()}
        assert parts == {
            None: (Fraction(3, 5), Fraction(3, 5)),
            "ann": (Fraction(4, 5), Fraction(4, 5)),
            "bob": (Fraction(1, 5), Fraction(3, 5)),
        }
        quotes = [ledger.quote("visits", who, Pure(price)) for who in ("ann", "bob") for price in ("0.1", "0.11")]
        assert [(one.fits, one.left, one.left_after) for one in quotes] == [
            (True, Pure("0.1"), Pure(0)),
            (False, Pure("0.1"), None),
            (True, Pure("0.4"), Pure("0.3")),
            (True, Pure("0.4"), Pure("0.29")),
        ]


@pytest.mark.parametrize(
    ("used", "epsilon"),
    [
        (("0.1", "0", "1", "0"), Fraction(1, 5)),  # the sum says less
        (("9", "0", "1e-6", "0"), None),  # ρ says less
        ((str(BEYOND), "0", "1e-6", "0"), None),
        (("0.1", "1", "1e-6", "0"), None),  # a sum of δ's of 1 says nothing
        (("0.1", "0", "1e-6", "1e-9"), Fraction(1, 5)),  # no theorem for a group of an approximate ρ
        (("0.1", "0", str(BEYOND), "0"), Fraction(1, 5)),
    ],
)
def test_a_household_is_told_by_the_account_that_says_less(used: tuple[str, ...], epsilon: Fraction | None) -> None:
    found = standing._either(Approx(1, "1e-6"), tuple(map(Fraction, used)), 2)
    assert isinstance(found, Approx)
    assert found.epsilon == epsilon if epsilon is not None else found.epsilon < Fraction(2, 100)


def test_a_household_may_be_told_nothing() -> None:
    beyond = (BEYOND, Fraction(0), BEYOND, Fraction(0))
    assert standing._either(Approx(1, "1e-6"), beyond, 2) is None
