"""Privacy of adaptive streams by enumeration; states that never go back; refusals before anything is touched."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from discreet.continual.caps import Capped
from discreet.continual.counter import Counter, counter, plan_for, read_stream_budget
from discreet.continual.histogram import histogram
from discreet.continual.record import MemoryRecord
from discreet.continual.release import Stream
from discreet.continual.strategies import Appearances, Strategy, Values
from discreet.continual.tree import Tree
from discreet.errors import BadData, BadParameter, DiscreetError, NotATheorem, StaleState
from discreet.mechanisms.additive.laplace import Laplace
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from tests.helpers.continual_matrices import matrix
from tests.helpers.databases import too_few

REACH = 9
Adversary = Callable[[tuple[int, ...]], int]


def gaussian(sigma_squared: float) -> dict[int, float]:
    weights = {k: exp(-k * k / (2 * sigma_squared)) for k in range(-40, 41)}
    total = sum(weights.values())
    return {k: w / total for k, w in weights.items()}


def renyi(strategy: Strategy, steps: int, sigma_squared: float, adversary: Adversary, alpha: float) -> float:
    """log E_Q (P/Q)^α / (α(α-1)) of all noisy rows, d_t chosen from earlier rows; walks every path of rows.

    The stream without the unit is 0, so a row is pure noise under Q, and noise around (Cd) under P.
    """
    c = matrix(strategy, steps)
    ends = [strategy.rows_between(0, t) for t in range(steps + 1)]
    law = gaussian(sigma_squared)

    def walk(t: int, d: list[int], seen: tuple[int, ...]) -> float:
        if t == steps:
            return 1.0
        moved = [*d, adversary(seen)]
        shifts = [int(row[: t + 1] @ np.array(moved)) for row in c[ends[t] : ends[t + 1]]]
        total = 0.0
        for rows in product(range(-REACH, REACH + 1), repeat=len(shifts)):
            weight = 1.0
            for y, m in zip(rows, shifts, strict=True):
                weight *= law[y] * (law.get(y - m, 0.0) / law[y]) ** alpha
            total += weight * walk(t + 1, moved, (*seen, *rows))
        return total

    return float(np.log(walk(0, [], ()))) / (alpha * (alpha - 1))


def once_when_positive() -> Adversary:
    """One appearance: at the first step after a positive row, if there is one."""

    def choose_move(seen: tuple[int, ...]) -> int:
        return 1 if seen and seen[0] > 0 and len(seen) == 1 else 0

    return choose_move


def at_first(_: tuple[int, ...] = ()) -> Adversary:
    return lambda seen: int(not seen)


@pytest.mark.parametrize("strategy", [Tree(3), Values(2)], ids=repr)
@pytest.mark.parametrize("adversary", [at_first(), once_when_positive()])
def test_no_adaptive_stream_beats_the_price(strategy: Strategy, adversary: Adversary) -> None:
    sigma_squared = 2.0
    rho = strategy.moves(Appearances()).l2_squared / (2 * sigma_squared)
    steps = 2
    for alpha in (1.5, 3.0):
        assert renyi(strategy, steps, sigma_squared, adversary, alpha) <= rho + 1e-6


def test_the_price_is_nearly_attained_and_too_little_noise_exceeds_it() -> None:
    strategy = Tree(3)
    rho = strategy.moves(Appearances()).l2_squared / 4
    assert renyi(strategy, 2, 2.0, at_first(), 2.0) > 0.95 * rho
    assert renyi(strategy, 2, 1.0, at_first(), 2.0) > 1.5 * rho  # half of the variance
    twice: Adversary = lambda seen: 1  # noqa: E731 - two appearances, priced as one
    assert renyi(strategy, 2, 2.0, twice, 2.0) > 1.5 * rho


def test_pure_streams_by_enumeration_of_neighbours() -> None:
    """The loss of every list of rows is at most ε: Σ |Cd| / scale over all neighbours, attained."""
    for steps in (1, 2, 3, 4):
        c = counter(horizon=steps, budget=Pure(1), method="tree")
        rows = matrix(c.plan.strategy, steps)
        scale = Fraction(c.plan.noise.scale)  # type: ignore[union-attr]
        losses = [Fraction(int(np.abs(rows[:, s]).sum())) / scale for s in range(steps)]
        assert max(losses) == 1
        assert c.event == events.Pure(1)


@pytest.mark.parametrize("budget", [ZCDP("0.1"), Pure("1/2"), Approx(1, "1e-6")])
@pytest.mark.parametrize("horizon", [1, 10, 365, 5000, None])
def test_the_event_is_the_budget(budget: Any, horizon: int | None) -> None:
    made = counter(horizon=horizon, budget=budget, steps=3, sensitivity=7)
    paid = read_stream_budget(budget)
    expected = events.Pure(paid.epsilon) if isinstance(paid, Pure) else events.ZCDP(paid.rho)
    assert made.event == expected
    assert str(paid) in made.cost


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "horizon"), [(ZCDP("1/2"), 64), (Pure(1), 64), (ZCDP("1/2"), None), (ZCDP("1/2"), 5000)]
)
def test_error_bars_cover_and_are_not_far_too_wide(budget: Any, horizon: int | None) -> None:
    """The twin: bars half as long hold 45 to 55 %. A mean is 1.22 of what was said once in 1e7, or less often."""
    steps, runs = 64, 1000
    truth = np.cumsum(np.arange(steps))
    made = [counter(horizon=horizon, budget=budget).push_many(np.arange(steps)) - truth for _ in range(runs)]
    for t in (1, 33, 64):
        bar = counter(horizon=horizon, budget=budget).accuracy(t)
        wide = bar.error_at("0.8")
        assert not too_few(sum(abs(run[t - 1]) <= wide for run in made), runs, 0.8)
        assert too_few(sum(abs(run[t - 1]) <= wide / 2 for run in made), runs, 0.8)
        assert np.mean([abs(run[t - 1]) for run in made]) <= 1.22 * bar.expected_error


@pytest.mark.slow
def test_the_variance_is_that_of_the_weights() -> None:
    """Mean of squares of 1000 errors: within 30 %, which Gaussian noise misses with probability below 1e-9."""
    made = counter(horizon=16, budget=ZCDP("1/2"))
    claimed = float(made.plan.noise.sigma_squared * made.plan.strategy.weight(16))  # type: ignore[union-attr]
    errors = [counter(horizon=16, budget=ZCDP("1/2")).push_many(np.zeros(16, dtype=np.int64))[-1] for _ in range(1000)]
    assert 0.7 < np.mean(np.square(errors)) / claimed < 1.3
    twin = [counter(horizon=16, budget=ZCDP(1)).push_many(np.zeros(16, dtype=np.int64))[-1] for _ in range(1000)]
    assert np.mean(np.square(twin)) / claimed < 0.7


# --- states -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [100, 5000, None])
@pytest.mark.parametrize("budget", [ZCDP("0.1"), Pure(1)])
def test_a_restored_stream_goes_on_where_it_was(horizon: int | None, budget: Any) -> None:
    record = MemoryRecord()
    first = counter(horizon=horizon, budget=budget, record=record)
    first.push_many(list(range(70)))
    saved = first.save()
    again = counter(horizon=horizon, budget=budget).restore(record, saved)
    assert again.position == 70
    big = again.push(10**6).value
    assert big == pytest.approx(10**6 + sum(range(70)), abs=again.accuracy(71).error_at("0.999999999"))
    with pytest.raises(StaleState) as refused:  # the old state would draw step 71 again
        counter(horizon=horizon, budget=budget).restore(record, saved)
    assert "71" in str(refused.value)
    with pytest.raises(StaleState):  # and so would the stream that was left behind
        first.push(1)


def test_a_crash_before_the_record_leaves_nothing_behind() -> None:
    class Broken(MemoryRecord):
        def advance(self, position: int, state: bytes, *, after: int) -> None:
            if position == 3:
                raise OSError("the disk is full")
            super().advance(position, state, after=after)

    record = Broken()
    stream = counter(horizon=10, budget=ZCDP(1), record=record)
    stream.push_many([1, 2])
    with pytest.raises(OSError, match="full"):
        stream.push(3)
    assert record.position() == 2
    with pytest.raises(StaleState, match="restore"):  # its next answer would show the step that was lost
        stream.push(4)
    again = counter(horizon=10, budget=ZCDP(1)).restore(record)
    assert again.position == 2


@pytest.mark.parametrize("steps", [1, 5])
def test_of_two_streams_restored_from_one_state_one_goes_on(steps: int) -> None:
    record = MemoryRecord()
    first = counter(horizon=64, budget=ZCDP(1), record=record)
    first.push(1)
    second = first.restore(record)
    first.push_many([1] * 3)
    for _ in range(3):  # a step that the first has answered must not come out again, also in the sum of later ones
        with pytest.raises(StaleState):
            second.push_many([1] * steps)
    assert record.position() == first.position == 4
    first.push(1)


def test_states_of_other_streams_and_damaged_ones_are_refused() -> None:
    record = MemoryRecord()
    stream = counter(horizon=10, budget=ZCDP(1), record=record)
    stream.push(1)
    with pytest.raises(BadParameter):
        counter(horizon=11, budget=ZCDP(1)).restore(record)
    with pytest.raises(BadParameter):
        counter(horizon=10, budget=ZCDP(2)).restore(record)
    with pytest.raises(StaleState):  # edited, at the right position
        counter(horizon=10, budget=ZCDP(1)).restore(record, stream.save().replace(b'"extra":{}', b'"extra":{"a":1}'))
    for damaged in (b"", b"{}", b"[1]", b"\xff", stream.save()[:-5]):
        with pytest.raises(BadData):
            counter(horizon=10, budget=ZCDP(1)).restore(record, damaged)
    with pytest.raises(BadParameter):
        counter(horizon=10, budget=ZCDP(1), record=record)  # a record that is in use
    with pytest.raises(BadParameter):
        counter(horizon=10, budget=ZCDP(1)).save()
    with pytest.raises(BadParameter):
        counter(horizon=10, budget=ZCDP(1)).restore(MemoryRecord())


def test_a_stream_cannot_be_copied_and_ends_at_a_fork() -> None:
    stream = Stream(plan_for(Tree(4), ZCDP(1), Appearances(), 1), 1)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotATheorem):
            copied(stream)
    stream._process = os.getpid() + 1
    with pytest.raises(NotATheorem):
        stream.push(np.ones((1, 1), dtype=np.int64))


# --- every sequence of moves ------------------------------------------------------------------------------------------

ANN: list[tuple[Any, Any]] = [("ann", 1)]
BOB: list[tuple[Any, Any]] = [("bob", 1)]


class Old:
    """The planted twin: caps that stand beside the stream, whose state is taken back from wherever it was saved."""

    def __init__(self, stream: Counter, capped: Capped) -> None:
        self.stream, self.capped = stream, capped
        self.caps_saved: dict[str, Any] = {}

    def push_rows(self, rows: list[tuple[Any, Any]]) -> None:
        value = self.capped.take([(unit, 0, value) for unit, value in rows]).get(0, 0)
        self.stream.push(value)

    def save(self) -> bytes:
        self.caps_saved = self.capped.state()
        return self.stream.save()

    def restore(self, record: MemoryRecord, saved: bytes | None = None) -> Old:
        again = Old(self.stream.restore(record, saved), Capped.restored(self.stream.caps, 0, self.caps_saved))
        again.caps_saved = self.caps_saved
        return again


def measured(
    moves: tuple[str, ...], rows: list[tuple[Any, Any]], start: Callable[[MemoryRecord], Any], draws: list[Any]
) -> list[list[int] | None]:
    """The exact rows behind each answer that left, or None where a move was refused.

    ``push``: the newest stream goes on; ``first``: the first one does; ``save``: its state is kept aside; ``restore``:
    another stream from what the record holds; ``old``: one from the state that was kept aside.
    """
    record = MemoryRecord()
    streams, saved = [start(record)], None
    seen: list[list[int] | None] = []
    for move in moves:
        draws.clear()
        try:
            match move:
                case "push" | "first":
                    streams[-1 if move == "push" else 0].push_rows(rows)
                case "save":
                    saved = streams[-1].save()
                case "restore":
                    streams.append(streams[-1].restore(record))
                case "old" if saved is not None:
                    streams.append(streams[-1].restore(record, saved))
        except DiscreetError:
            seen.append(None)
        else:
            seen.append([int(row) for drawn in draws for row in drawn.ravel()])
    return seen


def worst_loss(start: Callable[[MemoryRecord], Any], scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> Fraction:
    """The largest loss of any sequence of four moves, between the stream with ann's rows and the one without."""
    draws: list[Any] = []
    step = Stream._step

    def noted(self: Stream, values: Any) -> Any:
        draws.append(values)  # noise on each value: these are the rows
        return step(self, values)

    monkeypatch.setattr(Stream, "_step", noted)
    worst = Fraction(0)
    for moves in product(("push", "first", "save", "restore", "old"), repeat=4):
        one, other = (measured(moves, rows, start, draws) for rows in (ANN + BOB, BOB))
        assert [a is None for a in one] == [b is None for b in other]  # what is refused does not depend on people
        moved = [
            abs(x - y) for a, b in zip(one, other, strict=True) if a is not None and b is not None
            for x, y in zip(a, b, strict=True)
        ]  # fmt: skip
        worst = max(worst, sum(moved, 0) / scale)
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2])
def test_no_sequence_of_pushes_and_restores_costs_more_than_was_paid(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 625 sequences; noise on each value, so the loss of a path is that of the rows behind its answers."""
    plan = counter(horizon=5, budget=Pure(1), method="values", steps=steps).plan
    assert isinstance(plan.noise, Laplace)
    scale = plan.noise.scale

    def start(record: MemoryRecord) -> Counter:
        return counter(horizon=5, budget=Pure(1), method="values", steps=steps, record=record)

    assert worst_loss(start, scale, monkeypatch) == 1


@pytest.mark.slow
def test_a_cap_that_is_restored_from_an_old_state_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin, as it was: the state of the caps is whatever somebody gives, and ann is counted in two steps."""

    def start(record: MemoryRecord) -> Old:
        stream = counter(horizon=5, budget=Pure(1), method="values", record=record)
        return Old(stream, Capped(stream.caps))

    assert worst_loss(start, Fraction(1), monkeypatch) >= 2


class Forgetful(MemoryRecord):
    """The planted twin: a record as it was, which does not know that its stream was closed."""

    def close(self) -> None:
        pass


def answers_after_closing(made: Callable[[], MemoryRecord]) -> int:
    """Over all sequences of four moves: how many answers leave after the stream was closed."""
    after = 0
    for moves in product(("push", "first", "close", "restore"), repeat=4):
        record = made()
        spending = Filter(ZCDP(1, "1e-6"))
        streams = [histogram(horizon=9, budget=ZCDP("1/10"), delta="1e-9", record=record)]
        held = spending.open(streams[0].event)
        streams[0].pay(held.receipt)
        for move in moves:
            try:
                match move:
                    case "push" | "first":
                        streams[-1 if move == "push" else 0].push({"a": 1})
                        after += held.receipt.ended
                    case "close":
                        held.close()
                    case "restore":
                        streams.append(histogram(horizon=9, budget=ZCDP("1/10"), delta="1e-9").restore(record))
            except DiscreetError:
                pass
        if held.receipt.ended:
            spending.spend(events.ZCDP("1/10"))  # what is asked beside an open stream has no theorem
    return after


@pytest.mark.slow
def test_a_closed_stream_answers_no_more_whatever_is_restored() -> None:
    assert answers_after_closing(MemoryRecord) == 0
    assert answers_after_closing(Forgetful) > 0


def test_a_record_that_cannot_be_closed_keeps_the_stream_open() -> None:
    class Broken(MemoryRecord):
        full = True

        def close(self) -> None:
            if self.full:
                raise OSError("the disk is full")
            super().close()

    record = Broken()
    spending = Filter(ZCDP(1, "1e-6"))
    stream = histogram(horizon=9, budget=ZCDP("1/10"), delta="1e-9", record=record)
    held = spending.open(stream.event)
    stream.pay(held.receipt)
    stream.push({"a": 1})
    with pytest.raises(OSError, match="full"):
        held.close()
    with pytest.raises(NotATheorem, match="still open"):  # else a restored stream would answer beside it
        spending.spend(events.ZCDP("1/10"))
    record.full = False
    held.close()
    spending.spend(events.ZCDP("1/10"))
    with pytest.raises(NotATheorem, match="closed"):
        stream.restore(record)
    with pytest.raises(BadParameter, match="record"):
        counter(horizon=3, budget=ZCDP(1), record=record)


def test_rows_and_values_do_not_mix_and_other_caps_do_not_go_on() -> None:
    record = MemoryRecord()
    made = counter(horizon=9, budget=Pure(1), method="values", steps=2, sensitivity=2, record=record)
    made.push_rows([("ann", 5)])
    with pytest.raises(NotATheorem, match="push_rows"):
        made.push(1)
    with pytest.raises(NotATheorem, match="push_rows"):
        made.push_many([1])
    values = counter(horizon=9, budget=Pure(1))
    values.push(1)
    with pytest.raises(NotATheorem, match="values"):
        values.push_rows([("ann", 1)])
    other = counter(horizon=9, budget=Pure(1), method="values", steps=4)  # the same noise: 4 = 2 * 2
    assert other.plan.fingerprint() == made.plan.fingerprint()
    with pytest.raises(BadParameter, match="another stream"):  # ann would add 2 + 3 in all
        other.restore(record)
    for row in (("ann",), ["ann", 1], "ab", ("ann", "x", 1)):
        with pytest.raises(BadData):
            made.push_rows([row])  # type: ignore[list-item]
    assert made.position == 1


def test_rows_that_are_nobodys_or_have_no_number_add_nothing() -> None:
    made = counter(horizon=9, budget=ZCDP(10**8), sensitivity=3)
    rows = [("ann", 2), ("bob", float("nan")), ("carl", None), (float("nan"), 1), ("dora", float("inf")), ("eve", "1")]
    assert made.push_rows(rows).value == pytest.approx(2, abs=0.1)
    cents = counter(horizon=9, budget=ZCDP(10**8), sensitivity="1/2", cell="1/100")
    assert cents.push_rows([("ann", 0.25), ("ann", 9), ("bob", 0.125)]).value == pytest.approx(0.63, abs=0.01)


def test_a_record_in_memory_is_there_once() -> None:
    """A forked process has a copy of it: both would go on from one state, each with noise of its own."""
    record = MemoryRecord()
    counter(horizon=9, budget=ZCDP(1), record=record).push(1)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotATheorem, match="neither copied nor stored"):
            copied(record)
    record._process = os.getpid() + 1
    with pytest.raises(NotATheorem, match="fork"):
        counter(horizon=9, budget=ZCDP(1)).restore(record)
    with pytest.raises(NotATheorem, match="fork"):
        record.advance(2, b"", after=1)


def test_noise_that_is_drawn_ahead_is_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single steps and many at once have the same law: the noises of a stream are those that were drawn, in order."""
    stream = Stream(plan_for(Values(400), Pure(1), Appearances(), 1), 1)
    handed: list[int] = []
    draw = Stream._draw

    def noted(self: Stream, size: int) -> Any:
        fresh = draw(self, size)
        handed.extend(fresh.tolist())
        return fresh

    monkeypatch.setattr(Stream, "_draw", noted)
    totals = [float(stream.push(np.zeros((1, 1), dtype=np.int64))[0, 0]) for _ in range(300)]
    assert np.diff([0.0, *totals]).tolist() == handed[:300]
