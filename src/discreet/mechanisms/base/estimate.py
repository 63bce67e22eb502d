"""Noisy parts first, then the number that was asked for, made from them alone.

Guarantee: an estimate costs what its noisy parts cost. It is post-processing: ``finish`` sees nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

from discreet.answer import Accuracy, Answer
from discreet.mechanisms.base.mechanism import Mechanism
from discreet.privacy.promises.receipt import Receipt

V = TypeVar("V")
R = TypeVar("R")


class Estimate(Mechanism[V, R]):
    """A mechanism whose draw is turned into the answer, with an error bar that follows from the draw."""

    __slots__ = ()

    @abstractmethod
    def finish(self, noisy: R) -> tuple[Any, Accuracy | None]:
        """The answer and its error bar, from the noisy parts and public parameters alone."""

    @abstractmethod
    def derivation(self) -> str:
        """One line on how the answer is made from the noisy parts."""

    def release(self, value: Any, receipt: Receipt | None = None) -> Answer:
        """An answer for the data, with fresh noise from the operating system; a receipt must have paid ``event``."""
        noisy = super().release(value, receipt)
        answer, accuracy = self.finish(noisy.value)
        return noisy.then(lambda _: answer, self.derivation(), accuracy)
