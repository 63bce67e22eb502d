"""The aggregates, one record each: names in SQL, printed form, documentation."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.query.plan.nodes import Aggregate


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate of many rows. ``many`` arguments make it by the plain rule; 0: it has syntax of its own."""

    aggregate: Aggregate
    usage: str
    doc: str
    many: int
    sql: tuple[str, ...]
    method: str
    """The function of ``front/verbs.py``."""


_A = AggregateFunction
AGGREGATES = (
    _A(Aggregate.COUNT, "COUNT(*)", "How many rows; COUNT(x), where x is not NULL; COUNT_IF(x), where x is true.", 0,
       ("count", "count_big", "count_if", "countif", "approx_count_distinct", "approx_distinct", "hll"), "count"),
    _A(Aggregate.COUNT_DISTINCT, "COUNT(DISTINCT x)", "How many distinct values; of the unit, how many units.", 0, (),
       "count_distinct"),
    _A(Aggregate.SUM, "SUM(x)", "The sum.", 1, ("sum",), "sum"),
    _A(Aggregate.AVG, "AVG(x)", "The average.", 1, ("avg", "mean"), "mean"),
    _A(Aggregate.VARIANCE, "VARIANCE(x)", "The sample variance.", 1, ("variance", "var_samp", "var"), "variance"),
    _A(Aggregate.STDDEV, "STDDEV(x)", "The sample standard deviation.", 1, ("stddev", "stddev_samp", "std", "stdev"),
       "stddev"),
    _A(Aggregate.COVARIANCE, "COVAR_SAMP(x, y)", "The sample covariance.", 2, ("covar_samp",), "covariance"),
    _A(Aggregate.CORRELATION, "CORR(x, y)", "The correlation.", 2, ("corr",), "correlation"),
    _A(Aggregate.QUANTILE, "QUANTILE(x, 0.9)",
       "The value below which a share of the rows lies; MEDIAN(x); PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).", 0,
       ("quantile", "quantile_cont", "approx_quantile", "approx_percentile", "percentile_approx", "percentile",
        "median", "approx_median", "percentile_cont"), "quantile"),
    _A(Aggregate.MIN, "MIN(x)", "The smallest value beyond which there surely are rows.", 1, ("min",), "min"),
    _A(Aggregate.MAX, "MAX(x)", "The largest value beyond which there surely are rows.", 1, ("max",), "max"),
)  # fmt: skip
POPULATION = {"var_pop": Aggregate.VARIANCE, "varp": Aggregate.VARIANCE, "stddev_pop": Aggregate.STDDEV,
              "stdevp": Aggregate.STDDEV, "covar_pop": Aggregate.COVARIANCE}  # fmt: skip
"""Of the population: made of the sample's and a count, which are released."""
DERIVED = {
    "bool_or": "MAX(x) = 1: surely true of a row; also LOGICAL_OR, BOOLOR_AGG",
    "logical_or": "", "boolor_agg": "",
    "bool_and": "MIN(x) = 1: not surely false of a row; also LOGICAL_AND, BOOLAND_AGG, EVERY",
    "logical_and": "", "booland_agg": "", "every": "",
    "regr_slope": "COVAR_SAMP(y, x) / VARIANCE(x) of rows with both", "regr_intercept": "AVG(y) - slope * AVG(x)",
    "regr_r2": "CORR(y, x) squared", "regr_count": "how many rows have both",
    "regr_avgx": "AVG(x) of rows with both", "regr_avgy": "AVG(y) of rows with both",
}  # fmt: skip
"""Made of other aggregates, which are released."""
NAMES = frozenset(name for each in AGGREGATES for name in each.sql) | frozenset(POPULATION) | frozenset(DERIVED)
"""All names of aggregates in SQL."""
PLAIN = {name: each for each in AGGREGATES if each.many for name in each.sql}
"""Those that take so many arguments and nothing else."""
WRITTEN = {each.aggregate: each.sql[0].upper() for each in AGGREGATES if each.sql}
"""How they are printed."""
