"""Means that borrow from each other: nearer to the truth where groups are noisy and alike, left alone where they are
not; never farther than their own error bars; intervals never shorter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import discreet as dp
from discreet.query.estimate.estimators import Estimates, Floats, Recipe
from discreet.query.profile.rescale import Rescaled
from discreet.query.profile.shrink import LIMIT, Common, CountTimesMean, Shrunk, _common

GROUPS = 60
RNG = np.random.default_rng(8)


@dataclass(frozen=True)
class Fixed(Recipe):
    """Values with normal errors of known deviations."""

    values: Floats
    deviations: Floats

    @property
    def needs(self) -> dict:  # type: ignore[type-arg]
        return {}

    def value(self, noisy: Estimates) -> Floats:
        return self.values

    def ends(self, noisy: Estimates, miss: float) -> tuple[Floats, Floats]:
        many = {0.32: 1.0, LIMIT: 1.64}.get(miss, 1.96)
        return self.values - many * self.deviations, self.values + many * self.deviations


def drawn(spread: float, deviation: float) -> tuple[Floats, Fixed]:
    """The exact means, and the same with noise."""
    rng = np.random.default_rng([8, int(100 * spread), int(100 * deviation)])  # whatever test comes first
    exact = 20 + spread * rng.normal(size=GROUPS)
    deviations = deviation * rng.uniform(0.5, 2, GROUPS)
    return exact, Fixed(exact + deviations * rng.normal(size=GROUPS), deviations)


class Twice(Rescaled):
    """A count that was multiplied by two."""

    def factors(self, noisy: Estimates) -> Floats:
        return np.full(GROUPS, 2.0)


def shrunk(mean: Fixed) -> Shrunk:
    return Shrunk(mean, _common(mean, {}))


def off(found: Floats, exact: Floats) -> float:
    return float(np.sqrt(np.mean((found - exact) ** 2)))


@pytest.mark.parametrize(("spread", "deviation", "most"), [
    (0.0, 3.0, 0.5), (1.0, 3.0, 0.7), (3.0, 3.0, 0.95), (3.0, 0.1, 1.02), (0.02, 0.01, 1.02),
])  # fmt: skip
def test_the_error_falls_where_noise_is_large_and_stays_where_it_is_small(
    spread: float, deviation: float, most: float
) -> None:
    exact, mean = drawn(spread, deviation)
    assert off(shrunk(mean).value({}), exact) <= most * off(mean.values, exact)


def test_moving_all_the_way_whatever_the_groups_are_is_found_out() -> None:
    """The planted fault: groups are taken to be alike. The bound of the test above is broken by far."""
    exact, mean = drawn(3.0, 0.1)
    centre = _common(mean, {}).centre
    assert off(np.full(GROUPS, centre), exact) > 10 * off(mean.values, exact)


def test_a_group_unlike_all_others_loses_no_more_than_its_own_error() -> None:
    _, mean = drawn(0.0, 3.0)
    values = mean.values.copy()
    values[7] = 90.0
    found = shrunk(Fixed(values, mean.deviations)).value({})
    assert np.all(np.abs(found - values) <= 1.64 * mean.deviations + 1e-9)


def test_intervals_are_never_shorter_and_hold_the_value() -> None:
    _, mean = drawn(1.0, 3.0)
    for factor in (0.9, 1.0, 1.2):
        found = Shrunk(mean, Common(20.0, 1.0, factor))
        (low, high), (least, most) = found.ends({}, 0.05), mean.ends({}, 0.05)
        assert np.all((low <= least) & (most <= high))
        assert np.all((low <= found.value({})) & (found.value({}) <= high))


def test_a_sum_is_the_count_times_the_mean_and_keeps_its_interval() -> None:
    _, mean = drawn(1.0, 3.0)
    counts, sums = Fixed(np.full(GROUPS, 50.0), mean.deviations), Fixed(50 * mean.values, 200 * mean.deviations)
    found = CountTimesMean(sums, counts, shrunk(mean), Twice(counts, 2.0, 1.0, None))  # type: ignore[arg-type]
    assert found.value({}) == pytest.approx(100 * shrunk(mean).value({}))
    low, high = found.ends({}, 0.05)
    assert np.all(low <= np.minimum(sums.ends({}, 0.05)[0], found.value({})))
    assert np.all(high >= np.maximum(sums.ends({}, 0.05)[1], found.value({})))


SIZES = np.ceil(RNG.lognormal(1.5, 1, 4000)).astype(int)
PEOPLE = np.repeat(np.arange(4000), SIZES)
ROWS = {"u": PEOPLE, "g": RNG.integers(0, 50, len(PEOPLE)), "x": RNG.integers(0, 30, len(PEOPLE))}


@pytest.mark.parametrize("text", ["COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m", "COUNT(*) AS n, SUM(x) AS s, SUM(y) AS t"])
@pytest.mark.parametrize("correct", [True, False])
def test_answers_are_marked_and_corrections_can_be_left_out(text: str, correct: bool) -> None:
    bounded = dp.bounds(0, 100, nullable=False)
    columns = {"g": dp.keys(range(50)), "x": bounded, "y": bounded}
    table = dp.table({**ROWS, "y": ROWS["x"]}, unit="u", max_rows="auto", correct=correct, columns=columns)
    answer = dp.Session(t=table, budget=dp.Pure(2)).sql(f"SELECT g, {text} FROM t GROUP BY g").release(epsilon=2)
    moved = [note.split()[0] for note in answer.notes if "moved towards" in note]
    assert moved == ([] if not correct else ["s", "m"] if "m" in answer.columns else ["s", "t"])
    if correct and "m" in answer.columns:
        assert answer["s"] == pytest.approx([n * m for n, m in zip(answer["n"], answer["m"], strict=True)], abs=60)
    for name, ends in answer.intervals().items():
        assert all(low <= value <= high for value, (low, high) in zip(answer[name], ends, strict=True))  # type: ignore[misc]
