"""Unary encoding: a bit for each value, and planted laws that are refuted."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.exact import exp_up
from discreet.local.oracle import Oracle
from discreet.local.unary import Unary, basic_rappor, exact_epsilon_up, optimised_unary
from tests.helpers.oracles import worst_ratio


@pytest.mark.parametrize(
    ("twin", "epsilon"),
    [
        (Unary(3, Fraction(1), Fraction(3, 4), Fraction(1, 4)), 1),  # ε for each bit, not for both
        (Unary(3, Fraction(1), Fraction(1, 2), Fraction(1, 4)), 1),  # 1/4 for 1/(e + 1)
    ],
)
def test_planted_bugs_are_seen(twin: Oracle, epsilon: int) -> None:
    assert worst_ratio(twin) > exp_up(Fraction(epsilon))


@pytest.mark.parametrize("make", [basic_rappor, optimised_unary])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_the_price_is_that_of_the_two_bits_that_differ(make: Any, epsilon: str) -> None:
    oracle = make(k=3, epsilon=epsilon)
    found = exact_epsilon_up(oracle.keep, oracle.other)
    assert Fraction(epsilon) * (1 - Fraction(1, 10**6)) < found <= Fraction(epsilon) + Fraction(1, 10**12)


def test_bits_beyond_the_values_are_refused_and_large_domains_too() -> None:
    oracle = optimised_unary(k=3, epsilon=1)
    assert oracle.valid(np.array([[7], [8]], dtype=np.uint8)).tolist() == [True, False]
    assert oracle.supports(np.array([[5], [1]], dtype=np.uint8)).tolist() == [2, 0, 1]
    with pytest.raises(BadParameter, match="hadamard"):
        basic_rappor(k=(1 << 16) + 1, epsilon=1)
