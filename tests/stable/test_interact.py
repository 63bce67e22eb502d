"""Questions one after the other: against a model in exact numbers, from many threads, and paid before drawn."""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import stable
from discreet.errors import BadData, BadParameter, NoPrice, NotATheorem, OverBudget
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import Laplace, laplace
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.promises.events.base import restated
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.stable import CHANGE, EDIT, IN_PLACE, Release, units
from discreet.stable.core.release import Measured
from discreet.stable.interact import interact

ROWS = [3, 1, 4, 1, 5]


def question(epsilon: Any) -> Release:
    return stable.count() >> laplace(epsilon=epsilon)


@pytest.mark.slow
@given(st.lists(st.fractions(min_value="1/50", max_value=2), max_size=12), st.fractions(min_value="1/10", max_value=3))
@settings(max_examples=50, deadline=None)
def test_against_a_model(prices: list[Fraction], budget: Fraction) -> None:
    session = interact(ROWS, Pure(budget))
    spent, answered = Fraction(0), 0
    for price in prices:
        if spent + price <= budget:
            assert isinstance(session.ask(question(price)).value, int)
            spent, answered = spent + price, answered + 1
        else:
            with pytest.raises(OverBudget):
                session.ask(question(price))
        assert session.charged == Pure(spent)
        assert session.remaining == Pure(budget - spent)
    assert len(session.history) == answered
    assert [asked.receipt.number for asked in session.history] == list(range(1, answered + 1))
    assert session.budget == Pure(budget)


