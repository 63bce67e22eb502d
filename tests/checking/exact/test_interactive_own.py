"""Our own interactive objects against every strategy: sessions, filters, odometers, sparse vectors, streams.

Each has a twin with a planted bug, which the same enumeration refutes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from discreet import stable
from discreet.checking.exact.interactive import Interactive, Step, check_interactive, strongest
from discreet.continual import release as streams
from discreet.continual.alarms import Alarm
from discreet.continual.counter import Counter, counter
from discreet.continual.record import MemoryRecord
from discreet.errors import DiscreetError, OverBudget
from discreet.exact import log_up
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.selection.above_threshold import Run, above_threshold
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.budgets.odometers import Odometer, PureOdometer
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Measure, Pure, Renyi
from discreet.randomness import Bits, SystemBits
from discreet.stable.core import release as releases
from discreet.stable.interact import Interaction, interact

COARSE = Fraction(1, 1000)


class Given:
    """The system's bits, replaced by those of the check in one module."""

    def __init__(self) -> None:
        self.bits: Bits | None = None

    def __call__(self) -> Bits:
        assert self.bits is not None
        return self.bits


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    source = Given()
    monkeypatch.setattr(releases, "SystemBits", source)
    monkeypatch.setattr(streams, "SystemBits", source)
    return source


# --- sessions -------------------------------------------------------------------------------------------------------


def session(given: Given, made: Callable[[list[int]], Any], **more: Any) -> Interactive:
    def open(rows: list[int], bits: Bits) -> Any:
        given.bits = bits
        return made(rows)

    half, whole = ((stable.count() >> laplace(epsilon=e)).then(lambda noisy: noisy >= 1) for e in (2, 4))
    return Interactive(
        open=open,
        moves={"half": lambda s: s.ask(half), "whole": lambda s: s.ask(whole)},
        allowed=lambda before, move: not move.startswith("copy") or not before,
        tail=Fraction(1, 10**5),
        state=lambda s: 0,  # what was charged follows from the transcript
        **more,
    )


@pytest.mark.slow
def test_an_interaction_keeps_its_budget_also_through_copies(given: Given) -> None:
    for made in (copy.copy, copy.deepcopy):
        game = session(given, lambda rows: interact(rows, Pure(4)), copy=made, steps=3)
        assert 3.9 < strongest(game, [0], []).loss <= 4


@pytest.mark.slow
def test_a_session_whose_copies_have_a_budget_each_is_found(given: Given) -> None:
    def doubled(opened: Interaction) -> Interaction:
        return Interaction(opened._data, Filter(opened.budget), opened.metric)

    game = session(given, lambda rows: interact(rows, Pure(4)), copy=doubled, steps=3)
    assert strongest(game, [0], []).loss > 7


# --- filters and odometers: answers by randomized response, at prices that the adversary chooses -------------------


ODDS = (2, 3)
"""An answer is right with these odds; its price is the logarithm, rounded up."""


def respond(secret: int, odds: int, bits: Bits) -> int:
    return secret if bits.below(odds + 1) else 1 - secret


class Charged:
    """A bit that is answered at any price that a filter admits."""

    def __init__(self, secret: int, bits: Bits, spending: Filter) -> None:
        self.secret, self.bits, self.spending = secret, bits, spending

    def ask(self, odds: int) -> int:
        self.spending.spend(events.Pure(log_up(Fraction(odds))))
        return respond(self.secret, odds, self.bits)


def charged(spending: Callable[[], Filter]) -> Interactive:
    return Interactive(
        open=lambda secret, bits: Charged(secret, bits, spending()),
        moves={f"{odds} to 1": partial(Charged.ask, odds=odds) for odds in ODDS},
        steps=3,
        state=lambda m: 0,  # what was charged follows from the transcript
    )


class Unguarded(Filter):
    """The planted twin: each price is compared with the whole budget, and not added to the others."""

    def spend(self, what: Any) -> Any:
        if not self.fits(what):
            raise OverBudget(asked=what, left=self.budget)


BUDGETS = [
    (Pure("5/2"), None), (Approx("5/2", "1/100"), Rule.BASIC), (Approx("5/2", "1/100"), Rule.ADVANCED),
    (Approx("5/2", "1/100"), Rule.ZCDP), (Approx("5/2", "1/100"), Rule.EITHER), (ZCDP("3/4"), None),
    (Renyi({2: "3/2"}), None),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "rule"), BUDGETS, ids=str)
