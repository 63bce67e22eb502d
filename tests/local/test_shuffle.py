"""Shuffling: uniform orders, and prices that agree with each other."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from discreet.errors import NotATheorem
from discreet.local.response import response
from discreet.local.shuffle import (
    LocalShuffler,
    largest_local,
    permutation,
    shuffled_closed_form,
    shuffled_event,
    shuffled_price,
)
from discreet.privacy.accountants.shuffling import shuffled
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import Approx
from tests.helpers.laws import misfit


def test_all_orders_are_as_likely() -> None:
    law = {order: (Fraction(1, 24), Fraction(1, 24)) for order in permutations(range(4))}
    draws = [tuple(permutation(4).tolist()) for _ in range(20_000)]
    assert misfit(draws, law) < 1
    assert misfit([(0, *np.array(d[1:]).tolist()) for d in draws if d[0] == 0] + draws[:2000], law) > 1
    assert permutation(0).tolist() == []
    assert permutation(1).tolist() == [0]


def test_a_shuffler_keeps_the_reports() -> None:
    oracle = response(k=5, epsilon=1)
    reports = oracle.simulate(np.arange(5).repeat(50))
    mixed = LocalShuffler().shuffle(reports)
    assert Counter(map(bytes, mixed)) == Counter(map(bytes, reports))
    assert oracle.estimate(mixed).values.tolist() == oracle.estimate(reports).values.tolist()


def test_prices() -> None:
    oracle = response(k=2, epsilon=1)
    price = shuffled_price(oracle, 2000, delta="1e-6")
    assert price.epsilon < 1
    assert shuffled_event(oracle, 2000, delta="1e-6").epsilon == price.epsilon
    simple = shuffled_closed_form("1/2", 2000, delta="1e-6")
    assert shuffled("1/2", 2000, delta="1e-6").epsilon < simple.epsilon
    with pytest.raises(NotATheorem):
        shuffled_closed_form(5, 100, delta="1e-6")
    with pytest.raises(NotATheorem):
        shuffled_closed_form(1, 10**6, delta=0)
    local = largest_local("1/2", 300, delta="1e-6")
    assert shuffled(local, 300, delta="1e-6").epsilon <= Fraction(1, 2)
    assert shuffled(local + Fraction(1, 16), 300, delta="1e-6").epsilon > Fraction(1, 2)


def test_local_shuffled_and_central_releases_share_one_budget() -> None:
    spending = Filter(Approx(2, "1e-5"))
    oracle = response(k=2, epsilon=1)
    spending.spend(oracle.event)
    spending.spend(shuffled_event(oracle, 2000, delta="1e-6"))
    assert spending.remaining is not None
