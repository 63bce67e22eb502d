"""Exact laws on two inputs: walked bit by bit, shifted noise, products of independent parts, joined outputs."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.checking.exact.laws import Law
from discreet.checking.exact.outputs import (
    ALIKE,
    SURE,
    Pair,
    additive_in,
    coarse,
    event_for,
    frozen,
    pair_of,
    product,
    walked,
)
from discreet.errors import BadParameter, NoLaw
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.statistics.sums import count
from discreet.privacy.promises import events
from discreet.randomness import Bits

F = Fraction
HALF = (F(1, 2), F(1, 2))


def flip(data: int, bits: Bits) -> int:
    return data if bits.bits(2) else 1 - data


def test_every_path_is_walked() -> None:
    pair = walked(flip, 0, 1, depth=4)
    assert pair.first == {0: (F(3, 4), F(3, 4)), 1: (F(1, 4), F(1, 4))}
    assert pair.second == {1: (F(3, 4), F(3, 4)), 0: (F(1, 4), F(1, 4))}
    assert pair.missing == 0


def test_paths_without_an_end_are_a_stated_mass() -> None:
    def until_one(data: int, bits: Bits) -> int:
        tries = data
        while not bits.bits(1):
            tries += 1
        return tries

    pair = walked(until_one, 0, 1, depth=10)
    assert pair.missing == F(1, 2**10)
    assert pair.first[0] == (F(1, 2), F(1, 2) + F(1, 2**10))
    with pytest.raises(NoLaw, match="larger depth"):
        walked(until_one, 0, 1, depth=5)


@pytest.mark.parametrize(
    ("output", "counted"),
    [
        (3, 3),
        ([1, [2]], (1, (2,))),
        (np.array([1, 2]), (1, 2)),
        ({"b": 1, "a": [2]}, (("a", (2,)), ("b", 1))),
        ({1, 2}, frozenset({1, 2})),
    ],
)
def test_outputs_can_be_counted(output: Any, counted: Any) -> None:
    assert frozen(output) == counted
    assert hash(frozen(output)) == hash(counted)


def test_noise_moves_with_its_input() -> None:
    m = laplace(sensitivity=1, epsilon=1)
    pair = pair_of(m, 40, 42)
    assert pair.needed == (events.DiscreteLaplace(scale=1, sensitivity=2),)
    assert pair.first[0] == m.pmf(0)
    assert pair.second[2] == m.pmf(0)
    assert pair_of(m, 7, 7) is ALIKE


def test_wide_noise_is_priced_and_not_written_out() -> None:
    pair = pair_of(laplace(sensitivity=1, epsilon="1/100"), 0, 3)
    assert pair.first is pair.second is SURE
    assert pair.needed == (events.DiscreteLaplace(scale=100, sensitivity=3),)


@pytest.mark.parametrize(
    ("additive", "event"),
    [
        (laplace(sensitivity=1, scale=5), events.DiscreteLaplace(5, 5)),
        (gaussian(sensitivity=1, sigma=5), events.DiscreteGaussian(5, dimension=2, sensitivity_squared=13)),
    ],
)
def test_the_event_that_covers_a_move(additive: Any, event: Any) -> None:
    assert event_for(additive, [3, -2]) == event


def test_where_the_additive_noise_is() -> None:
    m = laplace(sensitivity=1, epsilon=1)
    assert additive_in(m) is m
    counted = count(epsilon=1)
    assert additive_in(counted) is counted.noise

    class Otherwise:
        noise = m

        def law(self, value: int) -> dict[int, int]:
            return {value: 1}

    assert additive_in(Otherwise()) is None  # it writes a law of its own
    assert additive_in(object()) is None


def test_releases_are_taken_apart() -> None:
    noisy = stable.count() >> laplace(epsilon=1)
    assert pair_of(noisy, [1], [1, 1]).needed == (events.DiscreteLaplace(1, 1),)
    assert pair_of(noisy.then(abs), [1], [1, 1]).needed == (events.DiscreteLaplace(1, 1),)
    both = stable.sequential([noisy, noisy])
    assert pair_of(both, [1], [1, 1]).needed == (events.DiscreteLaplace(1, 1),) * 2
    parts = stable.parallel({"a": noisy, "b": noisy})
    assert pair_of(parts, ["a"], ["a", "b"]).needed == (events.DiscreteLaplace(1, 1),)
    assert pair_of(parts, ["a"], ["a", "c"]) is ALIKE


def test_what_cannot_be_taken_apart() -> None:
    with pytest.raises(NoLaw, match="neither a mechanism nor a release"):
        pair_of(object(), 0, 1)


def test_independent_parts_multiply() -> None:
    coin: Law
    bent: Law
    coin, bent = {0: HALF, 1: HALF}, {0: (F(1, 4),) * 2, 1: (F(3, 4),) * 2}
    pair = product([Pair(coin, bent, F(1, 100)), ALIKE, Pair(bent, coin, F(1, 50))])
    assert {p for p, _ in pair.first.values()} == {F(1, 8), F(3, 8)}
    assert sum(p for p, _ in pair.second.values()) == 1
    assert pair.missing == F(3, 100)
    assert product([ALIKE, ALIKE]) is ALIKE


def test_joined_outputs_keep_their_mass() -> None:
    law: Law = {k: (F(k, 55), F(k, 55)) for k in range(1, 11)}
    turned: Law = {k: law[11 - k] for k in range(1, 11)}
    first, second = coarse(Pair(law, turned), 4)
    assert len(first) == len(second) == 4
    assert sum(p for p, _ in first.values()) == sum(p for p, _ in second.values()) == 1
    assert coarse(Pair(law, turned), 10) == (law, turned)
    with pytest.raises(BadParameter, match="fewer"):
        coarse(Pair(law, turned), 1)