def test_a_filter_keeps_its_budget_against_every_choice_of_prices(budget: Measure, rule: Rule | None) -> None:
    assert check_interactive(charged(lambda: Filter(budget, rule)), [(0, 1)], budget).ok


@pytest.mark.slow
@pytest.mark.parametrize(("budget", "rule"), [BUDGETS[0], BUDGETS[1], BUDGETS[5], BUDGETS[6]], ids=str)
def test_a_filter_that_adds_nothing_up_is_found(budget: Measure, rule: Rule | None) -> None:
    assert not check_interactive(charged(lambda: Unguarded(budget, rule)), [(0, 1)], budget).ok


class Read:
    """A bit that is answered at any price; an odometer reads what that was."""

    def __init__(self, secret: int, bits: Bits, odometer: Any) -> None:
        self.secret, self.bits, self.odometer = secret, bits, odometer

    def ask(self, odds: int) -> tuple[int, Fraction]:
        reading = self.odometer.record(events.Pure(log_up(Fraction(odds))))
        return respond(self.secret, odds, self.bits), reading.epsilon


def read_last(transcript: tuple[Step, ...]) -> Fraction:
    return transcript[-1][1][1] if transcript else Fraction(0)  # type: ignore[index]


def reading(odometer: Callable[[], Any], steps: int) -> Interactive:
    return Interactive(
        open=lambda secret, bits: Read(secret, bits, odometer()),
        moves={f"{odds} to 1": partial(Read.ask, odds=odds) for odds in ODDS},
        steps=steps,
        state=lambda m: 0,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("odometer", "delta"), [(PureOdometer, 0), (lambda: Odometer(delta="1/10", lines=3), Fraction(1, 10))]
)
def test_an_odometer_holds_wherever_the_adversary_stops(odometer: Callable[[], Any], delta: Fraction) -> None:
    assert strongest(reading(odometer, 3), 0, 1, reading=read_last).stopped <= delta


def test_a_reading_that_forgets_is_no_odometer() -> None:
    """The planted twin reads the dearest charge so far: two right answers show the rest."""

    class Dearest:
        def __init__(self) -> None:
            self.most = Fraction(0)

        def record(self, event: events.Pure) -> Pure:
            self.most = max(self.most, event.epsilon)
            return Pure(self.most)

    shown = strongest(reading(Dearest, 2), 0, 1, reading=read_last)
    assert float(shown.stopped) == pytest.approx(9 / 16 - 3 * 1 / 16)


# --- the sparse vector technique -------------------------------------------------------------------------------------


class Sides:
    """A run, and which of two answers to each question is the true one."""

    def __init__(self, run: Any, side: int) -> None:
        self.run, self.side = run, side

    def ask(self, answers: tuple[int, int]) -> Any:
        return self.run.ask(answers[self.side])


def sides(pairs: tuple[tuple[int, int], ...]) -> dict[str, Callable[[Any], Any]]:
    return {f"{a}|{b}": partial(Sides.ask, answers=(a, b)) for a, b in pairs}


@pytest.mark.slow
@pytest.mark.parametrize(("monotone", "stop_after"), [(False, 1), (False, 2), (True, 1)])
def test_a_sparse_vector_keeps_its_price_over_every_strategy(monotone: bool, stop_after: int) -> None:
    mechanism = above_threshold(threshold=1, epsilon=6, stop_after=stop_after, monotone=monotone)
    game = Interactive(
        open=lambda side, bits: Sides(Run(mechanism, bits), side),
        moves=sides(((0, 1), (1, 1)) if monotone else ((0, 1), (1, 0))),
        state=lambda m: (m.run._threshold, m.run.yes_left),
        tail=COARSE,
    )
    for pair in ((0, 1), (1, 0)):
        assert strongest(game, *pair).loss <= 6


@pytest.mark.slow
def test_a_monotone_discount_without_monotone_answers_is_found() -> None:
    """Half the noise on questions, asked of answers that move both ways: the price is exceeded."""
    mechanism = above_threshold(threshold=1, epsilon=6, monotone=True)
    game = Interactive(
        open=lambda side, bits: Sides(Run(mechanism, bits), side),
        moves=sides(((0, 1), (1, 0))),
        state=lambda m: (m.run._threshold, m.run.yes_left),
        steps=4,
        tail=Fraction(1, 10**7),
    )
    assert strongest(game, 0, 1).loss > 6.1


