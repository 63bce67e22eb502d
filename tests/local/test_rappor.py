"""RAPPOR over time: all pairs of sequences of values, by enumeration; what was claimed before is refuted."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import log
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, NotATheorem
from discreet.exact import exp_up
from discreet.local.oracle import Oracle
from discreet.local.rappor import (
    Rappor,
    _foreign_ratio,
    _largest_sum,
    _own_ratio,
    _worst_loss,
    rappor,
)
from discreet.local.wire import Server, to_bytes, to_json
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises.measures import Pure
from tests.helpers.coins import Ways, every_way

SHAPES = [
    {"noise": "1/2", "one": "3/4", "zero": "1/2"},  # a 0 tells more than a 1
    {"noise": "1/3", "one": "4/5", "zero": "1/4"},
    {"noise": "3/4", "one": "1/2", "zero": "1/8"},  # a 1 tells more
]


def made_of(k: int, shape: int = 0) -> Rappor:
    return rappor(k=k, **SHAPES[shape])


# --- the law of a device, independently: permanent bits are summed over one by one -----------------------------------

Memory = Callable[[int, int], Any]
"""Which permanent bit a place uses at a value: two equal keys are one bit."""


def by_place_and_bit(place: int, value: int) -> Any:
    return value == place


def by_value(place: int, value: int) -> Any:
    """Today's twin: every value has permanent bits of its own."""
    return value


def chance_at(made: Rappor, place: int, values: tuple[int, ...], sent: tuple[int, ...], memory: Memory) -> Fraction:
    """P[these bits are sent at a place], by a sum over all permanent bits that it uses."""
    keys = sorted({(memory(place, v), v == place) for v in values})
    total = Fraction(0)
    for permanent in product((0, 1), repeat=len(keys)):
        bit = dict(zip(keys, permanent, strict=True))
        weight = Fraction(1)
        for (_, own), drawn in bit.items():
            set_chance = 1 - made.noise / 2 if own else made.noise / 2
            weight *= set_chance if drawn else 1 - set_chance
        for v, s in zip(values, sent, strict=True):
            one = made.one if bit[memory(place, v), v == place] else made.zero
            weight *= one if s else 1 - one
        total += weight
    return total


def loss(made: Rappor, first: tuple[int, ...], second: tuple[int, ...], memory: Memory = by_place_and_bit) -> Fraction:
    """e^loss of the most telling reports: places are independent, so the largest ratios are multiplied."""
    total = Fraction(1)
    for place in range(made.k):
        total *= max(
            chance_at(made, place, first, sent, memory) / chance_at(made, place, second, sent, memory)
            for sent in product((0, 1), repeat=len(first))
        )
    return total


def sequences(k: int, length: int, changes: int) -> Iterator[tuple[int, ...]]:
    return (v for v in product(range(k), repeat=length) if sum(a != b for a, b in pairwise(v)) <= changes)


