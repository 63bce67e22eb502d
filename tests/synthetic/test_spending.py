"""What a look costs: scores against all small neighbours, the right price of a choice, and the sum in one filter."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.checking import check
from discreet.errors import BadParameter, OverBudget
from discreet.mechanisms.selection.exponential import Exponential
from discreet.mechanisms.statistics.budget import Moves
from discreet.privacy.accountants.compose import compose
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.synthetic.aim import score
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.source import Rows
from discreet.synthetic.spending import Spending, choice_for, gaussian_for, read_budget

DOMAIN = Domain({"x": whole(0, 1, nullable=False), "y": whole(0, 1, nullable=False)})
CELLS = list(product((0, 1), (0, 1)))
CANDIDATES = {(0,): 1, (1,): 2, (0, 1): 3}
EXPECTED = {(0,): np.array([2, 0]), (1,): np.array([0, 1]), (0, 1): np.array([[1, 0], [0, 1]])}


def scores(table: list[tuple[int, int]]) -> list[int]:
    rows = Rows(DOMAIN, np.array(table, dtype=np.int64).reshape(-1, 2))
    exact = rows.marginals(list(CANDIDATES))
    return [score(h, EXPECTED[c], CANDIDATES[c], 1.5) for c, h in zip(CANDIDATES, exact, strict=True)]


NEIGHBOURS = [
    (scores(list(table)), scores([*table, row]))
    for n in range(4)
    for table in product(CELLS, repeat=n)
    for row in CELLS
]


def test_scores_move_no_further_than_weight_times_the_marginal() -> None:
    moved = np.array([[abs(a - b) for a, b in zip(x, y, strict=True)] for x, y in NEIGHBOURS]).max(axis=0)
    assert moved.tolist() == list(CANDIDATES.values())


def test_scores_are_not_monotone() -> None:
    signs = [{np.sign(b - a) for a, b in zip(x, y, strict=True)} for x, y in NEIGHBOURS]
    assert any({-1, 1} <= s for s in signs)


@pytest.mark.slow
def test_a_choice_keeps_its_price_and_the_price_of_a_monotone_one_is_refuted() -> None:
    ours = choice_for(Fraction(1, 8), max(CANDIDATES.values()))
    assert price_zcdp(ours.event).rho <= Fraction(1, 8)
    assert check(ours, pairs=NEIGHBOURS[:200]).ok
    twin = Exponential(sensitivity=ours.sensitivity, rate=2 * ours.rate)  # e^(ε score / Δ), booked as ε²/8
    assert not check(twin, pairs=NEIGHBOURS[:200], claim=ours.event).ok


@pytest.mark.parametrize("order", [2, 4])
def test_the_booked_rho_holds_at_every_order_and_the_twin_breaks_it(order: int) -> None:
    """Two candidates of weight 1, one of which goes up and the other down: the worst case for a choice."""
    ours = choice_for(Fraction(1, 2), 1)

    def renyi(m: Exponential) -> float:
        p, q = ([float(sum(b)) / 2 for b in m.law(m.read(s)).values()] for s in ([0, 0], [1, -1]))
        return float(np.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1))

    assert renyi(ours) <= order * 0.5
    assert renyi(Exponential(sensitivity=ours.sensitivity, rate=2 * ours.rate)) > 1.4 * order * 0.5


@pytest.mark.parametrize("rho", [Fraction(1, 7), Fraction(3, 10**7), Fraction(5)])
def test_noise_costs_at_most_what_was_given_and_hardly_less(rho: Fraction) -> None:
    for moves in (Moves(1, 1), Moves(3, 9)):
        for dimension in (1, 10):
            assert rho * Fraction(999, 1000) < gaussian_for(rho, moves, dimension).rho <= rho
    assert rho * Fraction(999, 1000) < price_zcdp(choice_for(rho, 3).event).rho <= rho


def test_all_events_together_are_what_was_spent() -> None:
    spending = Spending.of(Fraction(1))
    exact = np.array([[5, 0], [3, 1]], dtype=np.int64)
    spending.measure((0, 1), exact, Moves(1, 1), Fraction(1, 4), "a table")
    spending.choose([1, 2, 3], 1, Fraction(1, 4), "one")
    spending.measure((), np.array(9), Moves(2, 4), Fraction(1, 4), "a total")
    booked = [event for _, event in spending.events]
    assert price_zcdp(events.Composed(booked)).rho == spending.charged.rho <= Fraction(3, 4)
    assert spending.left >= Fraction(1, 4)
    before = spending.charged
    with pytest.raises(OverBudget):
        spending.measure((0, 1), exact, Moves(1, 1), Fraction(1, 2), "too much")
    assert spending.charged == before
    assert len(spending.events) == 3


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1/12000000"), (3, "1e-5"), (1, "1e-9"), ("1/2", "1e-6")])
def test_the_promise_is_the_budget_from_the_start_to_the_end(epsilon: Any, delta: str) -> None:
    """Whatever was charged by then: when a run stops may follow from its answers, and a filter is no odometer."""
    rho, asked = read_budget(epsilon, delta, None)
    spending = Spending.of(rho)
    assert spending.promise(asked) == asked == Approx(epsilon, delta)
    assert spending.promise(None) == ZCDP(rho)
    spending.measure((0,), np.zeros(300, dtype=np.int64), Moves(1, 1), rho, "all")
    assert spending.promise(asked) == asked
    assert compose([event for _, event in spending.events]).epsilon(delta).lower <= asked.epsilon
    assert Spending.pure(Fraction(1)).promise(None) == Pure(1)


def test_no_noise_in_the_limit_and_the_law_otherwise() -> None:
    exact = np.arange(6, dtype=np.int64).reshape(2, 3)
    found = Spending.of(Fraction(10**9)).measure((0, 1), exact, Moves(1, 1), Fraction(10**9), "all")
    assert (found.noisy == exact).all()
    wide = Spending.of(Fraction(1)).measure((0,), np.zeros(10_000, dtype=np.int64), Moves(1, 1), Fraction(1, 200), "x")
    assert wide.variance == 100
    # the mean square of 10,000 Gaussians of variance 100 leaves this interval with probability below 1e-9
    assert 90 < float((wide.noisy**2).mean()) < 110
    assert not 90 < float(((wide.noisy * 0.7) ** 2).mean()) < 110  # noise x 0.7 would be seen


def test_a_budget_for_noise_beyond_64_bits_is_refused_and_nothing_is_spent() -> None:
    spending = Spending.of(Fraction(1))
    with pytest.raises(BadParameter, match="64 bits"):
        spending.measure((0,), np.zeros(3, dtype=np.int64), Moves(1, 1), Fraction(1, 1 << 110), "x")
    assert not spending.events


@pytest.mark.parametrize(
    "given",
    [(None, None, None), (1, None, None), (1, 0, None), (1, "1e-9", 1), (0, "1e-9", None), (None, None, 0)],
)
def test_bad_budgets(given: tuple[object, object, object]) -> None:
    with pytest.raises(BadParameter):
        read_budget(*given)  # type: ignore[arg-type]
