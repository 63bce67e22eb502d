"""The pictures of the lectures, from exact figures: ``python docs/lectures/pictures.py`` with the extra ``plot``."""

from __future__ import annotations

import sys
from contextlib import chdir
from fractions import Fraction
from math import log, sqrt
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
import numpy as np

import discreet as dp
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.accountants.tradeoff import bends, false_negatives_down

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.site.cells import cells

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
        (dp.mechanisms.permute_and_flip(sensitivity=1, epsilon=1), "permute-and-flip", "#23395d"),
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


def ten_people(plt: Any) -> None:
    """The distribution function and the histogram of the ten-person table, with error bars for ten times as many."""
    codes = [0, 5, 2, 5, 0, 1, 6, 0, 2, 5]
    names = [f"{code:03b}" for code in range(8)]
    change = dp.Neighbours.CHANGE_ONE
    histogram = dp.mechanisms.point_queries(keys=range(8), epsilon=1, neighbours=change)
    thresholds = dp.mechanisms.cdf(thresholds=range(8), epsilon=1, neighbours=change)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.6))
    left.step([*range(8), 8], [sum(c <= y for c in codes) / 10 for y in [*range(8), 7]], where="post", color="#23395d")
    right.bar(range(8), [codes.count(y) / 10 for y in range(8)], color="#b8c4d6")
    for axis, mechanism, data in ((left, thresholds, codes * 10), (right, histogram, codes * 10)):
        answer = mechanism.release(data)
        axis.errorbar(range(8), answer.value, yerr=answer.error_at("0.95"), fmt=".", color="#a63d40", capsize=3)
        axis.set_xticks(range(8), names, fontsize=8)
    left.set_title("share at most y", fontsize=10)
    right.set_title("share equal to y", fontsize=10)
    save(figure, "ten-people")


def loss(plt: Any) -> None:
    """How often the privacy loss is above ε, and δ(ε): certified bounds of both."""
    places = [Fraction(i, 20) for i in range(1, 51)]
    figure, axis = plt.subplots(figsize=(4.8, 3))
    answers = dp.privacy_loss([dp.events.Laplace(scale=10)] * 30)
    normal = dp.privacy_loss(dp.events.Gaussian(sigma_squared=1 / (2 * Fraction(answers.mean.upper))))
    for made, name, colour in ((answers, "30 × Laplace, ε = 1/10", "#a63d40"), (normal, "Gaussian", "#23395d")):
        tails, across = [made.tail(x) for x in places], [float(x) for x in places]
        axis.fill_between(across, [t.lower for t in tails], [t.upper for t in tails], color=colour, alpha=0.2)
        axis.semilogy(across, [t.upper for t in tails], color=colour, label=f"P[loss > ε], {name}")
        axis.semilogy(across, [made.delta(x).upper for x in places], color=colour, linestyle=":", label="δ(ε)")
    axis.set_ylim(1e-9, 1)
    axis.set_xlabel("ε")
    axis.legend(fontsize=7)
    save(figure, "loss")


def _boxes(plt: Any, name: str, words: list[str], arrows: str, under: str) -> None:
    """Boxes in a row, with arrows between them and a line of text below."""
    figure, axis = plt.subplots(figsize=(1.6 * len(words), 1.5))
    for place, word in enumerate(words):
        style = {"boxstyle": "round,pad=0.5", "facecolor": "#eef2f7", "edgecolor": "#23395d"}
        axis.text(place, 0.6, word, ha="center", va="center", fontsize=10, bbox=style)
        if place:
            shape = {"arrowstyle": arrows, "color": "#23395d", "shrinkA": 28, "shrinkB": 28}
            axis.annotate("", (place, 0.6), (place - 1, 0.6), arrowprops=shape)
    axis.text((len(words) - 1) / 2, 0.05, under, ha="center", va="center", fontsize=9, color="#a63d40")
    axis.set_xlim(-0.5, len(words) - 0.5)
    axis.set_ylim(-0.1, 1)
    axis.axis("off")
    save(figure, name)


def diagrams(plt: Any) -> None:
    """The figures of the slides: M then f, one after the other, and a path from D to D'."""
    _boxes(
        plt,
        "post-processing",
        ["data", "M", "f", "f(M)"],
        "->",
        "M is ε-private, f never sees the data: f(M) is ε-private",
    )
    _boxes(
        plt,
        "composition",
        ["data", "M₁: ε₁", "M₂: ε₂", "...", "Mₙ: εₙ"],
        "->",
        "all answers together: ε₁ + ε₂ + ... + εₙ",
    )
    _boxes(
        plt,
        "groups",
        ["D = D₀", "D₁", "...", "D_k = D'"],
        "<->",
        "each step is one person, a factor e^ε; k steps: e^(kε)",
    )


def from_pages() -> None:
    """The pictures that code in a page makes: each such page is run in an empty folder."""
    for page in sorted(PLACE.parent.glob("*.md")):
        text = page.read_text()
        if ".savefig(" in text:
            with TemporaryDirectory() as folder:
                names: dict[str, Any] = {"__name__": "__main__"}
                with chdir(folder):
                    for cell in cells(text):
                        if cell.kind == "python" and not cell.raises:
                            exec(cell.source, names)  # noqa: S102 - our own pages
                for made in Path(folder).glob("*.png"):
                    copyfile(made, PLACE / made.name)


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
