"""Membership inference against released marginals (Homer et al. 2008, Dwork et al. 2015): was this person in the data?

The attacker holds a person's attributes and the population's frequencies, and scores how close the released frequencies
are to that person. The bound: true positives <= e^ε false positives + δ.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.checking.attacks.table import AttackTable, Row
from discreet.exact import Number, integer, positive
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.sensitivity import L1, L2
from discreet.privacy.promises.measures import small_probability
from discreet.randomness import SystemBits, words


def membership(
    *,
    people: int = 50,
    attributes: int = 1000,
    epsilon: Number = 1,
    delta: Number = 0,
    false_positives: Number = "0.05",
    trials: int = 400,
) -> AttackTable:
    """Tell members from others by the released counts of so many attributes, at a rate of false positives.

    >>> table = membership(trials=200)
    >>> table.row("exact").success > 0.9, table.row("noise").success < 0.5
    (True, True)
    """
    n, d = integer(people, "people", at_least=2), integer(attributes, "attributes", at_least=1)
    e, allowed = positive(epsilon, "epsilon"), small_probability(delta)
    rate, trials = float(positive(false_positives, "false_positives")), integer(trials, "trials", at_least=20)
    noise = (
        gaussian(sensitivity=L2(squared=d), epsilon=e, delta=allowed, dimension=d)
        if allowed
        else laplace(sensitivity=L1(d), epsilon=e, dimension=d)
    )
    exact, noisy = _scores(n, d, trials, None), _scores(n, d, trials, noise)
    most = min(1.0, math.exp(float(e)) * rate + float(allowed))
    return AttackTable(
        "membership",
        f"members found at {rate:.0%} false positives, from the counts of {d} attributes of {n} people",
        (
            Row("exact counts", _power(exact, rate)),
            Row(f"noise, epsilon {e}{f', delta {float(allowed):g}' if allowed else ''}", _power(noisy, rate), most),
        ),
        "A score is a sum over all attributes: many small leans add up when nothing hides them.",
        picture=lambda axes: _picture(axes, exact, noisy, float(e), float(allowed)),
    )


def _scores(n: int, d: int, trials: int, noise: Any) -> tuple[Floats, Floats]:
    """Scores of people who are in the data, and of people who are not; fresh data for each trial."""
    inside, outside = np.empty(trials), np.empty(trials)
    for trial in range(trials):
        population = 0.2 + 0.6 * _uniform(d)
        data = _uniform((n + 1) * d).reshape(n + 1, d) < population
        counts = data[:n].sum(axis=0)
        released = counts if noise is None else np.asarray(noise.draw(noise.read(counts), SystemBits()))
        lean = released / n - population
        inside[trial], outside[trial] = (float((data[who] - population) @ lean) for who in (0, n))
    return inside, outside


def _uniform(count: int) -> Floats:
    return words(SystemBits(), count, np.uint32) / 2.0**32


def _power(scores: tuple[Floats, Floats], rate: float) -> float:
    """The share of members above the threshold that so many others exceed; the threshold errs to fewer positives."""
    inside, outside = scores
    rank = math.ceil((1 - rate) * len(outside))
    threshold = np.sort(outside)[min(rank, len(outside) - 1)]
    return float(np.mean(inside > threshold))


def _picture(axes: Any, exact: tuple[Floats, Floats], noisy: tuple[Floats, Floats], e: float, delta: float) -> None:
    rates = [float(Fraction(k, 50)) for k in range(1, 50)]
    axes.plot(rates, [_power(exact, r) for r in rates], label="exact counts")
    axes.plot(rates, [_power(noisy, r) for r in rates], label="with noise")
    axes.plot(rates, [min(1.0, math.exp(e) * r + delta) for r in rates], "--", label="the bound")
    axes.set(xlabel="false positives", ylabel="true positives", xlim=(0, 1), ylim=(0, 1.02))
    axes.legend()
