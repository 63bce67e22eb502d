"""A pair of laws (P, Q), seen through its privacy loss L = log dP/dQ.

Promise: ``Cells`` and ``Atoms`` hold the true masses within the errors they state.
Believes: beliefs.py.

A pair is a continuous part, asked for the mass of cells between losses, plus finitely many atoms, plus mass of P that
Q does not have (loss +∞) and mass of Q that P does not have (loss -∞).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.errors import BadParameter
from discreet.privacy.pld.beliefs import PLACE, Array


def empty() -> Array:
    """No numbers."""
    return np.zeros(0)


@dataclass(frozen=True, slots=True)
class Cells:
    """The masses of consecutive cells (edge_i, edge_{i+1}] of the loss.

    ``p`` under P, ``q`` under Q, and ``s`` = e^{edge_i} q, which does not underflow where q does and is at most p.
    Each is within its ``_error`` of the truth, for edges moved by at most PLACE·(1 + |edge|) plus the pair's slip.
    """

    p: Array
    q: Array
    s: Array
    p_error: Array
    q_error: Array
    s_error: Array

    @classmethod
    def none(cls, edges: Array) -> Cells:
        """Cells without mass."""
        zero = np.zeros(max(0, len(edges) - 1))
        return cls(zero, zero, zero, zero, zero, zero)


@dataclass(frozen=True, slots=True)
class Atoms:
    """Single losses with their P-mass and Q-mass = e^{-loss} P-mass.

    Masses are within a relative ``slack`` (plus TINY), losses within ``places``·PLACE·(1 + the largest |loss|).
    """

    loss: Array = field(default_factory=empty)
    p: Array = field(default_factory=empty)
    q: Array = field(default_factory=empty)
    slack: float = 2.0**-44
    places: float = 1.0

    @property
    def slip(self) -> float:
        """How far a loss may be from the double that stands for it."""
        return self.places * PLACE * (1.0 + float(np.abs(self.loss).max())) if len(self.loss) else 0.0


@dataclass(frozen=True, slots=True)
class Mass:
    """A number known to lie between two floats."""

    low: float = 0.0
    high: float = 0.0


class Pair:
    """What the accountant asks of a pair of laws. The defaults describe two equal laws."""

    __slots__ = ()

    @property
    def atoms(self) -> Atoms:
        """The single losses."""
        return Atoms()

    @property
    def infinite(self) -> Mass:
        """Mass of P where Q has none."""
        return Mass()

    @property
    def void(self) -> Mass:
        """Mass of Q where P has none."""
        return Mass()

    @property
    def anchor(self) -> float:
        """A loss that should lie on the grid."""
        return 0.0

    @property
    def lattice(self) -> Fraction | None:
        """If known: all atoms lie on anchor + lattice·integer."""
        return None

    @property
    def discrete(self) -> bool:
        """Whether there are atoms alone."""
        return False

    @property
    def slip(self) -> float:
        """How far losses may be off, beyond PLACE·(1 + |loss|): the parameters themselves were rounded."""
        return self.atoms.slip

    @property
    def reverse(self) -> Pair:
        """(Q, P). A symmetric pair is its own reverse: L under P has the law of -L under Q."""
        return self

    def cells(self, edges: Array) -> Cells:
        """The continuous part between edges, which rise; the first may be -∞ and the last +∞."""
        return Cells.none(edges)

    def above(self, loss: float) -> tuple[float, float]:
        """P and Q of {L > loss}, of the continuous part, within a factor 2."""
        return 0.0, 0.0

    def below(self, loss: float) -> tuple[float, float]:
        """P and Q of {L <= loss}, of the continuous part, within a factor 2."""
        return 0.0, 0.0

    def reach(self, tail: float) -> tuple[float, float]:
        """Losses between which all but about ``tail`` of P lies, and all atoms."""
        return 0.0, 0.0

    @property
    def top(self) -> tuple[Fraction | float, Fraction | float]:
        """Bounds of the largest finite loss; it may be infinite."""
        return Fraction(0), Fraction(0)

    @property
    def bottom(self) -> tuple[Fraction | float, Fraction | float]:
        """Bounds of the smallest finite loss."""
        low, high = self.reverse.top
        return -high, -low


def as_float(x: Fraction, name: str) -> float:
    """The nearest double; a parameter that has none is refused."""
    try:
        near = float(x)
    except OverflowError:
        near = math.inf
    if not 2.0**-500 < abs(near) < 2.0**500:
        raise BadParameter(name, x, "must lie between 2^-500 and 2^500 for this accountant")
    return near
