"""How good the chosen clips are, without an engine: part ``clips`` of ``bench.accuracy``.

    python -m bench.accuracy clips                     the kinds that constants were chosen on, and those kept out
    DISCREET_RUNS=41 python -m bench.clip_choice       the same

The choice is the product's own (sizes of groups, ascent, shares, its noise); exact sums and the noise of the answer are
numpy's. Each figure is the median over runs of the median over groups of |answer - raw truth| / truth, for ε = 1 in
all, divided by that of the best fixed clip, found by looking, which has all of ε (at least ``FLOOR``). The kinds of
``KEPT_OUT`` were never looked at while the constants were first chosen, those of ``NEW`` only after all of them were.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.choose.choosing import EDGES, TYPICAL_SKEW
from discreet.query.choose.clips import BEST, COUNTED, Ascents, goal, less_for_each, noisy_units
from discreet.query.choose.histograms import ReleasedHistogram
from discreet.query.choose.shares import SIZES, share_of_clips
from discreet.query.estimate.cuts import FURTHER, SHARE, noisy_cut, tells
from discreet.query.plan.schema import MAX_ROWS
from discreet.randomness import SystemBits

RUNS = int(os.environ.get("DISCREET_RUNS", "41"))
FLOOR = 0.002
UNITS = (2_000, 40_000)
CENT = 100
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Sizes = Callable[[np.random.Generator, int], Ints]


# --- kinds of tails: how many rows units have -------------------------------------------------------------------------


def light(rng: np.random.Generator, units: int) -> Ints:
    """Five rows or so."""
    return 1 + rng.poisson(4, units)


def lognormal(spread: float) -> Sizes:
    """Sizes whose logarithm is normal."""
    return lambda rng, units: np.ceil(rng.lognormal(1.5, spread, units)).astype(np.int64)


def pareto(power: float) -> Sizes:
    """Sizes above n with chance about n^-power."""
    return lambda rng, units: np.minimum(np.ceil((1 - rng.random(units)) ** (-1 / power)), 10**6).astype(np.int64)


def one_percent(rng: np.random.Generator, units: int) -> Ints:
    """One unit in a hundred has 200 rows."""
    return np.where(np.arange(units) % 100 == 0, 200, light(rng, units))


def twenty(rng: np.random.Generator, units: int) -> Ints:
    """Twenty units have half of all rows."""
    sizes = light(rng, units)
    sizes[:20] = sizes.sum() // 20
    return sizes


def geometric(rng: np.random.Generator, units: int) -> Ints:
    """Exponential tails."""
    return rng.geometric(1 / 12, units)


TUNED: dict[str, Sizes] = {
    "light": light, "geometric": geometric, "lognormal 1": lognormal(1.0), "lognormal 1.5": lognormal(1.5),
    "Pareto 1.5": pareto(1.5), "Pareto 2.5": pareto(2.5), "1 % have 200 rows": one_percent,
}  # fmt: skip
UNSEEN: dict[str, Sizes] = {"20 units have half": twenty}
"""What so few units have cannot be seen privately, however the clip is chosen."""
KEPT_OUT: dict[str, Sizes] = {
    "one row each": lambda _, units: np.ones(units, dtype=np.int64),
    "Pareto 1.2": pareto(1.2),
    "1 to 100, all alike": lambda rng, units: rng.integers(1, 101, units),
    "stretched": lambda rng, units: np.ceil(3 * rng.weibull(0.5, units)).astype(np.int64),
    "a tenth have about 60": lambda rng, units: np.where(
        rng.random(units) < 0.1, rng.poisson(60, units), light(rng, units)
    ),
}
SIZES_OF = TUNED | UNSEEN | KEPT_OUT


# --- kinds of whole tables --------------------------------------------------------------------------------------------

Rows = tuple[Ints, Ints, Ints]
"""Units, groups and numbers of rows."""


def _spread(rng: np.random.Generator, sizes: Ints, groups: int) -> tuple[Ints, Ints]:
    """Units of so many rows, half of which are in a group of their own."""
    unit = np.repeat(np.arange(len(sizes)), sizes)
    home = rng.integers(0, groups, len(sizes))
    return unit, np.where(rng.random(len(unit)) < 0.5, home[unit], rng.integers(0, groups, len(unit)))


def ties(rng: np.random.Generator, units: int, groups: int) -> Rows:
    """Whole numbers of four sizes."""
    unit, group = _spread(rng, rng.geometric(1 / 4, units), groups)
    return unit, group, rng.choice([1, 2, 5, 10], len(unit), p=[0.4, 0.3, 0.2, 0.1])


def giants(rng: np.random.Generator, units: int, groups: int) -> Rows:
    """Nearly all have one row, three in a hundred about 90."""
    large = np.ceil(rng.lognormal(4, 1, units)).astype(np.int64)
    unit, group = _spread(rng, np.where(rng.random(units) < 0.03, large, 1), groups)
    return unit, group, np.round(CENT * rng.gamma(2, 20, len(unit))).astype(np.int64) + 1


def both_signs(rng: np.random.Generator, units: int, groups: int) -> Rows:
    """Amounts paid and paid back."""
    unit, group = _spread(rng, 1 + rng.poisson(6, units), groups)
    return unit, group, np.round(CENT * rng.normal(20, 60, len(unit))).astype(np.int64)


def mostly_zero(rng: np.random.Generator, units: int, groups: int) -> Rows:
    """Nine amounts in ten are 0, the others are skewed."""
    unit, group = _spread(rng, 1 + rng.poisson(9, units), groups)
    amounts = np.round(CENT * rng.lognormal(3, 1, len(unit))).astype(np.int64)
    return unit, group, np.where(rng.random(len(unit)) < 0.9, 0, amounts)


def by_group(rng: np.random.Generator, units: int, groups: int) -> Rows:
    """Units of some groups have ten times as many rows."""
    home = rng.integers(0, groups, units)
    sizes = 1 + rng.poisson(np.where(home % 6 == 0, 40, 4))
    unit = np.repeat(np.arange(units), sizes)
    group = np.where(rng.random(len(unit)) < 0.8, home[unit], rng.integers(0, groups, len(unit)))
    return unit, group, np.round(CENT * rng.lognormal(2, 1, len(unit))).astype(np.int64) + 1


NEW: dict[str, Callable[[np.random.Generator, int, int], Rows]] = {
    "four values": ties, "one row or giants": giants, "both signs": both_signs, "mostly zero": mostly_zero,
    "long units in some groups": by_group,
}  # fmt: skip


# --- tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sums:
    """A statistic of a table: group sums for every clip, and how many units are longer than it."""

    clipped: Floats
    """For each edge, for each group."""
    truth: Floats
    longer: list[int]
    units: int
    in_groups: Floats
    """Units of each group, where one of several is shared among them."""


def sums_of(unit: Ints, group: Ints, values: Ints, groups: int) -> Sums:
    """Of rows with a unit, a group and a number."""
    units = int(unit.max()) + 1
    pairs, at = np.unique(unit * groups + group, return_inverse=True)
    summed = np.bincount(at, weights=values).astype(np.float64)
    owner, place = pairs // groups, pairs % groups
    length = np.bincount(owner, weights=np.abs(summed), minlength=units)
    edges = np.array(EDGES, dtype=np.float64)
    first = np.searchsorted(edges, length)  # the first edge that is no shorter
    cells = first[owner] * groups + place
    whole = np.bincount(cells, weights=summed, minlength=(len(edges) + 1) * groups).reshape(-1, groups)
    share = summed / np.maximum(length[owner], 1)
    scaled = np.bincount(cells, weights=share, minlength=(len(edges) + 1) * groups).reshape(-1, groups)
    within, beyond = np.cumsum(whole, axis=0)[:-1], (scaled.sum(axis=0) - np.cumsum(scaled, axis=0))[:-1]
    present = np.bincount(unit, minlength=units)
    longer = present.astype(bool).sum() - np.cumsum(np.bincount(first[present > 0], minlength=len(edges) + 1))[:-1]
    in_groups = np.bincount(group, weights=1 / present[unit], minlength=groups).astype(np.float64)
    return Sums(within + edges[:, None] * beyond, whole.sum(axis=0), [int(n) for n in longer],
                int((present > 0).sum()), in_groups)  # fmt: skip


def rows_of(sizes: Sizes, units: int, groups: int, home: float, skew: float) -> Rows:
    """Units, groups and numbers of rows: a unit has so much of its rows in a group of its own."""
    rng = np.random.default_rng([7, units, groups])
    unit = np.repeat(np.arange(units), sizes(rng, units))
    chances = np.arange(1, groups + 1, dtype=float) ** -skew
    chances /= chances.sum()
    own, other = rng.choice(groups, units, p=chances), rng.choice(groups, len(unit), p=chances)
    group = np.where(rng.random(len(unit)) < home, own[unit], other)
    return unit, group, np.round(CENT * rng.lognormal(2, 1, len(unit))).astype(np.int64) + 1


# --- choosing and answering -------------------------------------------------------------------------------------------


def error(sums: Sums, step: int, noise: Floats) -> Floats:
    """The median over groups of the relative error, for lines of noise in clips."""
    answers = sums.clipped[step] + EDGES[step] * noise
    return np.asarray(np.median(np.abs(answers - sums.truth) / np.maximum(sums.truth, 1), axis=-1))


def oracle(sums: Sums, rng: np.random.Generator, epsilon: float = 1.0, runs: int = 101) -> float:
    """The error of the best fixed clip."""
    noise = rng.laplace(scale=1 / epsilon, size=(runs if len(sums.truth) > 1 else 20 * runs, len(sums.truth)))
    steps = [step for step, many in enumerate(sums.longer) if step == 0 or sums.longer[step - 1] > 0 or many > 0]
    return min(float(np.median(error(sums, step, noise))) for step in steps)


@dataclass(frozen=True, slots=True)
class Estimated:
    """A share that a clip takes, its interval, and what is true: up to twice the clip, and in all."""

    share: float
    low: float
    high: float
    true: float
    whole: float


def chosen(
    sums: Sums, statistics: int, epsilon: Fraction, rng: np.random.Generator, bits: SystemBits, *, counts: bool
) -> tuple[int, Fraction, Estimated | None] | None:
    """The step that is chosen where there are so many statistics, what is left of ε for each of them, and what the
    clip takes, where that is estimated; None where the answer is NULL.
    """
    groups = len(sums.truth)
    share = epsilon * Fraction(share_of_clips(groups)).limit_denominator(1024)
    looks = epsilon * Fraction(SIZES).limit_denominator(1024) if groups > 1 else Fraction(0)
    left = (epsilon - share - looks) / statistics
    typical = 1.0
    if groups > 1:
        scale = float(1 / looks)
        seen = ReleasedHistogram(sums.in_groups + rng.laplace(scale=scale, size=groups), scale, False).typical_groups()
        typical = TYPICAL_SKEW * groups if seen is None else seen
    noise, estimating = float(1 / left), SHARE * share / statistics
    if not tells(BEST * typical * noise, estimating):
        estimating = Fraction(0)
    climbing = (1 - COUNTED) * share - statistics * estimating
    reached = goal(climbing / less_for_each(statistics, Neighbours.ADD_REMOVE), noise, typical)
    ascents = Ascents(climbing, (reached.beyond,) * statistics, Neighbours.ADD_REMOVE)
    step = reached.clip(ascents([sums.longer] * statistics, bits)[0], EDGES)
    if noisy_units(sums.units, COUNTED * share, bits) < reached.enough:
        if not counts:
            return None
        step = step if groups > 1 else bisect_left(EDGES, MAX_ROWS)
    cut = noisy_cut(sums.longer, EDGES, step, estimating, bits) if estimating else None
    if cut is None:
        return step, left, None
    clipped, farther = float(sums.clipped[step].sum()), float(sums.clipped[step + FURTHER].sum())
    shares = cut.share_of(clipped + float(noise * EDGES[step] * rng.laplace(size=groups).sum()))
    return (
        step,
        left,
        None if shares is None else Estimated(*shares, 1 - clipped / farther, 1 - clipped / sums.truth.sum()),
    )


def measured(
    sums: Sums,
    statistics: int = 1,
    epsilon: Fraction = Fraction(1),
    estimates: list[Estimated] | None = None,
    *,
    counts: bool,
) -> Floats:
    """The error of each run, not a number where the answer is NULL; ``estimates`` gets what clips took."""
    rng, bits = np.random.default_rng([11, sums.units, int(sums.truth.sum())]), SystemBits()
    estimates = [] if estimates is None else estimates
    found = []
    for _ in range(RUNS):
        choice = chosen(sums, statistics, epsilon, rng, bits, counts=counts)
        if choice is None:
            found.append(np.nan)
            continue
        step, left, cut = choice
        estimates += [] if cut is None else [cut]
        found.append(float(error(sums, step, rng.laplace(scale=float(1 / left), size=len(sums.truth)))))
    return np.array(found)


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure."""

    kind: str
    units: int
    groups: int
    home: float
    skew: float
    what: str
    best: float
    ours: float
    together: float
    """Beside another statistic."""
    estimates: tuple[Estimated, ...]
    """Of what clips took."""

    @property
    def ratio(self) -> float:
        """Beside the oracle."""
        return self.ours / max(self.best, FLOOR)

    @property
    def both(self) -> float:
        """The same for two statistics in one query."""
        return self.together / max(self.best, FLOOR)


