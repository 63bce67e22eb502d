"""Aggregates to be written in verbs: ``session["visits"].group_by("clinic").agg(n=dp.agg.count())``.

>>> from discreet import agg
>>> agg.sum("cost")
Expr(sum(cost))
"""

from discreet.query.front.verbs import (
    correlation,
    count,
    count_distinct,
    covariance,
    grouping,
    max,
    mean,
    median,
    min,
    quantile,
    stddev,
    sum,
    variance,
)

__all__ = [
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "grouping",
    "max",
    "mean",
    "median",
    "min",
    "quantile",
    "stddev",
    "sum",
    "variance",
]
