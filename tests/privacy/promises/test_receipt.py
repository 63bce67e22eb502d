"""A receipt is good for one release, of what was paid for, in the process that paid."""

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from discreet.errors import ReceiptRefused
from discreet.privacy.promises import events
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.receipt import Receipt

PAID = events.Laplace(scale=2)


def test_what_it_says() -> None:
    receipt = Receipt(PAID, number=7, price=Pure("1/2"), left=Pure("1/4"))
    assert (receipt.what, receipt.number, receipt.price, receipt.left) == (PAID, 7, Pure("1/2"), Pure("1/4"))
    assert (receipt.used, receipt.ended) == (False, False)
    assert repr(receipt) == "Receipt(number=7, what=Laplace(scale=2, sensitivity=1), used=False)"


def test_it_works_once() -> None:
    receipt = Receipt(PAID, number=1)
    receipt.redeem(events.Laplace(scale="2"))  # equal, not the same object
    assert receipt.used
    with pytest.raises(ReceiptRefused, match="used already"):
        receipt.redeem(PAID)


@pytest.mark.parametrize(
    "other", [events.Laplace(scale=1), events.DiscreteLaplace(scale=2), events.Pure("1/2"), Pure("1/2")]
)
def test_it_is_refused_for_anything_else_and_stays_good(other: events.Event | Pure) -> None:
    """A promise of the same size is another thing than the event, and the other way round."""
    receipt = Receipt(PAID, number=1)
    with pytest.raises(ReceiptRefused, match="not for"):
        receipt.redeem(other)
    assert not receipt.used
    receipt.redeem(PAID)


def test_after_the_end_nothing_is_released() -> None:
    receipt = Receipt(PAID, number=1)
    receipt.end()
    assert receipt.ended
    with pytest.raises(ReceiptRefused, match="closed"):
        receipt.redeem(PAID)
    assert not receipt.used


def test_of_many_threads_one_succeeds() -> None:
    receipt, start = Receipt(PAID, number=1), Barrier(8)

    def attempt(_: int) -> bool:
        start.wait()
        try:
            receipt.redeem(PAID)
        except ReceiptRefused:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(8))) == 1


def test_another_process_cannot_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    receipt = Receipt(PAID, number=1)
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(ReceiptRefused, match="process that paid"):
        receipt.redeem(PAID)
    monkeypatch.undo()
    receipt.redeem(PAID)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_cannot_be_copied(copied: object) -> None:
    assert callable(copied)
    with pytest.raises(ReceiptRefused, match="neither copied nor stored"):
        copied(Receipt(PAID, number=1))


def test_who_is_to_be_told_of_the_end_is_told_and_again_if_that_failed() -> None:
    told: list[str] = []
    fails = [True]

    def note() -> None:
        if fails.pop() if fails else False:
            raise OSError("the disk is full")
        told.append("ended")

    receipt = Receipt(events.Pure(1), number=1)
    receipt.when_ended(note)
    with pytest.raises(OSError, match="full"):
        receipt.end()
    assert receipt.ended
    assert not told
    receipt.end()
    receipt.end()
    assert told == ["ended"]
    receipt.when_ended(lambda: told.append("at once"))
    assert told == ["ended", "at once"]
