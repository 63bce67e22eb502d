"""The exact joint law of code that flips coins and draws uniform numbers: every way through it, with its weight.

A module of ``discreet.local`` imports ``flips``, ``uniforms``, ``rational`` and ``SystemBits``; here they are replaced,
so that each coin is one branching with its exact chance. The coins themselves are tested in tests/noise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Ways = dict[Any, Fraction]
_MOST = 64


class _Branch(Exception):
    def __init__(self, weights: list[Fraction]) -> None:
        self.weights = weights


class Chooser:
    """Takes the branches that were chosen, and asks at the first one beyond."""

    def __init__(self, taken: tuple[int, ...]) -> None:
        self._taken = taken
        self._next = 0

    def choose(self, weights: list[Fraction]) -> int:
        if self._next == len(self._taken):
            raise _Branch(weights)
        self._next += 1
        return self._taken[self._next - 1]


def _flips(chance: Fraction, size: int, bits: Chooser) -> NDArray[np.bool_]:
    return np.array([bits.choose([1 - chance, chance]) for _ in range(size)], dtype=np.bool_)


def _uniforms(count: int, size: int, bits: Chooser) -> NDArray[np.int64]:
    if count > _MOST:  # the public function of local hashing: any fixed one, so the law is that given the function
        return np.arange(12345, 12345 + size, dtype=np.int64)
    return np.array([bits.choose([Fraction(1, count)] * count) for _ in range(size)], dtype=np.int64)


def every_way(monkeypatch: pytest.MonkeyPatch, draw: Callable[[], Hashable]) -> Ways:
    """Outcome -> its exact probability over all coins that the modules of ``discreet.local`` flip."""
    current = Chooser(())
    for module in [sys.modules[name] for name in sys.modules if name.startswith("discreet.local.")]:
        for name, stand_in in (
            ("flips", _flips), ("uniforms", _uniforms), ("rational", Fraction), ("SystemBits", lambda: current)
        ):  # fmt: skip
            if hasattr(module, name):
                monkeypatch.setattr(module, name, stand_in)
    law: Ways = {}
    paths: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while paths:
        taken, weight = paths.pop()
        current = Chooser(taken)
        try:
            outcome = draw()
        except _Branch as branch:
            paths += [((*taken, i), weight * w) for i, w in enumerate(branch.weights)]
        else:
            law[outcome] = law.get(outcome, Fraction(0)) + weight
    return law


def worst(laws: Iterable[Ways]) -> Fraction:
    """The largest ratio of the probabilities of one outcome under two of these laws."""
    listed = list(laws)
    return max(a[x] / b[x] for a in listed for b in listed for x in a)