def cells(kinds: Iterable[str], many: tuple[int, ...]) -> Iterator[Cell]:
    """All tables of these kinds with so many groups."""
    for kind in kinds:
        for units in UNITS:
            for groups in many:
                ways = [(0.5, 0.0), (1.0, 0.0), (0.5, 1.0), (1.0, 1.0)]
                for home, skew in ways[: 4 if groups > 1 and kind not in NEW else 1]:
                    unit, group, values = (
                        NEW[kind](np.random.default_rng([13, units, groups]), units, groups)
                        if kind in NEW
                        else rows_of(SIZES_OF[kind], units, groups, home, skew)
                    )
                    for what, numbers in (("COUNT", np.ones_like(values)), ("SUM", values)):
                        sums = sums_of(unit, group, numbers, groups)
                        best = oracle(sums, np.random.default_rng(3))
                        cuts: list[Estimated] = []
                        alone, both = (
                            float(np.nanmedian(measured(sums, n, estimates=cuts, counts=what == "COUNT")))
                            for n in (1, 2)
                        )
                        yield Cell(kind, units, groups, home, skew, what, best, alone, both, tuple(cuts))


def clips() -> None:
    """Ratios to the oracle, of the kinds that were tuned on and of those that were not."""
    shown = Table("kinds", "groups", "cells", "median", "90 %", "worst", "worst cell", "both: median", "both: worst",
                  "worst cell of both",
                  title=f"Ratio to max(oracle, 0.2 %), ε = 1 in all, medians of {RUNS} runs")  # fmt: skip
    taken = Table("kinds", "groups", "kind", "estimates", "hold", "share", "half of the interval", "true",
                  "with all beyond", title="What clips take of totals up to twice their length (medians)")  # fmt: skip
    for name, kinds in (("tuned", TUNED), ("kept out", KEPT_OUT), ("new", NEW), ("cannot be seen", UNSEEN)):
        for groups in (1, 24, 200):
            some = list(cells(kinds, (groups,)))
            worst, of_both = max(some, key=lambda cell: cell.ratio), max(some, key=lambda cell: cell.both)
            for kind in kinds:
                cuts = [cut for cell in some if cell.kind == kind for cut in cell.estimates]
                if len(cuts) > RUNS:
                    hold = np.mean([cut.low <= cut.true <= cut.high for cut in cuts])
                    columns = [[cut.share, (cut.high - cut.low) / 2, cut.true, cut.whole] for cut in cuts]
                    medians = np.median(columns, axis=0)
                    taken.add_row(
                        name, str(groups), kind, str(len(cuts)), f"{hold:.1%}", *(f"{m:.1%}" for m in medians)
                    )
            ratios, both = np.array([cell.ratio for cell in some]), np.array([cell.both for cell in some])
            shown.add_row(
                name, str(groups), str(len(some)), f"{np.median(ratios):.2f}", f"{np.quantile(ratios, 0.9):.2f}",
                f"{worst.ratio:.2f}", f"{worst.what}, {worst.kind}, {worst.units:,} units, home {worst.home}, "
                f"sizes 1/rank^{worst.skew:g}", f"{np.median(both):.2f}", f"{both.max():.2f}",
                f"{of_both.what}, {of_both.kind}, {of_both.units:,}",
            )  # fmt: skip
    Console(width=200).print(shown)
    Console(width=140).print(taken)


