"""Randomized response: the law of a report, millions of them, and frequencies without bias."""

from fractions import Fraction
from itertools import product
from math import comb, exp
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.mechanisms.selection.randomized_response import RandomizedResponse, randomized_response, replaced
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import SystemBits
from tests.helpers.laws import any_broken, drawn, is_a_law, misfit
from tests.helpers.truth import ball, precise


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 5])
def test_no_two_values_break_the_promise_and_it_is_tight(k: int, epsilon: str) -> None:
    m = randomized_response(epsilon=epsilon, categories=k)
    laws = {v: m.law(v) for v in range(k)}
    assert all(is_a_law(law) for law in laws.values())
    assert not any_broken(laws, lambda x, y: True, m.epsilon)
    assert any_broken(laws, lambda x, y: True, m.epsilon * Fraction(999, 1000))
    with precise():
        whole = ball(m.epsilon).exp() + k - 1
        for report, (low, high) in laws[1].items():
            p = (ball(m.epsilon).exp() if report == 1 else 1) / whole
            assert not p < ball(low)
            assert not p > ball(high)


@pytest.mark.parametrize("k", [2, 3, 1000, 2**31])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(50), Fraction(2000)])
def test_the_coin_is_certified(k: int, epsilon: Fraction) -> None:
    for n in (1, 16, 64, 300):
        low, high = replaced(epsilon, k)(n)
        assert 0 <= high - low <= 2
        with precise(600):
            p = k / (ball(epsilon).exp() + k - 1) * ball(1 << n)
            assert not p < low
            assert not p > high


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5])
def test_the_sampler_has_the_law(k: int) -> None:
    m = randomized_response(epsilon=1, categories=k)
    law = m.law(1)
    many = m.draw(m.read(np.ones(200_000, dtype=np.int64)), SystemBits())
    assert isinstance(many, np.ndarray)
    assert misfit(many.tolist(), law) < 1
    assert misfit(drawn(m, 1, 40_000), law) < 1
    twin = randomized_response(epsilon=Fraction(10, 7), categories=k)  # noise x 0.7
    assert misfit(drawn(twin, 1, 40_000), law) > 1
    assert misfit([(v + 1) % k for v in many.tolist()], law) > 1


def test_each_entry_has_its_own_coin() -> None:
    m = randomized_response(epsilon=1)
    value = np.arange(200_000) % 2
    kept = np.asarray(m.draw(m.read(value), SystemBits())) == value
    p = exp(1) / (exp(1) + 1)
    n = len(kept)
    for side in (0, 1):
        assert abs(kept[value == side].mean() - p) < 6.5 * (p * (1 - p) / (n / 2)) ** 0.5
    both = (kept[:-1] & kept[1:]).mean()
    assert abs(both - p * p) < 0.01


def expected(m: RandomizedResponse, data: list[int], value: int) -> float:
    """The mean of the estimate over all reports, each with its probability."""
    laws = [{r: float(low) for r, (low, _) in m.law(v).items()} for v in data]
    total = 0.0
    for reports in product(range(m.categories), repeat=len(data)):
        weight = 1.0
        for law, r in zip(laws, reports, strict=True):
            weight *= law[r]
        total += weight * m.estimate(list(reports)).values[value]
    return total


@pytest.mark.parametrize(("k", "data"), [(2, [1, 0, 1]), (2, [0, 0]), (3, [2, 2, 1]), (4, [3, 0])])
def test_the_estimate_has_no_bias(k: int, data: list[int]) -> None:
    m = randomized_response(epsilon="1/2", categories=k)
    for value in range(k):
        assert expected(m, data, value) == pytest.approx(data.count(value) / len(data), abs=1e-9)


def test_the_estimate_is_the_average_of_the_lecture() -> None:
    m = randomized_response(epsilon=1)
    reports = [1, 1, 0, 1, 0]
    e = exp(1)
    average = sum(((e + 1) * y - 1) / (e - 1) for y in reports) / 5
    assert m.estimate(reports).values[1] == pytest.approx(average, rel=1e-12)
    assert sum(m.estimate(reports).values) == pytest.approx(1)


