"""The stream: one price for all questions, honest statements, learning, and what happens at the end."""

import copy
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.answer import Answer
from discreet.errors import BadParameter, BadQuestion, NotATheorem
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.selection.above_threshold import Run
from discreet.mechanisms.statistics.budget import Moves
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Approx
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.pmw import How, pmw, split
from discreet.synthetic.predicate import predicate
from discreet.synthetic.source import Rows

DOMAIN = Domain({f"c{i}": whole(0, 1, nullable=False) for i in range(8)})


def rows(domain: Domain = DOMAIN, count: int = 20_000) -> Rows:
    draw = np.random.default_rng(2)
    lean = draw.random((count, 1))
    return Rows(domain, (draw.random((count, len(domain))) < lean).astype(int))


QUESTIONS = [f"c{i} = 1 AND c{j} = 1" for i in range(8) for j in range(i)]
WIDE = Domain({f"c{i}": whole(0, 1, nullable=False) for i in range(40)})


@pytest.mark.slow
@pytest.mark.parametrize("domain", [DOMAIN, WIDE], ids=["explicit", "factored"])
def test_the_whole_stream_costs_what_was_given_and_answers_are_as_good_as_they_say(domain: Domain) -> None:
    source = rows(domain)
    stream = pmw(source, rho=1, hard=40)
    truth = {q: int(predicate(domain, q).count(source.marginals([predicate(domain, q).clique])[0])) for q in QUESTIONS}
    said = set()
    for q in QUESTIONS * 2:
        answer = stream.ask(q)
        said.add(answer.story[0])
        if answer.accuracy is not None:
            # 56 answers, each within its bar at 1 - 1e-8
            assert abs(answer.value - truth[q]) <= answer.error_at(1 - Fraction(1, 10**8))
    assert price_zcdp(events.Composed([event for _, event in stream.events])).rho <= 1
    assert {How.MODEL.value, How.MEASURED.value} <= said
    assert stream.promise.rho <= 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("count", "rho", "least", "most"), [(20_000, "1", 50, 50), (10_000, "1/66", 15, 30), (2_000, "1/66", 1, 2)]
)
def test_few_rows_have_few_hard_questions_unless_said(count: int, rho: str, least: int, most: int) -> None:
    """The number of rows has noise of deviation 41 at most: beyond 5 % of 10,000 with a chance below 1e-30."""
    stream = pmw(rows(count=count), rho=rho)
    assert least <= stream.hard_left <= most
    assert stream.threshold <= 1.05 * count / 8 or stream.hard_left == 1
    assert pmw(rows(count=count), rho=rho, hard=50).hard_left == 50
    for question in QUESTIONS:
        stream.ask(question)
    assert stream.promise.rho <= Fraction(rho)  # type: ignore[union-attr]


def test_it_learns() -> None:
    source = rows()
    stream = pmw(source, rho=4, hard=40)
    for q in QUESTIONS:
        stream.ask(q)
    left = stream.hard_left
    for q in QUESTIONS:
        stream.ask(q)
    assert 40 - left > 0
    assert left - stream.hard_left < 0.5 * (40 - left)  # the second time few are hard


def test_when_the_budget_is_spent_it_goes_on_and_says_so() -> None:
    stream = pmw(rows(), rho=1, hard=1, threshold=1)
    answers = [stream.ask(q) for q in QUESTIONS]
    assert stream.hard_left == 0
    spent = stream.events
    last = answers[-1]
    assert last.story == (How.UNTESTED.value,)
    assert last.accuracy is None
    assert stream.ask("SELECT COUNT(*) FROM t WHERE c0 = 1 OR c1 = 0").story == (How.UNTESTED.value,)
    assert stream.events == spent


def test_sides_partition_the_marginal() -> None:
    """Each row is in one cell: the sides of a table with one row more differ in one cell, by one."""
    for where in ("c0 = 1 AND c3 = 0", "c0 = 1 OR c3 = 0", "c2 = 1", "TRUE"):
        asked = predicate(DOMAIN, where)
        table = np.random.default_rng(0).integers(0, 9, DOMAIN.shape(asked.clique))
        sides = split(asked, table)
        assert sides.sum() == table.sum()
        assert sides.flat[0] == asked.count(table)
        for cell in np.ndindex(table.shape):
            more = table.copy()
            more[cell] += 1
            moved = split(asked, more) - sides
            assert moved.max() == np.abs(moved).sum() == 1


def test_a_count_that_moves_further_than_the_test_allows_is_refused() -> None:
    class Loose(Rows):
        def moves(self, clique: tuple[int, ...]) -> Moves:
            return Moves(2, 4) if clique == (0,) else Moves(1, 1)

    stream = pmw(Loose(DOMAIN, np.zeros((5, 8), dtype=int)), rho=1)
    with pytest.raises(BadQuestion):
        stream.ask("c0 = 1")
    stream.ask("c1 = 1")


