"""k-ary randomized response: Warner's with two values, and reports that exist."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.exact import exp_down, exp_up
from discreet.local.oracle import pack
from discreet.local.response import response
from discreet.privacy.promises import events


@pytest.mark.parametrize("epsilon", ["1/10", "1", "5"])
def test_two_values_are_warners(epsilon: str) -> None:
    keep = response(k=2, epsilon=epsilon).keep
    e = Fraction(epsilon)
    assert keep <= exp_up(e) / (exp_up(e) + 1)
    assert keep > exp_down(e) / (exp_down(e) + 1) - Fraction(1, 1 << 38)


def test_chances_sum_to_one_and_the_event_says_what_ran() -> None:
    for k in (2, 3, 7, 1000):
        oracle = response(k=k, epsilon=1)
        assert oracle.keep + (k - 1) * oracle.other == 1
        assert oracle.event == events.RandomizedResponse(Fraction(1), k)


def test_reports_name_values_that_there_are() -> None:
    oracle = response(k=300, epsilon=1)
    assert oracle.width == 2
    assert oracle.valid(pack(np.array([0, 299, 300, 65_535]), 2)).tolist() == [True, True, False, False]
    reports = pack(np.array([0, 299, 299]), 2)
    assert (oracle.supports(reports)[0], oracle.supports(reports)[299], oracle.supports(reports).sum()) == (1, 2, 3)