def coverage(m: RandomizedResponse, n: int, ones: int, confidence: str) -> float:
    """The exact probability that all intervals hold the truth, for bits."""
    p = exp(float(m.epsilon)) / (exp(float(m.epsilon)) + 1)
    law = [0.0] * (n + 1)
    for a in range(ones + 1):
        for b in range(n - ones + 1):
            chance = comb(ones, a) * p**a * (1 - p) ** (ones - a)
            law[a + b] += chance * comb(n - ones, b) * (1 - p) ** b * p ** (n - ones - b)
    held = 0.0
    truth = ones / n
    for count, chance in enumerate(law):
        found = m.estimate([1] * count + [0] * (n - count), confidence)
        both = all(low <= t <= high for low, t, high in zip(found.low, (1 - truth, truth), found.high, strict=True))
        held += chance * both
    return held


@pytest.mark.parametrize("ones", [0, 3, 15, 30])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
def test_the_interval_covers_at_the_stated_rate(ones: int, confidence: str) -> None:
    m = randomized_response(epsilon=1)
    assert coverage(m, 30, ones, confidence) >= float(confidence)


def test_the_interval_is_not_much_wider_than_it_must_be() -> None:
    m = randomized_response(epsilon=1)
    found = m.estimate(np.arange(100_000) % 2, "0.95")
    assert found.high[1] - found.low[1] < 2 * m.error_at("0.95", 100_000) * 1.01
    best = 2 * 1.96 * (0.25 / 100_000) ** 0.5 * (exp(1) + 1) / (exp(1) - 1)
    assert found.high[1] - found.low[1] < 1.5 * best
    rare = randomized_response(epsilon=3, categories=200)
    seen = rare.estimate(np.arange(100_000) % 200, "0.95")
    assert seen.high[0] - seen.low[0] < rare.error_at("0.95", 100_000) / 2  # Hoeffding does not see small frequencies


def test_the_frequencies_of_many_people() -> None:
    rng = np.random.default_rng(7)
    data = rng.choice(4, p=[0.5, 0.3, 0.15, 0.05], size=300_000)
    m = randomized_response(epsilon=1, categories=4)
    found = m.estimate(m.release(data).value, 1 - 1e-9)
    truth = np.bincount(data, minlength=4) / len(data)
    assert all(low <= t <= high for low, t, high in zip(found.low, truth, found.high, strict=True))
    assert np.abs(np.array(found.values) - truth).max() < m.error_at(1 - 1e-9, len(data))
    unmended = np.bincount(m.release(data).value, minlength=4) / len(data)
    assert np.abs(unmended - truth).max() > m.error_at(1 - 1e-9, len(data))


def test_ends_of_the_range() -> None:
    m = randomized_response(epsilon=2)
    nothing = m.estimate([0] * 50)
    assert nothing.low[1] == 0
    assert nothing.values[1] < 0
    assert nothing.high[1] == 0  # even no one would have been reported more often than that
    assert 0 < m.estimate([0] * 45 + [1] * 5).high[1] < 0.2
    everything = m.estimate([1] * 50)
    assert everything.high[1] == 1
    assert m.estimate([1]).low[1] <= 0.5


def test_shapes_and_types() -> None:
    m = randomized_response(epsilon=1)
    assert isinstance(m.release(True).value, int)
    assert m.release(np.array([True, False])).value.dtype == np.int64
    assert m.release(np.zeros(3, dtype=np.uint8)).value.shape == (3,)
    assert m.event == events.RandomizedResponse(1, 2)
    assert randomized_response(epsilon=40).release(1).value == 1
    data = np.zeros(10, dtype=np.int64)
    m.release(data)
    assert not data.any()  # the caller's own array is left alone


