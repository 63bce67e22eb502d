"""The pictures: what is drawn must be true, also between the points that were computed."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.privacy import events, plots
from discreet.privacy.compose import compose


def drawn_band(figure: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The outline of the filled band, as lower and upper heights over a fine grid."""
    outline = figure.axes[0].collections[0].get_paths()[0]
    grid = np.linspace(0.005, 0.995, 397)
    inside = np.array([[outline.contains_point((x, y), radius=1e-6) for y in np.linspace(0, 1, 801)] for x in grid])
    return np.linspace(0, 1, 801)[inside.argmax(axis=1)], np.linspace(0, 1, 801)[800 - inside[:, ::-1].argmax(axis=1)]


def test_the_band_holds_the_curve_between_its_points() -> None:
    """Pure(1) has its corner at 1/(1+e), between the points: chords alone would overstate privacy there."""
    whole = compose(events.Pure(1))
    low, high = drawn_band(plots.tradeoff(whole, alphas=[Fraction(k, 10) for k in range(11)]))
    for x, bottom, top in zip(np.linspace(0.005, 0.995, 397), low, high, strict=True):
        truth = float(whole.tradeoff(Fraction(x)).lower)
        assert bottom - 0.003 <= truth <= top + 0.003


def test_each_picture_has_its_curves() -> None:
    assert len(plots.profile(events.Laplace(1), deltas=["1e-2", "1e-4"]).axes[0].lines) == 2
    growth = plots.growth(events.Laplace(10), up_to=50).axes[0]
    assert len(growth.lines) == len(plots.growth_rules("1e-6"))
    for bad in (5, "laplace", None):
        with pytest.raises(BadParameter):
            plots.tradeoff(bad)  # type: ignore[arg-type]
