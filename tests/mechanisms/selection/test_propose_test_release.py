"""Propose, test, release: all neighbours of a small domain, with the distance by brute force."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from discreet.errors import BadData, BadParameter, ReceiptRefused
from discreet.mechanisms.selection.propose_test_release import (
    ProposeTestRelease,
    distance_to_instability,
    propose_test_release,
)
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.promises import events
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from tests.helpers.laws import any_broken, broken, drawn, is_a_law, middle, misfit

DOMAIN = (0, 1, 60)
DATA = list(product(DOMAIN, repeat=3))


def median(rows: tuple[int, ...]) -> int:
    return sorted(rows)[len(rows) // 2]


def change_one(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
    return sum(a != b for a, b in zip(x, y, strict=True)) == 1


def distance(rows: tuple[int, ...]) -> int:
    return distance_to_instability(
        rows, median, domain=DOMAIN, sensitivity=1, neighbours=Neighbours.CHANGE_ONE, at_most=4
    )


DISTANCES = {rows: distance(rows) for rows in DATA}


def laws(m: ProposeTestRelease) -> dict[tuple[int, ...], Any]:
    by_input = {(median(x), d): m.law((median(x), d)) for x, d in DISTANCES.items()}
    return {x: by_input[median(x), d] for x, d in DISTANCES.items()}


def test_the_distance_is_exact_and_moves_by_one() -> None:
    assert DISTANCES[0, 0, 0] == 1  # one change leads to (0, 0, 60), around which the median jumps
    assert DISTANCES[0, 0, 60] == 0
    assert DISTANCES[60, 60, 60] == 1
    assert set(DISTANCES.values()) == {0, 1}
    for x, y in product(DATA, DATA):
        if change_one(x, y):
            assert abs(DISTANCES[x] - DISTANCES[y]) <= 1
            if max(DISTANCES[x], DISTANCES[y]) > 0:
                assert abs(median(x) - median(y)) <= 1


def test_the_distance_for_units_that_come_and_go() -> None:
    def total(rows: tuple[int, ...]) -> int:
        return min(sum(rows), 5)

    named = {"domain": [0, 3], "neighbours": Neighbours.ADD_REMOVE, "at_most": 6}
    assert distance_to_instability([3, 3], total, sensitivity=1, **named) == 0  # type: ignore[arg-type]
    assert distance_to_instability([3, 3, 3, 3], total, sensitivity=1, **named) == 2  # type: ignore[arg-type]
    assert distance_to_instability([3, 3], total, sensitivity=3, **named) == 6  # type: ignore[arg-type]
    assert distance_to_instability([], total, sensitivity=1, **named) == 0  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1, 3])
def test_no_neighbours_break_the_promise(epsilon: int) -> None:
    m = propose_test_release(sensitivity=1, epsilon=epsilon, delta="1/20")
    assert m.epsilon == epsilon
    assert m.delta <= Fraction(1, 20)
    found = laws(m)
    assert all(is_a_law(law) for law in found.values())
    assert not any_broken(found, change_one, m.epsilon, m.delta)
    low = replace(m, threshold=m.threshold - 1)  # threshold off by one
    assert any_broken(laws(low), change_one, m.epsilon, m.delta)
    assert any_broken(found, change_one, m.epsilon, m.delta / 2)


@pytest.mark.slow
def test_calm_neighbours_pay_no_delta_and_the_price_is_attained() -> None:
    m = propose_test_release(sensitivity=1, epsilon=2, delta="1/20")
    near, nearer = m.law((0, 1)), m.law((1, 2))
    assert not broken(near, nearer, m.epsilon)
    assert not broken(nearer, near, m.epsilon)
    assert broken(nearer, near, m.epsilon * Fraction(99, 100))
    quiet = replace(m, answer=replace(m.answer, scale=m.answer.scale * Fraction(7, 10)))
    assert broken(quiet.law((1, 2)), quiet.law((0, 1)), m.epsilon)  # noise x 0.7
    assert broken(m.law((2, 2)), m.law((0, 1)), m.epsilon)  # sensitivity off by two
    assert broken(m.law((0, 3)), m.law((0, 1)), m.epsilon / 2)  # a distance that is not Lipschitz


@pytest.mark.slow
def test_the_threshold_is_the_least_that_keeps_delta() -> None:
    for delta in ("1e-2", "1e-6", "1e-15"):
        m = propose_test_release(sensitivity=1, test_epsilon="1/2", release_epsilon=1, delta=delta)
        assert m.delta <= Fraction(delta) < replace(m, threshold=m.threshold - 1).delta
        assert sum(p for x, (p, _) in m.law((0, 0)).items() if x is not None) <= Fraction(delta)


def test_events_and_shares() -> None:
    m = propose_test_release(sensitivity=2, test_epsilon="1/2", release_epsilon=1, delta="1e-6")
    assert m.event == events.Composed(
        [events.DiscreteLaplace(2, 1), events.DiscreteLaplace(2, 2), events.Approx(0, m.delta)]
    )
    assert price_basic(m.event) == m.price
    assert m.epsilon == Fraction(3, 2)


def test_no_answer_is_an_output_and_is_paid_for() -> None:
    m = propose_test_release(sensitivity=1, epsilon=2, delta="1e-9")
    receipt = Receipt(m.event, number=1)
    answer = m.release((5, 0), receipt)
    assert answer.value is None
    assert answer.accuracy is None
    assert receipt.used
    with pytest.raises(ReceiptRefused):
        m.release((5, 0), receipt)
    number = m.release((5, 10**6))
    assert isinstance(number.value, int)
    assert number.error_at("0.95") == m.answer.error_at("0.95")


def test_real_statistics() -> None:
    m = propose_test_release(sensitivity="1/2", epsilon=2, delta="1e-9")
    assert isinstance(m.release((3.25, 10**6)).value, float)
    assert m.epsilon == 2


@pytest.mark.slow
def test_the_sampler_has_the_law() -> None:
    m = propose_test_release(sensitivity=1, epsilon=2, delta="1/10")
    law = m.law((3, 2))
    assert misfit(drawn(m, (3, 2), 60_000), law) < 1
    assert misfit(drawn(replace(m, threshold=m.threshold + 1), (3, 2), 20_000), law) > 1
    assert misfit(drawn(m, (4, 2), 20_000), law) > 1


def test_answers_from_is_the_least_distance() -> None:
    m = propose_test_release(sensitivity=1, epsilon=2, delta="1e-3")
    d = m.answers_from("0.9")
    said = [1 - middle(m.law((0, n)))[None] for n in (d - 1, d)]
    assert said[0] < 0.9 <= said[1]
    with pytest.raises(BadParameter):
        m.answers_from(1)


@pytest.mark.parametrize(
    "value",
    [None, 5, (1,), (1, 2, 3), [1, 2], ("a", 1), (1.5, 1), (1, 1.5), (1, None), (float("nan"), 1), (1, True), ([1], 1)],
)
def test_bad_data_is_refused_before_anything_is_paid(value: Any) -> None:
    m = propose_test_release(sensitivity=1, epsilon=1, delta="1e-6")
    receipt = Receipt(m.event, number=1)
    with pytest.raises(BadData):
        m.release(value, receipt)
    assert not receipt.used


def test_a_distance_below_zero_counts_as_zero() -> None:
    m = propose_test_release(sensitivity=1, epsilon=1, delta="1e-6")
    assert m.read((7, -5)) == (7, 0)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"epsilon": 0}, {"epsilon": 1, "delta": 0}, {"epsilon": 1, "delta": 1}, {"epsilon": 1, "sensitivity": 0},
        {"test_epsilon": 1}, {"release_epsilon": 1}, {"epsilon": 1, "test_epsilon": 1},
        {"epsilon": 1, "test_epsilon": 1, "release_epsilon": 1}, {"test_epsilon": 0, "release_epsilon": 1},
    ],
)  # fmt: skip
def test_bad_parameters(given: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        propose_test_release(**{"sensitivity": 1, "delta": "1e-6", **given})


def test_bad_distance_questions() -> None:
    named: dict[str, Any] = {"domain": [0, 1], "sensitivity": 1, "neighbours": Neighbours.CHANGE_ONE, "at_most": 2}
    with pytest.raises(BadData):
        distance_to_instability([0, 7], median, **named)
    with pytest.raises(BadData) as refused:
        distance_to_instability([0, 1], lambda rows: float("nan") if rows[0] else 918273, **named)
    assert "918273" not in str(refused.value)
    with pytest.raises(BadParameter):
        distance_to_instability([0, 1], median, **{**named, "neighbours": "change"})
    with pytest.raises(BadParameter):
        distance_to_instability([0, 1], median, **{**named, "at_most": -1})
