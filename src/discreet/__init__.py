"""discreet: ask questions of sensitive data; publish the answers safely."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import (
        continual,
        engines,
        learning,
        local,
        mechanisms,
        noise,
        randomness,
        stable,
        synthetic,
    )
    from discreet.answer import Answer
    from discreet.biased.certify import certify_laplace
    from discreet.biased.sources import SanthaVazirani
    from discreet.checking import attacks, audit, audit_one_run, check, replay
    from discreet.curator.client.client import connect
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
    from discreet.privacy.attacker.loss import privacy_loss
    from discreet.privacy.budgets.calibrate import budget_for, calibrate
    from discreet.privacy.budgets.filters import Filter, Rule
    from discreet.privacy.budgets.odometers import Odometer, PureOdometer
    from discreet.privacy.promises import events
    from discreet.privacy.promises.bound import Bound
    from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi
    from discreet.privacy.promises.neighbours import Neighbours
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
    from discreet.query.plan.schema import EACH_ROW as each_row  # noqa: N811 - a constant that people write
    from discreet.query.plan.schema import bounds, keys, table, unknown_keys
    from discreet.query.profile.profile import Profile
    from discreet.session.price import Price
    from discreet.session.session import Session
    from discreet.stable.interact import interact

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
    "privacy_loss",
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

_PACKAGES = """answer biased continual engines errors exact learning local mechanisms noise privacy progress query
    randomness stable synthetic"""
_MODULES = {name: f"discreet.{name}" for name in _PACKAGES.split()} | {
    "events": "discreet.privacy.promises.events",
    "plots": "discreet.privacy.attacker.plots",
}
_NAMES = {
    "discreet.answer": ("Answer",),
    "discreet.biased.certify": ("certify_laplace",),
    "discreet.biased.sources": ("SanthaVazirani",),
    "discreet.checking": ("attacks", "audit", "audit_one_run", "check", "replay"),
    "discreet.curator.client.client": ("connect",),
    "discreet.curator.client.magic": ("load_ipython_extension",),
    "discreet.mechanisms": (
        "L1", "L2", "Linf", "Trunc", "above_threshold", "exponential", "gaussian", "laplace", "noisy_max",
        "optimal_keys", "permute_and_flip", "propose_test_release", "randomized_response", "threshold_keys", "top_k",
    ),
    "discreet.privacy.accountants.compose": ("compose",),
    "discreet.privacy.attacker.loss": ("privacy_loss",),
    "discreet.privacy.budgets.calibrate": ("budget_for", "calibrate"),
    "discreet.privacy.budgets.filters": ("Filter", "Rule"),
    "discreet.privacy.budgets.odometers": ("Odometer", "PureOdometer"),
    "discreet.privacy.promises.bound": ("Bound",),
    "discreet.privacy.promises.measures": ("GDP", "ZCDP", "Approx", "Pure", "Renyi"),
    "discreet.privacy.promises.neighbours": ("Neighbours",),
    "discreet.query.answer.answer": ("TableAnswer",),
    "discreet.query.front.verbs": (
        "case", "col", "correlation", "count", "count_distinct", "covariance", "expr", "grouping", "lit", "max", "mean",
        "median", "min", "quantile", "stddev", "sum", "variance",
    ),
    "discreet.query.plan.schema": ("bounds", "each_row", "keys", "table", "unknown_keys"),
    "discreet.query.profile.profile": ("Profile",),
    "discreet.session.price": ("Price",),
    "discreet.session.session": ("Session",),
    "discreet.stable.interact": ("interact",),
}  # fmt: skip
_WHERE = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Each name is imported at its first use: a command, or an engine's process, loads what it needs."""
    if name in _MODULES:
        found: object = import_module(_MODULES[name])
    elif name in _WHERE:
        found = getattr(import_module(_WHERE[name]), {"each_row": "EACH_ROW"}.get(name, name))
    else:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
