"""Pairs with finitely many losses: their masses exactly, and products of them."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet.checking import check
from discreet.privacy.accountants.compose import compose
from discreet.privacy.pld.atoms import (
    AtomicPair,
    box,
    discrete_gaussian,
    discrete_laplace,
    listed,
    mass_of,
    pool,
    power,
    response,
)
from discreet.privacy.pld.atoms import product as atom_product
from discreet.privacy.pld.pair import Atoms
from discreet.privacy.promises import events
from discreet.randomness import Bits
from tests.helpers.exact_pairs import ListedPair

F = Fraction


def test_pooling_keeps_the_product() -> None:
    pairs = [(response(F(1, 10 + k), 2 + k % 2), 1 + k % 3) for k in range(9)]
    pooled = pool(pairs, most=64)
    assert len(pooled) < len(pairs)
    theta = 1.7

    def log_moment(work: list[tuple[AtomicPair, int]]) -> float:
        return sum(n * math.log(float((p.atoms.p * np.exp(theta * p.atoms.loss)).sum())) for p, n in work)

    assert math.isclose(log_moment(pooled), log_moment(pairs), rel_tol=1e-12)


def test_powers_and_products_carry_infinite_mass() -> None:
    one = box(F(1, 2), F(1, 100))
    three = power(one, 3)
    assert three is not None
    assert F(three.infinite.low) <= 1 - F(99, 100) ** 3 <= F(three.infinite.high)
    assert three.top == (F(3, 2), F(3, 2))
    assert atom_product(one, three).infinite.high >= 1 - 0.99**4
    assert abs(three.atoms.p.sum() - 0.99**3) < 1e-14


@pytest.mark.parametrize("shift", [1, 2, 7])
def test_discrete_noise_has_its_masses(shift: int) -> None:
    for pair in (discrete_laplace(F(3, 2), shift), discrete_gaussian(F(5), shift)):
        assert abs(pair.atoms.p.sum() - 1.0) < 1e-14
        assert np.allclose(pair.atoms.p * np.exp(-pair.atoms.loss), pair.atoms.q, rtol=1e-12, atol=1e-250)
        assert (np.diff(pair.atoms.loss) > 0).all()


def test_randomized_response_over_five_categories() -> None:
    pair = response(F(1), 5)
    whole = math.e + 4
    assert pair.atoms.loss.tolist() == [-1.0, 0.0, 1.0]
    assert np.allclose(pair.atoms.p, [1 / whole, 3 / whole, math.e / whole], rtol=1e-14)
    assert np.allclose(pair.atoms.q, pair.atoms.p[::-1])
    assert pair.lattice == 1
    assert pair.top == (F(1), F(1))
    assert pair.anchor == 1.0


def test_the_pair_of_everything_that_is_approximately_private() -> None:
    pair = box(F(1, 2), F(1, 3))
    assert pair.atoms.loss.tolist() == [-0.5, 0.5]
    assert math.isclose(pair.atoms.p.sum(), 2 / 3, rel_tol=1e-14)
    assert F(pair.infinite.low) < F(1, 3) < F(pair.infinite.high)
    assert pair.void == pair.infinite == mass_of(F(1, 3))
    assert pair.lattice == 1
    assert box(F(0), F(0)).lattice is None


def test_the_ends_of_discrete_laplace_noise_are_pooled() -> None:
    """b = 2, shift 3, by hand: a = e^{-1/2}; z <= 0 has 1/(1+a), z >= 3 has a³/(1+a), between (1-a)/(1+a) a^z."""
    a = math.exp(-0.5)
    pair = discrete_laplace(F(2), 3)
    assert np.allclose(pair.atoms.loss, [-1.5, -0.5, 0.5, 1.5])
    by_hand = np.array([a**3, (1 - a) * a**2, (1 - a) * a, 1.0]) / (1 + a)
    assert np.allclose(pair.atoms.p, by_hand, rtol=1e-14)


def test_how_far_an_atomic_pair_reaches() -> None:
    pair = AtomicPair(Atoms(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.1, 0.4, 0.4, 0.1]), np.full(4, 0.25)), 3.0)
    assert pair.reach(0.0) == (0.0, 3.0)
    assert pair.reach(0.2) == (1.0, 2.0)
    assert pair.reach(0.9) == (0.0, 3.0)  # nothing would be left: everything stays
    assert AtomicPair(Atoms(), 0.0).reach(0.1) == (0.0, 0.0)


def test_a_list_is_put_in_order() -> None:
    atoms = listed(ListedPair([(1, 3), (5, 1), (2, 2)])).atoms
    assert all(a < b for a, b in pairwise(atoms.loss))
    assert np.allclose(atoms.p / atoms.q, np.exp(atoms.loss))


def test_a_power_on_a_lattice_is_binomial() -> None:
    ten = power(response(F(1, 10), 2), 10)
    assert ten is not None
    keep = 1 / (1 + math.exp(-0.1))
    by_hand = [math.comb(10, k) * keep**k * (1 - keep) ** (10 - k) for k in range(11)]
    assert np.allclose(ten.atoms.p, by_hand, rtol=1e-13)
    assert np.allclose(ten.atoms.loss, 0.1 * (2 * np.arange(11) - 10))


def test_a_power_with_too_many_atoms_is_left_alone() -> None:
    assert power(listed(ListedPair([(1, 3), (5, 1), (2, 2)])), 20) is None
    few = power(listed(ListedPair([(1, 3), (5, 1)])), 3)
    assert few is not None
    assert len(few.atoms.loss) == 8


# --- a pair for a curve -------------------------------------------------------------------------------------------

CURVES = [
    events.TradeOff({0: 1, "0.1": "0.5", "0.25": "0.25"}),
    events.TradeOff({0: "0.9", "0.1": "0.6"}),
    events.TradeOff({0: "0.999", "0.01": "0.8", "0.2": "0.4"}),
    events.TradeOff({0: 1, "1/2": "1/2"}),
]


def misses(parts: list[tuple[Fraction, Fraction]], lost: Fraction, alpha: Fraction) -> Fraction:
    """The least rate of misses at this rate of false alarms, by Neyman and Pearson, from (P, Q) masses exactly."""
    left = 1 - lost
    for p, q in sorted(parts, key=lambda part: part[0] / part[1], reverse=True):
        used = min(Fraction(1), alpha / q)
        left, alpha = left - used * p, alpha - used * q
    return left


def parts_of(event: events.TradeOff) -> list[tuple[Fraction, Fraction]]:
    return [(b - d, c - a) for (a, b), (c, d) in pairwise(event.line)]


@pytest.mark.parametrize("event", CURVES, ids=str)
def test_a_curve_is_the_trade_off_of_its_pair(event: events.TradeOff) -> None:
    """Exactly, at each knot and between; the same curve a little lower is told apart."""
    whole = compose([event])
    for (a, b), (c, d) in pairwise(event.line):
        for alpha, f in ((a, b), ((a + c) / 2, (b + d) / 2)):
            assert misses(parts_of(event), event.lost, alpha) == f
            found = whole.tradeoff(alpha)
            assert found.lower <= f <= found.upper
            assert found.width < 1e-7


@pytest.mark.parametrize("event", CURVES, ids=str)
def test_two_of_them_by_enumeration(event: events.TradeOff) -> None:
    parts = parts_of(event)
    product = [(p * r, q * s) for p, q in parts for r, s in parts]
    lost = 1 - (1 - event.lost) ** 2
    for alpha in (Fraction(1, 100), Fraction(1, 10), Fraction(1, 3)):
        found, f = compose([event] * 2).tradeoff(alpha), misses(product, lost, alpha)
        assert found.lower <= f <= found.upper
        assert found.width < 1e-4
    if event.steepest > 1:
        assert compose([event]).tradeoff("0.1").lower > compose([event] * 2).tradeoff("0.1").upper


def test_randomized_response_keeps_its_own_curve_and_no_higher_one() -> None:
    """Truth with 3/4: the curve through (1/4, 1/4). The check refutes one through (0.26, 0.26)."""

    def response(answer: int, bits: Bits) -> int:
        return answer if bits.below(4) else 1 - answer

    assert check(response, pairs=[(0, 1)], claim=events.TradeOff({0: 1, "1/4": "1/4"})).ok
    assert not check(response, pairs=[(0, 1)], claim=events.TradeOff({0: 1, "0.26": "0.26"})).ok


def test_the_highest_losses_of_a_product_add_up() -> None:
    pair = AtomicPair(Atoms(np.array([0.0, 1.0]), np.array([0.5, 0.5]), np.full(2, 0.5)), 3.0)
    other = AtomicPair(Atoms(np.array([0.0, 2.0]), np.array([0.5, 0.5]), np.full(2, 0.5)), 2.0)
    assert atom_product(pair, other).highest == atom_product(other, pair).highest == 5.0
