"""Work is done again until it is closed, and once more then."""

from __future__ import annotations

import threading

from discreet.curator.service.copies.repeat import Repeat


def test_work_is_repeated_and_done_at_the_end() -> None:
    thrice, calls = threading.Event(), list[int]()

    def work() -> None:
        calls.append(len(calls))
        if len(calls) == 3:
            thrice.set()

    again = Repeat(0.001, work)
    assert thrice.wait(60)
    again.close()
    assert len(calls) >= 4
    after = len(calls)
    again.close()
    assert len(calls) == after
