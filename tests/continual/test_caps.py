"""Caps over time: with and without any one unit, over every small list of rows."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.continual.caps import Capped, Caps, Place
from discreet.errors import BadParameter

Step = list[tuple[Any, Place, int]]


def sums(steps: list[Step], caps: Caps) -> list[dict[Place, int]]:
    capped = Capped(caps)
    return [capped.take(step) for step in steps]


def test_no_unit_adds_more_than_its_caps() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        caps = Caps(
            steps=2,
            separation=int(rng.integers(1, 3)),
            keys_per_step=int(rng.integers(1, 3)),
            keys_per_unit=int(rng.integers(1, 3)),
            largest=3,
        )
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
            places = [t for t, m in enumerate(moved) if m]
            assert len(places) <= caps.steps
            assert min(np.diff(places), default=9) >= caps.separation
            assert max((len(m) for m in moved), default=0) <= caps.keys_per_step
            assert len({k for m in moved for k in m}) <= caps.keys_per_unit
            assert max((abs(v) for m in moved for v in m.values()), default=0) <= caps.largest


def test_the_check_would_see_a_cap_that_is_not_kept() -> None:
    loud: Step = [("ann", "x", 5)]
    assert sums([loud] * 3, Caps(steps=3, largest=5))[2] == {"x": 5}
    assert sums([loud] * 3, Caps(steps=2, largest=5))[2] == {}
    assert sums([loud] * 3, Caps(steps=3, separation=2, largest=5)) == [{"x": 5}, {}, {"x": 5}]
    assert sums([[*loud, ("ann", "y", 1)]], Caps(largest=9)) == [{"x": 5}]
    assert sums([loud, [("ann", "y", 1)]], Caps(steps=2, keys_per_unit=1, largest=9))[1] == {}


def test_a_unit_with_nothing_kept_uses_nothing_up() -> None:
    away: Step = [("ann", "y", 1)]
    home: Step = [("ann", "x", 1)]
    assert sums([home, away, home], Caps(steps=2)) == [{"x": 1}, {}, {"x": 1}]


def test_rows_without_a_unit_are_left_out() -> None:
    rows: Step = [(float("nan"), "a", 1), (None, "a", 1), (("ann", float("nan")), "a", 1), ("ann", "a", 1)]
    assert sums([rows, rows], Caps()) == [{"a": 1}, {}]  # NaN is unlike itself: each of its rows would be another unit


def test_a_state_goes_on_exactly_after_any_number_of_steps() -> None:
    choices: list[Step] = [[], [("ann", "x", 1)], [("ann", "y", 2), (7, 0, 1)], [(7.0, 1, 1), ("ann", "x", 3)]]
    caps = Caps(steps=2, separation=2, keys_per_step=2, keys_per_unit=3, largest=2)
    for steps in product(choices, repeat=4):
        for cut in range(5):
            capped = Capped(caps)
            before = [capped.take(step) for step in steps[:cut]]
            again = Capped.restored(caps, cut, capped.state())
            assert before + [again.take(step) for step in steps[cut:]] == sums(list(steps), caps)


def test_bad_caps() -> None:
    for name in ("steps", "separation", "keys_per_step", "keys_per_unit", "largest"):
        with pytest.raises(BadParameter):
            Caps(**{name: 0})
