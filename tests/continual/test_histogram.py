"""Histograms over time: listed keys, keys that appear later, and keys that one unit alone holds."""

from datetime import date
from typing import Any

import numpy as np
import pytest

from discreet.continual.histogram import histogram
from discreet.continual.record import MemoryRecord
from discreet.errors import BadData, BadParameter, NotATheorem, StaleState
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from tests.helpers.databases import too_few


def test_listed_keys_are_always_there_and_others_never() -> None:
    board = histogram(horizon=10, budget=ZCDP(10**6), keys=["a", "b"])
    board.push({"a": 5, "c": 10**6})
    answer = board.push({"b": 7, "a": 1})
    assert sorted(answer.value) == ["a", "b"]
    assert answer.value["a"] == pytest.approx(6, abs=0.1)
    assert answer.value["b"] == pytest.approx(7, abs=0.1)
    assert board.keys == ("a", "b")
    assert answer.error_at(0.95) > 0


@pytest.mark.slow
def test_one_day_and_any_window_of_a_key_have_bars() -> None:
    """From differences of totals, for every key by itself: 150 runs, at 80 %."""
    day, week = [], []
    for _ in range(150):
        board = histogram(horizon=20, budget=ZCDP("1/2"), keys=["a", "b"])
        totals = [board.push({"a": t}).value["a"] for t in range(12)]
        day.append(totals[-1] - totals[-2] - 11)
        week.append(totals[-1] - totals[-8] - sum(range(5, 12)))
    for errors, width in ((day, 1), (week, 7)):
        bar = board.accuracy(12, width).error_at("0.8")
        assert not too_few(sum(abs(e) <= bar for e in errors), 150, 0.8)
        assert too_few(sum(abs(e) <= bar / 8 for e in errors), 150, 0.8)


def test_many_keys_cost_what_a_unit_touches() -> None:
    one = histogram(horizon=100, budget=ZCDP(1), keys=range(50))
    three = histogram(horizon=100, budget=ZCDP(1), keys=range(50), keys_per_step=3, sensitivity=2)
    assert one.event == three.event == events.ZCDP(1)
    ratio = three.plan.noise.sigma_squared / one.plan.noise.sigma_squared  # type: ignore[union-attr]
    assert ratio == 3 * 4
    pure = [histogram(horizon=100, budget=Pure(1), keys=range(5), keys_per_step=n).plan.noise for n in (1, 3)]
    assert pure[1].scale == 3 * pure[0].scale  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [ZCDP(1), Pure(1)])
def test_unknown_keys_need_many_people(budget: Any) -> None:
    words = histogram(horizon=30, budget=budget, delta="1e-9")
    for t in range(30):
        named = words.push({"common": 1000, "rare": int(t == 3), 17: 10**6}).value
        assert set(named) == {"common"}
    late = words.threshold(30)
    assert late > words.threshold(1)
    kept = events.ZCDP(1, "1e-9") if isinstance(budget, ZCDP) else events.Approx(1, "1e-9")
    assert words.event == events.Interactive(kept)


@pytest.mark.slow
def test_a_key_that_one_unit_holds_is_named_as_rarely_as_promised() -> None:
    """At δ = 0.2 in all: over 400 streams at most 137 names, which a rate of 0.2 exceeds with probability below 1e-9.

    A threshold without the allowance for what the unit adds, and at a twentieth of the error bar, is caught.
    """

    def names(lower: float) -> int:
        count = 0
        for _ in range(400):
            words = histogram(horizon=6, budget=ZCDP("1/2"), delta="0.2")
            words._stream.widen(1)
            out = words._stream.push(np.array([[1], [0], [0], [0], [0], [0]]))[:, 0]
            count += any(total >= lower * words.threshold(t) for t, total in enumerate(out, 1))
        return count

    assert names(1.0) <= 137
    assert names(0.05) > 137


@pytest.mark.slow
def test_a_late_key_has_the_noise_of_all_steps() -> None:
    """The variance of a key that appears at step 60 is that of one that was there from the start, within 40 %; noise
    from its first step on, which would tell when that was, is smaller than that.
    """
    errors = []
    for _ in range(600):
        words = histogram(horizon=64, budget=ZCDP("1/2"), delta="1e-9")
        words._stream.push(np.zeros((59, 0), dtype=np.int64))
        errors.append(words.push({"late": 10**6}).value["late"] - 10**6)
    sigma_squared, strategy = words.plan.noise.sigma_squared, words.plan.strategy  # type: ignore[union-attr]
    claimed = float(sigma_squared * strategy.weight(60))
    assert 0.6 < np.mean(np.square(errors)) / claimed < 1.4  # missed with probability below 1e-9
    assert float(sigma_squared * strategy.weight(1)) < 0.45 * claimed


