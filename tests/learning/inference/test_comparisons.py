"""Tests and means: size, power, agreement with scipy without noise, and planted twins that forget the noise."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BadData, BadParameter
from discreet.learning.budget import event_of
from discreet.learning.inference import comparisons, grouped_sums
from discreet.learning.inference.comparisons import (
    TestResult,
    anova,
    chi_square,
    correlation,
    difference_of_means,
    difference_of_proportions,
    goodness_of_fit,
    mean,
    rank_test,
    rows_for_difference,
)
from discreet.learning.inference.grouped_sums import Released
from discreet.learning.inference.survival import kaplan_meier
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import GDP, ZCDP, Approx

RNG = np.random.default_rng(3)
SURE, SOME = GDP(10**5), GDP("1/4")


def arms(rows: int, many: int = 2) -> Any:
    return RNG.integers(0, many, rows)


def heights(rows: int) -> Any:
    return np.clip(RNG.normal(0, 1, rows), -4, 4)


NULLS: dict[str, Callable[[int, Any], TestResult]] = {
    "means": lambda n, b: difference_of_means(heights(n), arms(n), keys=[0, 1], bounds=(-4, 4), budget=b),
    "anova": lambda n, b: anova(heights(n), arms(n, 4), keys=[0, 1, 2, 3], bounds=(-4, 4), budget=b),
    "proportions": lambda n, b: difference_of_proportions(RNG.random(n) < 0.2, arms(n), keys=[0, 1], budget=b),
    "independence": lambda n, b: chi_square(
        arms(n, 3), arms(n, 4), row_keys=[0, 1, 2], column_keys=[0, 1, 2, 3], budget=b
    ),
    "fit": lambda n, b: goodness_of_fit(arms(n, 5), keys=range(5), budget=b),
    "correlation": lambda n, b: correlation(heights(n), heights(n), x_bounds=(-4, 4), y_bounds=(-4, 4), budget=b),
    "ranks": lambda n, b: rank_test(RNG.exponential(1, n), arms(n), keys=[0, 1], bounds=(0, 6), budget=b),
}


NOISIER = {"proportions": GDP("1/16"), "fit": GDP("1/16")}  # so that the twins are seen


def rejections(name: str) -> int:
    return sum(NULLS[name](600, NOISIER.get(name, SOME)).p_value < 0.05 for _ in range(300))


@pytest.mark.slow
@pytest.mark.parametrize("name", NULLS)
def test_sizes_are_as_stated(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Of 300 tests without an effect 15 reject on average; more than 37 with probability below 1e-6. The planted twin
    is told that the noise is nothing.
    """
    monkeypatch.setattr(comparisons, "_SIMULATED", 400)
    assert rejections(name) <= 37
    real = grouped_sums._released

    def forgotten(*given: Any) -> Released:
        return Released(real(*given).values, 1e-6)

    monkeypatch.setattr(grouped_sums, "_released", forgotten)
    assert rejections(name) > 37


@pytest.mark.slow
def test_power_with_four_times_the_people() -> None:
    """A difference of 0.2 standard deviations, at (1, 1e-6): the t-test has power 0.8 with 786 people; with 4 times as
    many ours finds it in more than half of 60 runs: fewer than 31 at power 0.8 have a probability below 1e-6.
    """
    found = 0
    for _ in range(60):
        arm = arms(4 * 786)
        seen = difference_of_means(
            heights(len(arm)) + 0.2 * arm, arm, keys=[0, 1], bounds=(-4, 4), budget=Approx(1, "1e-6")
        )
        found += seen.p_value < 0.05
    assert found >= 31


