"""Shuffling: uniform orders, and prices that agree with each other."""

from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import pytest

from discreet.errors import BadParameter, NotATheorem
from discreet.exact import exp_up
from discreet.local.hadamard import hadamard
from discreet.local.heavy_hitters import heavy_hitters
from discreet.local.means import mean
from discreet.local.rappor import rappor
from discreet.local.response import response
from discreet.local.shuffle import (
    LocalShuffler,
    largest_local,
    permutation,
    shuffled_closed_form,
    shuffled_event,
    shuffled_price,
)
from discreet.privacy.accountants.shuffling import shuffled, shuffled_delta
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises import events
from discreet.privacy.promises.events.base import restated
from discreet.privacy.promises.measures import Approx
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.laws import misfit


@pytest.mark.slow
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


@pytest.mark.slow
def test_prices() -> None:
    oracle = response(k=2, epsilon=1)
    price = shuffled_price(oracle, 2000, delta="1e-6")
    assert price.epsilon < 1
    assert shuffled_event(oracle, 2000, delta="1e-6").epsilon == price.epsilon
    simple = shuffled_closed_form("1/2", 2000, delta="1e-6")
    assert shuffled_closed_form(response(k=3, epsilon="1/2"), 2000, delta="1e-6") == simple
    assert shuffled("1/2", 2000, delta="1e-6").epsilon < simple.epsilon
    with pytest.raises(NotATheorem):
        shuffled_closed_form(5, 100, delta="1e-6")
    with pytest.raises(NotATheorem):
        shuffled_closed_form(1, 10**6, delta=0)
    local = largest_local("1/2", 300, delta="1e-6")
    assert shuffled(local, 300, delta="1e-6").epsilon <= Fraction(1, 2)
    assert shuffled(local + Fraction(1, 16), 300, delta="1e-6").epsilon > Fraction(1, 2)


@pytest.mark.slow
def test_local_shuffled_and_central_releases_share_one_budget() -> None:
    spending = Filter(Approx(2, "1e-5"))
    oracle = response(k=2, epsilon=1)
    spending.spend(oracle.event)
    spending.spend(shuffled_event(oracle, 2000, delta="1e-6"))
    assert spending.remaining is not None


# --- devices with a memory --------------------------------------------------------------------------------------------


def test_devices_with_a_memory_are_refused_by_name() -> None:
    made = rappor(k=2, noise="1/2", one="999/1000", zero="1/1000")
    for remembering in (made, made.device()):
        for price in (shuffled_price, shuffled_event, shuffled_closed_form):
            with pytest.raises(NotATheorem, match=r"rappor devices remember .*one_time"):
                price(remembering, 1000, delta="1e-6")  # type: ignore[arg-type]
    assert shuffled_event(made.one_time, 1000, delta="1e-6").epsilon < made.one_time.epsilon / 3
    for wrong in (heavy_hitters(epsilon=1, length=2, alphabet=b"ab"), 1, None):
        with pytest.raises(BadParameter):
            shuffled_event(wrong, 1000, delta="1e-6")  # type: ignore[arg-type]


def at_most(successes: int, trials: int, chance: Fraction) -> Fraction:
    """P[Bin(trials, chance) <= successes], exactly."""
    return sum((comb(trials, i) * chance**i * (1 - chance) ** (trials - i) for i in range(successes + 1)), Fraction(0))