@pytest.mark.parametrize("given", [{"keys": ["a", "b"]}, {"delta": "1e-9"}])
def test_restored_histograms_go_on_and_old_ones_are_refused(given: dict[str, Any]) -> None:
    record = MemoryRecord()
    board = histogram(horizon=20, budget=ZCDP(10**4), record=record, **given)
    board.push({"a": 1000})
    saved = board.save()
    board.push({"b": 2000})
    again = histogram(horizon=20, budget=ZCDP(10**4), **given).restore(record)
    assert again.keys == board.keys == ("a", "b")
    value = again.push({"a": 1, "b": 1}).value
    assert value["a"] == pytest.approx(1001, abs=2)
    assert value["b"] == pytest.approx(2001, abs=2)
    with pytest.raises(StaleState):
        histogram(horizon=20, budget=ZCDP(10**4), **given).restore(record, saved)


def test_keys_in_another_order_go_on_with_their_own_columns() -> None:
    record = MemoryRecord()
    board = histogram(horizon=20, budget=ZCDP(10**4), keys=["a", 7, date(2026, 11, 18)], record=record)
    board.push({"a": 1000, 7: 2000})
    again = histogram(horizon=20, budget=ZCDP(10**4), keys=[date(2026, 11, 18), 7, "a"]).restore(record)
    value = again.push({"a": 1}).value
    assert [round(value[key] / 1000) for key in ("a", 7, date(2026, 11, 18))] == [1, 2, 0]
    for others in (["a", 7, "b"], ["a", 7], ["a", 7.0, date(2026, 11, 18)]):
        with pytest.raises(BadParameter):
            histogram(horizon=20, budget=ZCDP(10**4), keys=others).restore(record)
    with pytest.raises(BadParameter, match="record keeps"):
        histogram(horizon=20, budget=ZCDP(1), keys=[object()], record=MemoryRecord())


def test_keys_that_were_named_in_a_step_that_was_lost_are_not_shown() -> None:
    """Its noise is drawn again after a restore: who is named twice for one step is named more often than promised."""

    class Broken(MemoryRecord):
        def advance(self, position: int, state: bytes, *, after: int) -> None:
            if position == 2:
                raise OSError("the disk is full")
            super().advance(position, state, after=after)

    words = histogram(horizon=20, budget=ZCDP(1), delta="1e-9", record=Broken())
    words.push({"common": 10_000})
    with pytest.raises(OSError, match="full"):
        words.push({"late": 10_000})
    assert words.keys == ("common",)


@pytest.mark.parametrize("given", [{"keys": ["a", "b"]}, {"delta": "1e-9"}])
def test_rows_of_people_are_capped_over_the_whole_stream(given: dict[str, Any]) -> None:
    """Also when it is restored after every step: ann has two steps, one key in each, and 1000 at most."""
    record = MemoryRecord()
    rows = [("ann", "a", 9000), ("ann", "b", 5000), (None, "a", 7000), ("bob", "c", 1), ("eve", ["a"], 5000)]
    options = {"steps": 2, "sensitivity": 1000, **given}
    board = histogram(horizon=20, budget=ZCDP(10**10), record=record, **options)
    totals = []
    for _ in range(4):
        totals.append(round(board.push_rows(rows).value.get("a", 0) / 1000))
        board = histogram(horizon=20, budget=ZCDP(10**10), **options).restore(record)
    assert totals[-1] == 2 if "keys" in given else totals[-1] in (0, 2)  # one person alone is not named
    assert board.caps.steps == 2
    with pytest.raises(NotATheorem, match="push_rows"):
        board.push({"a": 1})


@pytest.mark.parametrize(
    "given",
    [{}, {"keys": ["a"], "delta": "1e-9"}, {"keys": []}, {"delta": 0}, {"delta": 1},
     {"keys": ["a"], "keys_per_step": 0}, {"delta": "1e-9", "keys_per_unit": 0}],
)  # fmt: skip
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        histogram(horizon=10, budget=ZCDP(1), **given)


def test_bad_steps_are_refused_and_change_nothing() -> None:
    board = histogram(horizon=10, budget=ZCDP(1), keys=["a"])
    for wrong in ([1], {"a": float("nan")}, {"a": "1"}, None):
        with pytest.raises(BadData):
            board.push(wrong)  # type: ignore[arg-type]
    assert board.position == 0
    with pytest.raises(BadParameter):
        board.threshold(1)


def test_keys_that_nobody_listed_make_a_stream_interactive() -> None:
    """Its noise is hidden until a key is named: approximate zCDP keeps it alone, (ε, δ) lets others in between."""
    words = histogram(horizon=6, budget=ZCDP("1/10"), delta="1e-9")
    listed = histogram(horizon=6, budget=ZCDP("1/10"), keys=["a"])
    concentrated = Filter(ZCDP(1, "1e-6"))
    with pytest.raises(NotATheorem, match="interactive"):
        concentrated.spend(words.event)
    concentrated.spend(listed.event)
    with concentrated.open(words.event) as held:
        with pytest.raises(NotATheorem, match="still open"):
            concentrated.spend(listed.event)
        words.pay(held.receipt)
    with pytest.raises(NotATheorem, match="closed"):
        words.push({"a": 1})
    pure = histogram(horizon=6, budget=Pure("1/2"), delta="1e-9")
    basic = Filter(Approx(2, "1e-6"), Rule.BASIC)
    basic.spend(pure.event)
    assert basic.remaining == Approx("3/2", Approx(1, "1e-6").delta - Approx(1, "1e-9").delta)
