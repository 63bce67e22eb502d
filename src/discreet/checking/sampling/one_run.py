"""Audit with one run: many canaries, each in or out by a fair coin, and guesses which.

Guarantee: if the mechanism is (ε, δ)-differentially private for adding or removing one canary, then r guesses about m
canaries contain v or more correct ones with probability at most

    P[Bin(r, e^ε/(1 + e^ε)) >= v] + 2 m δ max over i of P[v - i <= Bin(r, e^ε/(1 + e^ε)) < v] / i

(Steinke, Nasr and Jagielski 2023, Theorem 5.2). The number of guesses must not depend on which were right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.answer import confidence_level
from discreet.checking.sampling.binomial import tail
from discreet.errors import BadParameter
from discreet.exact import Number, integer
from discreet.privacy.promises.measures import Approx, Pure
from discreet.randomness import SystemBits

_FINE = 1e-4
_LARGEST = 64.0


@dataclass(frozen=True, slots=True)
class OneRunReport:
    """What one run with canaries shows."""

    claim: Pure | Approx
    canaries: int
    guesses: int
    correct: int
    p_value: float
    """How likely a mechanism that keeps the claim makes so many correct guesses, at most."""
    epsilon_lower: float
    failure: float

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted at the confidence asked for."""
        return self.p_value <= self.failure

    @property
    def ok(self) -> bool:
        """Whether the claim stands, as far as this run can tell."""
        return not self.refuted

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        counts = f"{self.correct} of {self.guesses} guesses about {self.canaries} canaries were right"
        if self.refuted:
            return f"claimed {self.claim}; refuted: ε ≥ {self.epsilon_lower:.2f}: {counts}, p = {self.p_value:.2g}"
        return f"not refuted; certified ≥ {self.epsilon_lower:.2f}: {counts}"

    def __str__(self) -> str:
        return self.verdict


def p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float = 0.0) -> float:
    """An upper bound of the chance of so many correct guesses under (ε, δ), by the theorem above.

    >>> round(p_value(100, 100, 50, 0.0), 3), p_value(100, 100, 95, 1.0) < 1e-6
    (0.54, True)
    """
    from scipy.special import bdtr

    m, r, v = canaries, guesses, correct
    q = 1 / (1 + np.exp(-epsilon))
    most = tail(v, r, float(q))
    if delta > 0 and v > 0:
        i = np.arange(1, v + 1)
        below = np.where(v - 1 - i >= 0, bdtr(np.maximum(v - 1 - i, 0), r, q), 0.0)
        window = np.maximum(0.0, float(bdtr(v - 1, r, q)) - below)
        most += 2 * m * delta * float(np.max(window / i))
    return min(1.0, most * (1 + 1e-9))


def epsilon_lower(canaries: int, guesses: int, correct: int, delta: float, failure: float) -> float:
    """The largest ε (on a grid of 1e-4) that the guesses refute at this failure probability."""
    low, high = 0, int(_LARGEST / _FINE)
    if p_value(canaries, guesses, correct, 0.0, delta) > failure:
        return 0.0
    while high - low > 1:
        middle = (low + high) // 2
        if p_value(canaries, guesses, correct, middle * _FINE, delta) <= failure:
            low = middle
        else:
            high = middle
    return low * _FINE


def audit_one_run(
    mechanism: Callable[[list[Any]], Any],
    canaries: Sequence[Any],
    *,
    score: Callable[[Any, Any], float],
    claim: Pure | Approx,
    guesses: int | None = None,
    confidence: Number = 1 - 1e-8,
) -> OneRunReport:
    """Run a slow mechanism once, on a random half of the canaries, and guess which half it was.

    ``mechanism(included)`` gets the canaries that are in; ``score(output, canary)`` is large where the canary looks
    included. The highest ``guesses`` / 2 scores are guessed in, the lowest out, the rest is passed over; by default all
    are guessed.

    >>> leaky = lambda included: set(included)
    >>> audit_one_run(leaky, range(1000), score=lambda out, canary: canary in out, claim=Pure(1)).refuted
    True
    """
    m = integer(len(canaries), "canaries", at_least=2)
    r = m if guesses is None else integer(guesses, "guesses", at_least=1)
    given: object = claim
    if not isinstance(given, (Pure, Approx)):
        raise BadParameter("claim", given, "must be Pure or Approx: the theorem is about (epsilon, delta)")
    if r > m:
        raise BadParameter("guesses", guesses, f"must be at most the number of canaries, {m}")
    failure = float(1 - confidence_level(confidence))
    coins = SystemBits().bits(m)
    inside = [bool(coins >> i & 1) for i in range(m)]
    output = mechanism([canary for canary, is_in in zip(canaries, inside, strict=True) if is_in])
    correct = right_guesses([score(output, canary) for canary in canaries], inside, r)
    delta = float(claim.delta) if isinstance(claim, Approx) else 0.0
    return OneRunReport(
        claim=claim,
        canaries=m,
        guesses=r,
        correct=correct,
        p_value=p_value(m, r, correct, float(claim.epsilon), delta),
        epsilon_lower=epsilon_lower(m, r, correct, delta, failure),
        failure=failure,
    )


def right_guesses(scores: Sequence[float], inside: Sequence[bool], guesses: int) -> int:
    """How many of the guesses are right: the upper half of them says in, the lower half out.

    >>> right_guesses([3.0, 1.0, 2.0, 0.0], [True, False, False, True], 2)
    1
    """
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    out = guesses // 2
    into = guesses - out
    return sum(not inside[i] for i in order[:out]) + sum(inside[i] for i in order[len(order) - into :])
