"""What every release does, in this order: read the input, use the receipt, draw."""

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadData, BadParameter, NoLaw, ReceiptRefused
from discreet.mechanisms.base.mechanism import Mechanism, check_receipt
from discreet.privacy.promises import events
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import Bits, SystemBits


class Loud(Mechanism[int, int]):
    """Writes down what is called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    @property
    def event(self) -> events.Event:
        return events.Pure(1)

    @property
    def cost(self) -> str:
        return "epsilon 1"

    def read(self, value: Any) -> int:
        self.calls.append("read")
        if not isinstance(value, int):
            raise BadData("the value must be an integer")
        return value

    def draw(self, value: int, bits: Bits) -> int:
        self.calls.append("draw")
        assert isinstance(bits, SystemBits)
        return value + 1


def test_an_answer_says_what_was_done() -> None:
    m = Loud()
    answer = m.release(41)
    assert (answer.value, answer.event, answer.cost, answer.story) == (42, events.Pure(1), "epsilon 1", ("Loud",))
    assert (answer.accuracy, answer.receipt) == (None, None)
    assert m.calls == ["read", "draw"]


def test_a_receipt_is_used_once() -> None:
    m, receipt = Loud(), Receipt(events.Pure(1), number=1)
    assert m.release(1, receipt).receipt is receipt
    with pytest.raises(ReceiptRefused):
        m.release(1, receipt)
    assert m.calls == ["read", "draw", "read"]  # nothing was drawn the second time


def test_bad_input_leaves_the_receipt_as_it_was() -> None:
    m, receipt = Loud(), Receipt(events.Pure(1), number=1)
    with pytest.raises(BadData):
        m.release("secret", receipt)
    assert not receipt.used
    assert m.calls == ["read"]


def test_a_receipt_for_something_else_draws_nothing() -> None:
    m = Loud()
    with pytest.raises(ReceiptRefused):
        m.release(1, Receipt(events.Pure(2), number=1))
    assert "draw" not in m.calls


@pytest.mark.parametrize("receipt", [events.Pure(1), 1, "paid", Fraction(1)])
def test_what_is_no_receipt(receipt: Any) -> None:
    m = Loud()
    with pytest.raises(BadParameter, match="receipt"):
        m.release(1, receipt)
    assert "draw" not in m.calls
    with pytest.raises(BadParameter, match="spend"):
        check_receipt(receipt)


def test_a_law_that_is_not_written_down() -> None:
    with pytest.raises(NoLaw, match="Loud"):
        Loud().law(1)
