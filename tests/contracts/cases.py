"""The mechanisms that the contract suite holds to their word. A new mechanism joins by one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.biased.randomized_response import biased_randomized_response
from discreet.biased.sources import SanthaVazirani
from discreet.checking.exact.outputs import frozen
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.mechanisms.selection.above_threshold import above_threshold
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.key_selection import optimal_keys, threshold_keys
from discreet.mechanisms.selection.noisy_max import noisy_max
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.mechanisms.selection.propose_test_release import propose_test_release
from discreet.mechanisms.selection.randomized_response import randomized_response
from discreet.mechanisms.selection.top_k import peel, top_k
from discreet.mechanisms.statistics import quantiles
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
COUNTS: list[tuple[Any, Any]] = [({"a": 4}, {"a": 5}), ({"a": 3}, {"a": 3, "b": 1})]
LARGER: list[tuple[Any, Any]] = [({"a": 8}, {"a": 9}), ({"a": 7}, {"a": 7, "b": 1})]
RANKS: Any = {"candidates": [0, 5, 10], "epsilon": 1}

CASES = [
    Case("laplace", laplace(sensitivity=1, epsilon=1), [(0, 1), (7, 6)]),
    Case("laplace, sensitivity 3", laplace(sensitivity=3, epsilon="1/2"), [(0, 3), (0, -2), (5, 6)]),
    Case("laplace, small noise", laplace(sensitivity=1, scale="1/3"), [(0, 1), (-4, -5)]),
    Case("gaussian", gaussian(sensitivity=1, rho="1/2"), [(0, 1), (7, 6)]),
    Case("gaussian, epsilon and delta", gaussian(sensitivity=2, epsilon=1, delta="1e-3"), [(0, 2), (0, -1)]),
    Case("gaussian, small noise", gaussian(sensitivity=1, sigma="1/2"), [(0, 1)]),
    Case("exponential", exponential(sensitivity=1, epsilon=1), SCORES, bad=[]),
    Case("exponential, monotone", exponential(sensitivity=1, epsilon=1, monotone=True), RISING, bad=[]),
    Case("permute and flip", permute_and_flip(sensitivity=1, epsilon=1), SCORES, bad=[]),
    Case("noisy max", noisy_max(sensitivity=1, epsilon=1), SCORES, bad=[]),
    Case("noisy max, Gumbel", noisy_max(sensitivity=1, epsilon=1, noise=MaxNoise.GUMBEL), SCORES, bad=[]),
    Case("noisy max, exponential", noisy_max(sensitivity=1, epsilon=1, noise=MaxNoise.EXPONENTIAL), SCORES, bad=[]),
    Case("top k", top_k(k=2, sensitivity=1, epsilon=1), SCORES, bad=[]),
    Case("peel", peel(permute_and_flip(sensitivity=1, epsilon="1/2"), k=2), SCORES, bad=[]),
    Case("above threshold", above_threshold(threshold=2, epsilon=2), [([0, 1, 2], [1, 0, 1])]),
    Case("threshold keys", threshold_keys(epsilon=1, delta="1e-3"), LARGER, outcome=frozen),
    Case("optimal keys", optimal_keys(epsilon=1, delta="1e-3"), COUNTS, outcome=frozen),
    Case("propose test release", propose_test_release(sensitivity=1, epsilon=2, delta="1e-3"), [((5, 9), (6, 8))]),
    Case("median", quantiles.median(**RANKS), [([0, 10], [0, 10, 10])], bad=7),
    Case("quantile", quantiles.quantile("1/4", **RANKS), [([10], [0, 10])], bad=7),
    Case("quantiles", quantiles.quantiles(["1/4", "3/4"], **RANKS), [([10], [0, 10])], bad=7),
    Case(
        "quantile interval",
        quantiles.quantile_interval("1/2", candidates=[0, 2, 5, 8, 10], epsilon=8),
        [([0, 5], [5])],
        bad=7,
    ),
    Case("interquartile range", quantiles.interquartile_range(**RANKS), [([10], [0, 10])], bad=7),
    Case("maximum", quantiles.maximum(**RANKS), [([0], [0, 10])], bad=7),
    Case("minimum", quantiles.minimum(**RANKS), [([10], [0, 10])], bad=7),
    Case("randomized response", randomized_response(epsilon=1), [(0, 1)], bad=7),
    Case("randomized response, 4 values", randomized_response(epsilon=2, categories=4), [(0, 3), (2, 1)], bad=4),
    Case("laplace, biased bits", laplace(sensitivity=1, epsilon=1, randomness=SanthaVazirani("0.1")), [(0, 1), (5, 4)]),
    Case("response for biased bits", biased_randomized_response(epsilon=1, gamma="0.1"), [(0, 1)], bad=7),
]
