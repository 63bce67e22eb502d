"""Counts and bounded sums: how far they move, their exact error bars, planted bugs."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.statistics.sums import BoundedSum, bounded_sum, count
from discreet.mechanisms.statistics.terms import Term
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.databases import BOUNDS, RELATIONS, bounded_domain, largest_move, too_few

NAN, INF = float("nan"), float("inf")
ADD, CHANGE = RELATIONS


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_the_sum_moves_as_claimed(bounds: Any, relation: Neighbours) -> None:
    m = bounded_sum(low=bounds[0], high=bounds[1], epsilon=1, neighbours=relation)
    moved, _ = largest_move(m.read, bounded_domain(*bounds), relation, most=2)
    assert moved <= m.noise.moves  # type: ignore[union-attr]


@pytest.mark.slow
def test_counts_and_sums_have_exact_error_bars() -> None:
    hits = sum(abs(count(epsilon=1).release(range(50)).value - 50) <= 1 for _ in range(400))
    bar = count(epsilon=1).accuracy.error_at("0.8")
    assert bar == 1.0
    assert not too_few(hits, 400, 0.8)
    m: BoundedSum = bounded_sum(low=0, high=100, rho="1/2")
    assert 100 <= m.error_at("0.8") <= 150
    hits = sum(abs(m.release([10.0] * 50).value - 500) <= m.error_at("0.8") for _ in range(200))
    assert not too_few(hits, 200, 0.8)
    assert abs(sum((p for p, _ in count(epsilon=1).law(3).values()), Fraction(-1))) < Fraction(1, 1 << 90)


def test_the_lower_bound_used_twice_is_refuted() -> None:  # C8 of the attack catalogue
    m = bounded_sum(low=0, high=100, epsilon=1)
    wrong = Term("sum", m.grid.low, m.grid.low)
    moved, _ = largest_move(m.read, bounded_domain(0, 100), ADD, most=2)
    assert moved > wrong.moves(ADD).l1


def test_a_sum_by_hand() -> None:
    m = bounded_sum(low=-2, high=10, epsilon=1)
    data = [3.25, 99.0, -99.0, NAN, None, INF, "4"]
    assert m.grid.value(m.read(data)) == 3.25 + 10 - 2 + 0 + 0 + 10 + 4
    assert m.grid.value(m.read(np.array([1.5, 2.5]))) == 4.0
    narrow = bounded_sum(low=4, high=10, epsilon=1)
    assert narrow.grid.value(narrow.read([NAN])) == 4.0  # the public value nearest to 0


def test_records_are_counted_whatever_they_hold() -> None:
    m = count(rho="1/2")
    assert m.read([None, NAN, "x", object()]) == 4
    assert m.read(np.zeros((3, 2))) == 3
    assert price_zcdp(m.event).rho == Fraction(1, 2)
    assert price_basic(count(epsilon="1/3").event).epsilon == Fraction(1, 3)


@pytest.mark.parametrize(
    "wrong", [{"low": 11}, {"low": NAN}, {"high": INF}, {"epsilon": 0}, {"rho": 1}, {"neighbours": 1}, {"low": None}]
)
def test_bad_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        bounded_sum(**({"low": 0, "high": 10, "epsilon": 1} | wrong))
