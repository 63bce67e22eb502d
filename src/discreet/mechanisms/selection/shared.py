"""What all choices by score share: exact scores in, one index out, and how good the chosen one is.

Guarantee: scores are read as they are (whole numbers or Fractions) and never rounded. Floats are refused: their sums
depend on the order of the rows, so no sensitivity can be proven for them.

The candidates and their number are public; only the scores come from data. ``sensitivity`` is how far any one score
moves between neighbours. ``monotone`` says that all scores that move do so in the same direction, as counts do when one
unit is added or removed; they do *not* when one unit is changed into another. So the event of a monotone choice is
stated for ADD_REMOVE, and a budget for changed units refuses it.
"""

from __future__ import annotations

import numbers
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.answer import Answer, confidence_level
from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer, positive
from discreet.mechanisms.base.laplace_law import exp_bounds
from discreet.mechanisms.base.mechanism import Priced
from discreet.mechanisms.base.sensitivity import L1, L2, Linf, Sensitivity
from discreet.noise.selection import Coins, RationalScores, coins
from discreet.privacy.numerics.interval import Interval
from discreet.privacy.promises.measures import Pure
from discreet.privacy.promises.neighbours import Neighbours
from discreet.privacy.promises.receipt import Receipt

Scores = NDArray[np.integer[Any]] | tuple[Fraction, ...]
"""Whole scores that fit into 64 bits as an array, all others as Fractions."""

_INT64 = 1 << 63


class Selection(Priced[Scores, int]):
    """A choice of one candidate by its score."""

    __slots__ = ()
    lists_all_outputs = True

    sensitivity: Fraction
    monotone: bool

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """One over the scale of the noise: scores count in units of 1/rate."""

    @property
    def epsilon(self) -> Fraction:
        """The exact price."""
        return self._epsilon_at(self.sensitivity)

    def _epsilon_at(self, sensitivity: Fraction) -> Fraction:
        return ways(self.monotone) * self.rate * sensitivity

    @property
    def price(self) -> Pure:
        """The price as a promise."""
        return Pure(self.epsilon)

    @abstractmethod
    def gap_at(self, confidence: Number, candidates: int) -> float:
        """The chosen score is at most this far below the best one, with the given confidence, whatever the scores."""

    def read(self, value: Any) -> Scores:
        """The scores, exactly."""
        return read_scores(value)

    def release(self, value: Any, receipt: Receipt | None = None, *, candidates: Sequence[Any] | None = None) -> Answer:
        """The index of the chosen score, or the candidate at that place of a public list."""
        if candidates is None:
            return super().release(value, receipt)
        exact = self.read(value)
        if len(candidates) != len(exact):
            raise BadParameter("candidates", candidates, "must be as many as there are scores")
        answer = super().release(exact, receipt)
        return replace(answer, value=candidates[answer.value])


S_co = TypeVar("S_co", bound=Selection, covariant=True)


@dataclass(frozen=True, slots=True)
class SelectionFor(Generic[S_co]):
    """A choice that still waits for its sensitivity: chain it behind a stable map, or call ``at``."""

    make: Callable[[Number], S_co]
    monotone: bool

    def release(self, value: object, receipt: object = None) -> NoReturn:
        """Refused: without a sensitivity there is no promise."""
        raise BadParameter("sensitivity", None, "must be given to release; or chain this behind a stable map with >>")

    def at(self, sensitivity: Sensitivity, dimension: int = 1) -> S_co:
        """The mechanism for this sensitivity: how far any one of the scores moves."""
        return self.make(score_moves(sensitivity))


def score_moves(sensitivity: Sensitivity) -> Fraction:
    """How far any one score moves: a plain number, Linf, or L1, which bounds it."""
    if isinstance(sensitivity, L2):
        raise BadParameter("sensitivity", sensitivity, "must be how far any one score moves: a number, or Linf(v)")
    return sensitivity.value if isinstance(sensitivity, (L1, Linf)) else positive(sensitivity, "sensitivity")


