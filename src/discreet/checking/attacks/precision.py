"""Precision attack (Mironov 2012, Haney et al. 2022): a float plus float noise shows which value it was added to.

The sum of a double in [1, 2) and any double lies on a coarser grid than that of 0 and the same noise. So "x·2^53 is an
integer" is certain for one value and not for the other, whatever the noise. Our noise is added in whole cells of a
public grid: which numbers can come out does not depend on the value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.checking.attacks.table import AttackTable, Row
from discreet.checking.sampling.audit import audit
from discreet.exact import Number, positive
from discreet.mechanisms.additive.laplace import laplace
from discreet.privacy.promises.measures import Pure


def precision(*, epsilon: Number = 1, samples: int = 20_000, noisy: Any = None) -> AttackTable:
    """Tell 0.0 from 1.0 by one release: textbook float noise, and ours; ``noisy(value)`` takes the textbook's place.

    >>> table = precision(samples=8000)
    >>> table.row("float").success > 2, table.row("exact").success <= 1
    (True, True)
    """
    e = positive(epsilon, "epsilon")
    textbook = noisy if noisy is not None else _Textbook(float(1 / e))
    ours = laplace(sensitivity=1, epsilon=e, real=True)
    reports = [audit(m, pair=(0.0, 1.0), claim=Pure(e), samples=samples) for m in (textbook, ours)]
    return AttackTable(
        "precision",
        "certified lower bound of epsilon, from one release each",
        (
            Row("float noise added to a float", reports[0].epsilon_lower, float(e)),
            Row("exact noise on a grid", reports[1].epsilon_lower, float(e)),
        ),
        f"The event against float noise: {reports[0].event}.",
    )


class _Textbook:
    """value + Laplace noise, both floats: what one would write first."""

    def __init__(self, scale: float) -> None:
        self._scale = scale
        self._draws = np.random.default_rng()

    def __call__(self, value: float) -> float:
        return value + float(self._draws.laplace(0.0, self._scale))
