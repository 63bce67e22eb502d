"""The pictures of the site that are computed: drawn when it is built, as SVG, from exact figures."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import matplotlib as mpl

import discreet as dp

INK, RED, GREEN = "#23395d", "#a63d40", "#4a7c59"


def error_against_epsilon(axes: Any) -> None:
    """The error of a count at 95 %, by Laplace and by Gaussian noise."""
    prices = [0.05 * 1.3**i for i in range(16)]
    axes.loglog(prices, [dp.laplace(sensitivity=1, epsilon=e).error_at("0.95") for e in prices], color=INK)
    gauss = [dp.gaussian(sensitivity=1, epsilon=e, delta="1e-6").error_at("0.95") for e in prices]
    axes.loglog(prices, gauss, color=RED)
    axes.legend(["Laplace, δ = 0", "Gaussian, δ = 1e-6"])
    axes.set(xlabel="ε", ylabel="error of a count, 95 %")


def composition_growth(axes: Any) -> None:
    """What k releases cost together: by adding, and by privacy loss distributions."""
    times = [1, 2, 4, 8, 16, 32, 64, 128]
    event = dp.events.Laplace(scale=10)
    axes.loglog(times, [k / 10 for k in times], color=RED)
    total = [dp.compose(dp.events.Repeat(event, times=k)).epsilon(delta="1e-6").upper for k in times]
    axes.loglog(times, total, color=INK)
    axes.legend(["sum of ε = 0.1", "certified, δ = 1e-6"])
    axes.set(xlabel="releases", ylabel="ε of all together")


def trade_off(axes: Any) -> None:
    """The best attacker's errors under several promises."""
    alphas = [i / 40 for i in range(41)]
    axes.plot(alphas, [1 - a for a in alphas], color="#999999", linestyle=":")
    for epsilon, colour in (("1/2", GREEN), ("1", INK), ("3", RED)):
        total = dp.compose(dp.events.Pure(epsilon))
        axes.plot(alphas, [1 - total.true_positive_rate(str(a)).upper for a in alphas], color=colour)
    axes.legend(["blind guess", "ε = 1/2", "ε = 1", "ε = 3"])
    axes.set(xlabel="false alarms", ylabel="missed, at least")


def many_questions(axes: Any) -> None:
    """The error of each of k counts under one budget: ε's added up, and ρ's."""
    counts = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    by_rho: Any = dp.Filter(dp.Approx(1, "1e-6")).remaining_by_account[1]
    sums = [dp.laplace(sensitivity=1, epsilon=dp.Pure(1).epsilon / k).error_at("0.95") for k in counts]
    roots = [dp.gaussian(sensitivity=1, rho=by_rho.rho / k).error_at("0.95") for k in counts]
    axes.loglog(counts, sums, color=RED)
    axes.loglog(counts, roots, color=INK)
    axes.legend(["ε's add up: k", "ρ's add up: √k"])
    axes.set(xlabel="questions", ylabel="error of each, 95 %")


def noise_law(axes: Any) -> None:
    """Discrete Laplace and Gaussian noise of equal variance, by their laws."""
    laplace = dp.laplace(sensitivity=1, scale=3)
    spread = str(round(3 * sqrt(2), 3))
    for mechanism, colour, shift in ((laplace, INK, -0.2), (dp.gaussian(sensitivity=1, sigma=spread), RED, 0.2)):
        law = mechanism.law(0)
        axes.bar([z + shift for z in range(-12, 13)], [float(law[z][0]) for z in range(-12, 13)], 0.4, color=colour)
    axes.legend(["Laplace, scale 3", f"Gaussian, σ = {spread}"])
    axes.set(xlabel="noise", ylabel="probability")


PICTURES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "error-against-epsilon": ("What an ε buys: the error of a count", error_against_epsilon),
    "composition-growth": ("What many releases cost together", composition_growth),
    "trade-off": ("What an attacker can do", trade_off),
    "many-questions": ("Many questions under one budget", many_questions),
    "noise-law": ("Two noises of the same variance", noise_law),
}


def write(folder: Path) -> None:
    """Draw all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "discreet"
    from matplotlib import pyplot

    for name, (_, draw) in PICTURES.items():
        figure, axes = pyplot.subplots(figsize=(5.4, 3.3))
        draw(axes)
        axes.grid(alpha=0.2)
        figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)


def gallery() -> str:
    """All computed pictures, one after the other."""
    return "\n\n".join(f"## {title}\n![{title}](../pictures/made/{name}.svg)" for name, (title, _) in PICTURES.items())
