"""turns.py: who is served when several wait, and what those hear who are not."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from discreet.curator.engine_process.turns import Turns
from discreet.errors import ServiceBusy
from tests.helpers.processes import until

LONG = 60.0


def waiting(turns: Turns[int], name: str, served: list[str]) -> Callable[[], None]:
    """Somebody who waits in a thread of their own; what comes back waits for its end."""
    before = len(turns._waiting)

    def wait() -> None:
        thing = turns.take(name, LONG)
        served.append(name)
        turns.give_back(thing, name)

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: len(turns._waiting) == before + 1, what="waiting")
    return thread.join


def test_whoever_holds_fewest_comes_first_and_then_whoever_waited_longest() -> None:
    turns, served = Turns(range(3), "engines"), list[str]()
    held = [turns.take("ann", 0), turns.take("ann", 0), turns.take("bob", 0)]
    ends = [waiting(turns, name, served) for name in ("ann", "bob", "cat", "dan")]
    turns.give_back(held[2], "bob")
    for end in ends[1:]:
        end()
    assert served == ["bob", "cat", "dan"]  # nobody of them held one, and ann has all but one
    turns.give_back(held[0], "ann")
    ends[0]()
    turns.give_back(held[1], "ann")
    assert served[-1] == "ann"
    assert sorted(turns.free()) == [0, 1, 2]


def test_one_name_never_holds_all_of_several_and_is_told_so() -> None:
    turns = Turns(range(3), "engine processes")
    turns.take("ann", 0), turns.take("ann", 0)
    with pytest.raises(ServiceBusy, match="you have 2 of the 3 engine processes, and the last one is left to others"):
        turns.take("ann", 0)
    assert turns.take("bob", 0) == 0
    with pytest.raises(ServiceBusy, match=r"all engine processes \(3\) are busy with other queries; nothing was spent"):
        turns.take("cat", 0)
    assert turns._waiting == []


def test_a_single_one_is_lent_to_anybody() -> None:
    turns = Turns([7], "engines")
    assert turns.take("ann", 0) == 7
    with pytest.raises(ServiceBusy, match=r"all engines \(1\)"):
        turns.take("ann", 0)
    turns.give_back(7, "ann")
    assert turns.take("ann", 0) == 7


def test_a_spare_one_counts_for_nobody_and_is_not_taken_from_those_who_wait() -> None:
    turns, served = Turns(range(2), "engines"), list[str]()
    first = turns.take("ann", 0)
    spare = turns.take_spare()
    assert (first, spare, turns.take_spare()) == (1, 0, None)
    end = waiting(turns, "bob", served)
    assert spare is not None
    turns.give_back(spare)
    end()
    assert served == ["bob"]


@pytest.mark.parametrize("many", [2, 5])
def test_under_load_everything_comes_back_and_nothing_is_lent_twice(many: int) -> None:
    turns, inside, lock = Turns(range(many), "engines"), set[int](), threading.Lock()
    twice: list[int] = []

    def work(name: str) -> None:
        for _ in range(50):
            thing = turns.take(name, LONG)
            with lock:
                twice.extend([thing] if thing in inside else [])
                inside.add(thing)
            with lock:
                inside.discard(thing)
            turns.give_back(thing, name)

    threads = [threading.Thread(target=work, args=(f"analyst {i % 3}",)) for i in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert twice == []
    assert sorted(turns.free()) == list(range(many))
    assert not any(turns._held.values())
