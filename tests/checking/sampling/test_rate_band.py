"""The certified band of a trade-off: rates by hand, refutations, pictures."""

import matplotlib as mpl
import pytest

from discreet.checking.sampling.binomial import lower, upper
from discreet.checking.sampling.rate_band import Point, TradeOff, trade_off
from discreet.privacy.promises.measures import GDP, Approx, Pure

mpl.use("Agg")

FIRST, SECOND = [0] * 300 + [1] * 700, [0] * 700 + [1] * 300


def test_the_trade_off_band_draws() -> None:
    first, second = [0] * 300 + [1] * 700, [0] * 700 + [1] * 300
    band = trade_off([first, second], [first, second], Pure(1), 1e-6, 10)
    assert not band.refuted
    assert band.plot() is not None
    assert trade_off([first, second], [first, second], Pure("0.1"), 1e-6, 10).refuted
    assert band.to_dict()["points"]


def test_the_rates_of_one_event() -> None:
    """x ≥ 1: 700 of 1000 on the first side are caught, 300 of 1000 on the second are false alarms."""
    band = trade_off([FIRST, SECOND], [FIRST, SECOND], Pure(1), 1e-6, 10)
    each = 1e-6 / (4 * len(band.points))
    seen = {(p.false_positive[1], round(p.false_negative[1], 12)) for p in band.points}
    assert (0.3, 0.3) in seen
    point = next(p for p in band.points if p.false_positive[1] == 0.3)
    assert point.false_positive == (float(lower(300, 1000, each)), 0.3, float(upper(300, 1000, each)))
    assert point.false_negative[2] == pytest.approx(1 - float(lower(700, 1000, each)))


@pytest.mark.parametrize(
    ("upper_corner", "refuted"), [((0.0, 0.0), True), ((0.2, 0.5), False), ((0.2, 0.29), True), ((0.9, 0.0), False)]
)
def test_a_corner_below_the_curve_of_the_claim_refutes_it(upper_corner: tuple[float, float], refuted: bool) -> None:
    """Under (0, 1/2) no test has false positives a and false negatives below 1/2 - a."""
    a, b = upper_corner
    band = TradeOff(Approx(0, "0.5"), (Point("x", (0.0, a, a), (0.0, b, b)),), 1e-6)
    assert band.allowed(0.2) == 0.3
    assert band.refuted is refuted


def test_the_least_rate_of_misses_that_a_claim_allows() -> None:
    band = TradeOff(GDP(1), (), 1e-6)
    assert band.allowed(0.0) == 1.0
    assert band.allowed(1.0) == 0.0
    assert not band.refuted
