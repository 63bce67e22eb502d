"""Exact value + receipt + bits -> answer: every mechanism by name.

Each mechanism says its event and its accuracy before it sees data; ``release`` makes an ``Answer``.
"""

from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.additive.shared import Trunc
from discreet.mechanisms.base.sensitivity import L1, L2, Linf
from discreet.mechanisms.selection.above_threshold import above_threshold
from discreet.mechanisms.selection.exponential import exponential
from discreet.mechanisms.selection.key_selection import optimal_keys, threshold_keys
from discreet.mechanisms.selection.noisy_max import noisy_max
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.mechanisms.selection.propose_test_release import distance_to_instability, propose_test_release
from discreet.mechanisms.selection.randomized_response import randomized_response
from discreet.mechanisms.selection.top_k import peel, top_k
from discreet.mechanisms.statistics.counting import attribute_counts, attribute_means, histogram, point_queries
from discreet.mechanisms.statistics.cumulative import cdf, cumulative
from discreet.mechanisms.statistics.marginals import marginals
from discreet.mechanisms.statistics.moments import correlation, covariance, mean, standard_deviation, variance
from discreet.mechanisms.statistics.quantiles import (
    interquartile_range,
    maximum,
    median,
    minimum,
    quantile,
    quantile_interval,
    quantiles,
)
from discreet.mechanisms.statistics.sums import bounded_sum, count
from discreet.mechanisms.statistics.tree import hierarchy

__all__ = [
    "L1",
    "L2",
    "Linf",
    "Trunc",
    "above_threshold",
    "attribute_counts",
    "attribute_means",
    "bounded_sum",
    "cdf",
    "correlation",
    "count",
    "covariance",
    "cumulative",
    "distance_to_instability",
    "exponential",
    "gaussian",
    "hierarchy",
    "histogram",
    "interquartile_range",
    "laplace",
    "marginals",
    "maximum",
    "mean",
    "median",
    "minimum",
    "noisy_max",
    "optimal_keys",
    "peel",
    "permute_and_flip",
    "point_queries",
    "propose_test_release",
    "quantile",
    "quantile_interval",
    "quantiles",
    "randomized_response",
    "standard_deviation",
    "threshold_keys",
    "top_k",
    "variance",
]
