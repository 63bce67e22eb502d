"""The mechanisms that the contract suite holds to their word. A new mechanism joins by one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.mechanisms.gaussian import gaussian
from discreet.mechanisms.laplace import laplace
from discreet.mechanisms.mechanism import Mechanism


@dataclass(frozen=True)
class Case:
    """A mechanism, pairs of neighbouring inputs, an input that it must refuse, and how an output is compared."""

    name: str
    mechanism: Mechanism[Any, Any]
    pairs: Sequence[tuple[Any, Any]]
    bad: Any = "not a value"
    outcome: Callable[[Any], Any] = lambda output: output


CASES = [
    Case("laplace 1", laplace(sensitivity=1, epsilon=1), [(0, 1), (7, 6)]),
    Case("laplace 3", laplace(sensitivity=3, epsilon="1/2"), [(0, 3), (0, -2), (5, 6)]),
    Case("laplace small noise", laplace(sensitivity=1, scale="1/3"), [(0, 1), (-4, -5)]),
    Case("gaussian", gaussian(sensitivity=1, rho="1/2"), [(0, 1), (7, 6)]),
    Case("gaussian 2", gaussian(sensitivity=2, epsilon=1, delta="1e-3"), [(0, 2), (0, -1)]),
    Case("gaussian small noise", gaussian(sensitivity=1, sigma="1/2"), [(0, 1)]),
]
