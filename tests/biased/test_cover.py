"""All alignments at once: the array arithmetic against Python's integers, boxes against their points."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from discreet.biased.bit_tree import Steps, best
from discreet.biased.certify import all_boxes, certify_laplace
from discreet.biased.cover import GAMMA_BITS, UNIT, Boxes, _cdf, gains, guess, holds, tree_values
from tests.helpers.biased import frontier


def test_many_at_once_is_the_same_as_one_by_one() -> None:
    """The integers of numpy against Python's, for equal cuts, cuts at 0 and at the end, and close ones."""
    rng = random.Random(9)
    gamma = Fraction(6554, 1 << 16)
    cuts, payoffs = [], []
    for _ in range(400):
        k = rng.choice([40, 20, 6, 3])
        ends = sorted(rng.randrange(1 << k) << (40 - k) for _ in range(4))
        cuts.append([*ends[:3], UNIT if rng.random() < 0.3 else ends[3]])
        payoffs.append([rng.randint(-UNIT, UNIT) for _ in range(5)])
    together = tree_values(np.array(cuts).T.copy(), np.array(payoffs).T.copy(), gamma)
    for ends, pay, value in zip(cuts, payoffs, together.tolist(), strict=True):
        assert best(merged(ends, pay), gamma, up=True) == value


def merged(ends: Sequence[int], pay: Sequence[int]) -> Steps:
    """The same step function with each cut once, and none at the ends."""
    cuts: list[int] = []
    payoffs = [pay[0]]
    for end, after in zip(ends, pay[1:], strict=True):
        if end == 0 or (cuts and cuts[-1] == end):
            payoffs[-1] = after
        elif end < UNIT:
            cuts.append(end)
            payoffs.append(after)
    return Steps(cuts, payoffs, 40)


@pytest.mark.slow
def test_holds_says_no_below_the_truth_and_yes_above() -> None:
    base, width, gamma = Fraction(1, 10), Fraction(1), Fraction(1, 10)
    truth = certify_laplace("0.1", 10, "0.1")
    boxes = all_boxes(base, width, 64)
    assert holds(boxes, width, gamma, Fraction(truth.upper)).holds
    below = holds(boxes, width, gamma, Fraction(truth.lower) * Fraction(98, 100))
    assert not below.holds
    assert below.fails_at is not None
    assert not holds(boxes, width, gamma, Fraction(truth.upper), most=10).holds  # cut short: never a yes


def test_boxes_cover_what_they_are_cut_from() -> None:
    boxes = Boxes.spread(Fraction(-1, 3), Fraction(1, 3), (Fraction(0), Fraction(1, 7)), 5)
    for _ in range(3):
        boxes = boxes.halves()
    rng = random.Random(2)
    for _ in range(200):
        s, d = rng.uniform(-1 / 3, 1 / 3), rng.uniform(0, 1 / 7)
        assert ((boxes.s_low <= s) & (s <= boxes.s_high) & (boxes.d_low <= d) & (d <= boxes.d_high)).any()


def test_a_box_is_never_better_than_its_points() -> None:
    rng = random.Random(3)
    width, gamma, epsilon = Fraction(3, 4), Fraction(1, 5), Fraction(1, 3)
    boxes = Boxes.spread(Fraction(-2), Fraction(1), (Fraction(0), Fraction(1, 5)), 40)
    whole = gains(boxes, width, gamma, epsilon)
    for _ in range(20):
        s = boxes.s_low + rng.random() * (boxes.s_high - boxes.s_low)
        d = boxes.d_low + rng.random() * (boxes.d_high - boxes.d_low)
        assert (gains(Boxes(s, s, d, d), width, gamma, epsilon) <= whole).all()


def test_the_value_of_a_tree_against_all_sources() -> None:
    """Against every corner that a source can reach on three bits, in exact fractions; rounded up, never down."""
    rng = random.Random(4)
    gamma, depth, half = Fraction(3, 16), 3, 1 << 39
    for _ in range(30):
        ends = sorted(rng.sample(range(1 << depth), 4))
        a, b, c, d = ends
        first = [int(a <= r < c) for r in range(1 << depth)]
        second = [int(b <= r < d) for r in range(1 << depth)]
        truth = max(p * half - q * half for p, q in frontier(first, second, gamma))
        cuts = np.array([[end << (40 - depth)] for end in ends])
        payoffs = np.array([[0], [half], [0], [-half], [0]])
        value = int(tree_values(cuts, payoffs, gamma)[0])
        assert truth <= value <= truth + 41


def test_the_bias_is_rounded_up() -> None:
    cuts = np.array([[UNIT // 2], [UNIT // 2], [UNIT // 2], [UNIT // 2]])
    payoffs = np.array([[0]] * 4 + [[1 << 30]])
    third = Fraction(1, 3)
    value = int(tree_values(cuts, payoffs, third)[0])
    step = Fraction(1, 1 << GAMMA_BITS)
    assert (1 + third) / 2 * (1 << 30) < value <= (1 + third + step) / 2 * (1 << 30) + 1


@pytest.mark.parametrize("x", [-30.0, -3.0, -1 / 3, -1e-12, 0.0, 0.1, 5.0, 30.0])
def test_the_distribution_function_is_enclosed_within_four_units(x: float) -> None:
    low, high = (int(bound[0]) for bound in _cdf(np.array([x])))
    truth = math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2  # its own error is far below one unit of 2^-40
    assert low <= truth * UNIT <= high
    assert high - low <= 4


def test_single_points_keep_their_exact_place_between_two_floats() -> None:
    third = Boxes.points([Fraction(1, 3)], Fraction(1, 7))
    assert len(third) == 1
    assert Fraction(third.s_low[0]) < Fraction(1, 3) < Fraction(third.s_high[0])
    assert Fraction(third.d_low[0]) < Fraction(1, 7) < Fraction(third.d_high[0])
    assert third.widths()[0] <= 2.0**-53


def test_fair_bits_need_the_ordinary_epsilon() -> None:
    """Without bias a cell in the tail is e^d times its neighbour: about 1/10 here, and guessed from below."""
    boxes = Boxes.points([Fraction(-4), Fraction(-2), Fraction(3)], Fraction(1, 10))
    epsilon, _ = guess(boxes, Fraction(1), Fraction(0))
    assert 0.0999 < epsilon <= 0.1001
    more, which = guess(boxes, Fraction(1), Fraction(1, 5))
    assert more > epsilon
    assert 0 <= which < 3
