"""What biased bits cost, as curves and pictures (the extra ``plot``)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.biased.certify import certify_laplace
from discreet.biased.laplace import biased_laplace
from discreet.errors import BadParameter
from discreet.exact import Number, positive
from discreet.picture import new_figure
from discreet.privacy.promises.bound import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure


GAMMAS: tuple[Number, ...] = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.3")


def privacy_curve(base_epsilon: Number, grid: Number, gammas: Sequence[Number] = GAMMAS) -> list[Bound]:
    """Certified ε' for each γ, for Laplace noise of scale 1/base_epsilon by inversion on this grid.

    >>> coarse = privacy_curve("0.1", 10, ["0.01", "0.1"])
    >>> coarse[0].upper < coarse[1].lower
    True
    """
    return [certify_laplace(base_epsilon, grid, gamma) for gamma in gammas]


def accuracy_curve(epsilon: Number, gammas: Sequence[Number] = GAMMAS, *, sensitivity: Number = 1) -> list[float]:
    """The certified expected error, for each γ, of the mechanism that keeps ε under every γ-SV source."""
    return [biased_laplace(sensitivity, epsilon, gamma).expected_error for gamma in gammas]


def plot_privacy(base_epsilon: Number = "0.1", gammas: Sequence[Number] = GAMMAS) -> Figure:
    """A figure: certified ε' against γ, with the fine grid of ordinary additive noise and with the coarse one."""
    scale = 1 / positive(base_epsilon, "base_epsilon")
    figure, axes = _figure()
    for grid, name in ((Fraction(1), "integer grid: additive noise"), (scale, "grid as wide as the noise")):
        axes.plot(_floats(gammas), [b.upper for b in privacy_curve(base_epsilon, grid, gammas)], "o-", label=name)
    axes.axhline(float(1 / scale), linestyle=":", color="grey", label="fair bits")
    axes.set(xlabel="γ, the bias of each bit", ylabel="certified ε'", yscale="log")
    axes.legend()
    return figure


def plot_accuracy(epsilon: Number = 1, gammas: Sequence[Number] = GAMMAS) -> Figure:
    """A figure: certified expected error against γ, of the mechanism that keeps ε, for sensitivity 1."""
    figure, axes = _figure()
    axes.plot(_floats(gammas), accuracy_curve(epsilon, gammas), "o-", label="any source of bias γ")
    axes.axhline(float(1 / positive(epsilon, "epsilon")), linestyle=":", color="grey", label="1/ε")
    axes.set(xlabel="γ, the bias of each bit", ylabel="certified expected error")
    axes.legend()
    return figure


def _floats(gammas: Sequence[Number]) -> list[float]:
    if not gammas:
        raise BadParameter("gammas", gammas, "must hold at least one value")
    return [float(Fraction(gamma)) for gamma in gammas]


def _figure() -> tuple[Figure, Any]:
    figure = new_figure(6, 4)
    return figure, figure.add_subplot()