def test_budgets_in_epsilon_and_tables_by_columns() -> None:
    people = {"sex": ["f", "m"] * 100, "age": list(range(100)) * 2, "id": list(range(200))}
    domain = {"sex": ["f", "m"], "age": range(100)}
    stream = pmw(people, domain=domain, unit="id", columns=["sex"], epsilon=1, delta="1e-6", hard=2)
    assert stream.domain.columns == ("sex",)
    assert isinstance(stream.promise, Approx)
    assert stream.promise.epsilon <= 1


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"rho": 1, "hard": 0},
        {"rho": 1, "threshold": 0},
        {"epsilon": 1},
        {"rho": "1e-20"},
        {"rho": 1, "questions": 0},
    ],
)
def test_bad_parameters(given: dict[str, object]) -> None:
    with pytest.raises(BadParameter):
        pmw(rows(count=10), **given)  # type: ignore[arg-type]


# --- every sequence of replies ----------------------------------------------------------------------------------------

SMALL = Domain({"x": whole(0, 1, nullable=False), "y": whole(0, 1, nullable=False)})
MOVES = ("x = 1", "x = 1 AND y = 0", "close")


@contextmanager
def scripted(replies: tuple[bool, ...], looked: list[Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every draw has the outcome of a script; ``looked`` gets each mechanism with the exact numbers that it saw."""
    script = iter(replies)

    def release(self: Gaussian, value: Any, receipt: Any = None) -> Answer:
        receipt.redeem(self.event)
        looked.append((self, np.atleast_1d(np.asarray(value)).tolist()))
        return Answer(value=np.asarray(value) * 0 + 2, event=self.event, cost="")

    def ask(self: Run, answer: int) -> bool:
        looked.append((self, [answer]))
        reply = next(script)
        self._left -= reply
        return reply

    with monkeypatch.context() as patched:
        patched.setattr(Gaussian, "release", release)
        patched.setattr(Run, "ask", ask)
        yield


def looks(table: list[tuple[int, int]], moves: tuple[str, ...], replies: tuple[bool, ...], patch: Any) -> list[Any]:
    looked: list[Any] = []
    with scripted(replies, looked, patch):
        stream = pmw(Rows(SMALL, np.array(table, dtype=int).reshape(-1, 2)), rho=1, hard=2, threshold=1)
        closed = False
        for move in moves:
            before = len(looked)
            if move == "close":
                stream.close()
                closed = True
            else:
                stream.ask(move)
                assert not (closed and len(looked) > before)  # nothing is looked at after closing
    return looked


def loss(one: list[Any], other: list[Any]) -> Fraction:
    """What this pair of neighbours costs along one path, in zCDP; a test is one event, however often it is asked."""
    total, runs = Fraction(0), []
    assert [type(m) for m, _ in one] == [type(m) for m, _ in other]
    for (mechanism, x), (_, y) in zip(one, other, strict=True):
        moved = [a - b for a, b in zip(x, y, strict=True)]
        if isinstance(mechanism, Gaussian):
            total += Fraction(sum(m * m for m in moved)) / (2 * mechanism.sigma_squared)
        else:
            assert abs(moved[0]) <= mechanism.mechanism.sensitivity
            if mechanism not in runs:
                runs.append(mechanism)
                total += price_zcdp(mechanism.mechanism.event).rho
    return total


@pytest.mark.slow
def test_no_sequence_of_questions_and_replies_costs_more_than_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sequences of three moves, all replies of the tests, all small tables with one row more or less.

    The law of a whole stream is the product of what its draws add along a path, so a bound of every path is enough,
    also where the next question is chosen after the last reply. The twin starts a test that nobody paid for.
    """
    worst = Fraction(0)
    tables: list[list[tuple[int, int]]] = [[], [(1, 0)]]
    pairs = [(t, [*t, row]) for t in tables for row in ((1, 0), (1, 1))]
    for moves in product(MOVES, repeat=3):
        asked = sum(move != "close" for move in moves)
        for replies in product((False, True), repeat=asked):
            for one, other in pairs:
                worst = max(worst, loss(*(looks(t, moves, replies, monkeypatch) for t in (one, other))))
    assert Fraction(4, 5) < worst <= 1
    unpaid = worst + price_zcdp(pmw(rows(count=10), rho=1, hard=2)._test.event).rho
    assert unpaid > 1


def test_a_stream_is_not_copied_and_ends_at_a_fork() -> None:
    stream = pmw(rows(count=100), rho=1, hard=2)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotATheorem, match="neither copied"):
            copied(stream)
    assert stream._run is not None
    stream._run._process = os.getpid() + 1
    with pytest.raises(NotATheorem, match="process"):
        stream.ask("c0 = 1")
