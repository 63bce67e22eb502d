"""Windows and decayed sums: right where noise is negligible, with bars that cover and do not grow."""

from typing import Any

import numpy as np
import pytest

from discreet.continual.counter import counter
from discreet.continual.record import MemoryRecord
from discreet.continual.windows import decayed, window, window_accuracy
from discreet.errors import BadParameter
from discreet.privacy.promises.measures import ZCDP, Pure
from tests.helpers.databases import too_few


def test_a_window_is_the_sum_of_its_last_steps_without_end() -> None:
    values = np.random.default_rng(1).integers(0, 100, 500)
    week = window(width=7, budget=ZCDP(10**9))
    out = week.push_many(values)
    truth = [values[max(0, t - 7) : t].sum() for t in range(1, 501)]
    assert np.allclose(out, truth, atol=0.1)
    assert week.horizon is None


def test_decayed_sums_forget() -> None:
    values = np.random.default_rng(2).integers(0, 100, 200)
    recent = decayed(rate="0.9", horizon=200, budget=ZCDP(10**9))
    out, truth = recent.push_many(values), []
    total = 0.0
    for value in values:
        total = total * 0.9 + value
        truth.append(total)
    assert np.allclose(out, truth, atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [ZCDP("1/2"), Pure(1)])
def test_bars_cover(budget: Any) -> None:
    runs = [window(width=5, budget=budget).push_many([1] * 23) for _ in range(200)]
    bar = window(width=5, budget=budget)
    for t in (3, 5, 10, 22):
        error = bar.accuracy(t).error_at("0.8")
        hits = sum(abs(run[t - 1] - min(t, 5)) <= error for run in runs)
        assert not too_few(hits, 200, 0.8)
        assert too_few(sum(abs(run[t - 1] - min(t, 5)) <= error / 10 for run in runs), 200, 0.8)
    assert bar.accuracy(10**6 + 1).error_at(0.95) <= 2 * bar.accuracy(12).error_at(0.95)


def test_a_window_of_a_counter_is_better_known_than_its_ends() -> None:
    for budget, horizon in ((ZCDP("0.1"), 365), (Pure(1), 365), (ZCDP("0.1"), 10_000)):
        made = counter(horizon=horizon, budget=budget)
        week = window_accuracy(made, 365, 7)
        assert week.error_at(0.95) <= 2 * made.accuracy(365).error_at(0.95)
        assert window_accuracy(made, 30, 30).error_at(0.95) == pytest.approx(made.accuracy(30).error_at(0.95))
    with pytest.raises(BadParameter):
        window_accuracy(made, 5, 6)
    for other in (window(width=7, budget=ZCDP(1)), decayed(rate="1/2", horizon=10, budget=ZCDP(1))):
        with pytest.raises(BadParameter):
            window_accuracy(other, 5, 2)


def test_windows_can_be_saved() -> None:
    record = MemoryRecord()
    week = window(width=7, budget=ZCDP(10**9), record=record)
    week.push_many(list(range(10)))
    again = window(width=7, budget=ZCDP(10**9)).restore(record)
    assert again.push(10).value == pytest.approx(sum(range(4, 11)), abs=0.1)


@pytest.mark.parametrize("rate", [0, 1, "1.5", -1])
def test_bad_rates(rate: Any) -> None:
    with pytest.raises(BadParameter):
        decayed(rate=rate, horizon=10, budget=ZCDP(1))
    with pytest.raises(BadParameter):
        window(width=0, budget=ZCDP(1))
