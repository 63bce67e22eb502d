"""What the bounds of a column cut of its values, from a profile that looked at them as they are stored.

Promise: an estimate with an interval, from released numbers alone; every unit weighs the same in it. Of values too rare
to stand out from the noise nothing is said: they may be as large as any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level
from discreet.exact import Number, significant
from discreet.query.answer.suggest import SIGNED_POWERS
from discreet.query.profile.choose_bounds import FARTHER
from discreet.query.profile.classes import FIRST_YEAR, value_ends
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.sizes import share_beyond

_SURE = 0.001


@dataclass(frozen=True, slots=True)
class ValueCut:
    """The estimated share of the total (of the sizes of values) that lies beyond bounds, with an interval."""

    column: str
    share: float
    low: float
    high: float
    confidence: float
    reach: tuple[float, float]
    """The estimate is about values between these."""
    farther: bool = False
    """Whether values surely lie in the outermost classes of a profile, which have no end."""

    def __str__(self) -> str:
        if self.farther:
            return f"bounds of {self.column}: {FARTHER}, and it is not in the error bars"
        least, most = (significant(end, 6) for end in self.reach)
        return (
            f"bounds of {self.column} cut about {self.share:.1%} of the total of its values ({self.low:.1%} to "
            f"{self.high:.1%}, {self.confidence:.0%}), each unit weighing the same; values below {least} or above "
            f"{most} are too rare to be in this estimate, and what is cut is not in the error bars"
        )


def value_cut(values: Histogram, low: float, high: float, confidence: Number = CONFIDENCE) -> ValueCut | None:
    """What bounds cut of a column of numbers; None of dates, and where no value stands out."""
    if values.labels[0] == FIRST_YEAR:
        return None
    counts = values.values[:-1]  # without NULL
    least = values.error([1.0], _SURE / len(counts))
    there = np.flatnonzero(counts > least)
    if not len(there):
        return None
    some = slice(there[0], there[-1] + 1)
    sides = [[float(end) for end in value_ends(power, values.step)] for power in SIGNED_POWERS[some]]
    near, far = (np.array(side) for side in zip(*sides, strict=True))
    middle = np.sign(near + far) * np.sqrt(np.abs(near * far))
    points = [
        (np.abs(x), np.abs(x - np.clip(x, low, high)))
        for x in (middle, near, far, np.clip(low, near, far), np.clip(high, near, far))
    ]
    level = confidence_level(confidence)
    share, first, last = share_beyond(values, counts[some], points, float(1 - level) / 2)
    farther = there[0] == 0 or there[-1] == len(counts) - 1
    ends = (0.0, 1.0) if farther else (first, last)
    return ValueCut(values.column, share, *ends, float(level), (float(near[0]), float(far[-1])), farther)
