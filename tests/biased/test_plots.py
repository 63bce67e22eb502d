import sys

import pytest

from discreet.biased.plots import accuracy_curve, plot_accuracy, plot_privacy, privacy_curve
from discreet.errors import BadParameter, MissingExtra


@pytest.mark.slow
def test_curves_rise_with_the_bias() -> None:
    fine, coarse = (privacy_curve("0.1", grid, ["0.05", "0.3"]) for grid in (1, 10))
    assert fine[0].upper < fine[1].lower
    assert coarse[0].upper < coarse[1].lower
    assert all(c.upper < f.lower for c, f in zip(coarse, fine, strict=True))
    low, high = accuracy_curve(1, ["0.05", "0.3"])
    assert low < high


@pytest.mark.slow
def test_figures_have_their_curves() -> None:
    axes = plot_privacy(gammas=["0.05", "0.1"]).axes[0]
    assert len(axes.lines) == 3
    assert plot_accuracy(gammas=["0.1"]).axes[0].get_xlabel().startswith("γ")
    with pytest.raises(BadParameter):
        plot_accuracy(gammas=[])


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match="plot"):
        plot_privacy()
