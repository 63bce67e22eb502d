"""Permute-and-flip: its law from all orders and coins, its price (not that of a bounded range), its sampler."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from math import factorial
from typing import Any

import pytest
from flint import arb

from discreet.errors import BadParameter
from discreet.exact import exp_down, exp_up
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.permute_and_flip import PermuteAndFlip, permute_and_flip
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from tests.helpers.extent import extent
from tests.helpers.laws import any_broken, drawn, is_a_law, middle, misfit, same_way, vectors, within
from tests.helpers.truth import ball, exp_minus, precise

SCORES = list(vectors(range(4), 3))
WITHIN_1 = within(1)


def laws(m: PermuteAndFlip) -> dict[tuple[int, ...], dict[int, tuple[Fraction, Fraction]]]:
    return {s: m.law(m.read(list(s))) for s in SCORES}


def by_definition(scores: list[int], rate: Fraction) -> list[Any]:
    """All orders, and in each the first heads: straight from algorithm 1 of McKenna and Sheldon."""
    best, n = max(scores), len(scores)
    coins = [exp_minus(rate * (best - s)) for s in scores]
    law = [arb(0)] * n
    for order in permutations(range(n)):
        alive = arb(1) / factorial(n)
        for i in order:
            law[i] += alive * coins[i]
            alive *= 1 - coins[i]
    return law


@pytest.mark.parametrize("scores", [[0], [0, 0], [0, 1], [3, 1, 2], [0, 10, 10], [-5, 5, 0, 1], [1, 1, 2, 0, 2]])
def test_the_law_is_that_of_the_algorithm(scores: list[int]) -> None:
    m = permute_and_flip(sensitivity=2, epsilon=3)
    law = m.law(m.read(scores))
    assert is_a_law(law)
    with precise():
        for i, p in enumerate(by_definition(scores, m.rate)):
            assert not p < ball(law[i][0])
            assert not p > ball(law[i][1])


@pytest.mark.parametrize("epsilon", ["1/4", 1, 3])
def test_no_neighbours_break_the_promise_and_less_is_broken(epsilon: str) -> None:
    m = permute_and_flip(sensitivity=1, epsilon=epsilon)
    found = laws(m)
    assert not any_broken(found, WITHIN_1, m.epsilon)
    assert any_broken(found, WITHIN_1, m.epsilon * Fraction(999, 1000))  # tight: both scores move, and one stays lower
    assert any_broken(laws(replace(m, rate=m.rate / Fraction(7, 10))), WITHIN_1, m.epsilon)  # noise x 0.7
    assert any_broken(found, within(2), m.epsilon)  # sensitivity off by two


def test_monotone_scores_pay_half() -> None:
    m = permute_and_flip(sensitivity=1, epsilon=1, monotone=True)
    found = laws(m)
    assert not any_broken(found, same_way(1), m.epsilon)
    assert any_broken(found, WITHIN_1, m.epsilon)


def worst_renyi(m: Any, order: int) -> Fraction:
    """A lower bound of the largest sum P^a Q^(1-a) over all neighbours."""
    found = laws(m)
    return max(
        sum((found[x][i][0] ** order / found[y][i][1] ** (order - 1) for i in range(3)), Fraction(0))
        for x, y in product(SCORES, SCORES)
        if WITHIN_1(x, y)
    )


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/4", 1])
def test_the_price_of_a_bounded_range_is_refuted_and_ours_is_not(epsilon: str) -> None:
    m = permute_and_flip(sensitivity=1, epsilon=epsilon)
    order = 2
    worst = worst_renyi(m, order)
    rho = price_zcdp(m.event).rho
    assert worst > exp_up(order * (order - 1) * m.epsilon**2 / 8)  # C13: priced as ε²/8
    assert worst <= exp_down(order * (order - 1) * rho)
    bounded = exponential(sensitivity=1, epsilon=epsilon)
    assert worst_renyi(bounded, order) <= exp_up(order * (order - 1) * m.epsilon**2 / 8)


@pytest.mark.slow
def test_the_range_is_more_than_epsilon() -> None:
    m = permute_and_flip(sensitivity=1, epsilon=1)
    found = laws(m)
    worst = max(
        found[x][i][0] / found[y][i][1] * found[y][j][0] / found[x][j][1]
        for x, y in product(SCORES, SCORES) if WITHIN_1(x, y)
        for i, j in product(range(3), range(3))
    )  # fmt: skip
    assert worst > exp_up(Fraction(3, 2) * m.epsilon)


def test_never_worse_than_the_exponential_mechanism() -> None:
    other = exponential(sensitivity=1, epsilon=1)
    m = permute_and_flip(sensitivity=1, epsilon=1)
    for scores in SCORES:
        ours, theirs = (middle(x.law(x.read(list(scores)))) for x in (m, other))
        for gap in range(1, 4):
            missed = [sum(p for i, p in law.items() if max(scores) - scores[i] >= gap) for law in (ours, theirs)]
            assert missed[0] <= missed[1] + 1e-12
    assert m.gap_at("0.9", 10) == other.gap_at("0.9", 10)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [[0, 1, 3], [Fraction(1, 3), 2, -1, 0]])
def test_the_sampler_has_the_law(scores: list[int]) -> None:
    m = permute_and_flip(sensitivity=1, epsilon=1)
    law = m.law(m.read(scores))
    assert misfit(drawn(m, scores, extent(12_000, 30_000)), law) < 1
    assert misfit(drawn(replace(m, rate=m.rate / Fraction(7, 10)), scores, 10_000), law) > 1
    assert misfit(drawn(exponential(sensitivity=1, epsilon=1), scores, 10_000), law) > 1


def test_two_of_three() -> None:
    assert permute_and_flip(sensitivity=2, epsilon=1) == permute_and_flip(rate="1/4", epsilon=1)
    assert permute_and_flip(sensitivity=2, rate="1/4").event == events.PermuteAndFlip(1)
    assert permute_and_flip(sensitivity=2, epsilon=1).event_at(1) == events.PermuteAndFlip("1/2")
    with pytest.raises(BadParameter):
        permute_and_flip(sensitivity=1)
    with pytest.raises(BadParameter):
        permute_and_flip(sensitivity=1, epsilon=0)
