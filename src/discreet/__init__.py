"""discreet: query sensitive data; publish the answers safely."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import (
        agg,
        biased,
        checking,
        continual,
        engines,
        errors,
        learning,
        local,
        mechanisms,
        noise,
        randomness,
        stable,
        synthetic,
    )
    from discreet.checking import audit, check
    from discreet.curator.client.client import connect
    from discreet.learning import inference
    from discreet.mechanisms import exponential, gaussian, laplace, randomized_response
    from discreet.privacy import budgets
    from discreet.privacy.accountants.compose import compose
    from discreet.privacy.attacker import plots
    from discreet.privacy.attacker.loss import privacy_loss
    from discreet.privacy.budgets.calibrate import budget_for, calibrate
    from discreet.privacy.budgets.filters import Filter, Rule
    from discreet.privacy.promises import events
    from discreet.privacy.promises.bound import Bound
    from discreet.privacy.promises.measures import GDP, ZCDP, Approx, Pure, Renyi
    from discreet.privacy.promises.neighbours import Neighbours
    from discreet.query.answer.answer import TableAnswer
    from discreet.query.front.verbs import case, col, expr, lit
    from discreet.query.plan.key_sets import hierarchy
    from discreet.query.plan.public_totals import public_totals
    from discreet.query.plan.schema import EACH_ROW as each_row  # noqa: N811 - a constant that people write
    from discreet.query.plan.schema import bounds, keys, table, unknown_keys
    from discreet.session.session import Session

__all__ = [
    "GDP",
    "ZCDP",
    "Approx",
    "Bound",
    "Filter",
    "Neighbours",
    "Pure",
    "Renyi",
    "Rule",
    "Session",
    "TableAnswer",
    "agg",
    "audit",
    "biased",
    "bounds",
    "budget_for",
    "budgets",
    "calibrate",
    "case",
    "check",
    "checking",
    "col",
    "compose",
    "connect",
    "continual",
    "each_row",
    "engines",
    "errors",
    "events",
    "exponential",
    "expr",
    "gaussian",
    "hierarchy",
    "inference",
    "keys",
    "laplace",
    "learning",
    "lit",
    "local",
    "mechanisms",
    "noise",
    "plots",
    "privacy_loss",
    "public_totals",
    "randomized_response",
    "randomness",
    "stable",
    "synthetic",
    "table",
    "unknown_keys",
]

_PACKAGES = """agg answer biased checking continual engines errors exact learning local mechanisms noise privacy
    progress query randomness session stable synthetic"""
_MODULES = {name: f"discreet.{name}" for name in _PACKAGES.split()} | {
    "budgets": "discreet.privacy.budgets",
    "events": "discreet.privacy.promises.events",
    "inference": "discreet.learning.inference",
    "plots": "discreet.privacy.attacker.plots",
}
_NAMES = {
    "discreet.checking": ("audit", "check",),
    "discreet.curator.client.client": ("connect",),
    "discreet.curator.client.magic": ("load_ipython_extension",),
    "discreet.mechanisms": ("exponential", "gaussian", "laplace", "randomized_response",),
    "discreet.privacy.accountants.compose": ("compose",),
    "discreet.privacy.attacker.loss": ("privacy_loss",),
    "discreet.privacy.budgets.calibrate": ("budget_for", "calibrate",),
    "discreet.privacy.budgets.filters": ("Filter", "Rule",),
    "discreet.privacy.promises.bound": ("Bound",),
    "discreet.privacy.promises.measures": ("GDP", "ZCDP", "Approx", "Pure", "Renyi",),
    "discreet.privacy.promises.neighbours": ("Neighbours",),
    "discreet.query.answer.answer": ("TableAnswer",),
    "discreet.query.front.verbs": ("case", "col", "expr", "lit",),
    "discreet.query.plan.key_sets": ("hierarchy",),
    "discreet.query.plan.public_totals": ("public_totals",),
    "discreet.query.plan.schema": ("bounds", "each_row", "keys", "table", "unknown_keys",),
    "discreet.session.session": ("Session",),
}  # fmt: skip
_AGGREGATES = ("count", "count_distinct", "sum", "mean", "median", "min", "max", "quantile", "stddev", "variance")
_WHERE = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Each name is imported at its first use: a command, or an engine's process, loads what it needs."""
    if name in _MODULES:
        value: object = import_module(_MODULES[name])
    elif name in _WHERE:
        value = getattr(import_module(_WHERE[name]), {"each_row": "EACH_ROW"}.get(name, name))
    else:
        hint = f"; write dp.agg.{name}" if name in _AGGREGATES else ""
        raise AttributeError(f"module 'discreet' has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
