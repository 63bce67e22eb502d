"""Comparisons with a uniform of which only a prefix is known: every bit path is walked."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from discreet.noise.coin import exponential, rational
from discreet.noise.laplace import LaplaceLaw
from discreet.noise.lazy import Probability, count_below, is_below
from discreet.randomness import Bits, exact_law
from tests.helpers.tapes import NoBits, Prefix
from tests.helpers.truth import assert_law, ball, exp_minus, laplace_blocks, precise, whole

P = [Fraction(p) for p in ("0", "1", "1/2", "1/3", "5/16", "1/1000", "999/1000", "12345/65536")]
X = [Fraction(x) for x in ("0", "1", "1/3", "1/1000", "7/2", "20", "1000")]


def coin(p: Any) -> dict[Any, Any]:
    with precise():
        return {True: p, False: 1 - p}


@pytest.mark.parametrize("p", P, ids=str)
def test_is_below_has_the_law_of_a_rational(p: Fraction) -> None:
    law, undecided = exact_law(lambda bits: is_below(rational(p), bits.bits(4), 4, bits, step=4), depth=20)
    assert_law(law, undecided, coin(ball(p)))
    assert undecided <= Fraction(1, 1 << 20)


@pytest.mark.parametrize("x", X, ids=str)
def test_is_below_has_the_law_of_exp(x: Fraction) -> None:
    law, undecided = exact_law(lambda bits: is_below(exponential(x), bits.bits(4), 4, bits, step=4), depth=20)
    assert_law(law, undecided, coin(exp_minus(x)))
    assert undecided <= Fraction(3, 1 << 20)


def redraw(p: Probability, bits: Bits) -> bool:
    """The planted bug: an undecided draw is thrown away."""
    while True:
        u = bits.bits(4)
        low, high = p(4)
        if not low <= u < high:
            return u < low


@pytest.mark.parametrize("p", ["2/7", "1/1000"])
def test_redrawing_an_undecided_coin_is_caught(p: str) -> None:
    law, undecided = exact_law(lambda bits: redraw(rational(Fraction(p)), bits), depth=40)
    with pytest.raises(AssertionError, match="outcome"):
        assert_law(law, undecided, coin(ball(Fraction(p))))


def test_count_below_draws_on_when_a_law_has_no_end() -> None:
    """T_j = 1 - 2^-j, given up to 2^-n: the count is the number of leading ones, however many."""

    def halves(n: int) -> tuple[list[int], list[int]]:
        ends = [(1 << n) - (1 << n - j) for j in range(1, n + 1)]
        return ends, ends

    def draw(bits: Bits) -> int:
        return count_below(halves, bits.bits(2), 2, bits, endless=True, step=2)

    law, undecided = exact_law(draw, depth=12)
    assert law == {j: Fraction(1, 1 << j + 1) for j in range(12)}
    assert undecided == Fraction(1, 1 << 12)


def ends_of(scale: str) -> tuple[Callable[[int], tuple[list[int], list[int]]], list[Any]]:
    law = LaplaceLaw(Fraction(scale))
    return law.thresholds, laplace_blocks(law).probabilities


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1", "1/3", "7/2"])
@pytest.mark.parametrize(("first", "step"), [(1, 1), (3, 2), (5, 7)])
def test_count_below_has_the_law_of_the_thresholds(scale: str, first: int, step: int) -> None:
    thresholds, truth = ends_of(scale)

    def draw(bits: Bits) -> int:
        return count_below(thresholds, bits.bits(first), first, bits, endless=False, step=step)

    law, undecided = exact_law(draw, depth=12)
    assert_law(law, undecided, dict(enumerate(truth)))


@pytest.mark.parametrize("x", ["1/3", "1", "41/8", "30", "44"])
def test_a_prefix_answers_only_if_both_of_its_ends_agree(x: str) -> None:
    """64-bit prefixes at floor(2^64 p) and around it; zeros for ever and ones for ever are the two ends."""
    p = exponential(Fraction(x))
    floor = whole(exp_minus(Fraction(x)), 64)
    for offset in [0, *(s << j for j in range(60) for s in (1, -1))]:
        u = floor + offset
        if 0 <= u < 1 << 64:
            # U < p at the lower end iff u <= floor; just below the upper end iff u + 1 <= floor
            assert is_below(p, u, 64, Prefix(0, 0, then=0)) == (u <= floor)
            assert is_below(p, u, 64, Prefix(0, 0, then=1)) == (u < floor)
            if abs(offset) > 2:
                is_below(p, u, 64, NoBits())
