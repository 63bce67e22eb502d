"""Receipts: proof that an event was paid for, good for one release.

Promise: of all that try to redeem a receipt, from any thread, exactly one succeeds, and only for the event that
was paid.
"""

from __future__ import annotations

from threading import Lock

from discreet.errors import ReceiptRefused
from discreet.privacy.events import Event


class Receipt:
    """An event that was paid for and has not been released yet.

    >>> from discreet.privacy import events
    >>> receipt = Receipt(events.Laplace(scale=2), number=1)
    >>> receipt.redeem(events.Laplace(scale=2))
    >>> receipt.used
    True
    """

    __slots__ = ("_event", "_lock", "_number", "_used")

    def __init__(self, event: Event, *, number: int) -> None:
        self._event = event
        self._number = number
        self._used = False
        self._lock = Lock()

    @property
    def event(self) -> Event:
        """What was paid for."""
        return self._event

    @property
    def number(self) -> int:
        """Its place in the ledger that wrote it."""
        return self._number

    @property
    def used(self) -> bool:
        """Whether the release has been made."""
        return self._used

    def redeem(self, event: Event) -> None:
        """Use the receipt for a release; raises ``ReceiptRefused`` for another event, and the second time."""
        if event != self._event:
            raise ReceiptRefused(f"this receipt was paid for {self._event}, not for {event}; pay for what is released")
        with self._lock:
            if self._used:
                raise ReceiptRefused("this receipt was used already; one payment is good for one release")
            self._used = True

    def __repr__(self) -> str:
        return f"Receipt(number={self._number}, event={self._event}, used={self._used})"