def test_the_next_question_may_depend_on_the_last_answer() -> None:
    session = interact(list(range(100)), Pure(1))
    size = int(session.ask(question("1/2")).value)
    upper = stable.filter(lambda x: x >= size // 2) >> stable.count() >> laplace(epsilon="1/2")
    answer = session.ask(upper)
    assert session.remaining == Pure(0)
    assert answer.receipt is not None
    assert answer.receipt.used
    assert session.history[1].answer is answer
    assert session.history[1].story == upper.story()


def test_a_refusal_looks_at_nothing_and_changes_nothing() -> None:
    looked: list[Any] = []
    session = interact(ROWS, Pure("1/2"))
    with pytest.raises(OverBudget):
        session.ask(stable.filter(looked.append) >> stable.count() >> laplace(epsilon=1))
    assert looked == []
    assert session.charged == Pure(0)
    assert session.history == ()


def test_what_fails_after_payment_stays_paid() -> None:
    session = interact(ROWS, Pure(1))
    broken = question("1/2").then(lambda value: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        session.ask(broken)
    assert session.remaining == Pure("1/2")
    assert session.history[0].answer is None


def test_many_threads_never_overspend() -> None:
    session = interact(ROWS, Pure(1))
    answers: list[Any] = []
    refusals: list[OverBudget] = []
    start = threading.Barrier(8)

    def analyst() -> None:
        start.wait()
        for _ in range(5):
            try:
                answers.append(session.ask(question("1/20")))
            except OverBudget as refused:
                refusals.append(refused)

    threads = [threading.Thread(target=analyst) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(answers), len(refusals), len(session.history)) == (20, 20, 20)
    assert session.remaining == Pure(0)
    assert sorted(asked.receipt.number for asked in session.history) == list(range(1, 21))


def test_budgets_of_other_kinds() -> None:
    concentrated = interact(ROWS, ZCDP("1/2"))
    concentrated.ask(stable.count() >> gaussian(rho="1/4"))
    concentrated.ask(question("1/10"))  # a pure release has a rho too
    left = concentrated.remaining
    assert isinstance(left, ZCDP)
    assert Fraction(1, 5) < left.rho < Fraction(1, 4)
    approx = interact(ROWS, Approx(1, "1e-6"), rule=Rule.ZCDP)
    approx.ask(stable.count() >> gaussian(rho="1/1000"))
    with pytest.raises(NoPrice):
        interact(ROWS, Pure(1)).ask(stable.count() >> gaussian(rho="1/1000"))
    shared = Filter(Pure(1))
    one, two = interact(ROWS, shared), interact([9], shared)
    one.ask(question("1/2"))
    two.ask(question("1/2"))
    with pytest.raises(OverBudget):
        one.ask(question("1/100"))


def test_the_budget_is_for_one_relation() -> None:
    changing = interact(ROWS, Pure(1), neighbours=Neighbours.CHANGE_ONE)
    assert changing.metric == CHANGE
    with pytest.raises(BadParameter, match="must be priced for rows changed"):
        changing.ask(question("1/2"))
    changing.ask(stable.sum(bounds=(0, 9), neighbours=Neighbours.CHANGE_ONE) >> laplace(epsilon="1/2"))
    people = interact([{"id": 1, "x": 3}], Pure(1), neighbours=units("id"))
    people.ask(stable.cap_rows(2, unit="id") >> stable.count() >> laplace(epsilon=1))
    with pytest.raises(BadParameter, match="units by 'id'"):
        people.ask(question("1/2"))


def test_a_sequence_is_one_question() -> None:
    session = interact(ROWS, Pure(1))
    session.ask(stable.sequential([question("1/4"), question("1/4")]))
    session.ask(stable.parallel({3: question("1/2"), 1: question("1/2")}))
    assert session.remaining == Pure(0)


def test_later_changes_of_the_list_are_other_data() -> None:
    rows = [1] * 50
    session = interact(rows, Pure(100))
    rows.clear()
    assert session.ask(question(60)).value == 50


@pytest.mark.parametrize("rule", [None, Rule.BASIC])
def test_gaussian_noise_made_for_the_budget_is_paid_from_it(rule: Rule | None) -> None:
    """A9: a Gaussian for (1, 1e-6) is refused by no (1, 1e-6) budget; and it is all of it."""
    session = interact(ROWS, Approx(1, "1e-6"), rule=rule)
    made = stable.count() >> gaussian(epsilon=1, delta="1e-6")
    assert made.cost() == Approx(1, "1e-6")
    answer = session.ask(made)
    assert answer.cost == "epsilon 1, delta 1e-06"
    assert session.remaining == Approx(0, 0)
    with pytest.raises(OverBudget):
        session.ask(question("0.001"))


def test_gaussian_noise_of_a_vector_made_for_a_part_of_the_budget() -> None:
    session = interact(ROWS, Approx(1, "1e-6"))
    for _ in range(3):
        session.ask(stable.count_by([1, 2, 3]) >> gaussian(epsilon="0.2", delta="1e-7"))
    by_sum, by_rho = session.remaining_by_account
    assert by_sum == Approx("0.4", "2e-7")
    assert isinstance(by_rho, ZCDP)
    assert by_rho.rho < Fraction(2, 100)


def test_bad_input() -> None:
    with pytest.raises(BadData, match="must be a list"):
        interact("rows", Pure(1))
    with pytest.raises(BadParameter, match="budget"):
        interact(ROWS, 1)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="rule"):
        interact(ROWS, Filter(Pure(1)), rule=Rule.BASIC)
    session = interact(ROWS, Pure(1))
    for wrong in (stable.count(), laplace(sensitivity=1, epsilon=1), 5):
        with pytest.raises(BadParameter, match="must be a release"):
            session.ask(wrong)  # type: ignore[arg-type]
    grouped = stable.count().after(stable.group_by(["a"]).output_domain, stable.ADD_REMOVE) >> laplace(epsilon=1)
    with pytest.raises(BadParameter, match="must take rows"):
        session.ask(grouped)
    assert session.charged == Pure(0)


# --- one filter for two relations -----------------------------------------------------------------------------------


def worst_loss(noises: list[Laplace]) -> float:
    """A certified lower bound of the loss of histograms of one row, whose key changes: counts (1, 0) become (0, 1)."""
    ratio = Fraction(1)
    for noise in noises:
        here, there = noise.law(1), noise.law(0)
        ratio *= max(here[z][0] / there[z][1] for z in range(-3, 4)) * max(
            there[z][0] / here[z][1] for z in range(-3, 4)
        )
    return math.log(ratio)


def histogram_at(neighbours: Neighbours) -> Measured:
    return stable.count_by(["a", "b"], neighbours=neighbours) >> laplace(epsilon="1/2")


def test_a_filter_that_two_relations_share_is_refused() -> None:
    """Half for added rows and half for changed rows: for changed rows that is 3/2, and the budget is 1."""
    added, changed = map(histogram_at, Neighbours)
    assert worst_loss([cast(Laplace, release.mechanism) for release in (added, changed)]) > 1.4999

    blind = Filter(Pure(1))  # planted: the same charges without their relation, as a filter once saw them
    for release in (added, changed):
        blind.spend(restated(release.event(), None))
    assert blind.remaining == Pure(0)

    shared = Filter(Pure(1))
    interact(["a"], shared, neighbours=Neighbours.CHANGE_ONE).ask(changed)
    for relation in (None, Neighbours.ADD_REMOVE, EDIT, IN_PLACE, units("person")):
        with pytest.raises(NotATheorem, match="neighbours"):
            interact(["a"], shared, neighbours=relation)
    with pytest.raises(NotATheorem, match="neighbours"):
        shared.spend(added.event())
    assert shared.charged == Pure("1/2")
    interact(["a"], shared, neighbours=Neighbours.CHANGE_ONE).ask(changed)


def test_units_by_different_functions_are_different_units() -> None:
    spending = Filter(Pure(1))
    interact(["ab"], spending, neighbours=units(lambda row: row[0]))
    with pytest.raises(NotATheorem, match="neighbours"):
        interact(["ab"], spending, neighbours=units(lambda row: row[1]))
