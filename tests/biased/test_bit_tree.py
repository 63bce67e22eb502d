"""The recursion against brute force over all sources, and planted twins that it must not agree with."""

import random
from fractions import Fraction

import pytest

from discreet.biased.bit_tree import Steps, best, lean
from discreet.errors import BadParameter
from tests.helpers.biased import all_sources, frontier

GAMMA = Fraction(1, 5)


def random_steps(rng: random.Random, depth: int, cuts: int, unit: int = 1) -> Steps:
    ends = sorted(rng.sample(range(1, 1 << depth), cuts))
    return Steps(ends, [unit * rng.randint(-9, 9) for _ in range(cuts + 1)], depth)


def payoff_of(steps: Steps, string: int) -> int:
    return steps.payoffs[sum(cut <= string for cut in steps.cuts)]


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_best_is_the_maximum_over_every_source(depth: int) -> None:
    """Leans of -1, 0 and 1 at each node: the value is linear in each bias, so the ends of its range are enough."""
    rng = random.Random(depth)
    games = [random_steps(rng, depth, rng.randint(0, min(4, (1 << depth) - 1)), 10**depth) for _ in range(40)]
    payoffs = [[payoff_of(game, r) for r in range(1 << depth)] for game in games]
    largest = [max(sum(p * x for p, x in zip(law, pay, strict=True)) for law in all_sources(depth, (-1, 1), GAMMA))
               for pay in payoffs]  # fmt: skip
    if depth < 3:
        middling = list(all_sources(depth, (-1, 0, 1), GAMMA))
        assert largest == [
            max(sum(p * x for p, x in zip(law, pay, strict=True)) for law in middling) for pay in payoffs
        ]
    # payoffs are multiples of (2 * 5)^depth, so nothing is rounded
    assert largest == [best(game, GAMMA, up=True) for game in games]
    assert largest == [best(game, GAMMA, up=False) for game in games]


@pytest.mark.parametrize("depth", [4, 5, 6])
@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 10), Fraction(7, 10)])
def test_best_agrees_with_the_frontier_of_all_sources(depth: int, gamma: Fraction) -> None:
    """An independent way: the corners of all reachable (P(T1), P(T2)), node by node."""
    rng = random.Random(depth)
    unit = (2 * gamma.denominator) ** depth
    for _ in range(12):
        a, b, c, d = sorted(rng.sample(range((1 << depth) + 1), 4))
        first, second = rng.choice([((a, c), (b, d)), ((a, d), (b, c)), ((a, b), (c, d)), ((b, d), (a, c))])
        corners = frontier(
            [int(first[0] <= r < first[1]) for r in range(1 << depth)],
            [int(second[0] <= r < second[1]) for r in range(1 << depth)],
            gamma,
        )
        loss = rng.randint(0, 3)
        steps = Steps.between([first], [second], gain=unit, loss=loss * unit, depth=depth)
        truth = max(p - loss * q for p, q in corners) * unit
        assert best(steps, gamma, up=True) == best(steps, gamma, up=False) == truth
        assert (best(steps.zoom(), gamma, up=True) > 0) == (truth > 0)
        assert (best(steps.zoom(), gamma, up=True) < 0) == (truth < 0)


def test_rounding_goes_the_stated_way() -> None:
    rng = random.Random(3)
    fine = 10**60
    for _ in range(200):
        game = random_steps(rng, 20, rng.randint(1, 4))
        finer = Steps(game.cuts, [x * fine for x in game.payoffs], 20)
        low, high = best(finer, GAMMA, up=False), best(finer, GAMMA, up=True)
        assert best(game, GAMMA, up=False) * fine <= low <= high <= best(game, GAMMA, up=True) * fine
        assert best(game, GAMMA, up=True) - best(game, GAMMA, up=False) <= 2 * 21


@pytest.mark.slow
def test_the_twin_that_rounds_the_wrong_way_is_caught() -> None:
    """Rounding down where up is promised falls below the brute force for some game."""
    rng = random.Random(4)
    found = False
    for _ in range(50):
        game = random_steps(rng, 3, 3)
        truth = max(
            sum(p * payoff_of(game, r) for r, p in enumerate(law)) for law in all_sources(3, (-1, 1), GAMMA)
        )  # fmt: skip
        assert best(game, GAMMA, up=True) >= truth >= best(game, GAMMA, up=False)
        found = found or best(game, GAMMA, up=False) < truth
    assert found


def test_following_the_lean_attains_the_best() -> None:
    rng = random.Random(5)
    for _ in range(20):
        game = random_steps(rng, 4, 3, 10**4)

        def expected(prefix: int, length: int, game: Steps = game) -> Fraction:
            if length == 4:
                return Fraction(payoff_of(game, prefix))
            one = (1 + GAMMA * lean(game, GAMMA, prefix, length)) / 2
            return (1 - one) * expected(2 * prefix, length + 1) + one * expected(2 * prefix + 1, length + 1)

        assert expected(0, 0) == best(game, GAMMA, up=True)


def test_steps_refuse_what_is_not_an_interval() -> None:
    for bad in [(3, 2), (-1, 2), (0, 9)]:
        with pytest.raises(BadParameter):
            Steps.between([bad], [], gain=1, loss=1, depth=3)