def test_without_noise_they_are_scipys() -> None:
    x, arm = heights(800), arms(800, 3)
    x = x + 0.15 * arm
    two = arm < 2
    theirs = stats.ttest_ind(x[arm == 1], x[arm == 0], equal_var=False)
    ours = difference_of_means(x, arm, keys=[0, 1], bounds=(-4, 4), budget=SURE)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=0.03)
    assert ours.interval == pytest.approx(theirs.confidence_interval(), abs=2e-3)
    assert ours.groups == pytest.approx([(arm == 0).sum(), (arm == 1).sum()], abs=0.1)
    single = mean(x, bounds=(-4, 4), budget=SURE)
    assert single.estimate == pytest.approx(x.mean(), abs=1e-4)
    assert single.interval == pytest.approx(stats.ttest_1samp(x, 0).confidence_interval(), abs=2e-3)
    inside = mean(x, bounds=(-4, 4), budget=SURE, of="table").interval
    assert inside[1] - inside[0] < 1e-3
    equal = stats.f_oneway(*(x[arm == g] for g in range(3)))
    assert anova(x, arm, keys=[0, 1, 2], bounds=(-4, 4), budget=SURE).p_value == pytest.approx(equal.pvalue, rel=0.35)
    yes = x > 0.5
    table = np.array([[np.sum((arm == g) & (yes == v)) for v in (False, True)] for g in range(3)])
    independent = stats.chi2_contingency(table, correction=False).pvalue
    kinds = chi_square(arm, yes, row_keys=[0, 1, 2], column_keys=[False, True], budget=SURE)
    assert kinds.p_value == pytest.approx(independent, abs=0.04)
    fit = goodness_of_fit(arm, keys=[0, 1, 2], budget=SURE)
    assert fit.p_value == pytest.approx(stats.chisquare(table.sum(axis=1)).pvalue, abs=0.04)
    binned = np.minimum(((x + 4) / 8 * 32).astype(int), 31)
    whitney = stats.mannwhitneyu(binned[arm == 1], binned[arm == 0], use_continuity=False)
    ranks = rank_test(x, arm, keys=[0, 1], bounds=(-4, 4), budget=SURE)
    assert ranks.p_value == pytest.approx(whitney.pvalue, rel=0.02)
    assert ranks.estimate == pytest.approx(whitney.statistic / (arm == 1).sum() / (arm == 0).sum(), abs=1e-3)
    shares = difference_of_proportions(yes[two], arm[two], keys=[0, 1], budget=SURE)
    assert shares.estimate == pytest.approx(yes[arm == 1].mean() - yes[arm == 0].mean(), abs=1e-4)
    assert shares.p_value == pytest.approx(stats.chi2_contingency(table[:2], correction=False).pvalue, rel=0.1)


@pytest.mark.parametrize("name", NULLS)
def test_few_people_and_much_noise_say_nothing(name: str) -> None:
    found = NULLS[name](12, GDP("1/50"))
    assert found.p_value == 1
    assert not found.is_known
    assert "nothing known" in repr(found)


def test_rows_that_do_not_count() -> None:
    """NaN, undeclared groups and labels: as if the rows were not there."""
    x, arm = [1.0, float("nan"), 3.0, 3.0] * 300, ["a", "a", "b", "z"] * 300
    found = difference_of_means(x, arm, keys=["a", "b"], bounds=(0, 4), budget=SURE)
    assert found.groups == pytest.approx([300, 300], abs=0.1)
    assert found.estimate == pytest.approx(2, abs=1e-3)


def test_a_person_is_one_voice() -> None:
    who = np.repeat(np.arange(400), 5)
    x = np.repeat(heights(400), 5)
    found = mean(x, bounds=(-4, 4), budget=SURE, unit=who)
    assert found.groups[0] == pytest.approx(400, rel=0.01)
    assert found.interval[1] - found.interval[0] == pytest.approx(2 * 1.96 * x.std() / 400**0.5, rel=0.05)


def test_sample_sizes() -> None:
    private, plain = rows_for_difference(0.2, 1.0, bounds=(-4, 4), budget=Approx(1, "1e-6"))
    assert plain == 393  # statsmodels says 393.4 with Student's law
    assert plain < private < 4 * plain
    assert rows_for_difference(0.2, 1.0, bounds=(-4, 4), budget=SURE) == (plain, plain)


def test_what_is_refused() -> None:
    with pytest.raises(BadParameter, match="keys"):
        difference_of_means([1.0], ["a"], bounds=(0, 1), budget=SURE)
    with pytest.raises(BadParameter, match="keys"):
        difference_of_means([1.0], ["a"], keys=["a", "b", "c"], bounds=(0, 1), budget=SURE)
    with pytest.raises(BadParameter, match="bounds"):
        mean([1.0], bounds=None, budget=SURE)
    with pytest.raises(BadParameter, match="confidence"):
        mean([1.0], bounds=(0, 1), budget=SURE, confidence=1)
    with pytest.raises(BadParameter, match="shares"):
        goodness_of_fit(["a"], keys=["a", "b"], shares=[0.5, 0.6], budget=SURE)


class Hostile:
    """A value of a table that raises whatever it is asked."""

    def __float__(self) -> float:
        raise RuntimeError("a secret")

    def __hash__(self) -> int:
        return hash(0)

    def __eq__(self, other: object) -> bool:
        raise LookupError("a secret")


def test_no_value_makes_a_test_fail() -> None:
    values, groups = [0.5, 0.25, 0.5], [0, 1, 0]
    mean([*values, Hostile()], bounds=(0, 1), budget=SURE)
    difference_of_means([*values, 0.5], [*groups, Hostile()], keys=[0, 1], bounds=(0, 1), budget=SURE)
    chi_square([*groups, Hostile()], [*groups, 1], row_keys=[0, 1], column_keys=[0, 1], budget=SURE)