def waits(sensitivity: Number | None, epsilon: Number | None, noise: Number | None, monotone: bool) -> bool:
    """Whether only one of epsilon and the noise was given, and no sensitivity; what was given is checked."""
    check_flag(monotone, "monotone")
    given = [positive(x, name) for x, name in ((epsilon, "epsilon"), (noise, "the noise")) if x is not None]
    return sensitivity is None and len(given) == 1


def relation_of(monotone: bool) -> Neighbours | None:
    """The neighbours that a price is stated for: where all scores move one way, a unit comes or goes; else any."""
    return Neighbours.ADD_REMOVE if monotone else None


def ways(monotone: bool) -> int:
    """By how many sensitivities the difference of two scores can move: 1 if both move the same way, else 2."""
    return 1 if monotone else 2


def two_of(
    name: str, sensitivity: Number | None, epsilon: Number | None, rate: Number | None, monotone: bool
) -> tuple[Fraction, Fraction]:
    """Sensitivity and rate, from two of sensitivity, epsilon and rate: epsilon = ways * sensitivity * rate.

    >>> two_of("exponential", 3, "1/2", None, False)
    (Fraction(3, 1), Fraction(1, 12))
    """
    moved = None if sensitivity is None else positive(sensitivity, "sensitivity")
    price = None if epsilon is None else positive(epsilon, "epsilon")
    r = None if rate is None else positive(rate, "rate")
    check_flag(monotone, "monotone")
    match moved, price, r:
        case Fraction(), Fraction(), None:
            return moved, price / (ways(monotone) * moved)
        case Fraction(), None, Fraction():
            return moved, r
        case None, Fraction(), Fraction():
            return price / (ways(monotone) * r), r
    given = sum(x is not None for x in (moved, price, r))
    raise BadParameter(name, f"{given} of them", "must be given two of sensitivity, epsilon and the noise")


def check_flag(value: bool, name: str) -> bool:
    """A plain True or False."""
    given: object = value
    if not isinstance(given, bool):
        raise BadParameter(name, given, "must be True or False")
    return given


def read_scores(value: Any) -> Scores:
    """Whole numbers or Fractions, at least one; anything else is refused, in a message without its values.

    >>> read_scores([3, 1, 2]), read_scores([Fraction(1, 2), 1])
    (array([3, 1, 2]), (Fraction(1, 2), Fraction(1, 1)))
    """
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.ndim != 1:
            raise BadData("scores must be a flat list with one number for each candidate")
        if array.dtype.kind in "iu" and len(array):
            return array if array.dtype == np.uint64 else array.astype(np.int64, copy=False)
        value = array.tolist() if array.dtype == object else None if len(array) else []
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise BadData("scores must be a list of integers or Fractions; put floats on a public grid first")
    if not value:
        raise BadData("scores must be a list with at least one score")
    if set(map(type, value)) == {int}:
        try:
            return np.array(value, dtype=np.int64)
        except OverflowError:  # beyond 64 bits: as Fractions
            pass
    if not all(isinstance(s, numbers.Rational) and not isinstance(s, bool) for s in value):
        raise BadData("scores must be integers or Fractions; put floats on a public grid first")
    return tuple(Fraction(int(s.numerator), int(s.denominator)) for s in value)


def exact_scores(scores: Scores) -> list[Fraction]:
    """The scores one by one."""
    return [Fraction(int(s)) if not isinstance(s, Fraction) else s for s in scores]


def score_coins(scores: Scores, rate: Fraction) -> Coins:
    """For each candidate a coin of probability e^(-rate (best - score)), exactly."""
    return RationalScores(scores, rate) if isinstance(scores, tuple) else coins(scores, rate)


def weights(scores: Scores, rate: Fraction) -> list[Interval]:
    """Bounds of e^(-rate (best - score))."""
    exact = exact_scores(scores)
    best = max(exact)
    return [exp_bounds(rate * (s - best)) for s in exact]


def level_and_count(confidence: Number, candidates: int) -> tuple[Fraction, int]:
    """A confidence in [0, 1) and a number of candidates."""
    return confidence_level(confidence), integer(candidates, "candidates", at_least=1)
