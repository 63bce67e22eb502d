"""Attacks to run on your own configuration: without protection, with it, and what theory allows at most."""

from discreet.checking.attacks.coins import biased_coins
from discreet.checking.attacks.guessing import averaging, differencing
from discreet.checking.attacks.linkage import linkage
from discreet.checking.attacks.membership import membership
from discreet.checking.attacks.precision import precision
from discreet.checking.attacks.reconstruction import reconstruction
from discreet.checking.attacks.table import AttackTable, Row
from discreet.checking.attacks.timing import timing

__all__ = [
    "AttackTable",
    "Row",
    "averaging",
    "biased_coins",
    "differencing",
    "linkage",
    "membership",
    "precision",
    "reconstruction",
    "timing",
]
