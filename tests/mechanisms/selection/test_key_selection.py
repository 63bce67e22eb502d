"""Keys from the data: hockey-sticks of all neighbours, the very comparison of the threshold, the optimal rule."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.exact import exp_down, exp_up
from discreet.mechanisms.selection.key_selection import (
    OptimalKeys,
    ThresholdKeys,
    chances,
    optimal_keys,
    read_counts,
    threshold_keys,
)
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises import events
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits
from tests.helpers.laws import any_broken, broken, is_a_law, misfit

COUNTS = list(product(range(3), repeat=2))
E = Fraction(1, 10**9)


def adds_a_unit(keys: int, each: int = 1) -> Any:
    """Neighbours by one unit: at most ``keys`` counts rise, or all of them fall, by at most ``each``."""

    def near(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
        steps = [b - a for a, b in zip(x, y, strict=True)]
        one_way = all(0 <= s <= each for s in steps) or all(-each <= s <= 0 for s in steps)
        return one_way and sum(s != 0 for s in steps) <= keys

    return near


def laws(m: Any, counts: list[tuple[int, ...]] = COUNTS) -> dict[tuple[int, ...], Any]:
    return {c: m.law(m.read(dict(zip("ab", c, strict=False)))) for c in counts}


# --- thresholds -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_comparison_of_c2() -> None:
    """Scale 1, threshold 5: P[1 + Z >= 5] = 0.013390, where another library reported 0.004926 for P[1 + Z > 5]."""
    m = threshold_keys(scale=1, threshold=5)
    q = exp(-1)
    assert float(m.delta) == pytest.approx(q**4 / (1 + q), rel=1e-12)
    assert float(m.delta) == pytest.approx(0.013390, abs=1e-6)
    draws = [m.draw(m.read({"x": 1}), SystemBits()) for _ in range(100_000)]
    assert abs(sum(map(len, draws)) - 1339) < 6.5 * 1339**0.5
    assert min(v for d in draws for v in d.values()) == 5


@pytest.mark.parametrize("c", [1, 2, 5, 70])
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-12"])
@pytest.mark.parametrize("noise", [{"epsilon": 1}, {"rho": "1/2"}])
def test_the_threshold_is_the_least_that_keeps_delta(c: int, m: int, delta: str, noise: dict[str, Any]) -> None:
    made = threshold_keys(**noise, delta=delta, keys_per_unit=c, count_per_key=m)
    assert made.delta <= Fraction(delta)
    assert replace(made, threshold=made.threshold - 1).delta > Fraction(delta)
    p = made.noise.tail_up(made.threshold - m - 1) / 2
    assert float(made.delta) == pytest.approx(float(1 - (1 - p) ** c), rel=1e-3)
    assert made.delta >= 1 - (1 - p) ** c


@pytest.mark.slow
@pytest.mark.parametrize("c", [1, 2])
def test_no_neighbours_break_the_promise_of_laplace_noise(c: int) -> None:
    m = threshold_keys(epsilon=c, threshold=3, keys_per_unit=c)  # scale 1
    found = laws(m)
    assert all(is_a_law(law) for law in found.values())
    near = adds_a_unit(c)
    assert not any_broken(found, near, Fraction(c), m.delta)
    assert any_broken(found, near, Fraction(c), m.delta * Fraction(99, 100))  # tight
    one: list[tuple[int, ...]] = [(n,) for n in range(4)]
    low = replace(m, threshold=2)  # threshold off by one, at the δ of the right one
    assert any_broken(laws(low, one), near, Fraction(c), m.delta)
    quiet = threshold_keys(scale=Fraction(7, 10), threshold=3, keys_per_unit=c)  # noise x 0.7
    assert any_broken(laws(quiet, [(6,) * c, (7,) * c]), near, Fraction(c), m.delta)
    assert any_broken(found, adds_a_unit(2, 2), Fraction(c), m.delta)  # units that are not capped


@pytest.mark.slow
def test_counts_may_rise_by_more_than_one() -> None:
    m = threshold_keys(epsilon=2, threshold=4, count_per_key=2)  # scale 1
    counts = list(product(range(6), repeat=1))
    found = laws(m, counts)
    assert not any_broken(found, adds_a_unit(1, 2), Fraction(2), m.delta)
    assert any_broken(found, adds_a_unit(1, 3), Fraction(2), m.delta)


def test_no_neighbours_break_the_promise_of_gaussian_noise() -> None:
    m = threshold_keys(sigma=2, threshold=6)
    assert m.price.delta == m.delta
    counts = list(product(range(5), repeat=1))
    found = laws(m, counts)
    for epsilon in (Fraction(1, 2), Fraction(1)):
        own = sum(
            max(Fraction(0), m.noise.pmf(z)[1] - exp_down(epsilon) * m.noise.pmf(z - 1)[0]) for z in range(-60, 60)
        )
        assert not any_broken(found, adds_a_unit(1), epsilon, own + m.delta)
        low = laws(replace(m, threshold=4), counts)
        assert any_broken(low, adds_a_unit(1), Fraction(3), m.delta)


def test_a_key_that_nobody_holds_never_appears() -> None:
    m = threshold_keys(epsilon="1/1000", threshold=2, keys_per_unit=1)
    for _ in range(200):
        assert set(m.release({"a": 0, "b": -5, "c": 10**6}).value) <= {"c"}
    assert m.law(m.read({"a": 0})) == m.law(m.read({}))
    o = optimal_keys(epsilon=1, delta="1/2")
    assert all(set(o.release({"a": 0, "b": -5, "c": 10**6}).value) == {"c"} for _ in range(50))


def test_events_and_prices() -> None:
    m = threshold_keys(epsilon=1, delta="1e-6", keys_per_unit=3)
    both = events.Composed([events.DiscreteLaplace(3, 3), events.Threshold(0, m.delta)])
    assert m.event == both.about(Neighbours.ADD_REMOVE)
    assert price_basic(m.event).epsilon == 1
    assert price_basic(m.event).delta == m.delta <= Fraction(1, 10**6)
    g = threshold_keys(rho="1/8", delta="1e-6", keys_per_unit=3, count_per_key=2)
    assert price_zcdp(g.event).rho == Fraction(1, 8)
    assert price_zcdp(g.event).delta == g.delta
    o = optimal_keys(epsilon=1, delta="1e-6", keys_per_unit=4)
    assert o.event == events.Repeat(events.Threshold("1/4", "2.5e-7"), 4).about(Neighbours.ADD_REMOVE)
    assert price_basic(o.event) == o.price
    assert optimal_keys(epsilon=1, delta="1e-6").event == events.Threshold(1, "1e-6").about(Neighbours.ADD_REMOVE)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [{"scale": 2}, {"sigma": 3}])
def test_the_sampler_has_the_law(noise: dict[str, Any]) -> None:
    m = threshold_keys(**noise, threshold=4)
    law = m.law(m.read({"a": 3}))
    exact = m.read({"a": 3})

    def draws(made: ThresholdKeys, n: int) -> list[Any]:
        return [tuple(made.draw(exact, SystemBits()).items()) for _ in range(n)]

    assert misfit(draws(m, 60_000), law) < 1
    assert misfit(draws(replace(m, threshold=5), 20_000), law) > 1
    assert misfit(draws(threshold_keys(**{k: 2 * v for k, v in noise.items()}, threshold=4), 20_000), law) > 1


def test_many_keys_get_noise_of_their_own() -> None:
    m = threshold_keys(epsilon="1/10", delta="1e-3")
    named = m.release(dict.fromkeys(range(3000), 200)).value
    assert list(named) == sorted(named)
    assert len(set(named.values())) > 30


# --- the optimal rule -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 1000), Fraction(1, 7), Fraction(2, 3)])
def test_the_table_keeps_all_four_inequalities_exactly(epsilon: Fraction, delta: Fraction) -> None:
    if epsilon == 0 and delta < Fraction(1, 10**6):
        with pytest.raises(BadParameter):
            chances(epsilon, delta)
        return
    table = chances(epsilon, delta)
    assert table[0] == 0
    assert table[-1] == 1
    grown = exp_down(epsilon, 400)
    for p, q in zip(table, (*table[1:], Fraction(1)), strict=True):
        assert p <= q
        assert q <= grown * p + delta
        assert 1 - p <= grown * (1 - q) + delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-3), (3, 1e-9)])
def test_the_table_is_the_optimal_recursion(epsilon: float, delta: float) -> None:
    p = 0.0
    for found in chances(Fraction(epsilon), Fraction(delta)):
        assert float(found) == pytest.approx(p, rel=1e-9, abs=1e-15)
        p = min(exp(epsilon) * p + delta, 1 - exp(-epsilon) * (1 - p - delta), 1.0)


def test_no_rule_may_name_a_key_more_often() -> None:
    table = chances(Fraction(1), Fraction(1, 1000))
    for n in range(len(table) - 2):
        more = table[n + 1] + E
        assert more > exp_up(Fraction(1)) * table[n] + Fraction(1, 1000) or (
            1 - table[n] > exp_up(Fraction(1)) * (1 - more) + Fraction(1, 1000)
        )


@pytest.mark.parametrize("c", [1, 2])
def test_no_neighbours_break_the_promise_of_the_optimal_rule(c: int) -> None:
    m = optimal_keys(epsilon=1, delta="1/20", keys_per_unit=c)
    counts = list(product(range(12), repeat=1 if c == 1 else 2))
    found = laws(m, counts)
    near = adds_a_unit(c)
    assert not any_broken(found, near, m.epsilon, m.delta)
    assert any_broken(found, near, m.epsilon, m.delta * Fraction(9, 10))
    assert any_broken(found, adds_a_unit(1, 2), m.epsilon, m.delta) or c == 2
    shifted = {(*x,): found[tuple(n + 1 for n in x)] for x in counts if max(x) < 11}  # off by one: π_{n+1} for n
    nothing = m.law(m.read({}))
    assert broken(shifted[(1,) * (1 if c == 1 else 2)], nothing, m.epsilon, m.delta)


def test_more_keys_than_were_paid_for() -> None:
    m = optimal_keys(epsilon=1, delta="1/20")
    found = laws(m, list(product(range(6), repeat=2)))
    assert any_broken(found, adds_a_unit(2), m.epsilon, m.delta)


def test_the_optimal_rule_beats_the_threshold() -> None:
    thresholds = threshold_keys(epsilon=1, delta="1e-6")
    optimal = optimal_keys(epsilon=1, delta="1e-6")
    for n in range(1, 40):
        named = thresholds.noise.tail_up(thresholds.threshold - n - 1) / 2 if n < thresholds.threshold else 0
        assert optimal.chance(n) >= named * (1 - E)
    assert optimal.named_from("0.95") <= thresholds.named_from("0.95")
    assert optimal.chance(optimal.named_from(1)) == 1


@pytest.mark.slow
def test_the_optimal_sampler_has_the_law() -> None:
    m = optimal_keys(epsilon=1, delta="1/50")
    exact = m.read({"a": 2, "b": 4, "c": 3})
    draws = [m.draw(exact, SystemBits()) for _ in range(40_000)]
    law = m.law(exact)
    assert misfit(draws, law) < 1
    assert misfit(draws, m.law(m.read({"a": 3, "b": 5, "c": 4}))) > 1
    many = OptimalKeys(Fraction(1), Fraction(1, 50))
    named = many.draw(many.read(dict.fromkeys(range(200_000), 3)), SystemBits())
    p = float(m.chance(3))
    assert abs(len(named) - 200_000 * p) < 6.5 * (200_000 * p * (1 - p)) ** 0.5


# --- reading, refusing, paying --------------------------------------------------------------------------------------


def test_the_order_of_the_mapping_says_nothing() -> None:
    assert read_counts({"b": 1, "a": 2}).keys == read_counts({"a": 2, "b": 1}).keys == ("a", "b")
    mixed = [None, "x", 10, 9, b"z", ("a", 2), ("a", None), date(2020, 1, 1), 1.5, np.int64(3), True]
    there, back = (dict.fromkeys(keys, 5) for keys in (mixed, mixed[::-1]))
    assert read_counts(there).keys == read_counts(back).keys
    assert read_counts({10: 1, 9: 1}).keys == (9, 10)
    assert read_counts({"a": 10**30}).counts.tolist() == [2**61]


@pytest.mark.parametrize("value", [None, [1, 2], "ab", 5, {"a": 1.0}, {"a": float("nan")}, {"a": True}, {"a": "1"}])
@pytest.mark.parametrize("m", [threshold_keys(epsilon=1, delta="1e-6"), optimal_keys(epsilon=1, delta="1e-6")])
def test_bad_data_is_refused_before_anything_is_paid(m: Any, value: Any) -> None:
    receipt = Receipt(m.event, number=1)
    with pytest.raises(BadData):
        m.release(value, receipt)
    assert not receipt.used
    assert not m.release({}, receipt).value
    with pytest.raises(ReceiptRefused):
        m.release({}, receipt)


def test_a_refusal_never_tells_a_key_or_a_count() -> None:
    with pytest.raises(BadData) as refused:
        threshold_keys(epsilon=1, delta="1e-6").release({"alice": 1234.5})
    assert "alice" not in str(refused.value)
    assert "1234" not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"epsilon": 1}, {"delta": "1e-6"}, {"epsilon": 1, "delta": 0}, {"epsilon": 1, "delta": 1},
        {"epsilon": 0, "delta": "1e-6"}, {"epsilon": 1, "rho": 1, "delta": "1e-6"}, {"epsilon": 1, "threshold": 1},
        {"epsilon": 1, "delta": "1e-6", "threshold": 9}, {"epsilon": 1, "delta": "1e-6", "keys_per_unit": 0},
        {"epsilon": 1, "delta": "1e-6", "count_per_key": 0}, {"epsilon": 1, "threshold": 3, "count_per_key": 3},
        {"scale": 1000, "threshold": 2, "keys_per_unit": 1000}, {"epsilon": 1, "threshold": 5.5},
    ],
)  # fmt: skip
def test_bad_parameters_of_thresholds(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        threshold_keys(**given)


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 0, "delta": "1e-6"}, {"epsilon": 1, "delta": 0}, {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": "1e-6", "keys_per_unit": 0}, {"epsilon": "1e-9", "delta": "1e-30"},
    ],
)  # fmt: skip
def test_bad_parameters_of_the_optimal_rule(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        optimal_keys(**given)


def test_named_from_is_the_least_count() -> None:
    m = threshold_keys(scale=2, threshold=9)
    n = m.named_from("0.9")
    assert 1 - m.noise.tail_up(n - 9) / 2 >= Fraction(9, 10) > 1 - m.noise.tail_up(n - 10) / 2
    with pytest.raises(BadParameter):
        m.named_from(1)
    with pytest.raises(BadParameter):
        optimal_keys(epsilon=1, delta="1e-6").named_from(2)


class Unspeakable:
    """A key that cannot be written."""

    def __repr__(self) -> str:
        raise RuntimeError


def test_an_odd_key_does_not_stop_the_others() -> None:
    """Keys come from data: whether a release fails must not depend on one of them."""
    odd = Unspeakable()
    m = optimal_keys(epsilon=1, delta="1e-6")
    for key in (odd, np.timedelta64(3, "D"), (1, odd), float("nan")):
        assert "a" in m.release({key: 1000, "a": 1000, 5: 1000}).value
