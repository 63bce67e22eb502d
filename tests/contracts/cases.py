"""The mechanisms that the contract suite holds to their word. A new mechanism joins by one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.biased.randomized_response import biased_randomized_response
from discreet.biased.sources import SanthaVazirani
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.noisy_max import noisy_max
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.mechanisms.selection.randomized_response import randomized_response
from discreet.mechanisms.selection.top_k import peel, top_k
from discreet.privacy.promises.events import MaxNoise


@dataclass(frozen=True)
class Case:
    """A mechanism, pairs of neighbouring inputs, an input that it must refuse, and how an output is compared."""

    name: str
    mechanism: Mechanism[Any, Any]
    pairs: Sequence[tuple[Any, Any]]
    bad: Any = "not a value"
    outcome: Callable[[Any], Any] = lambda output: output


SCORES = [([0, 0, 0], [1, 0, -1]), ([3, 1, 2], [2, 2, 3])]
RISING = [([0, 0, 0], [1, 0, 1]), ([3, 1, 2], [4, 1, 2])]

CASES = [
    Case("laplace 1", laplace(sensitivity=1, epsilon=1), [(0, 1), (7, 6)]),
    Case("laplace 3", laplace(sensitivity=3, epsilon="1/2"), [(0, 3), (0, -2), (5, 6)]),
    Case("laplace small noise", laplace(sensitivity=1, scale="1/3"), [(0, 1), (-4, -5)]),
    Case("gaussian", gaussian(sensitivity=1, rho="1/2"), [(0, 1), (7, 6)]),
    Case("gaussian 2", gaussian(sensitivity=2, epsilon=1, delta="1e-3"), [(0, 2), (0, -1)]),
    Case("gaussian small noise", gaussian(sensitivity=1, sigma="1/2"), [(0, 1)]),
    Case("exponential", exponential(sensitivity=1, epsilon=1), SCORES, bad=[]),
    Case("exponential monotone", exponential(sensitivity=1, epsilon=1, monotone=True), RISING, bad=[]),
    Case("permute and flip", permute_and_flip(sensitivity=1, epsilon=1), SCORES, bad=[]),
    Case("noisy max", noisy_max(sensitivity=1, epsilon=1), SCORES, bad=[]),
    Case("noisy max gumbel", noisy_max(sensitivity=1, epsilon=1, noise=MaxNoise.GUMBEL), SCORES, bad=[]),
    Case("noisy max exponential", noisy_max(sensitivity=1, epsilon=1, noise=MaxNoise.EXPONENTIAL), SCORES, bad=[]),
    Case("top 2", top_k(k=2, sensitivity=1, epsilon=1), SCORES, bad=[]),
    Case("peeled permute and flip", peel(permute_and_flip(sensitivity=1, epsilon="1/2"), k=2), SCORES, bad=[]),
    Case("randomized response", randomized_response(epsilon=1), [(0, 1)], bad=7),
    Case("randomized response of 4", randomized_response(epsilon=2, categories=4), [(0, 3), (2, 1)], bad=4),
    Case(
        "laplace for biased bits", laplace(sensitivity=1, epsilon=1, randomness=SanthaVazirani("0.1")), [(0, 1), (5, 4)]
    ),
    Case("response for biased bits", biased_randomized_response(epsilon=1, gamma="0.1"), [(0, 1)], bad=7),
]
