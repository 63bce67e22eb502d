"""Receipts: proof that an event was paid for, good for one release.

Promise: of all that try to redeem a receipt, from any thread, exactly one succeeds, and only for the event that
was paid. A receipt can be neither copied, nor stored, nor used after a fork, so there is one of each.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import NoReturn

from discreet.errors import ReceiptRefused
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure


class Receipt:
    """Something that was paid for and has not been released yet; written by ``Filter.spend``.

    >>> from discreet.privacy.promises import events
    >>> receipt = Receipt(events.Laplace(scale=2), number=1)
    >>> receipt.redeem(events.Laplace(scale=2))
    >>> receipt.used
    True
    """

    __slots__ = ("_closing", "_ended", "_left", "_lock", "_number", "_price", "_process", "_used", "_what")

    def __init__(
        self, what: Event | Measure, *, number: int, price: Measure | None = None, left: Measure | None = None
    ) -> None:
        self._what = what
        self._number = number
        self._price = price
        self._left = left
        self._used = False
        self._ended = False
        self._closing: list[Callable[[], None]] = []
        self._process = os.getpid()
        self._lock = Lock()

    @property
    def what(self) -> Event | Measure:
        """What was paid for: an event, or anything that keeps a promise."""
        return self._what

    @property
    def number(self) -> int:
        """The how-many-th charge of its ledger this is."""
        return self._number

    @property
    def price(self) -> Measure | None:
        """What was paid, in the currency of the ledger."""
        return self._price

    @property
    def left(self) -> Measure | None:
        """What was left of the budget just after."""
        return self._left

    @property
    def used(self) -> bool:
        """Whether the release has been made."""
        return self._used

    @property
    def ended(self) -> bool:
        """Whether an interactive mechanism that was opened with it has been closed."""
        return self._ended

    def end(self) -> None:
        """No more answers for this payment; a mechanism that was opened with it stops.

        Whoever was to be told is told before this returns. If that fails, it is told again the next time.
        """
        self._ended = True
        while self._closing:
            self._closing[0]()
            del self._closing[0]

    def when_ended(self, tell: Callable[[], None]) -> None:
        """Call ``tell`` when this ends: a mechanism that others may go on with keeps a note of it."""
        self._closing.append(tell)
        if self._ended:
            self.end()

    def redeem(self, event: Event | Measure) -> None:
        """Use the receipt for a release; ``ReceiptRefused`` for anything but what was paid, and the second time."""
        if event != self._what:
            raise ReceiptRefused(f"this receipt was paid for {self._what}, not for {event}; pay for what is released")
        if os.getpid() != self._process:
            raise ReceiptRefused("a receipt belongs to the process that paid; pay again here")
        with self._lock:
            if self._ended:
                raise ReceiptRefused("what this receipt was paid for has been closed; pay again")
            if self._used:
                raise ReceiptRefused("this receipt was used already; one payment is good for one release")
            self._used = True

    def __reduce__(self) -> NoReturn:
        raise ReceiptRefused("a receipt can be neither copied nor stored: two copies would be good for two releases")

    def __repr__(self) -> str:
        return f"Receipt(number={self._number}, what={self._what!r}, used={self._used})"