@pytest.mark.slow
def test_an_alarm_keeps_its_price_over_every_stream() -> None:
    mechanism = above_threshold(threshold=1, epsilon=6)

    class Stream(Sides):
        def push(self, values: tuple[int, int]) -> bool:
            return bool(self.run.push(values[self.side]))

    moves = {f"{a}|{b}": partial(Stream.push, values=(a, b)) for a, b in ((0, 1), (0, 0), (1, 1))}
    game = Interactive(
        open=lambda side, bits: Stream(Alarm(mechanism, Run(mechanism, bits)), side),
        moves=moves,
        allowed=lambda before, move: move != "0|1" or "0|1" not in before,  # a person counts once
        state=lambda m: (m.run._run._threshold, m.run._run.yes_left, m.run._since),
        tail=COARSE,
    )
    for pair in ((0, 1), (1, 0)):
        assert 1 < strongest(game, *pair).loss <= 6


# --- streams ---------------------------------------------------------------------------------------------------------


class Pushed:
    """A counter with its record, and whether the one unit is in its stream."""

    def __init__(self, side: int, opened: Counter, record: MemoryRecord) -> None:
        self.side, self.counter, self.record = side, opened, record

    def push(self, values: tuple[int, int]) -> float:
        return float(self.counter.push(values[self.side]).value)

    def save(self) -> bytes:
        return self.counter.save()

    def restore(self, saved: bytes) -> Pushed:
        return Pushed(self.side, self.counter.restore(self.record, saved), self.record)


class Forgetful(MemoryRecord):
    """The planted twin: a record that takes any state and says that it is the last one."""

    __slots__ = ()

    def advance(self, position: int, state: bytes, *, after: int) -> None:
        self._position, self._state = position, state


def pushing(given: Given, record: type[MemoryRecord], method: str, restore: Any = Pushed.restore) -> Interactive:
    def open(side: int, bits: Bits) -> Pushed:
        given.bits = bits
        kept = record()
        return Pushed(side, counter(horizon=2, budget=Pure(3), method=method, record=kept), kept)

    return Interactive(
        open=open,
        moves={f"{a}|{b}": partial(Pushed.push, values=(a, b)) for a, b in ((0, 0), (0, 1))},
        steps=4,
        allowed=_once_in_each_future,
        save=Pushed.save,
        restore=restore,
        copy=copy.deepcopy,
        tail=Fraction(1, 50),
    )


def _once_in_each_future(before: tuple[str, ...], move: str) -> bool:
    """The unit comes in one step, and the same in each object; two saves tell no more than one, and copies are tried
    once, after the first step: they are refused.
    """
    if move.startswith("copy"):
        return before in {("0|0",), ("0|1",)}
    if move.startswith("0|1"):
        return sum(name.startswith("0|") for name in before) == 0 or (
            any(name.startswith("restore") for name in before) and before[0].startswith("save")
        )
    return move in {"0|0", "0|0 @1"} or (move.split(maxsplit=1)[0] not in {name.split()[0] for name in before})


@pytest.mark.slow
@pytest.mark.parametrize("method", ["values", "tree"])
def test_a_counter_keeps_its_price_through_saves_restores_and_copies(given: Given, method: str) -> None:
    game = pushing(given, MemoryRecord, method)
    for pair in ((0, 1), (1, 0)):
        assert 1 < strongest(game, *pair).loss <= 3


@pytest.mark.slow
def test_a_record_that_takes_an_old_state_is_found(given: Given) -> None:
    """Step 2 is answered before and after the restore, with fresh noise: twice the price."""

    def any_state(opened: Pushed, saved: bytes) -> Pushed:
        opened.record._state, opened.record._position = saved, 1
        return Pushed.restore(opened, saved)

    def once(before: tuple[str, ...], move: str) -> bool:
        order = ("0|0", "save", "0|1", "restore 0", "0|1 @1")
        return len(before) < len(order) and move == order[len(before)]

    found = pushing(given, Forgetful, "values", any_state)
    told = Interactive(open=found.open, moves=found.moves, steps=5, allowed=once, save=found.save,
                       restore=found.restore, tail=Fraction(1, 50))  # fmt: skip
    assert strongest(told, 0, 1).loss > 4
    honest = pushing(given, MemoryRecord, "values")
    kept = Interactive(open=honest.open, moves=honest.moves, steps=5, allowed=once, save=honest.save,
                       restore=honest.restore, tail=Fraction(1, 50))  # fmt: skip
    assert strongest(kept, 0, 1).loss <= 3


def test_what_a_copy_is_refused_with_is_the_same_on_both_sides(given: Given) -> None:
    game = pushing(given, MemoryRecord, "values")
    opened = game.open(0, SystemBits())
    with pytest.raises(DiscreetError, match="neither copied"):
        copy.deepcopy(opened)
