"""What is asked of a sum of losses: its curve δ(ε), from both sides."""

from __future__ import annotations

from typing import Protocol

from discreet.privacy.pld.beliefs import Array


class Curve(Protocol):
    """A sum of losses. Built of raised laws, its upper bounds hold; of lowered laws, its lower bounds."""

    @property
    def infinite_above(self) -> float:
        """An upper bound of the mass at infinite loss."""

    @property
    def infinite_below(self) -> float:
        """A lower bound of it."""

    @property
    def slip(self) -> float:
        """How far the sum may be from what it stands for."""

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest loss in view."""

    def value_and_slope(self, epsilon: float) -> tuple[float, float]:
        """δ(ε) and -δ'(ε), without their errors."""

    def delta_above(self, epsilon: float) -> float:
        """An upper bound of δ(ε)."""

    def delta_below(self, epsilon: float) -> float:
        """A lower bound of δ(ε)."""

    def curve_below(self) -> tuple[Array, Array]:
        """Losses and lower bounds of δ there; between them δ is A - e^ε B."""
