"""The pictures of the lectures, from exact figures: ``python docs/lectures/pictures.py`` with the extra ``plot``."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import discreet as dp
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.accountants.tradeoff import bends, false_negatives_down

PLACE = Path(__file__).parent / "pictures"
COUNTS = [120, 85, 60, 42, 30, 18, 9, 3, 1, 0]


def histogram(plt: Any) -> None:
    """A histogram with the error bars of two prices, all bars at once with 95 %."""
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.6), sharey=True)
    for axis, epsilon in zip(axes, ("1", "1/10"), strict=True):
        error = (dp.stable.count_by(list(range(10))) >> dp.laplace(epsilon=epsilon)).error_at("0.95")
        axis.bar(range(10), COUNTS, color="#b8c4d6")
        axis.errorbar(range(10), COUNTS, yerr=error, fmt="none", ecolor="#23395d", capsize=3)
        axis.set_title(f"ε = {epsilon}", fontsize=10)
        axis.set_xticks([])
    save(figure, "histogram")


def root_k(plt: Any) -> None:
    """The expected error of one of k answers, for (1, 1e-6) in all."""
    rho = largest_zcdp(dp.Approx(1, "1e-6")).rho
    ks = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    laplace = [dp.laplace(sensitivity=1, epsilon=dp.Pure(1).epsilon / k).expected_error for k in ks]
    gauss = [dp.gaussian(sensitivity=1, rho=rho / k).expected_error for k in ks]
    figure, axis = plt.subplots(figsize=(4.5, 3))
    axis.loglog(ks, laplace, label="Laplace, basic composition: k", color="#a63d40")
    axis.loglog(ks, gauss, label="Gaussian, zCDP: √k", color="#23395d")
    axis.set_xlabel("questions")
    axis.set_ylabel("expected error of one answer")
    axis.legend(fontsize=8)
    save(figure, "root-k")


def many_questions(plt: Any) -> None:
    """The worst error of k arbitrary questions: answered together, and by independent noise of the same budget."""
    kinds = dp.synthetic.Domain({f"bit{i}": dp.synthetic.whole(0, 1, nullable=False) for i in range(7)})
    draw = np.random.default_rng(1)  # of the made-up people and questions; the noise has no seed
    people = (draw.random((2000, 7)) < np.linspace(0.1, 0.6, 7)).astype(int)
    source = dp.synthetic.Rows(kinds, people)
    truth = source.marginals([tuple(range(7))])[0].ravel()
    rho = largest_zcdp(dp.Approx(1, "1e-6")).rho
    counts = [2**i for i in range(3, 15)]
    together = []
    for k in counts:
        subsets = draw.random((k, 128)) < 0.5
        asked = [dp.synthetic.whole_domain(kinds, subset) for subset in subsets]
        runs = [dp.synthetic.mwem(source, asked, rho=rho, rounds=12).answers - subsets @ truth for _ in range(3)]
        together.append(float(np.mean([np.abs(off).max() for off in runs])))
    alone = [sqrt(k / (2 * float(rho))) * sqrt(2 * log(k)) for k in counts]
    figure, axis = plt.subplots(figsize=(5.2, 3.2))
    axis.loglog(counts, alone, color="#a63d40", marker=".", label="independent Gaussian noise")
    axis.loglog(counts, together, color="#23395d", marker=".", label="multiplicative weights")
    axis.axhline(2000, color="#999999", linestyle=":", label="number of people")
    axis.set_xlabel("questions k, (ε, δ) = (1, 10⁻⁶) for all of them")
    axis.set_ylabel("worst error")
    axis.legend(fontsize=8)
    save(figure, "many-questions")


def choices(plt: Any) -> None:
    """The expected loss of two ways to choose, against the gap to nine equal losers."""
    figure, axis = plt.subplots(figsize=(4.5, 3))
    gaps = list(range(25))
    for made, label, colour in (
        (dp.exponential(sensitivity=1, epsilon=1), "exponential", "#a63d40"),
        (dp.permute_and_flip(sensitivity=1, epsilon=1), "permute-and-flip", "#23395d"),
    ):
        chances = [float(made.law(made.read([gap] + [0] * 9))[0][0]) for gap in gaps]
        axis.plot(gaps, [gap * (1 - p) for gap, p in zip(gaps, chances, strict=True)], color=colour, label=label)
    axis.set_xlabel("gap to nine equal losers, ε = 1")
    axis.set_ylabel("expected loss")
    axis.legend(fontsize=8)
    save(figure, "choices")


def tradeoff(plt: Any) -> None:
    """The least rate of misses at each rate of false alarms."""
    grid = [0.0, *(10 ** (-i / 8) for i in range(40)), *(i / 50 for i in range(1, 51))]  # closer where μ = 1 is steep
    figure, axis = plt.subplots(figsize=(3.6, 3.4))
    axis.plot([0, 1], [1, 0], color="#999999", label="ε = 0: nothing to see")
    for promise, name, colour in (
        (dp.Pure(1), "ε = 1", "#a63d40"),
        (dp.GDP(1), "μ = 1", "#23395d"),
        (dp.Pure(3), "ε = 3", "#d9a441"),
        (dp.Approx(1, "0.1"), "ε = 1, δ = 1/10", "#6b8f71"),
    ):
        corners = () if isinstance(promise, dp.GDP) else bends(promise)
        alphas = sorted({*grid, *map(float, corners)})
        axis.plot(alphas, [float(false_negatives_down(promise, a)) for a in alphas], color=colour, label=name)
    axis.set_xlabel("false alarms")
    axis.set_ylabel("misses, at least")
    axis.legend(fontsize=8)
    save(figure, "tradeoff")


def gaussian(plt: Any) -> None:
    """The classical sigma beside the exact one, for delta = 1e-6."""
    epsilons = [2 ** (i / 2) for i in range(-7, 10)]
    exact = [
        float(dp.calibrate(lambda s: dp.events.Gaussian(sigma=s), budget=dp.Approx(e, "1e-6")).sigma) for e in epsilons
    ]
    figure, axis = plt.subplots(figsize=(4.5, 3))
    axis.semilogx(
        epsilons,
        [sqrt(2 * log(1.25e6)) / e / x for e, x in zip(epsilons, exact, strict=True)],
        color="#a63d40",
        label="classical, √(2 ln(1.25/δ))/ε",
    )
    axis.axhline(1, color="#23395d", label="exact")
    axis.axvspan(2 * log(2.5), epsilons[-1], color="#eeeeee", label="not proved")
    axis.set_xlabel("ε, for δ = 10⁻⁶")
    axis.set_ylabel("σ relative to the exact one")
    axis.legend(fontsize=8)
    save(figure, "gaussian")


def shuffling(plt: Any) -> None:
    """The central epsilon of n shuffled reports, delta = 1e-6."""
    people = [100, 200, 500, 1000, 2000, 5000, 10_000]
    figure, axis = plt.subplots(figsize=(4.5, 3))
    for epsilon, colour in ((1, "#23395d"), (2, "#6b8f71"), (3, "#a63d40")):
        made = dp.local.response(k=2, epsilon=epsilon)
        prices = [float(dp.local.shuffled_price(made, n, delta="1e-6").epsilon) for n in people]
        axis.loglog(people, prices, color=colour, marker=".", label=f"local ε₀ = {epsilon}")
    axis.set_xlabel("people")
    axis.set_ylabel("ε after shuffling, δ = 10⁻⁶")
    axis.legend(fontsize=8)
    save(figure, "shuffling")


def over_time(plt: Any) -> None:
    """The standard deviation of each partial sum, four programs at the same price, rho = 1/2 for all of them."""
    n = 4096
    steps = sorted({round(2 ** (i / 24)) for i in range(24 * 12 + 1)} | {2**k - 1 for k in range(1, 13)})
    figure, axis = plt.subplots(figsize=(5, 3.2))
    for name, label, colour in (
        ("prefixes", "noise on each sum", "#a63d40"),
        ("values", "noise on each value", "#d9a441"),
        ("tree", "tree", "#6b8f71"),
        ("square_root", "matrix", "#23395d"),
    ):
        plan: Any = dp.continual.counter(horizon=n, budget=dp.ZCDP("1/2"), method=name).plan
        variances = [float(plan.noise.sigma_squared * plan.strategy.weight(t)) for t in steps]
        axis.loglog(steps, [v**0.5 for v in variances], label=label, color=colour)
    axis.set_xlabel("line t of 4,096")
    axis.set_ylabel("standard deviation of the error")
    axis.legend(fontsize=8)
    save(figure, "over-time")


def save(figure: Any, name: str) -> None:
    """A small PNG without anything that changes from run to run."""
    figure.tight_layout()
    figure.savefig(PLACE / f"{name}.png", dpi=90, metadata={"Software": None})


def main() -> None:
    """Make all pictures."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    PLACE.mkdir(exist_ok=True)
    for picture in (histogram, root_k, many_questions, choices, tradeoff, gaussian, shuffling, over_time):
        picture(plt)


if __name__ == "__main__":
    main()
