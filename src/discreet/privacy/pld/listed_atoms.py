"""The δ(ε) of a pair with few losses: a finite sum, without a grid.

Promise: as total.py, for one list of atoms.
Believes: beliefs.py and the slack of the atoms.
"""

from __future__ import annotations

import numpy as np

from discreet.privacy.pld.atoms import AtomicPair
from discreet.privacy.pld.beliefs import ELEMENTARY, PLACE, ROUND, TINY, Array

_FAR = 600.0


class ListedTotal:
    """One list of atoms that stands for the whole sum."""

    __slots__ = ("_loss", "_p", "_q", "_relative", "ends", "infinite_above", "infinite_below", "slip")

    def __init__(self, pair: AtomicPair) -> None:
        atoms = pair.atoms
        self._loss, self._p, self._q = atoms.loss, atoms.p, atoms.q
        self.ends = (float(atoms.loss[0]), float(atoms.loss[-1]))
        self.slip = atoms.slip + 4.0 * PLACE * (1.0 + max(map(abs, self.ends)))
        self._relative = atoms.slack + 4.0 * ELEMENTARY + (8.0 + len(atoms.loss)) * ROUND
        self.infinite_above, self.infinite_below = pair.infinite.high, pair.infinite.low

    def _sums(self, epsilon: float) -> tuple[float, float]:
        """Σ p and Σ p e^{ε-l} over losses above ε; their difference is δ."""
        start = int(np.searchsorted(self._loss, epsilon, side="right"))
        over, p = self._loss[start:] - epsilon, self._p[start:]
        return float((p * -np.expm1(-over)).sum()), float((p * np.exp(-over)).sum())

    def value_and_slope(self, epsilon: float) -> tuple[float, float]:
        """δ(ε) and -δ'(ε), without their errors."""
        value, slope = self._sums(epsilon)
        return value + self.infinite_above, slope

    def delta_above(self, epsilon: float) -> float:
        """An upper bound of δ(ε)."""
        value = self._sums(epsilon - self.slip)[0] * (1.0 + self._relative) + len(self._p) * TINY
        return min(1.0, (value + self.infinite_above) * (1.0 + 4 * ROUND))

    def delta_below(self, epsilon: float) -> float:
        """A lower bound of δ(ε)."""
        value = self._sums(epsilon + self.slip)[0] * (1.0 - self._relative) - len(self._p) * TINY
        return (max(0.0, value) + self.infinite_below) * (1.0 - 4 * ROUND)

    def curve_below(self) -> tuple[Array, Array]:
        """Lower bounds of δ at all losses, lowered by the slip."""
        above = np.concatenate([np.cumsum(self._p[::-1])[::-1][1:], [0.0]])
        other = np.concatenate([np.cumsum(self._q[::-1])[::-1][1:], [0.0]])
        near = np.minimum(self._loss, _FAR)
        value = above * (1.0 - self._relative) - np.exp(near) * (other + TINY * len(other)) * (1.0 + self._relative)
        value = np.where(self._loss > _FAR, 0.0, np.maximum(value - len(other) * TINY, 0.0))
        return self._loss - self.slip, (value + self.infinite_below) * (1.0 - 4 * ROUND)
