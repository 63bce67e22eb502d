"""Inference that counts both the chance choice of people and the noise: tables, tests, intervals, survival.

Every function is one release for one budget. Bounds, groups and times are public; each person counts once.
"""

from discreet.learning.inference.coefficients import Coefficients
from discreet.learning.inference.comparisons import (
    TestResult,
    anova,
    chi_square,
    correlation,
    difference_of_means,
    difference_of_proportions,
    goodness_of_fit,
    mean,
    rank_test,
    rows_for_difference,
)
from discreet.learning.inference.survival import SurvivalCurve, kaplan_meier, log_rank

__all__ = [
    "Coefficients",
    "SurvivalCurve",
    "TestResult",
    "anova",
    "chi_square",
    "correlation",
    "difference_of_means",
    "difference_of_proportions",
    "goodness_of_fit",
    "kaplan_meier",
    "log_rank",
    "mean",
    "rank_test",
    "rows_for_difference",
]
