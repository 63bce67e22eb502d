"""The statistical-query oracle: error bars that hold, budget that ends, learners in a few lines."""

import copy
import os
import pickle
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, NotATheorem, OverBudget, ReceiptRefused
from discreet.learning.budget import event_of
from discreet.learning.estimator import WIDEST
from discreet.learning.oracle import Oracle, oracle
from discreet.learning.sums import ExactSums
from discreet.privacy.accountants.gdp import price_gdp
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.events import Pure as PureEvent
from discreet.privacy.promises.measures import GDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours

BUDGET = Approx(1, "1e-5")


def test_error_bars_cover() -> None:
    """100 answers of two entries at confidence 0.9: misses are at most binomial(100, 0.1); 35 has chance below 1e-9."""
    data = np.random.default_rng(1).uniform(0, 1, (500, 2))
    misses = 0
    for _ in range(100):
        answer = oracle(data, budget=BUDGET, queries=1).mean(lambda x: x, range=(0, 1), batched=True)
        misses += bool(np.any(np.abs(answer.value - data.mean(axis=0)) > answer.error_at(0.9)))
    assert misses < 35


def test_the_budget_ends_and_a_failed_question_costs_nothing() -> None:
    asked = oracle(np.zeros(10), budget=BUDGET, queries=3)
    with pytest.raises(BadParameter):
        asked.mean(lambda x: x, range=(1, 0))
    with pytest.raises(BadData):
        asked.mean(lambda x: "text", range=(0, 1))
    assert asked.remaining == 3
    asked.mean(lambda x: x, range=(0, 1), price=2)
    assert asked.remaining == 1
    with pytest.raises(OverBudget):
        asked.mean(lambda x: x, range=(0, 1), price=2)
    asked.mean(lambda x: x, range=(0, 1))
    with pytest.raises(OverBudget):
        asked.mean(lambda x: x, range=(0, 1))


def test_prices_add_up_to_the_budget() -> None:
    asked = oracle(np.zeros(10), budget=GDP(1), queries=4)
    spent = sum(price_gdp(asked.mean(lambda x: x, range=(0, 1)).event).mu_squared for _ in range(4))
    assert spent + asked._share(None) == 1
    assert asked.event == event_of(GDP(1))


def test_a_receipt_is_needed_once() -> None:
    receipt = Filter(GDP(1)).spend(event_of(GDP("1/2")))
    oracle(np.zeros(10), budget=GDP("1/2"), receipt=receipt)
    with pytest.raises(ReceiptRefused):
        oracle(np.zeros(10), budget=GDP("1/2"), receipt=receipt)


def test_what_lies_beyond_the_range_moves_nothing_more() -> None:
    """A row of 1e300, infinity or NaN counts as at most the end of the range: the exact cells are bounded."""
    plain = Oracle(np.array([1e300, -np.inf, np.nan, 0.0]), GDP(100), 1)
    answer = plain.mean(lambda x: x, range=(-1, 1))
    assert abs(answer.value) <= 1 + answer.error_at(0.999999)


@pytest.mark.parametrize("bad", [np.array(3.0), np.zeros((0, 2))])
def test_data_without_rows_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(BadData):
        oracle(bad, budget=BUDGET)


def test_one_row_of_a_list_changes_no_other() -> None:
    """A list holds numbers: numpy makes text of all of them for one text among them."""
    with pytest.raises(BadData, match="a list of rows"):
        oracle([1, 2, "x"], budget=BUDGET)
    seen: list[float] = []
    oracle([2**53 + 1, 3], budget=BUDGET).mean(lambda x: seen.append(x) or 0, range=(0, 1))  # type: ignore[func-returns-value]
    assert seen == [2.0**53, 3.0]  # as they would be beside 0.5


def test_answers_that_cannot_be_bounded_are_refused() -> None:
    asked = oracle(np.zeros(2), budget=BUDGET)
    with pytest.raises(BadParameter, match="range"):
        asked.mean(lambda x: x, range=("-1e400", "1e400"))
    for f in (lambda x: 10**400, lambda x: np.zeros(WIDEST + 1)):
        with pytest.raises(BadData, match="f must give"):
            asked.mean(f, range=(0, 1))
    assert asked.remaining == 100


ASKED: dict[str, dict[str, Any]] = {
    "number": {"f": lambda x: x, "range": (0, 1)},
    "short vector": {"f": lambda x: [x, 1 - x, 7 * x], "range": (0, 1), "length": "1/2"},
    "vector": {"f": lambda x: [x, -x], "range": (-1, 1)},
    "dear": {"f": lambda x: 1 - x, "range": (0, 1), "price": 2},
}


