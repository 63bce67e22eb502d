"""What the bounds of a column cut of its values, from a profile that looked at them as they are stored.

Promise: an estimate with an interval, from released numbers alone; every unit weighs the same in it. It is about the
values that stand out from the noise. Of rarer ones, which may be as large as any, it says how many there are at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.answer import CONFIDENCE, confidence_level, how_many
from discreet.exact import Number, significant
from discreet.query.answer.suggest import SIGNED_POWERS
from discreet.query.profile.choose_bounds import FARTHER
from discreet.query.profile.classes import FIRST_YEAR, value_ends
from discreet.query.profile.histogram import Histogram
from discreet.query.profile.sizes import share_beyond

_SURE = 0.001
_SHOWN = 0.0005
"""The least share that is not 0.0 % in print."""


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
    beyond: int
    """Values that the bounds may cut and that are not between these weigh no more than so many units."""
    farther: bool = False
    """Whether values surely lie in the outermost classes of a profile, which have no end."""

    def __str__(self) -> str:
        if self.farther:
            return f"bounds of {self.column}: {FARTHER}, and it is not in the error bars"
        least, most = (significant(end, 6) for end in self.reach)
        cut = "nothing"
        if self.high >= _SHOWN:
            cut = (
                f"about {self.share:.1%} of their total ({self.low:.1%} to {self.high:.1%}, {self.confidence:.0%}), "
                "each unit weighing the same, which is not in the error bars"
            )
        rest = (
            f"; rarer values beyond them weigh at most as much as {how_many(self.beyond, 'units')}, and what is cut of "
            "those is unknown and not in the error bars"
        )
        return f"of values from {least} to {most}, bounds of {self.column} cut {cut}{rest if self.beyond else ''}"


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
    miss = float(1 - level)
    share, first, last = share_beyond(values, counts[some], points, miss / 2)
    rare = [
        i for i, power in enumerate(SIGNED_POWERS) if not there[0] <= i <= there[-1] and _cuts(values, power, low, high)
    ]
    beyond = counts[rare].sum() + values.error(np.ones(len(rare)), miss) if rare else 0.0
    farther = there[0] == 0 or there[-1] == len(counts) - 1
    return ValueCut(
        values.column,
        share,
        *((0.0, 1.0) if farther else (first, last)),
        confidence=float(level),
        reach=(float(near[0]), float(far[-1])),
        beyond=max(0, int(np.ceil(beyond))),
        farther=farther,
    )


def _cuts(values: Histogram, power: int, low: float, high: float) -> bool:
    """Whether bounds cut some value of a class."""
    ends = [float(end) for end in value_ends(power, values.step)]
    return min(ends) < low or max(ends) > high
