"""discreet: ask questions of sensitive data; publish the answers safely."""

from discreet import noise, randomness, stable
from discreet.answer import Answer
from discreet.mechanisms.additive import Trunc
from discreet.mechanisms.gaussian import gaussian
from discreet.mechanisms.laplace import laplace
from discreet.mechanisms.sensitivity import L1, L2, Linf
from discreet.privacy import events, plots
from discreet.privacy.bound import Bound
from discreet.privacy.calibrate import budget_for, calibrate
from discreet.privacy.compose import compose
from discreet.privacy.filters import Filter
from discreet.privacy.measures import GDP, ZCDP, Approx, Pure, Renyi
from discreet.privacy.neighbours import Neighbours
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
    "Pure",
    "Renyi",
    "Trunc",
    "budget_for",
    "calibrate",
    "compose",
    "events",
    "gaussian",
    "interact",
    "laplace",
    "noise",
    "plots",
    "randomness",
    "stable",
]
