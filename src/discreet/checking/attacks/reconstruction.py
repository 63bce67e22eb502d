"""Linear reconstruction (Dinur and Nissim 2003): many accurate counts give the whole column back.

Each question counts a random half of the people; least squares over the answers, rounded, is the secret column. Errors
well below √n per answer do not help; noise that keeps one budget for all the questions does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.checking.attacks.guessing import most_guessed
from discreet.checking.attacks.table import AttackTable, Row
from discreet.exact import Number, integer, positive
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.sensitivity import L1
from discreet.randomness import SystemBits, words


def reconstruction(*, people: int = 128, questions: int | None = None, epsilon: Number = 1) -> AttackTable:
    """The secret column of ``people`` bits from so many random counts (four for each person unless it is said).

    >>> table = reconstruction(people=64)
    >>> table.row("exact").success, table.row("noise for").success < 0.9
    (1.0, True)
    """
    n = integer(people, "people", at_least=8)
    k = 4 * n if questions is None else integer(questions, "questions", at_least=1)
    total = positive(epsilon, "epsilon")
    secret, subsets = _bits(n), _bits(k * n).reshape(k, n)
    exact = subsets @ secret
    once = laplace(sensitivity=1, epsilon=1)
    each = laplace(sensitivity=L1(k), epsilon=total, dimension=k)

    def recovered(answers: Any) -> float:
        guesses = np.linalg.lstsq(subsets.astype(float), np.asarray(answers, dtype=float), rcond=None)[0]
        return float(np.mean((guesses >= 0.5) == secret))

    return AttackTable(
        "reconstruction",
        f"share of {n} secret bits found from {k} counts",
        (
            Row("exact counts", recovered(exact)),
            Row("noise of scale 1, unpaid after the first", recovered(exact + once.noise(k, SystemBits()))),
            Row(
                f"noise for all {k} counts within epsilon {total}",
                recovered(each.draw(each.read(exact), SystemBits())),
                most_guessed(float(total)),
            ),
        ),
        "Half of the bits are found by guessing. The bound is for each bit, on average over the noise.",
    )


def _bits(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return (words(SystemBits(), count, np.uint8) & 1).astype(np.int64)