def tenths() -> None:
    """Questions about a tenth of the rows, which choose by these rows alone: by 24 groups, tuned and kept out."""
    shown = Table("ε", "units", "cells", "mostly NULL", "median", "90 %", "worst",
                  title="A tenth of the rows: ratio to max(oracle of these rows, 0.2 %)")  # fmt: skip
    for epsilon in (Fraction(1, 10), Fraction(3, 10), Fraction(1), Fraction(3)):
        for units in UNITS:
            every = list(_tenth(epsilon, units))
            ratios = np.array([ratio for ratio in every if ratio is not None])
            shown.add_row(str(float(epsilon)), f"{units:,}", str(len(every)), str(len(every) - len(ratios)),
                          f"{np.median(ratios):.2f}",
                          f"{np.quantile(ratios, 0.9):.2f}", f"{ratios.max():.2f}")  # fmt: skip
    Console(width=120).print(shown)


def _tenth(epsilon: Fraction, units: int) -> Iterator[float | None]:
    """The ratio of each table; None where most answers are NULL."""
    for sizes in (TUNED | KEPT_OUT).values():
        unit, group, values = rows_of(sizes, units, 24, 0.5, 0.0)
        kept = np.random.default_rng(5).random(len(unit)) < 0.1
        whose, place, numbers = np.unique(unit[kept], return_inverse=True)[1], group[kept], values[kept]
        for each in (np.ones_like(numbers), numbers):
            sums = sums_of(whose, place, each, 24)
            best = oracle(sums, np.random.default_rng(3), float(epsilon))
            errors = measured(sums, epsilon=epsilon, counts=each is not numbers)
            answered = errors[~np.isnan(errors)]
            yield float(np.median(answered)) / max(best, FLOOR) if 2 * len(answered) > len(errors) else None


if __name__ == "__main__":
    clips()
    tenths()