def test_why_devices_with_a_memory_are_refused() -> None:
    """999 devices report 0 in two shuffled rounds, a newcomer reports 0 or 1 in the second round: it stands alone.

    An attacker pairs reports of the two rounds that differ in at most 4 of 64 bits. Devices keep their permanent bits,
    so all but the newcomer's report have a partner, up to a chance that is bounded here.
    """
    made = rappor(k=64, noise="1/2", one="999/1000", zero="1/1000")
    charge = shuffled_price(made.one_time, 1000, delta="1e-6")
    assert (round(float(2 * charge.epsilon), 2), 2 * charge.delta) == (1.29, Fraction(2, 10**6))  # for both rounds
    turned = max(2 * p * (1 - p) for p in (made.one, made.zero))  # two reports of one permanent bit differ
    apart = 2 * made.other * (1 - made.other)  # reports of two devices differ, at the 62 other places
    failed = 999 * (1 - at_most(4, 64, turned)) + 999 * at_most(4, 62, apart)
    assert failed < Fraction(1, 1000)
    # the report without a partner has bit 0 set and bit 1 not
    if_zero = made.keep * (1 - made.other) - failed
    if_one = made.other * (1 - made.keep) + failed
    true = if_zero - exp_up(2 * charge.epsilon) * if_one
    assert true > Fraction(186, 1000)
    assert true > 10**5 * 2 * charge.delta


# --- the theorem ------------------------------------------------------------------------------------------------------


def counted(ones: int, zeros: int, flip: Fraction) -> list[Fraction]:
    """The law of the number of ones among so many shuffled bits, each turned over with this chance."""
    law = [Fraction(1)]
    for chance in [1 - flip] * ones + [flip] * zeros:
        law = [
            (law[i] if i < len(law) else 0) * (1 - chance) + (law[i - 1] if i else 0) * chance
            for i in range(len(law) + 1)
        ]
    return law


@pytest.mark.parametrize("local", [Fraction(1, 2), Fraction(1), Fraction(2)])
@pytest.mark.parametrize("others", [(0, 1), (3, 0), (2, 4), (0, 12)])
def test_the_theorem_holds_for_shuffled_randomized_response_enumerated(
    local: Fraction, others: tuple[int, int]
) -> None:
    """Both directions at every epsilon of a grid; with half of the people the bound would be larger still."""
    flip, n = 1 / (exp_up(local) + 1), 1 + sum(others)
    with_zero, with_one = (counted(others[0] + own, others[1] + 1 - own, flip) for own in (0, 1))
    for epsilon in (Fraction(k, 8) for k in range(9)):
        grown = exp_up(epsilon)
        true = max(
            sum(max(Fraction(0), p - grown * q) for p, q in zip(one, other, strict=True))
            for one, other in ((with_zero, with_one), (with_one, with_zero))
        )
        assert true <= shuffled_delta(local, n, epsilon).upper
    assert true_somewhere(with_zero, with_one) > shuffled_delta(local, 100 * n, 0).upper  # it is not empty


def true_somewhere(one: list[Fraction], other: list[Fraction]) -> Fraction:
    return sum((max(Fraction(0), p - q) for p, q in zip(one, other, strict=True)), Fraction(0))


@pytest.mark.slow
def test_the_closed_form_is_above_the_certified_price_wherever_it_holds() -> None:
    for local, n, delta in (("1/10", 500, "1e-4"), (1, 2000, "1e-6"), (2, 5000, "1e-6"), (3, 20_000, "1e-8")):
        assert shuffled(local, n, delta=delta).epsilon <= shuffled_closed_form(local, n, delta=delta).epsilon
    with pytest.raises(NotATheorem):  # 16 ln(2/δ) e^ε₀ <= n < 16 ln(4/δ) e^ε₀
        shuffled_closed_form(1, 640, delta="1e-6")


def test_reports_are_about_a_changed_value_and_not_about_who_reports() -> None:
    """Whether somebody reports is not hidden, so they never share a budget with prices for added people."""
    oracle = response(k=4, epsilon=1)
    sampled = events.Subsampled(events.Pure("1/2"), "0.01")
    for made in (oracle, hadamard(k=4, epsilon=1), mean(low=0, high=1, epsilon=1)):
        assert events.stated_for(made.event) is Neighbours.CHANGE_ONE
    for event in (oracle.event, shuffled_event(oracle, 2000, delta="1e-6")):
        spending = Filter(Approx(3, "1e-4"))
        spending.spend(sampled)
        with pytest.raises(NotATheorem, match="neighbours"):
            spending.spend(event)
        Filter(Approx(3, "1e-4")).spend(restated(event, None))  # planted: as it once was
