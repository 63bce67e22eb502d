"""Exact value + receipt + bits -> answer: every mechanism by name.

Each mechanism says its event and its accuracy before it sees data; ``release`` makes an ``Answer``.
"""

from discreet.mechanisms.above_threshold import above_threshold
from discreet.mechanisms.additive import Trunc
from discreet.mechanisms.counting import attribute_counts, attribute_means, histogram, point_queries
from discreet.mechanisms.cumulative import cdf, cumulative
from discreet.mechanisms.exponential import exponential
from discreet.mechanisms.gaussian import gaussian
from discreet.mechanisms.key_selection import optimal_keys, threshold_keys
from discreet.mechanisms.laplace import laplace
from discreet.mechanisms.marginals import marginals
from discreet.mechanisms.moments import correlation, covariance, mean, standard_deviation, variance
from discreet.mechanisms.noisy_max import noisy_max
from discreet.mechanisms.permute_and_flip import permute_and_flip
from discreet.mechanisms.propose_test_release import distance_to_instability, propose_test_release
from discreet.mechanisms.quantiles import (
    interquartile_range,
    maximum,
    median,
    minimum,
    quantile,
    quantile_interval,
    quantiles,
)
from discreet.mechanisms.randomized_response import randomized_response
from discreet.mechanisms.sensitivity import L1, L2, Linf
from discreet.mechanisms.sums import bounded_sum, count
from discreet.mechanisms.top_k import peel, top_k
from discreet.mechanisms.tree import hierarchy

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
