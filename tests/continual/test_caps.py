"""Caps over time: with and without any one unit, over every small list of rows."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest

from discreet.continual.caps import Capped, Caps
from discreet.errors import BadData, BadParameter

Step = list[tuple[Hashable, Hashable, Any]]


def sums(steps: list[Step], caps: Caps) -> list[dict[Hashable, int]]:
    capped = Capped(caps)
    return [capped.take(step) for step in steps]


def test_no_unit_adds_more_than_its_caps() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        caps = Caps(steps=2, keys_per_step=int(rng.integers(1, 3)), keys_per_unit=2, largest=3)
        steps: list[Step] = [
            [(int(rng.integers(3)), "abc"[rng.integers(3)], int(rng.integers(-9, 10))) for _ in range(rng.integers(8))]
            for _ in range(5)
        ]
        with_all = sums(steps, caps)
        for unit in range(3):
            without = sums([[row for row in step if row[0] != unit] for step in steps], caps)
            moved = [
                {k: a.get(k, 0) - b.get(k, 0) for k in {*a, *b} if a.get(k, 0) != b.get(k, 0)}
                for a, b in zip(with_all, without, strict=True)
            ]
            assert sum(bool(m) for m in moved) <= caps.steps
            assert max((len(m) for m in moved), default=0) <= caps.keys_per_step
            assert len({k for m in moved for k in m}) <= caps.keys_per_unit
            assert max((abs(v) for m in moved for v in m.values()), default=0) <= caps.largest


def test_the_check_would_see_a_cap_that_is_not_kept() -> None:
    loud: Step = [("ann", "x", 5)]
    assert sums([loud] * 3, Caps(steps=3, largest=5))[2] == {"x": 5}
    assert sums([loud] * 3, Caps(steps=2, largest=5))[2] == {}
    assert sums([[*loud, ("ann", "y", 1)]], Caps(largest=9)) == [{"x": 5}]


def test_rows_without_a_unit_are_left_out() -> None:
    rows: Step = [(float("nan"), "a", 1), (np.float32("nan"), "a", 1), (None, "a", 1), ("ann", "a", 1)]
    assert sums([rows, rows], Caps()) == [{"a": 1}, {}]  # NaN is unlike itself: each of its rows would be another unit


def test_saved_caps_go_on() -> None:
    capped = Capped(Caps(steps=1))
    capped.take([("ann", "x", 1)])
    again = Capped.restore(capped.caps, capped.save())
    assert again.take([("ann", "x", 1), ("bob", "x", 1)]) == {"x": 1}
    other = Capped(Caps())
    other.take([(1, "x", 1)])
    with pytest.raises(BadData):
        other.save()


@pytest.mark.parametrize("row", [("ann", "x"), ["ann", "x", 1], ("ann", "x", 0.5), ("ann", "x", None), "abc"])
def test_bad_rows(row: Any) -> None:
    with pytest.raises(BadData):
        Capped(Caps()).take([row])
    with pytest.raises(BadParameter):
        Caps(steps=0)