@pytest.mark.parametrize(
    "ask",
    [
        lambda **paid: mean([1.0], bounds=(0, 1e200), **paid),
        lambda **paid: mean([1.0], bounds=(0, 1e-200), **paid),
        lambda **paid: rank_test([1.0], [0], keys=[0, 1], bounds=(0, 1), bins=10**6, **paid),
        lambda **paid: chi_square([0], [0], row_keys=[0, 1], column_keys=range(10**6), **paid),
        lambda **paid: goodness_of_fit([0], keys=[[0], [1]], **paid),
        lambda **paid: goodness_of_fit([0], keys=cast("Any", 5), **paid),
        lambda **paid: kaplan_meier([1], [1], edges=5, **paid),
        lambda **paid: kaplan_meier([1], [1], edges=range(1, 2000), **paid),
    ],
)
def test_what_cannot_be_computed_is_refused_before_it_is_paid(ask: Callable[..., Any]) -> None:
    receipt = Filter(ZCDP(1)).spend(event_of(SOME))
    with pytest.raises(BadParameter):
        ask(budget=SOME, receipt=receipt)
    receipt.redeem(event_of(SOME))  # it was not used


def test_noise_that_no_draw_can_hold_is_refused_before_it_is_paid() -> None:
    least = GDP("1e-30")
    receipt = Filter(ZCDP(1)).spend(event_of(least))
    with pytest.raises(BadParameter, match="64 bits"):
        mean([1.0], bounds=(0, 1), budget=least, receipt=receipt)
    with pytest.raises(BadParameter, match="64 bits"):
        goodness_of_fit([0], keys=[0, 1], budget=least, receipt=receipt)
    receipt.redeem(event_of(least))


@pytest.mark.parametrize("options", [{"difference": 0}, {"power": 1.0}, {"level": 0.0}])
def test_impossible_sizes_of_groups_are_refused(options: dict[str, float]) -> None:
    given: dict[str, Any] = {"difference": 0.1, "spread": 1.0} | options
    with pytest.raises(BadParameter):
        rows_for_difference(bounds=(0, 1), budget=SOME, **given)


def test_a_null_law_in_pieces_is_that_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same table, with few tables at a time; p-values of 4,000 draws differ by less than 7 deviations."""
    released = Released(np.array([40.0, 60.0, 45.0]), 2.0)
    expected = np.full(3, 145 / 3)

    def p_value() -> float:
        return comparisons._simulated("", released, expected, lambda t: ((t - expected) ** 2).sum(axis=1), SOME).p_value

    whole = p_value()
    monkeypatch.setattr(comparisons, "_AT_ONCE", 100)
    assert abs(p_value() - whole) < 7 * (2 * whole / 4000) ** 0.5


def test_keys_may_be_an_array() -> None:
    x, arm = heights(400), arms(400)
    listed: Any = np.array([0, 1])
    tests: list[Any] = [anova, rank_test, difference_of_means]
    for ask in tests:
        assert ask(x, arm, keys=listed, bounds=(-9, 9), budget=SURE).event == event_of(SURE)
    assert chi_square(arm, arm, row_keys=listed, column_keys=listed, budget=SURE).p_value < 0.01


@pytest.mark.parametrize("strength", [0.0, 0.6, -0.95])
def test_a_correlation_is_that_of_scipy_without_noise(strength: float) -> None:
    x = heights(2000)
    y = np.clip(strength * x + (1 - strength**2) ** 0.5 * heights(2000), -6, 6)
    ours, theirs = correlation(x, y, x_bounds=(-5, 5), y_bounds=(-6, 6), budget=SURE), stats.pearsonr(x, y)
    assert ours.estimate == pytest.approx(theirs.statistic, abs=1e-3)
    assert ours.interval == pytest.approx(theirs.confidence_interval(0.95), abs=5e-3)
    assert (ours.p_value < 0.05) == (theirs.pvalue < 0.05)


@pytest.mark.slow
def test_intervals_of_a_correlation_cover_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 200 intervals 10 miss on average; more than 27 with probability below 1e-6. The twin forgets the noise."""

    def misses() -> int:
        missed = 0
        for _ in range(200):
            x, other = RNG.normal(size=(2, 2500))
            found = correlation(x, 0.6 * x + 0.8 * other, x_bounds=(-4, 4), y_bounds=(-4, 4), budget=Approx(1, "1e-6"))
            missed += not found.interval[0] <= 0.6 <= found.interval[1]
        return missed

    assert misses() <= 27
    real = grouped_sums._released
    monkeypatch.setattr(grouped_sums, "_released", lambda *given: Released(real(*given).values, 1e-6))
    assert misses() > 27


def test_a_constant_column_has_no_correlation() -> None:
    x = heights(5000)
    found = correlation(np.ones(5000), x, x_bounds=(0, 2), y_bounds=(-4, 4), budget=SOME)
    assert (found.is_known, found.p_value) == (False, 1.0)
    with pytest.raises(BadData):
        correlation(x[:5], x, x_bounds=(0, 2), y_bounds=(-4, 4), budget=SOME)
    pairs = correlation([1, 2, None, 4] * 500, [1, None, 3, 5] * 500, x_bounds=(0, 5), y_bounds=(0, 5), budget=SURE)
    assert pairs.groups[0] == pytest.approx(1000, abs=1)
