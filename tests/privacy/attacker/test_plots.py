"""The pictures: what is drawn must be true, also between the points that were computed."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from discreet.errors import BadParameter
from discreet.privacy.accountants.compose import compose
from discreet.privacy.attacker import plots
from discreet.privacy.promises import events


@pytest.mark.slow
def test_the_band_holds_the_curve_between_its_points() -> None:
    """Pure(1) has its corner at 1/(1+e), between the points: chords alone would overstate privacy there."""
    whole = compose(events.Pure(1))
    points = whole.tradeoff_band([Fraction(k, 10) for k in range(11)])
    rates, lower, upper = plots.band(points)
    corners = list(zip(rates, lower, upper, strict=True))
    for (a, low, high), (b, next_low, next_high) in pairwise(corners):
        for i in range(1, 8) if b > a else []:
            x = a + (b - a) * i / 8
            bottom, top = (u + (v - u) * i / 8 for u, v in ((low, next_low), (high, next_high)))
            assert bottom <= float(whole.tradeoff(Fraction(x)).upper)
            assert float(whole.tradeoff(Fraction(x)).lower) <= top + 1e-12


def test_the_band_that_is_drawn_is_that_band() -> None:
    points = compose(events.Pure(1)).tradeoff_band([Fraction(k, 10) for k in range(11)])
    outline = plots.tradeoff(events.Pure(1), alphas=[Fraction(k, 10) for k in range(11)])
    drawn: Any = outline.axes[0].collections[0].get_paths()[0].vertices
    corners = {(round(x, 9), round(y, 9)) for x, y in drawn}
    rates, lower, upper = plots.band(points)
    for edge in (lower, upper):
        assert {(round(x, 9), round(y, 9)) for x, y in zip(rates, edge, strict=True)} <= corners


@pytest.mark.slow
def test_each_picture_has_its_curves() -> None:
    assert len(plots.profile(events.Laplace(1), deltas=["1e-2", "1e-4"]).axes[0].lines) == 2
    growth = plots.growth(events.Laplace(10), up_to=50).axes[0]
    assert len(growth.lines) == len(plots.growth_rules("1e-6"))
    for bad in (5, "laplace", None):
        with pytest.raises(BadParameter):
            plots.tradeoff(bad)  # type: ignore[arg-type]


def _legend(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


@pytest.mark.slow
def test_several_by_name_are_drawn_into_one_picture() -> None:
    two: Any = {"a": events.Pure(1), "b": compose(events.Pure(2))}
    for figure in (plots.profile(two, deltas=["1e-2", "1e-4"]), plots.tradeoff(two)):
        assert _legend(figure)[:2] == ["a", "b"]
    assert "b, basic" in _legend(plots.growth({"a": events.Pure("0.1"), "b": events.Pure("0.2")}, 4))
    with pytest.raises(BadParameter, match="at least one"):
        plots.profile({})


def test_the_table_of_growth_holds_what_the_rules_say_and_leaves_out_those_without_a_price() -> None:
    table = plots.growth_table(events.Pure("0.1"), [1, 10, 100], "1e-6")
    assert table["basic"] == pytest.approx((0.1, 1, 10))
    assert table["exact (PLD)"][-1] < table["advanced"][-1] < table["basic"][-1]
    assert str(table).splitlines()[1].split() == ["times", "1", "10", "100"]
    assert "<td>basic</td>" in table._repr_html_()
    assert "basic" not in plots.growth_table(events.Gaussian(sigma=1), 1).rules
    assert plots.growth_table(events.Pure(1), 9).times[-1] == 9
