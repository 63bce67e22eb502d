"""currency.py: limits, accounts, and what is left of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.privacy.budgets.currency import Limits, add, fits, rest

amounts = st.tuples(*[st.fractions(min_value=0, max_value=3, max_denominator=20)] * 4)


@pytest.mark.slow
@given(amounts, amounts, amounts)
@example((Fraction(0),) * 4, (Fraction(1),) * 4, (Fraction(0),) * 4)
@example((Fraction(1),) * 4, (Fraction(2), Fraction(0), Fraction(1), Fraction(0)), (Fraction(0), *[Fraction(1)] * 3))
def test_a_charge_fits_one_account_and_then_the_sums_do(most: tuple, used: tuple, price: tuple) -> None:  # type: ignore[type-arg]
    """By the definition: a charge that fits is one after which all sums of some account are within limits."""
    after = add(used, price)
    inside = [all(after[i] <= most[i] for i in own) for own in ((0, 1), (2, 3))]
    assert Limits(most, together=2).fits(used, price) == any(inside)
    assert Limits(most).within(after) == all(inside)
    free = all(not p or a <= limit for p, a, limit in zip(price, after, most, strict=True))
    assert Limits(most).fits(used, price) == fits(most, used, price) == free  # what costs nothing of a sum needs none
    assert Limits(most, together=2).within(after) == any(inside)


@pytest.mark.slow
@given(amounts, amounts)
def test_what_is_left_fits_and_a_hair_more_does_not(most: tuple, used: tuple) -> None:  # type: ignore[type-arg]
    limits = Limits(most, together=2)
    left = limits.rest(used)
    for own in limits.accounts:
        if limits.is_left(used, own):
            assert not any(left[own])
        else:
            assert left[own] == rest(most, used)[own]
            only = tuple(left[i] if i in range(*own.indices(4)) else Fraction(100) for i in range(4))
            assert limits.fits(used, only)
            assert not limits.fits(used, tuple(a + Fraction(1, 10**9) for a in only))


def test_the_first_charge_may_be_larger() -> None:
    limits = Limits((Fraction(1),) * 4, together=2, alone=(Fraction(1), Fraction(2)))
    large = (Fraction(1), Fraction(2), Fraction(9), Fraction(9))
    assert limits.fits(limits.nothing, large)
    assert limits.rest(limits.nothing)[:2] == limits.alone
    used = add(limits.nothing, large)
    assert not limits.fits(used, (Fraction(0), Fraction(1, 10**9), Fraction(0), Fraction(0)))
    small = (Fraction(1, 10), Fraction(0), Fraction(0), Fraction(0))
    assert not limits.fits(small, large)
    assert limits.rest(small)[1] == 1
