"""What all choices share: reading scores, naming candidates, receipts; one line in CHOICES joins."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter, NotATheorem, ReceiptRefused
from discreet.mechanisms.selection.above_threshold import above_threshold
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.noisy_max import noisy_max
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.mechanisms.selection.shared import Selection, read_scores
from discreet.mechanisms.selection.top_k import peel, top_k
from discreet.privacy.budgets.filters import Filter
from discreet.privacy.promises import events
from discreet.privacy.promises.events import MaxNoise
from discreet.privacy.promises.events.base import stated_for
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt
from tests.helpers.tapes import NoBits

CHOICES: list[Selection] = [
    exponential(sensitivity=1, epsilon=1),
    permute_and_flip(sensitivity=1, epsilon=1),
    *(noisy_max(sensitivity=1, epsilon=1, noise=noise) for noise in MaxNoise),
]
RANKINGS = [top_k(k=2, sensitivity=1, epsilon=1), peel(permute_and_flip(sensitivity=1, epsilon=1), k=2)]
BAD_SCORES: list[Any] = [
    [], (), np.array([]), np.array([], dtype=np.int64), [float("nan"), 1], [0.5, 1], [1, 2.0], [True, False], [1, True],
    ["1", "2"], "12", b"12", None, 7, np.int64(7), np.array([[1, 2], [3, 4]]), np.array([1.5, 2.0]),
    np.array([True, False]), {0: 1, 1: 2}, [None, 1], [1j, 2], np.array([1, float("nan")], dtype=object),
    iter([1, 2]), {1, 2}, [[1], [2]], [float("inf"), 3], np.array(["1", "2"]),
]  # fmt: skip
SECRET = 918273645


@pytest.mark.slow
@pytest.mark.parametrize("scores", BAD_SCORES, ids=range(len(BAD_SCORES)))
@pytest.mark.parametrize("m", [*CHOICES, *RANKINGS], ids=lambda m: m.story())
def test_bad_scores_are_refused_before_anything_is_paid_or_drawn(m: Any, scores: Any) -> None:
    receipt = Receipt(m.event, number=1)
    with pytest.raises(BadData):
        m.release(scores, receipt)
    assert not receipt.used


@pytest.mark.parametrize("m", [*CHOICES, *RANKINGS], ids=lambda m: m.story())
@pytest.mark.parametrize("last", [0.5, float("nan"), str(SECRET), SECRET + 0j])
def test_a_refusal_never_tells_a_score(m: Any, last: Any) -> None:
    with pytest.raises(BadData) as refused:
        m.release([SECRET, last])
    assert str(SECRET) not in str(refused.value)


@pytest.mark.parametrize("m", CHOICES, ids=lambda m: m.story())
def test_candidates_are_named_and_must_be_as_many(m: Selection) -> None:
    assert m.release([0, 10**6, 0], candidates="abc").value == "b"
    assert m.release((0, 10**6), candidates=[("x", 1), None]).value is None
    receipt = Receipt(m.event, number=1)
    with pytest.raises(BadParameter) as refused:
        m.release([0, SECRET, 0], receipt, candidates=["a", "b"])
    assert not receipt.used
    assert str(SECRET) not in str(refused.value)


def test_rankings_are_named_too() -> None:
    for m in RANKINGS:
        assert m.release([0, 10**6, 10**9], candidates="abc").value == ("c", "b")
        with pytest.raises(BadParameter):
            m.release([0, 1, 2], candidates="ab")
        with pytest.raises(BadData):
            m.release([1])


@pytest.mark.parametrize("m", [*CHOICES, *RANKINGS], ids=lambda m: m.story())
def test_a_receipt_works_once_and_for_its_event(m: Any) -> None:
    receipt = Receipt(m.event, number=1)
    answer = m.release([1, 2, 3], receipt)
    assert answer.receipt is receipt
    assert answer.cost == m.cost
    with pytest.raises(ReceiptRefused):
        m.release([1, 2, 3], receipt)
    with pytest.raises(ReceiptRefused):
        m.release([1, 2, 3], Receipt(events.Pure("1/100"), number=2))


def test_scores_are_read_exactly() -> None:
    whole = read_scores([1, 2, -3])
    assert isinstance(whole, np.ndarray)
    assert whole.dtype == np.int64
    assert isinstance(read_scores(np.array([1, 2], dtype=np.uint8)), np.ndarray)
    assert read_scores([2**70, 1]) == (2**70, 1)
    assert read_scores([Fraction(1, 3), 1]) == (Fraction(1, 3), 1)
    assert read_scores([np.int32(4), Fraction(1, 2)]) == (4, Fraction(1, 2))
    assert read_scores(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [2**64 - 1]  # type: ignore[union-attr]


def test_nothing_is_drawn_while_reading() -> None:
    for m in CHOICES:
        exact = m.read([1, 2])
        with pytest.raises(AssertionError):
            m.draw(exact, NoBits())


@pytest.mark.parametrize("m", CHOICES, ids=lambda m: m.story())
@pytest.mark.parametrize(("confidence", "candidates"), [(1, 3), (-1, 3), ("x", 3), (0.5, 0), (0.5, 1.5)])
def test_bad_accuracy_questions(m: Selection, confidence: Any, candidates: Any) -> None:
    with pytest.raises(BadParameter):
        m.gap_at(confidence, candidates)


ONE_WAY: list[Any] = [
    lambda **given: exponential(sensitivity=1, epsilon=1, **given),
    lambda **given: permute_and_flip(sensitivity=1, epsilon=1, **given),
    *(lambda noise=noise, **given: noisy_max(sensitivity=1, epsilon=1, noise=noise, **given) for noise in MaxNoise),
    lambda **given: top_k(k=2, sensitivity=1, epsilon=1, **given),
    lambda **given: peel(permute_and_flip(sensitivity=1, epsilon="1/2", **given), k=2),
    lambda **given: above_threshold(threshold=1, epsilon=1, **given),
]


@pytest.mark.parametrize("make", ONE_WAY, ids=range(len(ONE_WAY)))
def test_a_monotone_price_is_for_units_that_come_or_go(make: Any) -> None:
    """A budget for changed units took it at half of what it costs there; each choice's own test refutes that price."""
    halved, full = make(monotone=True).event, make().event
    assert stated_for(halved) is Neighbours.ADD_REMOVE
    assert stated_for(full) is None
    with pytest.raises(NotATheorem, match="stated for the neighbours"):
        Filter(Pure(9), neighbours=Neighbours.CHANGE_ONE).spend(halved)
    for neighbours in Neighbours:
        Filter(Pure(9), neighbours=neighbours).spend(full)
    Filter(Pure(9), neighbours=Neighbours.ADD_REMOVE).spend(halved)
