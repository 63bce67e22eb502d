"""A trade-off is a convex curve and its own mirror image."""

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadParameter, NotATheorem
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.compose import compose
from discreet.privacy.promises import events

F = Fraction


def test_a_trade_off_is_a_convex_curve_and_its_mirror_image() -> None:
    curve = events.TradeOff({0: "0.9", "0.1": "0.6"})
    assert curve == events.TradeOff([(0, Fraction(9, 10)), ("1/10", "0.6")])
    assert curve.line == ((F(0), F(9, 10)), (F(1, 10), F(3, 5)), (F(3, 5), F(1, 10)), (F(9, 10), F(0)))
    assert (curve.steepest, curve.lost) == (F(3), F(1, 10))
    meets = events.TradeOff({0: 1, "1/4": "1/4"})
    assert meets.line == ((F(0), F(1)), (F(1, 4), F(1, 4)), (F(1), F(0)))
    assert events.TradeOff({0: "0.9"}).steepest == 1  # (0, 0.1)-differential privacy


@pytest.mark.parametrize(
    "knots",
    [
        {}, {"0.1": "0.5"}, {0: 0}, {0: 1, "0.1": "0.95"}, {0: 1, "0.6": "0.4"}, {0: 1, "0.1": "0.8", "0.2": "0.3"},
        {0: 1, "0.1": "0.5", "0.2": "0.6"}, {0: 1, "0.4": "0.2"}, {0: 2}, "curve", [0, 1], [(0, 1, 2)], 3, {0: "nan"},
        [(0, 1), (0, "0.5")], {0: 1, "0.01": "0.5", "0.4": "0.45"},
    ],
)  # fmt: skip
def test_what_is_no_trade_off_is_refused(knots: Any) -> None:
    with pytest.raises(BadParameter):
        events.TradeOff(knots)


def test_releases_from_biased_bits_are_never_added_up() -> None:
    one = events.Biased("1/2")
    assert price_basic(events.Composed([one, events.Pure(1)])).epsilon == Fraction(3, 2)
    for call in (
        lambda: events.Repeat(one, 2),
        lambda: events.Composed([one, events.Pure(1), one]),
        lambda: events.Composed([events.Composed([one]), events.Stated(one, 1, 0)]),
        lambda: events.Parallel([one, one]),  # parts on other data, but from one source of bits
        lambda: compose([one, one]),
    ):
        with pytest.raises(NotATheorem, match="biased bits"):
            call()
    assert events.Repeat(one, 1).times == 1
