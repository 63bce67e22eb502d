"""What every mechanism shares that adds one kind of noise to exact numbers: its price and error are the noise's own."""

from __future__ import annotations

from typing import TypeVar

from discreet.answer import Accuracy
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.mechanisms.statistics.budget import Noise
from discreet.privacy.promises.events import Event

V = TypeVar("V")
R = TypeVar("R")


class Noised(Mechanism[V, R]):
    """A statistic plus ``noise``, which was bought for the statistic's sensitivity."""

    __slots__ = ()

    noise: Noise

    @property
    def event(self) -> Event:
        """What a release writes into the ledger: stated for its neighbours, unless it moves as far for all of them."""
        return self.noise.event.about(getattr(self, "neighbours", None))

    @property
    def cost(self) -> str:
        """The price as text."""
        return self.noise.cost

    @property
    def accuracy(self) -> Accuracy:
        """That of the noise, exactly, for all entries at once."""
        return self.noise
