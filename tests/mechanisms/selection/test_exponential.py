"""The exponential mechanism: its law by enumeration, its range, its price under zCDP, its sampler."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.exact import exp_down, exp_up
from discreet.mechanisms.selection.exponential import Exponential, exponential
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from tests.helpers.laws import any_broken, drawn, is_a_law, middle, misfit, same_way, vectors, within
from tests.helpers.truth import ball, precise

SCORES = list(vectors(range(4), 3))
WITHIN_1, WITHIN_2, SAME_WAY = within(1), within(2), same_way(1)


def laws(m: Exponential) -> dict[tuple[int, ...], dict[int, tuple[Fraction, Fraction]]]:
    return {s: m.law(m.read(list(s))) for s in SCORES}


@pytest.mark.parametrize("scores", [[0], [0, 0], [3, 1, 2], [0, 10, 10], [-5, 5, 0, 1]])
def test_the_law_is_the_softmax(scores: list[int]) -> None:
    m = exponential(sensitivity=2, epsilon=3)
    law = m.law(m.read(scores))
    assert is_a_law(law)
    with precise():
        weights = [(ball(Fraction(3, 4)) * s).exp() for s in scores]
        for i, w in enumerate(weights):
            p = w / sum(weights)
            assert not p < ball(law[i][0])
            assert not p > ball(law[i][1])


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/4", 1, 3])
def test_no_neighbours_break_the_promise_and_less_is_broken(epsilon: str) -> None:
    m = exponential(sensitivity=1, epsilon=epsilon)
    assert m.epsilon == Fraction(epsilon)
    found = laws(m)
    assert not any_broken(found, WITHIN_1, m.epsilon)
    assert any_broken(found, WITHIN_1, m.epsilon / 2)  # three candidates attain more than half
    assert any_broken(laws(replace(m, rate=m.rate / Fraction(7, 10))), WITHIN_1, m.epsilon)  # noise x 0.7
    assert any_broken(found, WITHIN_2, m.epsilon)  # sensitivity off by two


@pytest.mark.parametrize("epsilon", ["1/4", 1])
def test_monotone_scores_pay_half(epsilon: str) -> None:
    m = exponential(sensitivity=1, epsilon=epsilon, monotone=True)
    assert m.rate == Fraction(epsilon)
    found = laws(m)
    assert not any_broken(found, SAME_WAY, m.epsilon)
    assert any_broken(found, WITHIN_1, m.epsilon)  # scores that move both ways are not monotone


def ranges(m: Exponential) -> Fraction:
    """The largest range of the loss over all neighbours, as a lower bound of its exponential."""
    found = laws(m)
    return max(
        found[x][i][0] / found[y][i][1] * found[y][j][0] / found[x][j][1]
        for x, y in product(SCORES, SCORES) if WITHIN_1(x, y)
        for i, j in product(range(3), range(3))
    )  # fmt: skip


@pytest.mark.slow
def test_the_loss_has_range_epsilon() -> None:
    m = exponential(sensitivity=1, epsilon=1)
    assert exp_down(Fraction(99, 100)) < ranges(m) <= exp_up(m.epsilon)


@pytest.mark.parametrize("order", [2, 3, 8])
def test_the_zcdp_price_holds_at_every_order(order: int) -> None:
    m = exponential(sensitivity=1, epsilon=2)
    rho = price_zcdp(m.event).rho
    assert rho <= m.epsilon**2 / 8
    found = {s: middle(law) for s, law in laws(m).items()}
    worst = max(
        sum(found[x][i] ** order * found[y][i] ** (1 - order) for i in range(3))
        for x, y in product(SCORES, SCORES)
        if WITHIN_1(x, y)
    )
    assert worst <= float(exp_up(order * (order - 1) * rho)) * (1 + 1e-9)


def test_two_of_three() -> None:
    assert exponential(sensitivity=2, epsilon=1) == exponential(sensitivity=2, rate="1/4")
    assert exponential(epsilon=1, rate="1/4") == exponential(sensitivity=2, epsilon=1)
    assert exponential(sensitivity=2, rate="1/4").event == events.Exponential(1)
    assert exponential(sensitivity=1, epsilon=1).event_at(3) == events.Exponential(3)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"epsilon": 0}, {"sensitivity": 1}, {"rate": -1}, {"epsilon": 1, "rate": 1, "sensitivity": "1/2"},
        {"epsilon": 1, "monotone": 1},
        {"epsilon": 0, "sensitivity": 1}, {"epsilon": 1, "sensitivity": 0}, {"epsilon": -1, "sensitivity": 1},
        {"epsilon": float("nan"), "sensitivity": 1}, {"epsilon": 1, "sensitivity": 1, "monotone": 1},
    ],
)  # fmt: skip
def test_bad_parameters(given: dict[str, float]) -> None:
    with pytest.raises(BadParameter):
        exponential(**given)  # type: ignore[call-overload]


@pytest.mark.slow
@pytest.mark.parametrize("scores", [[0, 1, 3], [Fraction(1, 3), 2, -1, 0]])
def test_the_sampler_has_the_law(scores: list[int]) -> None:
    m = exponential(sensitivity=1, epsilon=1)
    law = m.law(m.read(scores))
    draws = drawn(m, scores, 30_000)
    assert misfit(draws, law) < 1
    assert misfit(drawn(replace(m, rate=m.rate / Fraction(7, 10)), scores, 10_000), law) > 1
    assert misfit([(i + 1) % len(scores) for i in draws], law) > 1


def test_extreme_scores_neither_overflow_nor_underflow() -> None:
    m = exponential(sensitivity=1, epsilon="1e-3")
    assert m.release([0] * 5000 + [10**6]).value == 5000
    assert m.release([-(10**400), 10**400, 0]).value == 1
    assert m.release(np.array([-(2**63), 2**63 - 1])).value == 1
    assert m.release(np.array([0, 2**64 - 1], dtype=np.uint64)).value == 1
    assert m.release([Fraction(1, 10**2000), Fraction(10**9)]).value == 1


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.999"])
def test_the_gap_covers_its_worst_case_and_no_less_does(n: int, confidence: str) -> None:
    m = exponential(sensitivity=1, epsilon=1)
    gap = Fraction(m.gap_at(confidence, n))

    def missed(g: Fraction) -> Fraction:
        """P[chosen score is below the best by g or more], at the worst scores: all others exactly g below."""
        law = m.law(m.read([Fraction(0)] + [-g] * (n - 1)))
        return sum((low for i, (low, _) in law.items() if i), Fraction(0))

    assert missed(gap * Fraction(1000001, 1000000)) <= 1 - Fraction(confidence)
    if gap > 0:
        assert missed(gap * Fraction(99, 100)) > 1 - Fraction(confidence)
    assert m.gap_at(confidence, 1) == 0
