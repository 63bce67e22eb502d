"""Classes of sizes are public, and a number is in exactly one of them."""

from itertools import pairwise

from discreet.query.choose.classes import POWERS, SIGNED_POWERS, by_size, ladder, power_of_two
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Column
from discreet.query.plan.work import LONGEST, MOST_EDGES


def test_a_class_is_the_sign_and_the_length_in_bits() -> None:
    expression = power_of_two(Column("x"))
    ends = {sign * ((1 << k) + more) for k in range(POWERS + 1) for more in (-1, 0, 1) for sign in (1, -1)}
    for x in ends:
        length = min(abs(x).bit_length(), POWERS + 1)
        assert evaluate(expression, {"x": x}) == (length if x > 0 else -length), x
    assert evaluate(expression, {"x": None}) is None
    assert len(SIGNED_POWERS) == 2 * POWERS + 3


def test_classes_between_any_starts() -> None:
    expression = by_size(Column("x"), [-5, 0, 7], [10, 20, 30, 40])
    assert [evaluate(expression, {"x": x}) for x in (-6, -5, -1, 0, 6, 7, 99)] == [10, 20, 20, 30, 30, 40, 40]


def test_a_ladder_goes_up_by_an_eighth_of_a_doubling_to_the_longest_total() -> None:
    steps = ladder()
    assert steps[0] == 1
    assert all(low < high <= 1.0906 * (low + 1) for low, high in pairwise(steps))
    assert LONGEST // 2 < steps[-1] < LONGEST
    assert len(steps) <= MOST_EDGES
    assert ladder(3) == (1, 2, 3)
