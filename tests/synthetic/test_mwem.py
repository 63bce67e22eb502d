"""MWEM: prices, exact limits, and the shape of its error in the number of questions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.mwem import mwem, whole_domain
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


def test_with_much_budget_the_answers_are_near() -> None:
    asked = [f"c{i} = 1 AND c{j} = 1" for i in range(7) for j in range(i)]
    found = mwem(ROWS, asked, rho=10**6, rounds=60)
    truth = np.array([p.count(ROWS.marginals([p.clique])[0]) for p in found.questions])
    assert np.abs(found.answers - truth).max() < 0.03 * 2000
    assert abs(found.count("c0 = 1").value - ROWS.marginals([(0,)])[0][1]) < 0.05 * 2000
    assert found.count("c0 = 1").accuracy is None


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
