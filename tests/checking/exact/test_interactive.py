"""Every strategy against an interactive mechanism: the figures by hand and by brute force, and planted bugs."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from discreet.checking import Interactive, check
from discreet.checking.exact.interactive import Refused, strongest
from discreet.errors import BadParameter, NoLaw
from discreet.exact import exp_up
from discreet.mechanisms.selection.above_threshold import AboveThreshold, Run, above_threshold
from discreet.privacy.promises.events import Pure as PureEvent
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Measure, Pure, Renyi
from discreet.randomness import Bits, SystemBits

THREE = Pure("1.1")  # log 3 = 1.0986...


class Budgeted:
    """A bit that is answered by randomized response, three to one, as often as was paid for."""

    def __init__(self, answer: int, bits: Bits, paid: int = 1) -> None:
        self.answer, self.bits, self.left = answer, bits, paid

    def ask(self) -> object:
        if not self.left:
            raise ValueError("the budget is spent")
        self.left -= 1
        return self.answer if self.bits.below(4) else 1 - self.answer

    def save(self) -> int:
        return self.left

    def restore(self, left: int) -> Budgeted:
        return Budgeted(self.answer, self.bits, left)


def asking(**more: Any) -> Interactive:
    return Interactive(open=Budgeted, moves={"ask": Budgeted.ask}, **more)


def test_what_answers_once_is_what_it_says() -> None:
    assert strongest(asking(), 0, 1).ratio == 3
    assert check(asking(), pairs=[(0, 1)], claim=THREE).ok
    assert not check(asking(), pairs=[(0, 1)], claim=Pure("1.09")).ok


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_each_answer_multiplies(steps: int) -> None:
    free = Interactive(open=lambda x, bits: Budgeted(x, bits, steps), moves={"ask": Budgeted.ask}, steps=steps)
    assert strongest(free, 0, 1).ratio == 3**steps


def test_a_fork_that_answers_twice() -> None:
    report = check(asking(copy=copy.deepcopy), pairs=[(0, 1)], claim=THREE)
    assert not report.ok
    assert strongest(asking(copy=copy.deepcopy), 0, 1).ratio == 9
    assert "copy: done" in str(report)


def test_a_copy_that_is_refused_answers_nothing() -> None:
    def refuse(opened: Budgeted) -> Budgeted:
        raise NotImplementedError("no copies")

    assert strongest(asking(copy=refuse), 0, 1).ratio == 3


def test_a_budget_that_is_forgotten_on_restore() -> None:
    """Saved before it answered, restored after: each restored state answers once more."""
    forgets = asking(save=Budgeted.save, restore=Budgeted.restore, steps=4)
    assert strongest(forgets, 0, 1).ratio == 9
    keeps = asking(save=Budgeted.save, restore=lambda opened, _: opened, steps=4)
    assert strongest(keeps, 0, 1).ratio == 3
    assert check(keeps, pairs=[(0, 1)], claim=THREE).ok


class Remembers:
    """Adds noise below 4 once, and uses it for every question: a state that is used twice."""

    def __init__(self, row: int, bits: Bits) -> None:
        self.row, self.noise = row, bits.below(4)

    def ask(self, weight: int) -> int:
        return weight * self.row + self.noise


def test_noise_that_is_used_twice_shows_the_row() -> None:
    thing = Interactive(open=Remembers, moves={"once": lambda m: m.ask(1), "none": lambda m: m.ask(0)}, steps=2)
    assert strongest(thing, 0, 1).ratio is None  # the difference of the two answers is the row itself
    assert strongest(thing, 0, 1, epsilons=[Fraction(5)]).deltas[Fraction(5)] == 1
    assert not check(thing, pairs=[(0, 1)], claim=Approx(5, "0.9")).ok


class Refreshed:
    """A sparse vector whose threshold gets new noise after each yes, and which is paid for one yes."""

    def __init__(self, mechanism: AboveThreshold, there: int, bits: Bits, runs: int) -> None:
        self.mechanism, self.there, self.bits, self.left = mechanism, there, bits, runs
        self.run = Run(mechanism, bits)

    def ask(self, answers: tuple[int, int]) -> bool | None:
        if not self.left:
            return None
        reply = self.run.ask(answers[self.there])
        if reply:
            self.left -= 1
            self.run = Run(self.mechanism, self.bits)
        return reply


@pytest.mark.slow
def test_a_threshold_that_is_refreshed_for_free() -> None:
    """Two runs for the price of one: the ratio is that of the written law, squared."""
    mechanism = above_threshold(threshold=2, epsilon=8)

    def game(runs: int) -> Interactive:
        return Interactive(
            open=lambda there, bits: Refreshed(mechanism, there, bits, runs),
            moves={"0|1": lambda m: m.ask((0, 1)), "1|0": lambda m: m.ask((1, 0))},
            steps=2,
            state=lambda m: (m.run._threshold, m.left),
            tail=Fraction(1, 10**7),
        )

    fresh, stale = mechanism.law((1,)), mechanism.law((0,))
    yes = float(fresh[True,][0] / stale[True,][0])
    assert strongest(game(1), 1, 0).loss <= 8
    shown = strongest(game(2), 1, 0)
    assert shown.ratio is not None
    assert float(shown.ratio) == pytest.approx(yes**2, rel=1e-2)


# --- against brute force ----------------------------------------------------------------------------------------------


class Table:
    """A mechanism given by tables: for each data, hidden state and move a law of (answer, next state) in sixteenths."""

    def __init__(self, tables: Any, data: int, bits: Bits) -> None:
        self.tables, self.data, self.bits, self.state = tables, data, bits, 0

    def move(self, number: int) -> int:
        answer, self.state = self.tables[self.data][self.state][number][self.bits.below(16)]
        return int(answer)


def tables(choose: Random) -> Any:
    pairs = list(itertools.product(range(2), range(2)))
    return [[[choose.choices(pairs, k=16) for _ in range(2)] for _ in range(2)] for _ in range(2)]


def transcripts(table: Any, data: int, strategy: Callable[[tuple[int, ...]], int], steps: int) -> dict[Any, Fraction]:
    """The law of the answers to one deterministic strategy, state by state."""
    law: dict[tuple[tuple[int, ...], int], Fraction] = {((), 0): Fraction(1)}
    for _ in range(steps):
        longer: dict[tuple[tuple[int, ...], int], Fraction] = {}
        for (answers, state), chance in law.items():
            for answer, then in table[data][state][strategy(answers)]:
                key = ((*answers, answer), then)
                longer[key] = longer.get(key, Fraction(0)) + chance / 16
        law = longer
    totals: dict[Any, Fraction] = {}
    for (answers, _), chance in law.items():
        totals[answers] = totals.get(answers, Fraction(0)) + chance
    return totals


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_best_strategy_is_the_best_of_all(seed: int) -> None:
    """All 2 · 2² · 2⁴ deterministic strategies over three steps, one by one."""
    table, epsilon = tables(Random(seed)), Fraction(1, 4)
    before = [answers for n in range(3) for answers in itertools.product(range(2), repeat=n)]
    best, power = Fraction(0), Fraction(0)
    for choices in itertools.product(range(2), repeat=len(before)):
        p, q = (transcripts(table, data, dict(zip(before, choices, strict=True)).__getitem__, 3) for data in (0, 1))
        best = max(best, sum((max(p[t] - exp_up(epsilon) * q.get(t, 0), Fraction(0)) for t in p), Fraction(0)))
        if set(p) <= set(q):
            power = max(power, sum((p[t] ** 2 / q[t] for t in p), Fraction(0)))
    thing = Interactive(
        open=lambda data, bits: Table(table, data, bits),
        moves={"zero": lambda m: m.move(0), "one": lambda m: m.move(1)},
        state=lambda m: m.state,
    )
    assert strongest(thing, 0, 1, epsilons=[epsilon]).deltas[epsilon] == best
    without = Interactive(open=thing.open, moves=thing.moves, steps=2)
    merged = Interactive(open=thing.open, moves=thing.moves, steps=2, state=thing.state)
    assert strongest(without, 0, 1, epsilons=[epsilon]) == strongest(merged, 0, 1, epsilons=[epsilon])
    if power:
        shown = strongest(thing, 0, 1, orders=[2]).powers[2]
        assert float(shown) == pytest.approx(float(power), rel=1e-12)


def test_a_strategy_that_adapts_is_worth_more_than_any_list_of_moves() -> None:
    """The first answer says which of two questions is about the secret: the maximum must be inside of the sum."""

    class Guide:
        def __init__(self, secret: int, bits: Bits) -> None:
            self.secret, self.bits, self.where = secret, bits, 2

        def guide(self) -> int:
            self.where = self.bits.below(2)
            return self.where

        def ask(self, number: int) -> int:
            return self.secret if number == self.where else self.bits.below(2)

    moves = {"guide": Guide.guide, "0": lambda m: m.ask(0), "1": lambda m: m.ask(1)}
    once = Interactive(open=Guide, moves=moves, steps=2, allowed=lambda before, move: (move == "guide") == (not before))
    assert strongest(once, 0, 1, epsilons=[Fraction(0)]).deltas[Fraction(0)] == 1


# --- claims of every kind ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holds", "fails"),
    [(Pure("2.2"), Pure("2.1")), (Approx(1, "0.4"), Approx(1, "0.2")), (ZCDP(1), ZCDP("1/4")),
     (ZCDP(1, "1e-3"), ZCDP("1/20", "1e-3")), (Renyi({2: "1.7"}), Renyi({2: "0.5"})), (GDP("1.9"), GDP("0.5"))],
    ids=str,
)  # fmt: skip
def test_claims_of_every_kind(holds: Measure, fails: Measure) -> None:
    twice = Interactive(open=lambda x, bits: Budgeted(x, bits, 2), moves={"ask": Budgeted.ask}, steps=2)
    assert check(twice, pairs=[(0, 1)], claim=holds).ok
    report = check(twice, pairs=[(0, 1)], claim=fails)
    assert not report.ok
    assert "at least" in str(report.smallest)


def test_an_event_is_held_against_each_of_its_prices() -> None:
    assert check(asking(), pairs=[(0, 1)], claim=PureEvent("1.1")).ok
    assert not check(asking(), pairs=[(0, 1)], claim=PureEvent("1.09")).ok


def test_a_reading_counts_where_the_adversary_stops() -> None:
    """The reading forgets the second answer: whoever goes on shows what it does not."""
    twice = Interactive(open=lambda x, bits: Budgeted(x, bits, 2), moves={"ask": Budgeted.ask}, steps=2)
    true = strongest(twice, 0, 1, reading=lambda transcript: len(transcript) * Fraction("1.0987"))
    assert true.stopped == 0
    forgets = strongest(twice, 0, 1, reading=lambda transcript: Fraction("1.0987"))
    assert float(forgets.stopped) == pytest.approx(9 / 16 - 3 / 16, abs=1e-3)


# --- errors and bad input ---------------------------------------------------------------------------------------------


def test_an_error_on_one_side_is_an_answer() -> None:
    def fails_on_one(opened: tuple[int, Bits]) -> int:
        return 1 // opened[0]

    thing = Interactive(open=lambda x, bits: (x, bits), moves={"divide": fails_on_one}, steps=1)
    shown = strongest(thing, 0, 1)
    assert shown.ratio is None
    ((move, answer),) = shown.transcript
    assert (move, answer) == ("divide", Refused("ZeroDivisionError", "integer division or modulo by zero"))


def test_randomness_of_its_own_is_noticed() -> None:
    thing = Interactive(open=lambda x, bits: SystemBits(), moves={"ask": lambda own: own.bits(60)}, steps=2)
    with pytest.raises(BadParameter, match="all its randomness"):
        strongest(thing, 0, 1)


def test_what_is_too_much_is_refused() -> None:
    with pytest.raises(NoLaw, match="too many runs"):
        strongest(asking(steps=6, copy=copy.copy), 0, 1, most_runs=100)


@pytest.mark.parametrize(
    "given",
    [{"moves": {}}, {"moves": {"ask": 1}}, {"moves": {"copy": Budgeted.ask}}, {"steps": 0}, {"tail": 2},
     {"save": Budgeted.save}, {"restore": Budgeted.restore}],
    ids=["no moves", "no function", "a move named copy", "no steps", "a tail above 1", "save alone", "restore alone"],
)  # fmt: skip
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        Interactive(**{"open": Budgeted, "moves": {"ask": Budgeted.ask}, **given})


@pytest.mark.parametrize("given", [{"claim": Pure(1)}, {"pairs": [(0, 1)]}])
def test_pairs_and_a_claim_are_needed(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match="interactive mechanism"):
        check(asking(), **given)