@pytest.mark.slow
def test_no_sequence_of_questions_costs_more_than_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sequences of three questions, small tables with one row more: what moved, in all that is released.

    Given what was answered the next question is the same on both sides, so a bound of every sequence is one of every
    strategy. In units of the noise a release of sums x, y moves by |x - y|² (share of the budget) / moves². The twin
    answers once more.
    """
    looked: list[tuple[Any, Fraction]] = []

    def release(exact: ExactSums, square: Fraction) -> tuple[np.ndarray, float]:
        looked.append((exact, square))
        return np.full(exact.values.shape, 2.0), 1.0

    monkeypatch.setattr("discreet.learning.oracle_noise.release", release)

    def looks(table: list[float], names: tuple[str, ...]) -> list[tuple[Any, Fraction]]:
        looked.clear()
        asked = oracle(np.array(table), budget=GDP(1), queries=2)
        for name in names:
            with suppress(OverBudget):
                asked.mean(**ASKED[name])
        return list(looked)

    def loss(one: list[tuple[Any, Fraction]], other: list[tuple[Any, Fraction]]) -> Fraction:
        total = Fraction(0)
        for (x, square), (y, same) in zip(one, other, strict=True):
            assert square == same
            assert x.moves_squared == y.moves_squared
            total += sum(int(m) ** 2 for m in (x.values - y.values).ravel()) * square / x.moves_squared
        return total

    worst, twin = Fraction(0), Fraction(0)
    for names in product(ASKED, repeat=3):
        for table, row in product(([0.25],), (0.0, 1.0)):
            one, other = (looks(rows, names) for rows in (table, [*table, row]))
            worst = max(worst, loss(one, other))
            twin = max(twin, loss([*one, one[-1]], [*other, other[-1]]))
    assert Fraction(99, 100) < worst <= 1 < twin


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy, pickle.dumps], ids=["copy", "deepcopy", "pickle"])
def test_a_budget_is_there_once(made: Any) -> None:
    """A shallow copy had what was left a second time: two answers for the price of one."""
    asked = oracle(np.zeros(10), budget=BUDGET, queries=1)
    with pytest.raises(NotATheorem, match="neither copied nor stored"):
        made(asked)
    asked.mean(lambda x: x, range=(0, 1))
    with pytest.raises(OverBudget):
        asked.mean(lambda x: x, range=(0, 1))


def test_a_budget_without_that_rule_is_found_to_answer_twice() -> None:
    """The planted twin: what may be copied answers once for each copy."""

    class Copied(Oracle):
        def __copy__(self) -> Oracle:
            again = Oracle.__new__(Copied)
            again.__dict__.update(self.__dict__)
            return again

    asked = Copied(np.zeros(10), BUDGET, 1)
    for one in (copy.copy(asked), asked):
        one.mean(lambda x: x, range=(0, 1))


def test_a_fork_does_not_double_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = oracle(np.zeros(10), budget=BUDGET, queries=1)
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(NotATheorem, match="fork"):
        asked.mean(lambda x: x, range=(0, 1))
    monkeypatch.undo()
    asked.mean(lambda x: x, range=(0, 1))


def test_laplace_noise_for_a_budget_in_epsilon() -> None:
    """Amounts are epsilons that add up exactly; the oracle's event is the whole."""
    asked = oracle(np.zeros(10), budget=Pure("1/2"), queries=4)
    spent = [asked.mean(lambda x: x, range=(0, 1)).event for _ in range(4)]
    assert spent == [PureEvent("1/10")] * 4
    assert asked.event == PureEvent("1/2").about(Neighbours.ADD_REMOVE)
    assert asked.remaining == 0
    with pytest.raises(OverBudget, match=r"epsilon 0.1.*epsilon 0"):
        asked.mean(lambda x: x, range=(0, 1))
    oracle(np.zeros(10), budget=Pure("1/2"), receipt=Filter(Pure(1)).spend(asked.event))


@pytest.mark.slow
def test_error_bars_of_laplace_noise_cover() -> None:
    """100 answers of two entries at confidence 0.9: misses are at most binomial(100, 0.1); 35 has chance below 1e-9."""
    data = np.random.default_rng(1).uniform(0, 1, (500, 2))
    misses = 0
    for _ in range(100):
        answer = oracle(data, budget=Pure(1), queries=1).mean(lambda x: x, range=(0, 1), batched=True)
        misses += bool(np.any(np.abs(answer.value - data.mean(axis=0)) > answer.error_at(0.9)))
    assert misses < 35


@pytest.mark.slow
def test_error_grows_like_k_for_epsilon_and_like_its_root_for_mu() -> None:
    data = np.zeros(10**6)

    def bar(budget: Pure | GDP, queries: int) -> float:
        return oracle(data, budget=budget, queries=queries).mean(lambda x: x, range=(0, 1), batched=True).error_at(0.95)

    assert 9 < bar(Pure(1), 99) / bar(Pure(1), 9) < 11
    assert 3 < bar(GDP(1), 99) / bar(GDP(1), 9) < 3.4
