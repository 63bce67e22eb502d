"""The stream: one price for all questions, honest statements, learning, and what happens at the end."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadParameter, BadQuestion
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
