"""A source that is told every outcome: its laws, what they leave out, and what it refuses."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from discreet.checking.exact.interactive import OutcomePath, Undecided
from discreet.errors import NoLaw
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.noise import additive
from discreet.randomness import SystemBits
from discreet.randomness.source import for_release

TAIL = Fraction(1, 10**6)


def outcomes_of(draw: object) -> dict[int, Fraction]:
    with pytest.raises(Undecided) as asked:
        draw(OutcomePath((), TAIL))  # type: ignore[operator]
    return dict(asked.value.outcomes)


def test_bits_and_numbers_below_n_are_exact() -> None:
    assert outcomes_of(lambda bits: bits.below(3)) == dict.fromkeys(range(3), Fraction(1, 3))
    assert outcomes_of(lambda bits: bits.bits(2)) == dict.fromkeys(range(4), Fraction(1, 4))
    assert outcomes_of(lambda bits: bits.bytes(1)) == dict.fromkeys(range(256), Fraction(1, 256))


@pytest.mark.parametrize("made", [laplace(sensitivity=1, epsilon="1/2"), gaussian(sensitivity=1, sigma_squared=3)])
def test_noise_has_the_law_that_its_mechanism_writes_down(made: Mechanism) -> None:  # type: ignore[type-arg]
    law = made.law(0)
    tried = outcomes_of(lambda bits: made.draw(0, bits))
    assert 1 - TAIL * 2 < sum(tried.values()) <= 1
    for value, chance in tried.items():
        low, high = law[value]
        assert low - Fraction(1, 1 << 60) <= chance <= high


def test_geometric_noise() -> None:
    tried = outcomes_of(lambda bits: additive.geometric(Fraction(1), None, bits))
    assert 1 - TAIL * 2 < sum(tried.values()) <= 1
    assert min(tried) == 0
    assert float(tried[1] / tried[0]) == pytest.approx(np.exp(-1))


def test_a_vector_is_one_draw_after_the_other() -> None:
    assert additive.laplace(Fraction(1), 3, OutcomePath((2, 0, -1), TAIL)).tolist() == [2, 0, -1]
    assert additive.gaussian(Fraction(1), 2, OutcomePath((5, 6), TAIL)).tolist() == [5, 6]


def test_what_has_too_many_outcomes_is_refused() -> None:
    with pytest.raises(NoLaw, match="64 bits"):
        OutcomePath((), TAIL).bits(64)


def test_copies_share_what_was_drawn_and_nothing_is_stored() -> None:
    path = OutcomePath((1, 0), TAIL)
    for same in (copy.copy(path), copy.deepcopy(path)):
        assert same is path
    with pytest.raises(NoLaw):
        pickle.dumps(path)


def test_no_release_takes_it() -> None:
    assert for_release(SystemBits())
    with pytest.raises(Exception, match="may not make a release"):
        for_release(OutcomePath((), TAIL))
