"""Where to look: the tilt and the mesh for a question, estimated from a rough sketch of the losses.

Promise: none about privacy. Whatever is chosen here, total.py bounds its error; a poor choice costs width or time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.privacy.pld.beliefs import Array
from discreet.privacy.pld.pair import Cells, Pair

_STEEPEST = 1e4


@dataclass(frozen=True, slots=True)
class Sketch:
    """A rough law of each loss: one row a pair."""

    loss: Array
    log_mass: Array
    times: Array

    @classmethod
    def of(cls, pairs: list[tuple[Pair, int]], tail: float) -> Sketch:
        """Cell masses, each at the loss of the whole cell; a few hundred cells a pair when there are many."""
        cells = int(min(4096, max(256, (1 << 16) // len(pairs))))
        rows: list[tuple[Array, Array]] = []
        for pair, _ in pairs:
            atoms = pair.atoms
            loss, mass = atoms.loss, atoms.p
            if not pair.discrete:
                edges = _edges(pair, tail, cells)
                inside = pair.cells(edges)
                loss = np.concatenate([loss, _middles(inside, edges)])
                mass = np.concatenate([mass, inside.p])
            rows.append((loss, mass))
        width = max(1, *(len(loss) for loss, _ in rows))
        losses, masses = np.zeros((len(rows), width)), np.full((len(rows), width), -math.inf)
        for i, (loss, mass) in enumerate(rows):
            losses[i, : len(loss)], masses[i, : len(mass)] = loss, np.log(np.maximum(mass, 5e-324))
        return cls(losses, masses, np.array([float(times) for _, times in pairs]))

    def moments(self, theta: float) -> tuple[float, float, float]:
        """K(θ), K'(θ), K''(θ) of the sum."""
        exponent = theta * self.loss + self.log_mass
        highest = exponent.max(axis=1, keepdims=True)
        weight = np.exp(exponent - highest)
        whole = weight.sum(axis=1)
        mean = (weight * self.loss).sum(axis=1) / whole
        square = (weight * (self.loss - mean[:, None]) ** 2).sum(axis=1) / whole
        log_whole = highest[:, 0] + np.log(whole)
        times = self.times
        return float(times @ log_whole), float(times @ mean), float(times @ square)

    def log_delta(self, theta: float) -> tuple[float, float, float]:
        """About log δ at the ε that θ is the tilt of; that ε; and the standard deviation there."""
        k, mean, variance = self.moments(theta)
        damp = math.log(max(1.0, math.sqrt(2 * math.pi * variance) * theta * (1.0 + theta)))
        return k - theta * mean - damp, mean, math.sqrt(variance)

    def log_delta_at(self, theta: float, epsilon: float) -> float:
        """About log δ(ε), with the tilt that belongs to ε."""
        k, mean, variance = self.moments(theta)
        damp = math.log(max(1.0, math.sqrt(2 * math.pi * variance) * theta * (1.0 + theta)))
        return k - theta * max(epsilon, mean) - damp

    def tilt_for_delta(self, delta: float) -> float:
        """The tilt whose ε has about this δ."""
        want = math.log(max(delta, 1e-320))

        def too_small(theta: float) -> bool:
            size, mean, _ = self.log_delta(theta)
            return size > want and not self._at_the_top(theta, mean)

        return self._gentle(_bisect(too_small))

    def tilt_for_epsilon(self, epsilon: float) -> float:
        """The tilt whose mean is ε."""

        def too_small(theta: float) -> bool:
            mean = self.moments(theta)[1]
            return mean < epsilon and not self._at_the_top(theta, mean)

        return self._gentle(_bisect(too_small), epsilon)

    def tilt_for_false_alarms(self, alpha: float) -> float:
        """The tilt whose mean is where a test on the loss must begin to raise false alarms at rate α."""
        want = math.log(alpha)

        def too_small(theta: float) -> bool:
            k, mean, variance = self.moments(theta)
            size = k - (theta + 1.0) * mean - math.log(max(1.0, math.sqrt(2 * math.pi * variance) * (1.0 + theta)))
            return size > want and not self._at_the_top(theta, mean)

        return self._gentle(_bisect(too_small), 0.0)

    def _gentle(self, theta: float, epsilon: float | None = None) -> float:
        """At least half a standard deviation, which makes a long lower tail light; less where ε is far below the mean.

        The tilt is taken back by a factor of about e^{θ(mean - ε)}, which multiplies every error: it must stay small.
        """
        _, mean, variance = self.moments(theta)
        least = min(0.5, 0.5 / math.sqrt(max(variance, 1e-9)))
        if epsilon is not None and mean > epsilon:
            least = min(least, 1.0 / (mean - epsilon))
        return max(theta, least)

    def _at_the_top(self, theta: float, mean: float) -> bool:
        """Whether the tilted sum is nearly its largest value: a steeper tilt would gain nothing."""
        top = float(self.times @ np.where(self.log_mass > -740.0, self.loss, -math.inf).max(axis=1))
        return (top - mean) * (1.0 + theta) < 0.5


def _middles(cells: Cells, edges: Array) -> Array:
    """The loss log(p/q) of each cell as a whole, which keeps the mass under Q; the middle where that is unknown."""
    ratio = np.maximum(cells.p, 1e-300) / np.maximum(cells.s, 1e-300)
    loss = np.where(cells.s > 1e-290, edges[:-1] + np.log(ratio), 0.5 * (edges[1:] + edges[:-1]))
    return np.clip(loss, edges[:-1], edges[1:])


def _edges(pair: Pair, tail: float, cells: int) -> Array:
    """Edges from end to end, closer together where the bulk of the mass is."""
    levels = [level for level in (1e-2, 1e-5, 1e-10, 1e-20, 1e-50) if level > tail]
    parts = [np.linspace(*pair.reach(level), cells // (len(levels) + 1) + 1) for level in [*levels, tail]]
    return np.unique(np.concatenate(parts))


def _bisect(too_small: Callable[[float], bool]) -> float:
    """The place in [0, steepest] where a test turns false, on a scale that is even in log(1 + 1000θ)."""
    low, high = 0.0, math.log1p(1000.0 * _STEEPEST)
    for _ in range(24):
        middle = 0.5 * (low + high)
        if too_small(math.expm1(middle) / 1000.0):
            low = middle
        else:
            high = middle
    return math.expm1(0.5 * (low + high)) / 1000.0


def common_lattice(pairs: list[tuple[Pair, int]]) -> Fraction | None:
    """The greatest step on which all atoms of all pairs lie, if there is one."""
    common: Fraction | None = None
    for pair, _ in pairs:
        if pair.lattice is None:
            if len(pair.atoms.loss):
                return None
            continue
        step = pair.lattice
        common = step if common is None else gcd(common, step)
    return common


def gcd(a: Fraction, b: Fraction) -> Fraction:
    """The greatest fraction of which both are multiples."""
    bottom = math.lcm(a.denominator, b.denominator)
    return Fraction(math.gcd(int(a * bottom), int(b * bottom)), bottom)
