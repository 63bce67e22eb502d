"""Estimates: the answer is made from the noisy parts alone, and costs what they cost."""

from typing import Any

import pytest

from discreet.answer import Accuracy
from discreet.errors import ReceiptRefused
from discreet.exact import Number
from discreet.mechanisms.base.estimate import Estimate
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import Bits


class Bar:
    """Ten at every confidence."""

    expected_error = 1.0

    def error_at(self, confidence: Number) -> float:
        return 10.0


class Ratio(Estimate[tuple[int, int], tuple[int, int]]):
    """Two parts, each moved by one; then their quotient."""

    def __init__(self) -> None:
        self.finished: list[tuple[int, int]] = []

    @property
    def event(self) -> events.Event:
        return events.Pure(1)

    @property
    def cost(self) -> str:
        return "epsilon 1"

    def read(self, value: Any) -> tuple[int, int]:
        return value[0], value[1]

    def draw(self, value: tuple[int, int], bits: Bits) -> tuple[int, int]:
        return value[0] + 1, value[1] + 1

    def finish(self, noisy: tuple[int, int]) -> tuple[Any, Accuracy | None]:
        self.finished.append(noisy)
        return noisy[0] / noisy[1], Bar()

    def derivation(self) -> str:
        return "divided"


def test_the_answer_follows_from_the_noisy_parts() -> None:
    m = Ratio()
    answer = m.release((5, 2))
    assert m.finished == [(6, 3)]  # never the exact 5 and 2
    assert (answer.value, answer.event, answer.cost) == (2.0, events.Pure(1), "epsilon 1")
    assert answer.story == ("Ratio", "divided")
    assert answer.error_at() == 10.0


def test_one_receipt_pays_for_one_estimate() -> None:
    m, receipt = Ratio(), Receipt(events.Pure(1), number=1)
    assert m.release((5, 2), receipt).receipt is receipt
    with pytest.raises(ReceiptRefused):
        m.release((5, 2), receipt)
    assert len(m.finished) == 1
