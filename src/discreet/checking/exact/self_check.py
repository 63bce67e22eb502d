"""Our own claims, as ``discreet check`` holds them against small neighbours: one line for each mechanism and map.

A line begins with the name of what it checks; every name of ``dp.mechanisms`` has one (a test compares the lists).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet import stable
from discreet.checking.exact.check import check
from discreet.checking.exact.other_models import OneReport, WholeStream
from discreet.checking.exact.report import Report
from discreet.continual.counter import counter
from discreet.local.hadamard import hadamard
from discreet.local.means import mean
from discreet.local.response import response
from discreet.local.subset import subset_selection
from discreet.local.unary import basic_rappor, optimised_unary
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.selection.above_threshold import above_threshold
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.key_selection import optimal_keys, threshold_keys
from discreet.mechanisms.selection.noisy_max import noisy_max
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.mechanisms.selection.propose_test_release import propose_test_release
from discreet.mechanisms.selection.randomized_response import randomized_response
from discreet.mechanisms.selection.top_k import peel, top_k
from discreet.mechanisms.statistics import counting, cumulative, marginals, moments, quantiles, sums, tree
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours

_SCORES = [([0, 0, 0], [1, 0, 0]), ([0, 0, 0], [1, -1, -1]), ([3, 2, 2], [2, 3, 3])]
_COUNTS = [({}, {"a": 1}), ({"a": 4}, {"a": 5}), ({"a": 3}, {"a": 3, "b": 1})]
_ROWS = {"id": [1, 2], "x": [0, 5, None]}
_CHANGE = Neighbours.CHANGE_ONE
_PROPOSALS = [((0, 0), (1, 0)), ((0, 0), (9, 0)), ((5, 3), (6, 2)), ((5, 12), (4, 13))]
_XY = [(([], []), ([10], [10])), (([0], [10]), ([0, 10], [10, 0]))]
_UP_TO_TEN: dict[str, Any] = {"values": [0, 5, 10, None], "rows": 2}
_CANDIDATES: dict[str, Any] = {"values": [0, 5, 10], "rows": 2}
_LETTERS: dict[str, Any] = {"values": ["a", "b", "c", None], "rows": 2}
_STEPS: dict[str, Any] = {"values": [0, 1, 2, 3, 4], "rows": 2}
_BITS: dict[str, Any] = {"values": [(0, 0), (0, 1), (1, 1)], "rows": 2}
_MARKS = [0, 5, 10]


def _report(oracle: Any) -> tuple[Any, dict[str, Any]]:
    session = OneReport(oracle)
    return session, {"pairs": session.pairs()}


def _stream(budget: Pure | ZCDP, method: str, steps: int) -> tuple[Any, dict[str, Any]]:
    whole = WholeStream(counter(horizon=4, budget=budget, method=method, steps=steps).plan, 4)
    return whole, {"pairs": whole.pairs(steps)}


OWN: dict[str, tuple[Any, dict[str, Any]]] = {
    "laplace": (laplace(sensitivity=1, epsilon=1), {}),
    "laplace, sensitivity 3": (laplace(sensitivity=3, epsilon=2), {}),
    "gaussian": (gaussian(sensitivity=1, rho="1/2"), {}),
    "gaussian, epsilon and delta": (gaussian(sensitivity=2, epsilon=1, delta="1e-3"), {}),
    "exponential": (exponential(sensitivity=1, epsilon=1), {"pairs": _SCORES}),
    "permute and flip": (permute_and_flip(sensitivity=1, epsilon=1), {"pairs": _SCORES}),
    "noisy max": (noisy_max(sensitivity=1, epsilon=1), {"pairs": _SCORES}),
    "above threshold": (above_threshold(threshold=2, epsilon=2), {"pairs": [([0, 1, 2], [1, 0, 1]), ([0], [1])]}),
    "threshold keys": (threshold_keys(epsilon=1, delta="1e-3"), {"pairs": _COUNTS}),
    "optimal keys": (optimal_keys(epsilon=1, delta="1e-3"), {"pairs": _COUNTS}),
    "top k": (top_k(k=2, sensitivity=1, epsilon=1), {"pairs": _SCORES}),
    "peel": (peel(permute_and_flip(sensitivity=1, epsilon="1/2"), k=2), {"pairs": _SCORES}),
    "randomized response": (randomized_response(epsilon=1, categories=3), {"pairs": [(0, 1), (1, 2)]}),
    "propose test release": (propose_test_release(sensitivity=1, epsilon=2, delta="1e-3"), {"pairs": _PROPOSALS}),
    "count": (sums.count(epsilon=1), {"values": [0, None]}),
    "bounded sum": (sums.bounded_sum(low=-2, high=5, epsilon=1), _UP_TO_TEN),
    "bounded sum, change one": (sums.bounded_sum(low=-2, high=5, rho=1, neighbours=_CHANGE), _UP_TO_TEN),
    "mean": (moments.mean(low=0, high=10, epsilon=1), _UP_TO_TEN),
    "mean, change one": (moments.mean(low=0, high=10, epsilon=1, neighbours=_CHANGE), _UP_TO_TEN),
    "variance": (moments.variance(low=0, high=10, epsilon=1), _UP_TO_TEN),
    "standard deviation": (moments.standard_deviation(low=0, high=10, epsilon=1), _UP_TO_TEN),
    "covariance": (moments.covariance(x=(0, 10), y=(0, 10), epsilon=1), {"pairs": _XY}),
    "correlation": (moments.correlation(x=(0, 10), y=(0, 10), epsilon=1), {"pairs": _XY}),
    "histogram": (counting.histogram(keys=["a", "b"], epsilon=1), _LETTERS),
    "point queries": (counting.point_queries(keys=["a", "b"], epsilon="1/10"), _LETTERS),
    "attribute counts": (counting.attribute_counts(d=2, epsilon="1/10"), _BITS),
    "attribute means": (counting.attribute_means(d=2, epsilon="1/10"), _BITS),
    "marginals": (marginals.marginals(columns=[2, 2], which=[[0], [1]], epsilon="1/10"), _BITS),
    "hierarchy": (tree.hierarchy(keys=[0, 1, 2, 3], branching=2, epsilon="1/10"), _STEPS),
    "cumulative": (cumulative.cumulative(thresholds=[1, 2, 3], epsilon="1/10"), _STEPS),
    "cdf": (cumulative.cdf(thresholds=[1, 2, 3], epsilon="1/10"), _STEPS),
    "quantile": (quantiles.quantile("1/4", candidates=_MARKS, epsilon=1), _CANDIDATES),
    "quantiles": (quantiles.quantiles(["1/4", "3/4"], candidates=_MARKS, epsilon=1), _CANDIDATES),
    "quantile interval": (quantiles.quantile_interval("1/2", candidates=_MARKS, epsilon=1), _CANDIDATES),
    "interquartile range": (quantiles.interquartile_range(candidates=_MARKS, epsilon=1), _CANDIDATES),
    "median": (quantiles.median(candidates=_MARKS, epsilon=1), _CANDIDATES),
    "minimum": (quantiles.minimum(candidates=_MARKS, epsilon=1), _CANDIDATES),
    "maximum": (quantiles.maximum(candidates=_MARKS, epsilon=1), _CANDIDATES),
    "count of rows": (stable.count(), {}),
    "count of changed rows": (stable.count_by(["a", "b"], neighbours=_CHANGE), {"values": ["a", "b", "c", None]}),
    "sum of rows": (stable.sum(bounds=(-2, 5), missing=1), {}),
    "sum of changed rows": (stable.sum(bounds=(-2, 5), neighbours=_CHANGE), {"rows": 2}),
    "resize": (stable.resize(2, fill=0), {"rows": 2}),
    "cap rows": (stable.cap_rows(2, unit="id"), {"columns": _ROWS}),
    "count with noise": (stable.count() >> laplace(epsilon=1), {"values": [0, None]}),
    "capped sum with noise": (
        stable.cap_rows(2, unit="id") >> stable.sum(of="x", bounds=(0, 5)) >> laplace(epsilon=1),
        {"columns": _ROWS},
    ),
    "histogram with noise": (
        stable.count_by(["a", "b"], neighbours=_CHANGE) >> laplace(epsilon=1),
        {"values": ["a", "b"]},
    ),
    "randomized response of 4": _report(response(k=4, epsilon=1)),
    "RAPPOR": _report(basic_rappor(k=3, epsilon=1)),
    "optimised unary encoding": _report(optimised_unary(k=3, epsilon=1)),
    "Hadamard response": _report(hadamard(k=4, epsilon=1)),
    "subset selection": _report(subset_selection(k=5, epsilon=1)),
    "local mean": _report(mean(low=0, high=4, epsilon=1, places=4)),
    "tree over time": _stream(Pure(1), "tree", 1),
    "tree over time, one person in 3 steps": _stream(Pure(1), "tree", 3),
    "square root over time": _stream(ZCDP("1/2"), "square_root", 1),
    "square root over time, one person in 3 steps": _stream(ZCDP("1/2"), "square_root", 3),
    "values over time, one person in 3 steps": _stream(ZCDP("1/2"), "values", 3),
    "prefixes over time": _stream(Pure(1), "prefixes", 2),
}


def check_own() -> Iterator[tuple[str, Report]]:
    """Each of our claims, with its report."""
    for name, (thing, options) in OWN.items():
        yield name, check(thing, **{"searches": 100, "most_pairs": 3000, **options})
