"""discreet: ask questions of sensitive data; publish the answers safely."""

from importlib import import_module
from typing import TYPE_CHECKING

from discreet import mechanisms, noise, randomness, stable
from discreet.answer import Answer
from discreet.mechanisms import (
    L1,
    L2,
    Linf,
    Trunc,
    above_threshold,
    exponential,
    gaussian,
    laplace,
    noisy_max,
    optimal_keys,
    permute_and_flip,
    propose_test_release,
    randomized_response,
    threshold_keys,
    top_k,
)
from discreet.mechanisms.imperfect import certify_laplace
from discreet.privacy import events, plots
from discreet.privacy.bound import Bound
from discreet.privacy.calibrate import budget_for, calibrate
from discreet.privacy.compose import compose
from discreet.privacy.filters import Filter, Rule
from discreet.privacy.measures import GDP, ZCDP, Approx, Pure, Renyi
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.odometers import Odometer, PureOdometer
from discreet.randomness.imperfect import SanthaVazirani
from discreet.stable.interact import interact
from discreet.table.schema import bounds, keys, table, unknown_keys

if TYPE_CHECKING:
    from discreet import engines, learning
    from discreet.checking import attacks, audit, audit_one_run, check, replay
    from discreet.curator.client import connect
    from discreet.session import Session
    from discreet.table.answer import TableAnswer
    from discreet.table.verbs import (
        case,
        col,
        correlation,
        count,
        count_distinct,
        covariance,
        expr,
        grouping,
        lit,
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
    "GDP",
    "L1",
    "L2",
    "ZCDP",
    "Answer",
    "Approx",
    "Bound",
    "Filter",
    "Linf",
    "Neighbours",
    "Odometer",
    "Pure",
    "PureOdometer",
    "Renyi",
    "Rule",
    "SanthaVazirani",
    "Session",
    "TableAnswer",
    "Trunc",
    "above_threshold",
    "attacks",
    "audit",
    "audit_one_run",
    "bounds",
    "budget_for",
    "calibrate",
    "case",
    "certify_laplace",
    "check",
    "col",
    "compose",
    "connect",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "engines",
    "events",
    "exponential",
    "expr",
    "gaussian",
    "grouping",
    "interact",
    "keys",
    "laplace",
    "learning",
    "lit",
    "max",
    "mean",
    "mechanisms",
    "median",
    "min",
    "noise",
    "noisy_max",
    "optimal_keys",
    "permute_and_flip",
    "plots",
    "propose_test_release",
    "quantile",
    "randomized_response",
    "randomness",
    "replay",
    "stable",
    "stddev",
    "sum",
    "table",
    "threshold_keys",
    "top_k",
    "unknown_keys",
    "variance",
]

_LATE = {
    "discreet.checking": ("attacks", "audit", "audit_one_run", "check", "replay"),
    "discreet.curator.client": ("connect",),
    "discreet.session": ("Session",),
    "discreet.table.answer": ("TableAnswer",),
    "discreet.table.verbs": (
        "case", "col", "correlation", "count", "count_distinct", "covariance", "expr", "grouping", "lit", "max", "mean",
        "median", "min", "quantile", "stddev", "sum", "variance",
    ),
}  # fmt: skip  # what waits for its first use: a quicker import
_WHERE = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> object:
    if name in {"engines", "learning"}:  # packages, not names in one
        return import_module(f"discreet.{name}")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