@pytest.mark.parametrize(
    ("k", "values"), [(3, (0, 0)), (3, (0, 1)), (2, (0, 1)), (2, (1, 1)), (2, (0, 1, 0)), (2, (1, 1, 0))]
)
def test_a_device_has_the_law_that_is_proven(k: int, values: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Over every coin of the real code: one permanent bit for each place and true bit."""
    made = made_of(k)

    def reports() -> tuple[bytes, ...]:
        device = made.device(changes=2)
        return tuple(device.report(v) for v in values)

    drawn = every_way(monkeypatch, reports)
    assert drawn == joint_law(made, values, by_place_and_bit)
    assert (drawn != joint_law(made, values, by_value)) == (k > 2 and len(set(values)) > 1)  # with two, both are alike


def joint_law(made: Rappor, values: tuple[int, ...], memory: Memory) -> Ways:
    """The chances of all sequences of reports of a few bits each."""
    law: Ways = {}
    for reports in product(product((0, 1), repeat=made.k), repeat=len(values)):
        chance = Fraction(1)
        for place in range(made.k):
            chance *= chance_at(made, place, values, tuple(report[place] for report in reports), memory)
        law[tuple(bytes([sum(bit << i for i, bit in enumerate(report))]) for report in reports)] = chance
    return law


@cache
def law_at_a_place(made: Rappor, here: tuple[bool, ...]) -> list[Fraction]:
    """The chances of all bits that place 0 can send, for where in a sequence the value is here."""
    values = tuple(0 if own else 1 for own in here)
    return [chance_at(made, 0, values, sent, by_place_and_bit) for sent in product((0, 1), repeat=len(here))]


@cache
def worst_by_place(made: Rappor, here: tuple[bool, ...], there: tuple[bool, ...]) -> Fraction:
    """The largest ratio at a place, for where the value is here in two sequences."""
    return max(a / b for a, b in zip(law_at_a_place(made, here), law_at_a_place(made, there), strict=True))


def worst_pair(made: Rappor, length: int, changes: int) -> Fraction:
    """e^loss of the worst pair of all sequences with at most so many changes."""
    listed = list(sequences(made.k, length, changes))
    in_order = [v for v in listed if list(dict.fromkeys(v)) == list(range(len(set(v))))]  # others are the same, renamed
    worst = Fraction(1)
    for first, second in product(in_order, listed):
        ratio = Fraction(1)
        for place in {*first, *second}:
            ratio *= worst_by_place(made, tuple(v == place for v in first), tuple(v == place for v in second))
        worst = max(worst, ratio)
    return worst


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize(
    ("k", "length", "changes"),
    [(2, 1, 0), (2, 4, 0), (3, 5, 0), (4, 2, 1), (4, 4, 1), (5, 3, 1), (6, 3, 2), (3, 1, 9)],
)
def test_the_price_is_that_of_the_worst_pair_of_all_sequences(shape: int, k: int, length: int, changes: int) -> None:
    """By enumeration of all pairs of sequences and all reports, where there are enough values for the worst pair."""
    made = made_of(k, shape)
    worst = worst_pair(made, length, changes)
    claimed = exp_up(made.price(length, changes=changes).epsilon)
    assert worst <= claimed < worst * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize(("k", "length", "changes"), [(2, 5, 1), (2, 4, 3), (3, 4, 1), (3, 4, 3), (4, 3, 2)])
def test_the_price_is_never_too_small_where_there_are_few_values(shape: int, k: int, length: int, changes: int) -> None:
    made = made_of(k, shape)
    worst = worst_pair(made, length, changes)
    assert worst <= exp_up(made.price(length, changes=changes).epsilon)
    assert worst > exp_up(made.price(length, changes=changes - 1).epsilon) or k < 2 * changes


# --- longer sequences: the formulas against all counts of ones --------------------------------------------------------


def by_counts(made: Rappor, here: bool, ones: int, total: int) -> Fraction:
    first = 1 - made.noise / 2 if here else made.noise / 2
    return first * made.one**ones * (1 - made.one) ** (total - ones) + (1 - first) * made.zero**ones * (
        1 - made.zero
    ) ** (total - ones)


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("total", [1, 2, 7, 16])
def test_the_most_telling_reports_are_all_ones_and_all_zeros(shape: int, total: int) -> None:
    """Reports of a place count by the ones among those while the value was here, and among the others."""
    made = made_of(2, shape)
    for own in range(1, total + 1):
        away = total - own
        ratios = [
            by_counts(made, False, j, away) * by_counts(made, True, i, own) / by_counts(made, False, i + j, total)
            for i in range(own + 1)
            for j in range(away + 1)
        ]
        assert _own_ratio(made, own, total) == max(ratios)
        assert _foreign_ratio(made, own, total) == 1 / min(ratios)


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_one_place_in_both_sequences_costs_at_most_as_much_as_two_places(shape: int) -> None:
    """The step of the proof that makes values of their own the worst: by all counts, at lengths up to 5."""
    made = made_of(2, shape)
    for both, only, never, neither in product(range(4), repeat=4):
        length = both + only + never + neither
        if 0 < length <= 5:
            here = (True,) * (both + only) + (False,) * (never + neither)
            there = (True,) * both + (False,) * only + (True,) * never + (False,) * neither
            apart = Fraction(1)
            if both + only:
                apart *= _own_ratio(made, both + only, length)
            if both + never:
                apart *= _foreign_ratio(made, both + never, length)
            assert worst_by_place(made, here, there) <= apart


def test_the_largest_sum_is_that_of_all_ways_to_cut_a_total() -> None:
    gains = [0, 3, 4, 4, 9, 9]

    def ways(total: int, parts: int) -> list[int]:
        if parts == 1:
            return [gains[total]]
        return [gains[n] + rest for n in range(total + 1) for rest in ways(total - n, parts - 1)]

    for parts in range(1, 7):
        assert _largest_sum(gains, parts) == max(ways(5, parts))


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("changes", [0, 1, 2, 7])
def test_the_bound_for_many_reports_is_above_the_exact_price(
    shape: int, changes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = made_of(20, shape)
    lengths = (2, 3, 10, 30, 60)
    exact = [made.price(length, changes=changes).epsilon for length in lengths]
    assert exact == sorted(exact)
    monkeypatch.setitem(_worst_loss.__wrapped__.__globals__, "_COUNTED", 0)
    bounds = [_worst_loss.__wrapped__(made, length, min(changes + 1, length)) for length in lengths]
    assert all(a <= b for a, b in zip(exact, bounds, strict=True))
    assert bounds[-1] < exact[-1] * Fraction(3, 2)


def test_a_year_of_reports_without_a_change_costs_less_than_forever() -> None:
    made = made_of(8)
    assert made.price(1).epsilon < made.price(30).epsilon < made.price(256).epsilon <= made.forever.epsilon
    assert made.price(257) == made.forever
    assert made.price(256, changes=1).epsilon < made.price(257, changes=1).epsilon


# --- what was claimed before ------------------------------------------------------------------------------------------


def today(made: Rappor, first: int, second: int, *, constant_first: bool = False) -> float:
    """The loss of today's twin, 0 x first then 1 x second against 0 only: all counts of ones, before and after."""
    total = 0.0
    for place in range(3):
        ratios = [
            by_counts(made, place == 0, i, first)
            * by_counts(made, place == 1, j, second)
            / by_counts(made, place == 0, i + j, first + second)
            for i in range(first + 1)
            for j in range(second + 1)
        ]
        worst = log(1 / min(ratios)) if constant_first else log(max(ratios))
        total += worst * (1 if place < 2 else made.k - 2)  # all other places are alike
    return total


@pytest.mark.parametrize(("k", "each", "figure"), [(8, 5, 9.5), (8, 30, 89.5), (1024, 1, 50.5)])
def test_permanent_bits_for_each_value_are_refuted(k: int, each: int, figure: float) -> None:
    """Before, a second value cost ε∞ once more, 4.394 in all; the change shows in every bit, by enumeration."""
    made = made_of(k)
    claimed = 2 * made.forever.epsilon
    assert float(claimed) == pytest.approx(4.394, abs=1e-3)
    assert today(made, each, each) == pytest.approx(figure, abs=0.05)
    assert today(made, each, each) > claimed
    if each == 5:
        assert today(made_of(3), 2, 2) == pytest.approx(log(loss(made_of(3), (0, 0, 1, 1), (0, 0, 0, 0), by_value)))


def test_one_bit_for_each_place_and_true_bit_does_not_bound_a_change_by_itself() -> None:
    """30 + 30 reports lose 26 between 0 x 30, 1 x 30 and 2 x 30, 3 x 30, so a bound must grow with the reports."""
    made = made_of(8)
    lost = 2 * log(_own_ratio(made, 30, 60)) + 2 * log(_foreign_ratio(made, 30, 60))
    assert lost == pytest.approx(26.5, abs=0.1)
    assert lost < made.price(60, changes=1).epsilon


def test_no_cost_of_one_report_can_be_added_up() -> None:
    """256 bits, 0 then 0 against 0 then 1: 15.7 today, and neither ε₁ nor ε∞ for each report covers it."""
    made = made_of(256)
    two_once, two_forever = 2 * made.price(1).epsilon, 2 * made.forever.epsilon
    assert float(two_once) == pytest.approx(1.07, abs=0.01)
    assert float(two_forever) == pytest.approx(4.39, abs=0.01)
    assert today(made, 1, 1, constant_first=True) == pytest.approx(15.7, abs=0.05)
    # and with one bit for each place and true bit: the worst pairs, which are attained
    assert made.price(2, changes=1).epsilon > two_once
    assert made.price(60, changes=2).epsilon > 60 * made.price(1).epsilon


def test_a_device_has_no_event_and_is_no_randomizer() -> None:
    made = made_of(4)
    for name in ("event", "epsilon", "client", "simulate", "randomize", "law", "server"):
        assert not hasattr(made, name)
        assert not hasattr(made.device(), name)
    assert not issubclass(Rappor, Oracle)
    with pytest.raises(BadParameter):
        Filter(Pure(1)).spend(made)  # type: ignore[arg-type]
    assert isinstance(made.one_time, Oracle)
    assert made.one_time.price == made.price(1)
    assert (made.one_time.keep, made.one_time.other) == (made.keep, made.other)


# --- devices ----------------------------------------------------------------------------------------------------------


def test_a_second_value_is_refused_unless_the_device_was_made_for_it() -> None:
    made = made_of(16)
    device = made.device()
    assert device.spent == Pure(0)
    device.report(3)
    with pytest.raises(NotATheorem, match="missing report would tell") as refused:
        device.report(11)
    assert "3" not in str(refused.value)
    assert "11" not in str(refused.value)
    assert device.spent == made.price(1)  # nothing was drawn or counted
    device.report(3)
    assert device.spent == made.price(2)


def test_what_was_spent_grows_with_the_reports_and_does_not_depend_on_the_values() -> None:
    made = made_of(16)
    moving, staying = made.device(changes=2), made.device(changes=2)
    for value in (3, 4, 3):
        moving.report(value)
        staying.report(5)
        assert moving.spent == staying.spent
    assert moving.spent == made.price(3, changes=2)
    with pytest.raises(NotATheorem):
        moving.report(4)
    moving.report(3)
    staying.report(6)
    assert moving.spent.epsilon == staying.spent.epsilon > made.price(3, changes=2).epsilon


def test_a_device_keeps_its_permanent_bits() -> None:
    """Nearly no fresh noise: reports of one value agree, and so do those before and after a detour."""
    made = rappor(k=16, noise="1/2", one=Fraction(10**12 - 1, 10**12), zero=Fraction(1, 10**12))
    device = made.device(changes=3)
    first, second, again, last = (device.report(v) for v in (3, 4, 3, 4))
    assert first == again
    assert second == last
    differ = np.unpackbits(np.frombuffer(bytes(a ^ b for a, b in zip(first, second, strict=True)), dtype=np.uint8))
    assert differ.sum() <= 2  # the bits of 3 and of 4; before, all 16 were drawn anew


def test_devices_are_not_copied_stored_or_forked() -> None:
    device = made_of(4).device()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotATheorem, match="copied"):
            copied(device)
    child = os.fork()
    if not child:
        try:
            device.report(1)
        except NotATheorem:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("value", [4, -1, 0.5, "1", None, True])
