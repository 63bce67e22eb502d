"""One hidden bit: did person X answer yes? Differencing two counts, and averaging many answers to one question.

The bound: whoever sees ε-differentially private answers guesses a fair secret bit with probability at most
e^ε/(1 + e^ε), whatever they know of everyone else.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.checking.attacks.table import AttackTable, Row
from discreet.exact import Number, integer, positive
from discreet.mechanisms.additive.laplace import laplace
from discreet.randomness import SystemBits


def most_guessed(epsilon: float) -> float:
    """e^ε/(1 + e^ε)."""
    return 1 / (1 + math.exp(-epsilon))


def differencing(*, epsilon: Number = 1, trials: int = 2000) -> AttackTable:
    """Count everyone, count everyone but X, subtract.

    >>> table = differencing(epsilon=1, trials=400)
    >>> table.row("exact").success, table.row("noise").success < 0.9
    (1.0, True)
    """
    total, trials = positive(epsilon, "epsilon"), integer(trials, "trials", at_least=1)
    secrets = _coins(trials)
    noisy = laplace(sensitivity=1, epsilon=total / 2)
    others = 1000
    with_x = np.array([noisy.release(others + int(s)).value for s in secrets])
    without_x = np.array([noisy.release(others).value for _ in secrets])
    guessed = (with_x - without_x) >= 1
    return AttackTable(
        "differencing",
        "how often the secret bit of one person is guessed",
        (
            Row("exact counts", float(np.mean(((others + secrets) - others >= 1) == secrets))),
            Row(
                f"noise, epsilon {total} for both counts together",
                float(np.mean(guessed == secrets)),
                most_guessed(float(total)),
            ),
        ),
        "Noise must be fresh for each answer and both must be paid; then a difference is worth no more than its price.",
    )


def averaging(*, epsilon: Number = 1, repeats: int = 1000, trials: int = 200) -> AttackTable:
    """Ask the same question again and again, and average the noise away.

    >>> table = averaging(repeats=400, trials=200)
    >>> table.row("each").success > 0.95, table.row("all").success < 0.95
    (True, True)
    """
    total = positive(epsilon, "epsilon")
    repeats, trials = integer(repeats, "repeats", at_least=1), integer(trials, "trials", at_least=1)
    secrets = _coins(trials)

    def attack(paid: Number) -> float:
        noisy = laplace(sensitivity=repeats, epsilon=positive(paid, "epsilon") * repeats, dimension=1)
        many = laplace(sensitivity=1, scale=noisy.scale)
        means = np.array([np.mean(many.noise(repeats, SystemBits())) + s for s in secrets])
        return float(np.mean((means >= 0.5) == secrets))

    return AttackTable(
        "averaging",
        f"how often a secret bit is guessed from the mean of {repeats} answers",
        (
            Row(f"each answer at epsilon {total}, only the first is charged", attack(total)),
            Row(
                f"all {repeats} answers paid from epsilon {total}", attack(total / repeats), most_guessed(float(total))
            ),
        ),
        "The ledger charges every answer: a query that is asked again is charged again, or refused.",
    )


def _coins(count: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    coins = SystemBits().bits(count)
    return np.array([bool(coins >> i & 1) for i in range(count)])
