"""Numbers of units as numbers of rows: exact where the model holds, marked and wide where it need not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import discreet as dp
from discreet.query.profile.classes import STARTS
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.questions import About
from discreet.query.profile.sizes import UnitSizes
from discreet.query.profile.spread import Spread

RNG = np.random.default_rng(5)
SIZES = np.ceil(RNG.lognormal(2, 1, 4000)).astype(int)
UNIT = np.repeat(np.arange(len(SIZES)), SIZES)
CHANCES = np.arange(1, 201) ** -1.1
KEY = RNG.choice(200, len(UNIT), p=CHANCES / CHANCES.sum())


def released(sizes: NDArray[np.int64]) -> UnitSizes:
    """Sizes as a profile has them, with next to no noise."""
    places = np.searchsorted(np.array(STARTS), sizes, side="right") - 1
    counts = tuple(np.bincount(places, minlength=len(STARTS)).astype(float))
    return UnitSizes(Histogram(About.ROWS, "", tuple(range(len(STARTS))), counts, 0.01, False, Fraction(1)))


@pytest.mark.parametrize("rooted", [True, False])
@pytest.mark.parametrize("most", [2, 8])
def test_where_rows_lie_in_groups_by_chance_the_counts_come_back(most: int, rooted: bool) -> None:
    pairs = np.unique(np.stack([UNIT, KEY]), axis=1)
    groups = np.bincount(pairs[0], minlength=len(SIZES))
    over = np.maximum(groups / most, 1.0)
    weight = 1 / (np.sqrt(over) if rooted else over)
    units = np.bincount(pairs[1], weights=weight[pairs[0]], minlength=200)
    found = Spread.of(released(SIZES), released(groups), most, rooted=rooted).rows_of(units.astype(float))
    true = np.bincount(KEY, minlength=200)
    off, before = (float(np.median(np.abs(values - true) / true)) for values in (found, units))
    assert off < 0.1
    assert before > 2 * off  # without it


def test_nothing_grows_smaller_and_noise_below_zero_stays() -> None:
    spread = Spread.of(released(np.ones(100, dtype=np.int64)), None, 1, rooted=True)
    values = np.array([-5.0, 0.0, 3.0, 1000.0])
    assert np.all(spread.rows_of(values) >= values)
    assert spread.rows_of(values)[0] == -5


def test_the_interval_that_a_preview_expects_reaches_to_the_square_of_the_correction() -> None:
    spread = Spread.of(released(SIZES), None, 4, rooted=True)
    units = float(spread.units[200])
    rows = float(spread.rows[200])
    more = float(spread.rows_of(np.array([units + 10]))[0])
    assert spread.expected_error(10.0, rows) == pytest.approx(max(more**2 / (units + 10) - rows, rows - units + 10))


def test_counts_of_keys_that_nobody_listed_are_marked_and_their_intervals_hold() -> None:
    """All of 40 keys have hundreds of units; intervals reach from no correction to its square, so they hold."""
    key = RNG.integers(0, 40, len(UNIT))
    table = dp.table({"unit": UNIT, "k": key}, unit="unit", max_rows="auto", columns={"k": dp.unknown_keys()})
    own = dp.Session(t=table, budget=dp.Approx(40, "1e-6"))
    answer = own.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").release(epsilon=40)
    assert any("counts are corrected" in note for note in answer.notes)
    true = np.bincount(key, minlength=40)
    assert answer["k"] == list(range(40))
    assert answer["n"] == pytest.approx(true.tolist(), rel=0.25)
    assert all(low <= n <= high for n, (low, high) in zip(true, answer.intervals()["n"], strict=True))  # type: ignore[misc]
