"""A released histogram of a profile: noisy numbers of units in public classes, with the law of their noise.

Promise: a value; everything here follows from released numbers, so it costs nothing however often it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level
from discreet.arrays import Floats
from discreet.errors import BadData
from discreet.exact import Number, significant
from discreet.mechanisms.additive.gaussian import Gaussian
from discreet.query.answer.answer import TableAnswer
from discreet.query.answer.serialize import plain
from discreet.query.choose.classes import SIGNED_POWERS
from discreet.query.estimate.error_bounds import weighted_error
from discreet.query.plan.types import Value
from discreet.query.profile.classes import FIRST_YEAR, LAST_YEAR, STARTS, value_ends
from discreet.query.profile.questions import COUNT, KEY, About, HistogramQuery


@dataclass(frozen=True, slots=True)
class UnitHistogram:
    """How many units (each weighs one in all) are in each class, plus noise."""

    about: About
    column: str
    labels: tuple[Value, ...]
    counts: tuple[float, ...]
    scale: float
    """Of the noise in each count: σ, or the scale of Laplace noise."""
    gaussian: bool
    step: Fraction = Fraction(1)

    @classmethod
    def of(cls, question: HistogramQuery, answer: TableAnswer) -> UnitHistogram:
        """What was released for it."""
        alone = question.about is About.DISTINCT
        released = dict(zip(question.labels if alone else answer[KEY], answer[COUNT], strict=True))
        (recipe,) = question.prepared.parts[0].recipes
        (statistic,) = recipe.needs
        noised = answer.released[0].estimates[statistic].noised
        assert noised is not None  # noqa: S101 - it was just drawn
        gaussian = isinstance(noised.noise, Gaussian)
        scale = _scale(answer.errors(CONFIDENCE)[COUNT][0], CONFIDENCE, gaussian=gaussian)
        return cls(
            question.about,
            question.column,
            question.labels,
            tuple(float(released[label]) for label in question.labels),
            scale,
            gaussian,
            question.step,
        )

    @property
    def values(self) -> Floats:
        """The noisy counts."""
        return np.array(self.counts)

    @property
    def variance(self) -> float:
        """Of the noise in each count."""
        return self.scale**2 * (1 if self.gaussian else 2)

    @property
    def title(self) -> str:
        """What it is about, in words."""
        return self.about.of(self.column)

    def error(self, weights: Sequence[float] | Floats, miss: float) -> float:
        """How far off Σ weight · count may be, but for a chance of ``miss``."""
        return weighted_error(self.scale, [float(w) for w in weights], miss, gaussian=self.gaussian)

    def total(self, confidence: Number = CONFIDENCE) -> tuple[float, float]:
        """The number of units, and its error bar."""
        ones = np.ones(len(self.counts))
        return float(self.values.sum()), self.error(ones, float(1 - confidence_level(confidence)))

    def shares(self) -> Floats:
        """The share of each class, from what is not below 0."""
        kept = np.maximum(self.values, 0.0)
        return kept / (kept.sum() or 1.0)

    def label(self, place: int) -> str:
        """A class in words."""
        match self.about:
            case About.ROWS | About.GROUPS:
                low = STARTS[place]
                if place + 1 == len(STARTS):
                    return f"{low:,} and more"
                high = STARTS[place + 1] - 1
                return f"{low:,}" if low == high else f"{low:,} to {high:,}"
            case About.VALUES if place + 1 == len(self.labels):
                return "NULL"
            case About.VALUES if self.labels[0] == FIRST_YEAR:
                year = self.labels[place]
                return f"{'to ' if year == FIRST_YEAR else ''}{year}{' and later' if year == LAST_YEAR else ''}"
            case About.VALUES:
                return self._numbers(SIGNED_POWERS[place])
            case _:
                return "NULL" if self.labels[place] is None else str(self.labels[place])

    def _numbers(self, power: int) -> str:
        """A class of numbers, from its smallest to its largest one: they are whole steps."""
        low, high = value_ends(power, self.step)
        low, high = (low + self.step, high) if power < 0 else (low, max(low, high - self.step))
        least, most = (significant(float(end), 6) for end in (low, high))
        if power in (SIGNED_POWERS[0], SIGNED_POWERS[-1]):
            return f"{least} and more" if power > 0 else f"{most} and less"
        return least if least == most else f"{least} to {most}"

    @classmethod
    def read(cls, question: HistogramQuery, stored: Mapping[str, Any]) -> UnitHistogram:
        """From an answer as a ledger keeps it: the same as when it was released."""
        alone = question.about is About.DISTINCT
        released = {question.labels[0]: stored["rows"][0][0]} if alone else dict(stored["rows"])
        if set(released) != {plain(label) for label in question.labels}:
            raise BadData("this profile was stored for a table with other keys: release a new one")
        gaussian = any("Gaussian noise" in line for line in stored["story"])
        scale = _scale(stored["errors"][COUNT][0], stored["confidence"], gaussian=gaussian)
        counts = tuple(float(released[plain(label)]) for label in question.labels)
        return cls(question.about, question.column, question.labels, counts, scale, gaussian, question.step)


def _scale(error: float | None, confidence: Number, *, gaussian: bool) -> float:
    """The scale of the noise, from an error bar: that is what a ledger keeps of it."""
    assert error is not None  # noqa: S101 - every count has one
    scale = error / weighted_error(1.0, [1.0], float(1 - confidence_level(confidence)), gaussian=gaussian)
    return max(scale, 1e-9)  # for a very large price the bar is 0; what is divided by the scale must be a number
