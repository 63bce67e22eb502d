"""discreet: ask questions of sensitive data; publish the answers safely."""

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
    "Trunc",
    "above_threshold",
    "budget_for",
    "calibrate",
    "certify_laplace",
    "compose",
    "events",
    "exponential",
    "gaussian",
    "interact",
    "laplace",
    "mechanisms",
    "noise",
    "noisy_max",
    "optimal_keys",
    "permute_and_flip",
    "plots",
    "propose_test_release",
    "randomized_response",
    "randomness",
    "stable",
    "threshold_keys",
    "top_k",
]
