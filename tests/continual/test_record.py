"""Positions only grow: an older state, or another one, is refused."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.continual.record import MemoryRecord, check_latest, too_old
from discreet.errors import StaleState


def test_a_position_is_taken_once() -> None:
    record = MemoryRecord()
    assert (record.position(), record.latest()) == (0, None)
    record.advance(3, b"three", after=0)
    for position, after in ((0, 0), (2, 0), (3, 3), (2, 3), (9, 0), (9, 2), (9, 4)):
        with pytest.raises(StaleState, match="3 steps were answered already"):
            record.advance(position, b"other", after=after)
    record.advance(5, b"five", after=3)
    assert (record.position(), record.latest()) == (5, b"five")


def test_only_the_last_state_is_good() -> None:
    record = MemoryRecord()
    with pytest.raises(StaleState):
        check_latest(record, 0, b"")
    record.advance(1, b"one", after=0)
    check_latest(record, 1, b"one")  # raises nothing
    for position, state in ((1, b"two"), (0, b"one"), (2, b"one")):
        with pytest.raises(StaleState):
            check_latest(record, position, state)


def test_of_many_at_once_one_wins() -> None:
    record = MemoryRecord()

    def take(state: int) -> bool:
        try:
            record.advance(1 + state, bytes([state]), after=0)
        except StaleState:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(64))) == 1


def test_the_error_says_what_to_do() -> None:
    assert "restore the state that was saved last" in str(too_old(7, 3))
