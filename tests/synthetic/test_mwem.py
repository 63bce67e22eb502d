"""MWEM: prices, exact limits, and the shape of its error in the number of questions."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.answer import Answer
from discreet.errors import BadParameter
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.mechanisms.selection.exponential import Exponential
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.mwem import _rounds, mwem, whole_domain
from discreet.synthetic.source import Rows

DOMAIN = Domain({f"c{i}": whole(0, 1, nullable=False) for i in range(7)})
DRAW = np.random.default_rng(11)
ROWS = Rows(DOMAIN, (DRAW.random((2000, 7)) < np.linspace(0.1, 0.6, 7)).astype(int))
COUNTS = ROWS.marginals([tuple(range(7))])[0].ravel()


def random_questions(k: int) -> list[NDArray[Any]]:
    return list(DRAW.random((k, 128)) < 0.5)


def test_all_events_together_cost_no_more_than_the_budget() -> None:
    for rounds in (1, 7):
        found = mwem(ROWS, ["c0 = 1", "c1 = 1 AND c2 = 0", "c5 = 1 OR c6 = 1"], rho="1/10", rounds=rounds)
        booked = price_zcdp(events.Composed([event for _, event in found.spending.events])).rho
        assert Fraction(99, 1000) < booked <= Fraction(1, 10)
        assert len(found.spending.events) == 1 + 2 * rounds


@pytest.mark.slow
def test_with_much_budget_the_answers_are_near() -> None:
    asked = [f"c{i} = 1 AND c{j} = 1" for i in range(7) for j in range(i)]
    found = mwem(ROWS, asked, rho=10**6, rounds=60)
    truth = np.array([p.count(ROWS.marginals([p.clique])[0]) for p in found.questions])
    assert np.abs(found.answers - truth).max() < 0.03 * 2000
    assert abs(found.count("c0 = 1").value - ROWS.marginals([(0,)])[0][1]) < 0.05 * 2000
    assert found.count("c0 = 1").accuracy is None


@pytest.mark.slow
def test_many_questions_cost_little_more_than_few() -> None:
    """From 64 to 4,096 arbitrary questions independent noise grows eightfold; here the worst error far less."""

    def worst(k: int) -> float:
        tables = random_questions(k)
        found = mwem(ROWS, [whole_domain(DOMAIN, t) for t in tables], rho="1/50", rounds=12)
        return float(np.abs(found.answers - np.array([COUNTS[t].sum() for t in tables])).max())

    few, many = worst(64), worst(4096)
    independent = np.sqrt(4096 / (2 / 50))  # sigma of one of 4,096 answers
    assert many < 6 * few  # less than twice on average
    assert many < 2 * independent  # whose largest of 4,096 is about 3.7 sigma


def test_a_table_with_its_domain_is_taken_as_everywhere() -> None:
    table = {"id": [1, 1, 2, 3], "x": [0, 0, 1, 3]}
    found = mwem(table, ["x < 2"], domain={"x": range(4)}, unit="id", max_rows=1, rho=10**6, rounds=1)
    assert found.answers.round().tolist() == [2]
    with pytest.raises(BadParameter, match="domain"):
        mwem(table, ["x < 2"], rho=1)


def test_cancelling_stops_early() -> None:
    found = mwem(ROWS, ["c0 = 1"], rho=1, rounds=10, cancel=lambda: True)
    assert found.spending.charged.rho < Fraction(2, 100)


@pytest.mark.parametrize("questions", [[], "c0 = 1", ["c9 = 1"]])
def test_bad_questions(questions: list[str]) -> None:
    with pytest.raises(BadParameter):
        mwem(ROWS, questions, rho=1)


def test_a_table_of_the_whole_domain() -> None:
    with pytest.raises(BadParameter):
        whole_domain(DOMAIN, np.ones(5, dtype=bool))
    with pytest.raises(BadParameter):
        whole_domain(DOMAIN, np.ones(128))


@pytest.mark.slow
def test_no_sequence_of_choices_costs_more_than_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """All choices of two rounds, all small tables with one row more: the price of what moved, along every path.

    A choice costs at most ε²/8 with ε twice its rate times how far scores move. The twin sees scores of two rows.
    """
    small = Domain({"x": whole(0, 1, nullable=False)})
    looked: list[tuple[Any, list[int]]] = []
    script: list[int] = []

    def measured(self: Gaussian, value: Any, receipt: Any = None) -> Answer:
        receipt.redeem(self.event)
        looked.append((self, np.atleast_1d(np.asarray(value)).tolist()))
        return Answer(value=np.asarray(value) * 0 + 1, event=self.event, cost="")

    def chosen(self: Exponential, value: Any, receipt: Any = None) -> Answer:
        receipt.redeem(self.event)
        looked.append((self, list(value)))
        return Answer(value=script.pop(0), event=self.event, cost="")

    monkeypatch.setattr(Gaussian, "release", measured)
    monkeypatch.setattr(Exponential, "release", chosen)

    def looks(table: list[int], path: tuple[int, ...]) -> list[tuple[Any, list[int]]]:
        looked.clear()
        script[:] = path
        mwem(Rows(small, np.array(table, dtype=int).reshape(-1, 1)), ["x = 0", "x = 1"], rho=1, rounds=2)
        return list(looked)

    def loss(one: list[int], other: list[int], path: tuple[int, ...]) -> Fraction:
        total = Fraction(0)
        for (mechanism, x), (_, y) in zip(looks(one, path), looks(other, path), strict=True):
            moved = [abs(a - b) for a, b in zip(x, y, strict=True)]
            if isinstance(mechanism, Gaussian):
                total += Fraction(sum(m * m for m in moved)) / (2 * mechanism.sigma_squared)
            else:
                total += (2 * mechanism.rate * max(moved)) ** 2 / 8
        return total

    tables: list[list[int]] = [[], [0], [0, 1], [1, 1]]
    paths = list(product((0, 1), repeat=2))
    one_more = [loss(t, [*t, row], path) for t in tables for row in (0, 1) for path in paths]
    assert Fraction(9, 10) < max(one_more) <= 1
    assert max(loss(t, [*t, 0, 0], path) for t in tables for path in paths) > 1


def test_rounds_follow_from_rows_and_questions() -> None:
    """Four times the rows, four times the rounds; more questions, fewer; never more than twice what can be measured.

    Where a round costs much, no more than its cost allows: a fourth of the rounds for sixteen times the cells.
    """
    rho = Fraction(1, 40)
    assert _rounds(8_000, 1024, 128, rho) == 4 * _rounds(2_000, 1024, 128, rho) == 88
    assert _rounds(2_000, 64, 128, rho) > _rounds(2_000, 4096, 128, rho)
    assert _rounds(10**9, 10, 128, rho) == 20
    assert _rounds(10**9, 10**6, 5, rho) == 10
    assert _rounds(1, 10**6, 128, rho) == 4
    assert _rounds(10**9, 10**6, 1 << 16, rho) == 1024
    assert _rounds(10**9, 10**6, 1 << 20, rho) == 256
    assert _rounds(10**9, 10**6, 1 << 24, rho) == 150


SMALL = Domain({"x": whole(0, 3, nullable=False)})
SEVEN = ["x = 0", "x = 1", "x = 2", "x = 3", "x < 2", "x > 0", "x < 3"]


@pytest.mark.parametrize(("rows", "rounds"), [(2, 4), (2000, 8)], ids=["few", "many"])
def test_the_number_of_rounds_is_chosen_after_the_noisy_total(rows: int, rounds: int) -> None:
    """2 rows balance after 4 rounds (but for noise beyond 6 sigma, 1e-9); 2,000 take twice the four cells."""
    weighted = mwem(Rows(SMALL, np.zeros((rows, 1), dtype=int)), SEVEN, rho="1/10")
    assert len(weighted.spending.events) == 1 + 2 * rounds


def test_a_unit_with_many_rows_counts_as_one_step() -> None:
    """The noise is in steps of one unit: 1,000 rows, up to 100 of a unit, are as few as 10 (5.9 sigma, 1e-8)."""
    weighted = mwem(Rows(SMALL, np.zeros((1000, 1), dtype=int), max_rows=100), SEVEN, rho="1/10")
    assert len(weighted.spending.events) == 1 + 2 * 4