def test_bad_values_are_refused_and_not_shown(value: Any) -> None:
    device = made_of(4).device()
    with pytest.raises(BadData, match="integers"):
        device.report(value)
    assert device.spent == Pure(0)


# --- the server -------------------------------------------------------------------------------------------------------


def test_rounds_of_rappor_are_estimated_without_bias() -> None:
    made = rappor(k=4, noise="1/4", one="9/10", zero="1/10")
    devices = [(made.device(), v) for v in [0] * 300 + [1] * 100]
    reports = np.array([np.frombuffer(d.report(v), dtype=np.uint8) for d, v in devices])
    result = made.estimate(reports, "0.999999999")
    assert np.abs(result.values - [0.75, 0.25, 0, 0]).max() <= result.error


def test_reports_of_devices_travel_as_others_do() -> None:
    made = made_of(11)
    server, device = Server(made), made.device()
    assert server.add(to_bytes(made, device.report(3)))
    assert server.add(to_json(made, device.report(3)))
    assert not server.add(to_bytes(made.one_time, made.one_time.client(3)))  # another randomizer
    assert (server.people, server.ignored) == (2, 1)


@pytest.mark.parametrize("given", [{"noise": 0}, {"noise": 1}, {"one": "1/2"}, {"zero": 0}, {"one": 1}])
def test_bad_rappor(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        rappor(**{"k": 4, "noise": "1/2", **given})


@pytest.mark.parametrize("changes", [-1, 0.5, "1", True])
def test_bad_changes(changes: Any) -> None:
    with pytest.raises(BadParameter):
        made_of(4).device(changes=changes)
    with pytest.raises(BadParameter):
        made_of(4).price(3, changes=changes)
