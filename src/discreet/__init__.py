"""discreet: ask questions of sensitive data; publish the answers safely."""

from importlib import import_module
from typing import TYPE_CHECKING

from discreet import mechanisms, noise, randomness, stable
from discreet.answer import Answer
from discreet.biased.certify import certify_laplace
from discreet.biased.sources import SanthaVazirani
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
from discreet.privacy.accountants.compose import compose
from discreet.privacy.attacker import plots
from discreet.privacy.budgets.calibrate import budget_for, calibrate
from discreet.privacy.budgets.filters import Filter, Rule
from discreet.privacy.budgets.odometers import Odometer, PureOdometer
from discreet.privacy.promises import events
from discreet.privacy.promises.bound import Bound
from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.plan.schema import EACH_ROW as each_row  # noqa: N811 - a constant that people write
from discreet.query.plan.schema import bounds, keys, table, unknown_keys
from discreet.stable.interact import interact

if TYPE_CHECKING:
    from discreet import continual, engines, learning, local, synthetic
    from discreet.checking import attacks, audit, audit_one_run, check, replay
    from discreet.curator.client.client import connect
    from discreet.query.answer.answer import TableAnswer
    from discreet.query.front.verbs import (
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
    from discreet.query.profile.profile import Profile
    from discreet.session.price import Price
    from discreet.session.session import Session

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
    "Price",
    "Profile",
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
    "continual",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "each_row",
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
    "local",
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
    "synthetic",
    "table",
    "threshold_keys",
    "top_k",
    "unknown_keys",
    "variance",
]

_LATE = {
    "discreet.checking": ("attacks", "audit", "audit_one_run", "check", "replay"),
    "discreet.curator.client.client": ("connect",),
    "discreet.curator.client.magic": ("load_ipython_extension",),
    "discreet.session.price": ("Price",),
    "discreet.session.session": ("Session",),
    "discreet.query.answer.answer": ("TableAnswer",),
    "discreet.query.profile.profile": ("Profile",),
    "discreet.query.front.verbs": (
        "case", "col", "correlation", "count", "count_distinct", "covariance", "expr", "grouping", "lit", "max", "mean",
        "median", "min", "quantile", "stddev", "sum", "variance",
    ),
}  # fmt: skip  # what waits for its first use: a quicker import
_PACKAGES = {"continual", "engines", "learning", "local", "synthetic"}
_WHERE = {name: module for module, names in _LATE.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"discreet.{name}")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
