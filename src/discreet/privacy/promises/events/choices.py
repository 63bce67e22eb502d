"""One choice among several: of a candidate, of a reported value, of the keys to name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from discreet.exact import Number, integer, non_negative, positive
from discreet.privacy.promises.events.base import Event, member
from discreet.privacy.promises.measures import small_probability
from discreet.privacy.promises.neighbours import Neighbours


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RandomizedResponse(Event):
    """One unit's value among ``categories``: kept with p = e^ε/(e^ε + k - 1), else one of the others, all alike.

    The pair is the report of one value against that of another: probabilities (p, r, r, ...) against
    (r, p, r, ...), with r = 1/(e^ε + k - 1). Neighbours differ in that unit's value.

    >>> RandomizedResponse(epsilon=1, categories=5)
    RandomizedResponse(epsilon=1, categories=5)
    """

    epsilon: Fraction
    categories: int

    natural = Neighbours.CHANGE_ONE

    def __init__(self, epsilon: Number, categories: int = 2) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"), categories=integer(categories, "categories", at_least=2))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Exponential(Event):
    """A choice by the exponential mechanism: the privacy loss has *range* ε, so it is ε-differentially private too.

    Range ε: log P(i)/Q(i) - log P(j)/Q(j) <= ε for all candidates i, j. So it is for P(i) ∝ e^{ε u_i/(2Δ)}, where
    Δ is how far any score moves between neighbours, and for e^{ε u_i/Δ} when scores all move the same way.
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PermuteAndFlip(Event):
    """A choice by permute-and-flip: ε-differentially private, but its loss does *not* have range ε.

    Candidates come in random order; i is taken with probability e^{ε (u_i - max u)/(2Δ)} (McKenna, Sheldon 2020).

    >>> PermuteAndFlip("1/2")
    PermuteAndFlip(epsilon='1/2')
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"))


class MaxNoise(Enum):
    """The noise that a noisy maximum adds to each score."""

    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"
    GUMBEL = "gumbel"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class NoisyMax(Event):
    """The candidate with the largest noisy score (its name alone), noise of scale 2Δ/ε, or Δ/ε for monotone scores.

    ε-differentially private for each noise. With GUMBEL noise it has the law of Exponential, and so range ε; with
    EXPONENTIAL noise that of PermuteAndFlip; with LAPLACE noise a law of its own. Neither has range ε.

    >>> NoisyMax("1/2").noise
    <MaxNoise.LAPLACE: 'laplace'>
    """

    epsilon: Fraction
    noise: MaxNoise

    def __init__(self, epsilon: Number, noise: MaxNoise = MaxNoise.LAPLACE) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"), noise=member(noise, MaxNoise, "noise"))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Threshold(Event):
    """Which keys exist, by a noisy count at least a threshold: (ε, δ) for the whole set of keys together.

    >>> Threshold(1, "1e-6")
    Threshold(epsilon=1, delta='1/1000000')
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self.fill(epsilon=non_negative(epsilon, "epsilon"), delta=small_probability(delta))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class AboveThreshold(Event):
    """A whole run of the sparse vector technique, all questions and its last positive answer: ε in total.

    Interactive: the analyst chooses the next question after seeing the last answer (Lyu, Su and Li 2017, Alg. 1).

    >>> AboveThreshold(1)
    AboveThreshold(epsilon=1)
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        self.fill(epsilon=positive(epsilon, "epsilon"))