@pytest.mark.parametrize(
    "value",
    [
        2, -1, [], np.zeros(0, dtype=np.int64), [0, 2], [0, -1], 0.5, [0.0, 1.0], float("nan"), "1", ["0", "1"], None,
        [[0, 1]], [None, 1], [[0], [0, 1]], 10**30, [10**30, 0], np.array([0, 2**63], dtype=np.uint64), [0.5, True],
        {0: 1},
    ],
)  # fmt: skip
def test_bad_data_is_refused_before_anything_is_paid(value: Any) -> None:
    m = randomized_response(epsilon=1)
    receipt = Receipt(m.event, number=1)
    with pytest.raises(BadData) as refused:
        m.release(value, receipt)
    assert not receipt.used
    assert str(10**30) not in str(refused.value)
    m.release([0, 1], receipt)
    with pytest.raises(ReceiptRefused):
        m.release([0, 1], receipt)


@pytest.mark.parametrize(
    "given",
    [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": float("inf")}, {"epsilon": 1, "categories": 1},
     {"epsilon": 1, "categories": 0}, {"epsilon": 1, "categories": 2.5}, {"epsilon": 1, "categories": 2**40}],
)  # fmt: skip
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        randomized_response(**given)


def test_bad_estimates() -> None:
    m = randomized_response(epsilon=1)
    for reports in ([], 1, [2], [0.5]):
        with pytest.raises(BadData):
            m.estimate(reports)
    with pytest.raises(BadParameter):
        m.estimate([0, 1], 1)
    with pytest.raises(BadParameter):
        m.error_at("0.9", 0)
    with pytest.raises(BadParameter):
        m.law(np.array([1, 2]))


# --- the chance instead of the price, and values with names -----------------------------------------------------------


@pytest.mark.parametrize(("p", "k"), [("3/4", 2), ("0.9", 4), ("0.501", 2), ("0.999999", 10)])
def test_a_value_is_kept_with_the_chance_that_was_given(p: str, k: int) -> None:
    kept = randomized_response(p=p, categories=k).law(0)[0]
    assert Fraction(p) <= kept[1]
    assert kept[0] <= Fraction(p) + Fraction(1, 10**9)


@pytest.mark.parametrize("p", ["1/2", "0.4", 1, 0])
def test_a_chance_that_says_nothing_or_everything_is_refused(p: Any) -> None:
    with pytest.raises(BadParameter, match="p is"):
        randomized_response(p=p)


def test_labels_come_in_and_out_and_name_their_frequencies() -> None:
    survey = randomized_response(epsilon=20, categories=["yes", "no", "none"])
    assert survey.release("no").value == "no"  # another one with probability 5e-9
    assert survey.release(["no", "yes"]).value == ["no", "yes"]
    assert set(survey.law(survey.read("no"))) == {"yes", "no", "none"}
    assert survey.event == randomized_response(epsilon=20, categories=3).event
    found = survey.estimate(["no"] * 75 + ["yes"] * 25)
    assert found.values == pytest.approx((0.25, 0.75, 0), abs=1e-6)
    assert str(found).startswith("yes: 0.25 in [")
    assert randomized_response(epsilon=1, categories=[("a", 1), ("b", 2)]).release(("a", 1)).value in {
        ("a", 1),
        ("b", 2),
    }


@pytest.mark.parametrize(
    "given", [{"categories": "yes"}, {"categories": ["a", "a"]}, {"categories": ["a"]}, {"p": "0.9"}]
)
def test_bad_labels_and_two_prices_are_refused(given: Any) -> None:
    with pytest.raises(BadParameter):
        randomized_response(epsilon=1, **given)
    with pytest.raises(BadParameter):
        randomized_response()


@pytest.mark.parametrize("value", ["maybe", ["yes", "maybe"], [["yes"]], []])
def test_an_unknown_label_is_refused_without_being_repeated(value: Any) -> None:
    with pytest.raises(BadData) as caught:
        randomized_response(epsilon=1, categories=["yes", "no"]).release(value)
    assert "maybe" not in str(caught.value)
