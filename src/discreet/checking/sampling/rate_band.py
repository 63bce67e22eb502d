"""The trade-off between an attacker's two errors: what was certified by samples, beside what a promise allows.

Guarantee: with the stated confidence, all points at once: the test behind each point has error rates within its
intervals. So the true trade-off curve of the mechanism runs below the upper corners of the points; where an upper
corner lies below the curve of the claim, the claim is refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.checking.sampling.binomial import lower, upper
from discreet.checking.sampling.distinguishers import nested_questions
from discreet.checking.sampling.observed import Outcome
from discreet.picture import new_figure
from discreet.privacy.accountants.tradeoff import false_negatives_down
from discreet.privacy.promises.measures import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Point:
    """One test: the rates of false positives and of false negatives, each as (lower, seen, upper)."""

    event: str
    false_positive: tuple[float, float, float]
    false_negative: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Certified points of an attack, and the claim."""

    claim: Measure
    points: tuple[Point, ...]
    failure: float

    def allowed(self, false_positive: float) -> float:
        """The least rate of false negatives that the claim allows at this rate of false positives."""
        return float(false_negatives_down(self.claim, Fraction(false_positive)))

    @property
    def refuted(self) -> bool:
        """Whether some point lies below the claim's curve for certain."""
        return any(point.false_negative[2] < self.allowed(point.false_positive[2]) for point in self.points)

    def to_dict(self) -> dict[str, Any]:
        """The band as plain data."""
        return {
            "claim": str(self.claim),
            "failure": self.failure,
            "points": [
                {"event": p.event, "false_positive": list(p.false_positive), "false_negative": list(p.false_negative)}
                for p in self.points
            ],
        }

    def plot(self) -> Figure:
        """The picture: boxes of the certified points, and the curve of the claim."""
        figure = new_figure(5, 5)
        axes = figure.subplots()
        grid = np.linspace(0, 1, 101)
        axes.plot(grid, [self.allowed(float(x)) for x in grid], label=f"claimed: {self.claim}")
        seen = sorted((p.false_positive[1], p.false_negative[1]) for p in self.points)
        axes.plot([x for x, _ in seen], [y for _, y in seen], ".", label="attack, as seen")
        upper_corner = sorted((p.false_positive[2], p.false_negative[2]) for p in self.points)
        axes.plot([x for x, _ in upper_corner], [y for _, y in upper_corner], "_", label="certified, at most")
        axes.set(xlabel="false positives", ylabel="false negatives", xlim=(0, 1), ylim=(0, 1))
        axes.legend()
        return figure


def trade_off(
    searched: Sequence[Sequence[Outcome]],
    fresh: Sequence[Sequence[Outcome]],
    claim: Measure,
    failure: float,
    points: int,
) -> TradeOff:
    """The band from a family of nested events that was chosen on ``searched`` and is counted on ``fresh``."""
    questions = nested_questions(searched[0], searched[1], points)
    each = failure / (4 * max(1, len(questions)))
    first, second = fresh

    def rate(holds: Callable[[Outcome], bool], side: Sequence[Outcome]) -> tuple[float, float, float]:
        seen = sum(map(holds, side))
        return float(lower(seen, len(side), each)), seen / len(side), float(upper(seen, len(side), each))

    band = []
    for question in questions:
        positive = rate(question.holds, second)
        caught = rate(question.holds, first)
        missed = (1 - caught[2], 1 - caught[1], 1 - caught[0])
        band.append(Point(question.words, positive, missed))
    return TradeOff(claim, tuple(band), failure)
