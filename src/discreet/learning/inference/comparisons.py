"""Means, differences, proportions and tests, for the population: sampling and noise are both in every p-value.

Guarantee: each function is one release of noisy sums for ``budget`` (grouped_sums.md), and computes with that alone.
Where a group has hardly more rows than noise, the result says "nothing known": p-value 1, an infinite interval.

Believes: people are a sample of a population. Variances are those of one voice for each unit: where people have several
rows, their mean is what varies, and its variance is at most that of a row, so tests are too cautious, never too bold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadParameter
from discreet.exact import Number, integer, number, significant
from discreet.learning.budget import Budget, event_of, mu_squared
from discreet.learning.inference.grouped_sums import (
    Released,
    how_many,
    read_codes,
    read_values,
    release_counts,
    release_moments,
    weights_of,
)
from discreet.learning.inference.noise_law import chance_beyond, quantile
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt

_CLEAR = 8.0  # a group is known where it has so many times more rows than the noise of their count deviates
_FEWEST = 8.0
_SIMULATED = 4000
_AT_ONCE = 1 << 22  # cells
_MOST_BINS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """What a test released: its p-value, and where it estimates something, that with an interval."""

    __test__ = False  # for pytest

    name: str
    p_value: float
    statistic: float
    estimate: float = math.nan
    interval: tuple[float, float] = (-math.inf, math.inf)
    groups: tuple[float, ...] = ()
    """About how many people each group or cell has."""
    is_known: bool = True
    event: events.Gaussian

    def __repr__(self) -> str:
        if not self.is_known:
            return f"{self.name}: nothing known, the noise is too large for so few people"
        p = "< 0.001" if self.p_value < 0.001 else f"= {self.p_value:.3f}"
        low, high = self.interval
        about = (
            ""
            if math.isnan(self.estimate)
            else f"{significant(self.estimate, 4)} ({significant(low, 4)} to {significant(high, 4)}), "
        )
        return f"{self.name}: {about}p {p}"


@dataclass(frozen=True, slots=True)
class _Means:
    """By group: people, mean, variance of a row, and variance of the mean around the population's and the table's."""

    counts: Floats
    means: Floats
    spreads: Floats
    variances: Floats
    noise_variances: Floats
    is_known: bool


def _means(released: Released, middle: float, half: float) -> _Means:
    counts, sums, squares = released.values.T
    noise = released.deviation**2
    clear = bool((counts > np.maximum(_CLEAR * released.deviation, _FEWEST)).all())
    n = np.maximum(counts, _FEWEST)
    mean = np.clip(sums / n, -1.0, 1.0)
    # the noise of sums and counts makes the plain second moment too small by that of the mean squared
    moved = noise * (1 + mean**2) / n**2
    spread = np.clip(squares / n - mean**2 + moved, 0.0, 1.0) * n / (n - 1)
    return _Means(
        counts, middle + half * mean, half**2 * spread, half**2 * (spread / n + moved), half**2 * moved, clear
    )


def mean(
    values: Any, *, bounds: Any, budget: Budget, unit: Any = None, confidence: Number = "0.95", of: str = "population",
    receipt: Receipt | None = None,
) -> TestResult:  # fmt: skip
    """The mean with an interval for the population, or ``of="table"``; its test is about a mean of 0.

    >>> from discreet.privacy.promises.measures import GDP
    >>> found = mean(np.arange(10_000) % 10, bounds=(0, 9), budget=GDP(5))
    >>> bool(4.3 < found.interval[0] < found.estimate < found.interval[1] < 4.7)
    True
    """
    x, is_number, middle, half = read_values(values, bounds)
    level = _level(confidence)
    if of not in {"population", "table"}:
        raise BadParameter("of", of, 'must be "population" or "table"')
    released = release_moments(
        x, np.where(is_number, 0, -1), 1, weights_of(unit, len(x)), budget=budget, receipt=receipt
    )
    found = _means(released, middle, half)
    variance = (found.variances if of == "population" else found.noise_variances)[0]
    return _estimate("Mean", float(found.means[0]), float(variance), found, level, float(found.counts[0]) - 1, budget)


def difference_of_means(
    values: Any, groups: Any, *, keys: Sequence[Any] | None = None, bounds: Any = None, budget: Budget,
    unit: Any = None, confidence: Number = "0.95", receipt: Receipt | None = None,
) -> TestResult:  # fmt: skip
    """Welch's test: the mean of the second group of ``keys`` less that of the first. An A/B test is this one line.

    >>> from discreet.privacy.promises.measures import GDP
    >>> arm = np.arange(8000) % 2
    >>> found = difference_of_means(arm + np.arange(8000) % 7, arm, keys=[0, 1], bounds=(0, 7), budget=GDP(5))
    >>> found.p_value < 0.001 and found.interval[0] < 1 < found.interval[1]
    True
    """
    level = _level(confidence)
    found = _by_group(values, groups, keys, bounds, budget, unit, receipt, most=2)
    first, second = found.variances
    degrees = (first + second) ** 2 / sum(found.variances**2 / np.maximum(found.counts - 1, 1.0))
    difference = float(found.means[1] - found.means[0])
    return _estimate("Difference of means", difference, float(first + second), found, level, float(degrees), budget)


def anova(
    values: Any, groups: Any, *, keys: Sequence[Any] | None = None, bounds: Any = None, budget: Budget,
    unit: Any = None, receipt: Receipt | None = None,
) -> TestResult:  # fmt: skip
    """Welch's one-way analysis of variance: whether the means of all groups are the same; spreads may differ.

    >>> from discreet.privacy.promises.measures import GDP
    >>> arm = np.arange(9000) % 3
    >>> anova(arm + np.arange(9000) % 7, arm, keys=[0, 1, 2], bounds=(0, 8), budget=GDP(5))
    One-way ANOVA: p < 0.001
    """
    from scipy.stats import f as f_law

    found = _by_group(values, groups, keys, bounds, budget, unit, receipt)
    if not found.is_known:
        return _nothing("One-way ANOVA", found.counts, budget)
    k, weight = len(found.counts), 1 / found.variances
    centre = float(np.sum(weight * found.means) / np.sum(weight))
    between = float(np.sum(weight * (found.means - centre) ** 2)) / (k - 1)
    shares = np.sum((1 - weight / np.sum(weight)) ** 2 / (found.counts - 1))
    statistic = between / (1 + 2 * (k - 2) / (k**2 - 1) * float(shares))
    p = float(f_law.sf(statistic, k - 1, (k**2 - 1) / (3 * float(shares))))
    return TestResult(
        name="One-way ANOVA", p_value=p, statistic=statistic, groups=_counts(found.counts), event=event_of(budget)
    )


def difference_of_proportions(
    outcomes: Any, groups: Any, *, keys: Sequence[Any] | None = None, success: Any = True, failure: Any = False,
    budget: Budget, unit: Any = None, confidence: Number = "0.95", receipt: Receipt | None = None,
) -> TestResult:  # fmt: skip
    """The share of ``success`` in the second group of ``keys`` less that in the first.

    >>> from discreet.privacy.promises.measures import GDP
    >>> arm = np.arange(9000) % 2
    >>> found = difference_of_proportions(np.arange(9000) % 3 < 1 + arm, arm, keys=[0, 1], budget=GDP(5))
    >>> round(found.estimate, 1), found.p_value < 0.001
    (0.3, True)
    """
    codes = _pairs(groups, keys, outcomes, [failure, success], most=2)
    level = _level(confidence)
    released = release_counts(codes, 4, weights_of(unit, len(codes)), budget, receipt)
    table = released.values.reshape(2, 2)
    counts = table.sum(axis=1)
    noise = released.deviation**2
    if not (counts > np.maximum(_CLEAR * 2**0.5 * released.deviation, _FEWEST)).all():
        return _nothing("Difference of proportions", counts, budget)
    shares = np.clip(table[:, 1] / counts, 0.0, 1.0)
    pooled = float(np.clip(table[:, 1].sum() / counts.sum(), 0.0, 1.0))

    def variance(p: Any) -> float:
        return float(np.sum((p * (1 - p) + 1 / counts) / counts + noise * ((1 - p) ** 2 + p**2) / counts**2))

    difference = float(shares[1] - shares[0])
    z = difference / variance(pooled) ** 0.5
    away = quantile(level) * variance(shares) ** 0.5
    return TestResult(
        name="Difference of proportions", p_value=chance_beyond(abs(z)), statistic=z, estimate=difference,
        interval=(max(difference - away, -1.0), min(difference + away, 1.0)), groups=_counts(counts),
        event=event_of(budget),
    )  # fmt: skip


def chi_square(
    rows: Any, columns: Any, *, row_keys: Sequence[Any] | None = None, column_keys: Sequence[Any] | None = None,
    budget: Budget, unit: Any = None, receipt: Receipt | None = None,
) -> TestResult:  # fmt: skip
    """Whether two lists of categories are independent: chi-square, with a null law that has the noise in it.

    >>> from discreet.privacy.promises.measures import GDP
    >>> party = np.arange(6000) % 3
    >>> found = chi_square(party, party > 0, row_keys=[0, 1, 2], column_keys=[False, True], budget=GDP(5))
    >>> found.p_value < 0.001
    True
    """
    codes = _pairs(rows, row_keys, columns, column_keys)
    shape = how_many(row_keys), how_many(column_keys)
    released = release_counts(codes, shape[0] * shape[1], weights_of(unit, len(codes)), budget, receipt)

    def statistic(tables: Floats) -> Floats:
        square = tables.reshape(-1, *shape)
        total = np.maximum(square.sum(axis=(1, 2), keepdims=True), 1.0)
        margins = np.maximum(square.sum(axis=2, keepdims=True), 0.0), np.maximum(square.sum(axis=1, keepdims=True), 0.0)
        expected = margins[0] * margins[1] / total
        floor = released.deviation**2 + 1.0  # what an empty cell varies by
        return np.asarray(((square - expected) ** 2 / (expected + floor)).sum(axis=(1, 2)))

    table = np.maximum(released.values.reshape(shape), 0.0)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(float(table.sum()), 1.0)
    return _simulated("Chi-square test of independence", released, expected.ravel(), statistic, budget)


def goodness_of_fit(
    values: Any, *, keys: Sequence[Any] | None = None, shares: Sequence[float] | None = None, budget: Budget,
    unit: Any = None, receipt: Receipt | None = None,
) -> TestResult:  # fmt: skip
    """Whether categories have these public shares: chi-square, with a null law that has the noise in it.

    >>> from discreet.privacy.promises.measures import GDP
    >>> days = np.arange(7000) % 7
    >>> goodness_of_fit(days, keys=range(7), budget=GDP(5)).p_value > 0.01
    True
    """
    codes = read_codes(values, keys, "keys")
    many = how_many(keys)
    given = np.full(many, 1 / many) if shares is None else np.asarray(shares, dtype=np.float64)
    if given.shape != (many,) or not (given > 0).all() or not math.isclose(float(given.sum()), 1.0, rel_tol=1e-9):
        raise BadParameter("shares", shares, "must be one share above 0 for each key, which add up to 1")
    released = release_counts(codes, many, weights_of(unit, len(codes)), budget, receipt)

    def statistic(tables: Floats) -> Floats:
        expected = np.maximum(tables.sum(axis=1, keepdims=True), 1.0) * given
        return np.asarray(((tables - expected) ** 2 / (expected + released.deviation**2 + 1.0)).sum(axis=1))

    total = max(float(released.values.sum()), 0.0)
    return _simulated("Chi-square test of fit", released, total * given, statistic, budget)


def rank_test(
    values: Any, groups: Any, *, keys: Sequence[Any] | None = None, bounds: Any = None, bins: int = 32,
    budget: Budget, unit: Any = None, receipt: Receipt | None = None,
) -> TestResult:  # fmt: skip
    """Mann and Whitney's test on public bins: the chance that somebody of the second group has more, ties a half.

    >>> from discreet.privacy.promises.measures import GDP
    >>> arm = np.arange(8000) % 2
    >>> found = rank_test(np.arange(8000) % 14 + arm, arm, keys=[0, 1], bounds=(0, 16), budget=GDP(5))
    >>> found.p_value < 0.001 and 0.5 < found.estimate < 0.7
    True
    """
    x, is_number, *_ = read_values(values, bounds)
    places = read_codes(groups, keys, "keys", len(x))
    if how_many(keys) != 2:
        raise BadParameter("keys", keys, "must be two groups")
    if integer(bins, "bins", at_least=2) > _MOST_BINS:
        raise BadParameter("bins", bins, f"must be at most {_MOST_BINS}")
    cell = np.minimum(((x + 1) / 2 * bins).astype(np.int64), bins - 1)
    codes = np.where(is_number & (places >= 0), places * bins + cell, -1)
    released = release_counts(codes, 2 * bins, weights_of(unit, len(x)), budget, receipt)
    first, second = released.values.reshape(2, bins)
    noise, counts = released.deviation**2, released.values.reshape(2, bins).sum(axis=1)
    if not (counts > np.maximum(_CLEAR * bins**0.5 * released.deviation, _FEWEST)).all():
        return _nothing("Mann-Whitney test", counts, budget)
    below = np.tri(bins, k=-1) + np.eye(bins) / 2 - 0.5  # how a pair of bins counts, less the null's half
    excess = float(second @ below @ first)
    n = counts.sum()
    ties = max(0.0, 1 - float(np.sum(np.maximum(first + second, 0.0) ** 3)) / float(n) ** 3)
    chance = counts.prod() * (n + 1) / 12 * min(ties, 1.0)
    moved = noise * float(np.sum((below @ first) ** 2) + np.sum((second @ below) ** 2)) + noise**2 * float(
        np.sum(below**2)
    )
    z = excess / (chance + moved) ** 0.5
    likely = 0.5 + excess / float(counts.prod())
    return TestResult(
        name="Mann-Whitney test", p_value=chance_beyond(abs(z)), statistic=z, estimate=likely, groups=_counts(counts),
        event=event_of(budget),
    )  # fmt: skip


def rows_for_difference(
    difference: float, spread: float, *, bounds: Any, budget: Budget, power: float = 0.8, level: float = 0.05
) -> tuple[int, int]:
    """How many people in each group find a difference of means with this power: with privacy, and without. Free.

    >>> from discreet.privacy.promises.measures import Approx
    >>> rows_for_difference(0.2, 1.0, bounds=(-4, 4), budget=Approx(1, "1e-6"))
    (809, 393)
    """
    _, _, _, half = read_values([0.0], bounds)
    for name, share in {"power": power, "level": level}.items():
        if not 0 < share < 1:
            raise BadParameter(name, share, "must lie between 0 and 1")
    if not (abs(difference) > 1e-100 and 0 <= spread < 1e100 and abs(difference) < 1e100):
        raise BadParameter("difference", [difference, spread], "must be numbers, and the difference not 0")
    deviation = half * (3 / float(mu_squared(budget))) ** 0.5
    needed = (quantile(1 - level) + quantile(2 * power - 1)) ** 2

    def found(n: float, noise: float) -> bool:
        return difference**2 >= needed * 2 * (spread**2 / n + noise**2 / n**2)

    def least(noise: float) -> int:
        high = 2.0
        while not found(high, noise):
            high *= 2
        low = high / 2
        while high - low > 0.5:
            low, high = (low, (low + high) / 2) if found((low + high) / 2, noise) else ((low + high) / 2, high)
        return math.ceil(high)

    return least(deviation), least(0.0)


# --- shared -----------------------------------------------------------------------------------------------------------


def _level(confidence: Number) -> float:
    level = float(number(confidence, "confidence"))
    if not 0 < level < 1:
        raise BadParameter("confidence", confidence, "must lie between 0 and 1")
    return level


def _by_group(  # noqa: PLR0917
    values: Any, groups: Any, keys: Sequence[Any] | None, bounds: Any, budget: Budget, unit: Any,
    receipt: Receipt | None, most: int = 1000,
) -> _Means:  # fmt: skip
    x, is_number, middle, half = read_values(values, bounds)
    codes = read_codes(groups, keys, "keys", len(x))
    many = how_many(keys)
    if many > most:
        raise BadParameter("keys", keys, f"must be at most {most} groups")
    codes = np.where(is_number, codes, -1)
    released = release_moments(x, codes, many, weights_of(unit, len(x)), budget=budget, receipt=receipt)
    return _means(released, middle, half)


def _pairs(
    rows: Any, row_keys: Sequence[Any] | None, columns: Any, column_keys: Sequence[Any] | None, most: int = 1000
) -> Any:
    first = read_codes(rows, row_keys, "keys")
    second = read_codes(columns, column_keys, "keys", len(first))
    if how_many(row_keys) > most:
        raise BadParameter("keys", row_keys, f"must be at most {most} groups")
    return np.where((first >= 0) & (second >= 0), first * how_many(column_keys) + second, -1)


def _estimate(  # noqa: PLR0917
    name: str, estimate: float, variance: float, found: _Means, level: float, degrees: float, budget: Budget
) -> TestResult:
    if not found.is_known:
        return _nothing(name, found.counts, budget)
    error = max(variance, 1e-300) ** 0.5
    away = error * quantile(level, degrees=degrees)
    return TestResult(
        name=name, p_value=chance_beyond(abs(estimate) / error, degrees=degrees), statistic=estimate / error,
        estimate=estimate, interval=(estimate - away, estimate + away), groups=_counts(found.counts),
        event=event_of(budget),
    )  # fmt: skip


def _nothing(name: str, counts: Floats, budget: Budget) -> TestResult:
    return TestResult(
        name=name, p_value=1.0, statistic=math.nan, groups=_counts(counts), is_known=False, event=event_of(budget)
    )


def _counts(counts: Floats) -> tuple[float, ...]:
    return tuple(float(c) for c in counts)


def _simulated(name: str, released: Released, expected: Floats, statistic: Any, budget: Budget) -> TestResult:
    """The p-value by drawing tables from the null law that was estimated, with noise of the same deviation.

    It computes with released numbers alone, so any generator will do; it is fixed, so that the same release has the
    same p-value.
    """
    seen = float(statistic(released.values[None])[0])
    draws = np.random.default_rng(0)
    total = float(expected.sum())
    if total < max(_CLEAR * released.deviation, _FEWEST):
        return _nothing(name, released.values, budget)
    beyond, left = 0, _SIMULATED
    while left:
        many = min(left, max(1, _AT_ONCE // len(expected)))
        tables = draws.multinomial(round(total), expected / total, many) + draws.normal(
            0, released.deviation, (many, len(expected))
        )
        beyond += int(np.sum(statistic(tables) >= seen))
        left -= many
    p = (1 + beyond) / (1 + _SIMULATED)
    return TestResult(name=name, p_value=p, statistic=seen, groups=_counts(released.values), event=event_of(budget))
