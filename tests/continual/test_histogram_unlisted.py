"""Keys that nobody listed, against every strategy: units that come, go, change, and cancel what others add."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from discreet.checking.exact.interactive import Interactive, Strongest, strongest
from discreet.continual import release as streams
from discreet.continual.histogram import Histogram, Naming, histogram
from discreet.privacy.promises.measures import Pure
from discreet.randomness import Bits

pytestmark = pytest.mark.slow

EPSILON, DELTA = Fraction(3), Fraction(1, 20)
Values = Mapping[Any, int]
OTHERS: tuple[Values, Values] = ({"a": 1}, {"a": 1})
COMES: tuple[Values, Values] = ({}, {"a": 1})
CHANGES: tuple[Values, Values] = ({"a": 1}, {"b": 1})
CHANGES_AMONG_OTHERS: tuple[Values, Values] = ({"a": 4}, {"a": 3, "b": 1})
CANCELS: tuple[Values, Values] = ({"a": 1}, {"a": 0})
"""Others add 1; on the second side the unit adds -1."""


class Sided:
    """A histogram, and which of two streams goes into it."""

    def __init__(self, side: int, opened: Histogram) -> None:
        self.side, self.histogram = side, opened

    def push(self, step: tuple[Values, Values]) -> Any:
        return self.histogram.push(step[self.side]).value

    def point(self) -> Any:
        opened = self.histogram
        return repr(opened._stream.state()), tuple(opened._keys), frozenset(opened._named)


def game(monkeypatch: pytest.MonkeyPatch, unit: tuple[Values, Values], keys: int) -> Interactive:
    """The unit comes once, before others or after them, as the adversary likes; if it moves two keys, by itself."""
    horizon = 3 - keys

    def open(side: int, bits: Bits) -> Sided:
        monkeypatch.setattr(streams, "SystemBits", lambda: bits)
        made = histogram(horizon=horizon, budget=Pure(EPSILON), delta=DELTA, method="values", keys_per_step=keys)
        return Sided(side, made)

    steps = {"unit": unit, "others": OTHERS}
    return Interactive(
        open=open,
        moves={name: partial(Sided.push, step=step) for name, step in steps.items()},
        steps=horizon,
        allowed=lambda before, move: move not in before,
        state=Sided.point,
        tail=Fraction(1, 10**4),
    )


def both_ways(thing: Interactive) -> list[Strongest]:
    return [strongest(thing, *pair, epsilons=[EPSILON]) for pair in ((0, 1), (1, 0))]


@pytest.fixture(autouse=True)
def known_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds are public: computed once for each step, not in each of many runs."""
    first, kept = Naming.threshold, {}

    def threshold(self: Naming, plan: Any, t: int) -> float:
        key = (self, plan.noise, t)
        if key not in kept:
            kept[key] = first(self, plan, t)
        return float(kept[key])

    monkeypatch.setattr(Naming, "threshold", threshold)


@pytest.mark.parametrize(
    ("unit", "keys"),
    [(COMES, 1), (CANCELS, 1), (CHANGES, 2), (CHANGES_AMONG_OTHERS, 2)],
    ids=["comes", "cancels", "changes its key", "changes its key among others"],
)
def test_a_unit_that_comes_cancels_or_changes_is_protected(
    monkeypatch: pytest.MonkeyPatch, unit: tuple[Values, Values], keys: int
) -> None:
    shown = both_ways(game(monkeypatch, unit, keys))
    assert all(one.deltas[EPSILON] <= DELTA for one in shown)
    assert max(one.loss for one in shown) > 0.5  # something is told


@pytest.mark.parametrize("unit", [COMES, CANCELS], ids=["comes", "cancels"])
def test_a_threshold_without_an_allowance_is_found(
    monkeypatch: pytest.MonkeyPatch, unit: tuple[Values, Values]
) -> None:
    """Whoever adds 1 to a key is named by noise of 0: far more often than δ."""
    monkeypatch.setattr(Naming, "threshold", lambda self, plan, t: 1.0)
    assert max(one.deltas[EPSILON] for one in both_ways(game(monkeypatch, unit, 1))) > 4 * DELTA


def test_a_change_of_key_that_is_priced_as_one_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old key and new one both move: with others at both keys, the privacy loss is that of two."""
    thing = game(monkeypatch, ({"a": 9, "b": 8}, {"a": 8, "b": 9}), 1)
    one_step = Interactive(open=thing.open, moves=thing.moves, steps=1, state=thing.state, tail=thing.tail)
    assert max(one.deltas[EPSILON] for one in both_ways(one_step)) > 4 * DELTA
