"""The law of a function that draws bits and flips coins: every branch is walked, with its exact weight.

``exact_law`` cannot branch over a coin, which looks at 64 bits at once. Here a coin is one branching, weighted with
exp(-x) in ball arithmetic; the coin itself is tested as a function of its word, in test_coin.py.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import arb

from tests.helpers.truth import ball, exp_minus, precise


class _Branch(Exception):
    def __init__(self, weights: list[Any]) -> None:
        self.weights = weights


class Branching:
    """Takes the branches that it is told to take, and asks at the first one beyond."""

    def __init__(self, taken: tuple[int, ...]) -> None:
        self._taken = taken
        self._next = 0

    def _choose(self, weights: Callable[[], list[Any]]) -> int:
        if self._next == len(self._taken):
            raise _Branch(weights())
        self._next += 1
        return self._taken[self._next - 1]

    def below(self, n: int) -> int:
        return self._choose(lambda: [ball(Fraction(1, n))] * n)

    def bits(self, count: int) -> int:
        return self.below(1 << count) if count else 0

    def bytes(self, count: int) -> bytes:
        """Zeros: for functions whose bytes only shorten a way that the patched coins take as a whole."""
        return bytes(count)

    def weighted(self, weights: list[Any]) -> int:
        return self._choose(lambda: weights)

    def coin(self, top: int, bottom: int) -> bool:
        heads = exp_minus(Fraction(top, bottom))
        if top == 0:
            return True
        return bool(self._choose(lambda: [1 - heads, heads]))


def coin(top: int, bottom: int, bits: Any) -> bool:
    """Stands in for ``flip_exp``."""
    return bool(bits.coin(top, bottom))


def branch_law(draw: Callable[[Any], Any], *, least: float) -> tuple[dict[Any, Any], Any]:
    """Outcome -> weight of its branches, and the weight of the branches that were lighter than ``least``, left open."""
    law: dict[Any, Any] = {}
    with precise():
        undecided = arb(0)
        paths: list[tuple[tuple[int, ...], Any]] = [((), arb(1))]
        while paths:
            taken, weight = paths.pop()
            if weight < least:
                undecided += weight
                continue
            try:
                outcome = draw(Branching(taken))
            except _Branch as branch:
                paths += [((*taken, i), weight * w) for i, w in enumerate(branch.weights)]
            else:
                law[outcome] = law.get(outcome, arb(0)) + weight
    return law, undecided


def assert_branch_law(law: dict[Any, Any], undecided: Any, truth: dict[Any, Any]) -> None:
    """As ``assert_law``, for weights that are balls."""
    assert set(law) <= set(truth), "an outcome that the law does not have"
    with precise():
        total = sum(law.values(), arb(0)) + undecided
        assert abs(total - 1) < 1e-50
        for outcome, p in truth.items():
            mass = law.get(outcome, arb(0))
            assert not p < mass, f"outcome {outcome}"
            assert not p > mass + undecided, f"outcome {outcome}"
