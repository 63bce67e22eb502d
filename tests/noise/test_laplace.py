"""Discrete Laplace and geometric draws: bounds, every branch of the scalar sampler, chi-square from end to end."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.noise import discrete_laplace, geometric, laplace
from discreet.noise.blocks import Blocks
from discreet.noise.laplace import LaplaceLaw, draw_geometric, draw_laplace
from discreet.randomness import Bits, SystemBits
from tests.helpers.branches import assert_branch_law, branch_law, coin
from tests.helpers.gates import distance_from, sign_imbalance
from tests.helpers.truth import geometric_pmf, geometric_spread, laplace_blocks, laplace_pmf, laplace_spread

SCALES = ["0.3", "1", "10", "1e3", "1e6", "1e12"]


# --- the bounds of the table --------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    st.fractions(Fraction(1, 20), 10**5, max_denominator=10**6),
    st.sampled_from([8, 12, 18, 64, 128]),
    st.booleans(),
)
@example(Fraction(64), 64, False)
@example(Fraction(1, 20), 8, True)
@settings(max_examples=25, deadline=None)
def test_thresholds_enclose_the_truth(scale: Fraction, n: int, one_sided: bool) -> None:
    law = LaplaceLaw(scale, one_sided=one_sided)
    low, high = law.thresholds(n)
    floors = laplace_blocks(law).floors(n)
    assert len(low) == len(high) == len(floors)
    assert all(a <= f < b for a, f, b in zip(low, floors, high, strict=True))  # 2^n T lies between f and f + 1
    assert max(b - a for a, b in zip(low, high, strict=True)) <= 2
    assert low == sorted(low)
    assert high == sorted(high)


@pytest.mark.parametrize("scale", ["1e-6", "1e-300", "1e-400", "3/2", "1e12", str(1 << 54), "1" + "0" * 100 + "/3"])
def test_thresholds_keep_their_order_at_every_scale(scale: str) -> None:
    for one_sided in (False, True):
        for n in (8, 64, 128):
            low, high = LaplaceLaw(Fraction(scale), one_sided=one_sided).thresholds(n)
            assert low == sorted(low)
            assert high == sorted(high)
            assert all(0 <= a <= b <= 1 << n for a, b in zip(low, high, strict=True))


# --- the sampler without a table, branch by branch ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1/10", "1/3", "1", "3/2", "2", "7/2", "5"])
def test_every_branch_of_a_geometric_draw(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "flip_exp", coin)
    b = Fraction(scale)
    law, undecided = branch_law(lambda bits: draw_geometric(b, bits), least=2.0**-22)
    pmf = geometric_pmf(b)
    assert_branch_law(law, undecided, {x: pmf(x) for x in range(max(law) + 20)})
    assert undecided < 0.001


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1/10", "1/3", "1", "3/2", "2", "7/2", "5"])
def test_every_branch_of_a_laplace_draw(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "flip_exp", coin)
    b = Fraction(scale)
    law, undecided = branch_law(lambda bits: draw_laplace(b, bits), least=2.0**-22)
    pmf = laplace_pmf(b)
    reach = max(law) + 20
    assert_branch_law(law, undecided, {x: pmf(x) for x in range(-reach, reach)})
    assert undecided < 0.005


def zero_twice(scale: Fraction, bits: Bits) -> int:
    """The planted bug: minus zero is kept, so zero is counted twice."""
    size = draw_geometric(scale, bits)
    return -size if bits.bits(1) else size


def test_zero_counted_twice_is_caught_by_the_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laplace, "flip_exp", coin)
    law, undecided = branch_law(lambda bits: zero_twice(Fraction(1), bits), least=2.0**-20)
    pmf = laplace_pmf(Fraction(1))
    with pytest.raises(AssertionError, match="outcome"):
        assert_branch_law(law, undecided, {x: pmf(x) for x in range(-50, 50)})


# --- chi-square: false alarm 1e-9 at each gate --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
def test_vectors_at_1e6(scale: str) -> None:
    """And the planted twin: 2 % more noise must not pass."""
    b = Fraction(scale)
    law = laplace_spread(b)
    draws = discrete_laplace(b, size=10**6)
    assert distance_from(draws, law) < 1
    assert sign_imbalance(draws.tolist()) < 1
    assert distance_from(discrete_laplace(b * Fraction(51, 50), size=10**6), law) > 1


@pytest.mark.parametrize("scale", ["0.3", "10", "1e3", "1e12"])
def test_geometric_vectors_at_1e6(scale: str) -> None:
    b = Fraction(scale)
    assert distance_from(geometric(b, size=10**6), geometric_spread(b)) < 1
    assert distance_from(geometric(b * Fraction(51, 50), size=10**6), geometric_spread(b)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["0.3", "1", "1e3", "1e12"])
def test_single_draws_with_and_without_a_table(scale: str) -> None:
    b, bits = Fraction(scale), SystemBits()
    law = laplace_spread(b)
    assert distance_from(np.array([draw_laplace(b, bits) for _ in range(60_000)]), law) < 1
    table = Blocks(LaplaceLaw(b))
    assert distance_from(np.array([table.draw(bits) for _ in range(100_000)]), law) < 1


@pytest.mark.slow
def test_planted_bugs_in_single_draws_are_caught() -> None:
    """20 % more noise, and zero counted twice, through the same gate."""
    bits, b = SystemBits(), Fraction(1)
    law = laplace_spread(b)
    assert distance_from(np.array([draw_laplace(b * Fraction(6, 5), bits) for _ in range(60_000)]), law) > 1
    assert distance_from(np.array([zero_twice(b, bits) for _ in range(60_000)]), law) > 1


@pytest.mark.slow
def test_every_integer_of_a_small_scale() -> None:
    """One bin for each integer, block ends and all: scale 100 has blocks of 2. False alarm 1e-9."""
    b = Fraction(100)
    assert distance_from(discrete_laplace(b, size=2 * 10**6), laplace_spread(b), bins=100) < 1


# --- the far ends of the scales -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["1e-6", "1e-300", "1e-400", "1e-1000"])
def test_tiny_scales_give_zero(scale: str) -> None:
    """P(not 0) < exp(-10^6)."""
    assert not discrete_laplace(scale, size=5000).any()
    assert not geometric(scale, size=5000).any()
    assert discrete_laplace(scale) == geometric(scale) == 0


HUGE: list[Any] = [1 << 53, (1 << 54) - 1, 1 << 54, (1 << 54) + 1, 1 << 60, 10**30, 10**300]


@pytest.mark.slow
@pytest.mark.parametrize("scale", HUGE, ids=lambda s: f"about 2^{s.bit_length()}")
def test_huge_scales_neither_wrap_nor_lean(scale: int) -> None:
    """Range, sign and law; false alarm 1e-9 each."""
    n = 20_000 if scale > 1 << 54 else 200_000
    draws = discrete_laplace(scale, size=n)
    assert draws.dtype == (object if scale > 1 << 54 else np.int64)
    values = [int(x) for x in draws.tolist()]
    assert all(type(x) is int for x in draws.tolist())
    assert max(abs(x) for x in values) < 35 * scale  # n exp(-35) < 1e-9
    assert sign_imbalance(values) < 1
    assert distance_from(values, laplace_spread(Fraction(scale)), bins=4) < 1
    assert distance_from([2 * x for x in values], laplace_spread(Fraction(scale)), bins=4) > 1
    low_bits = [x & 1 for x in values]  # the last bit is as even as a sign
    assert sign_imbalance([2 * b - 1 for b in low_bits]) < 1


def test_huge_scales_one_by_one() -> None:
    draws = [discrete_laplace(10**30) for _ in range(3000)]
    assert sign_imbalance(draws) < 1
    assert max(map(abs, draws)) > 1 << 64  # P(fewer) = (1 - exp(-2^64 / 10^30))^3000
    assert min(geometric(10**30) for _ in range(300)) >= 0


def test_the_gate_itself() -> None:
    """The cumulative law used by the gates sums the mass function."""
    for scale in (Fraction(3, 10), Fraction(7), Fraction(100)):
        law, pmf = laplace_spread(scale), laplace_pmf(scale)
        for k in (-200, -7, -1, 0, 1, 2, 9, 250):
            assert math.isclose(law.below(k + 1) - law.below(k), float(pmf(k)), rel_tol=1e-9, abs_tol=1e-13)
