"""What every mechanism is: a fixed event, an exact reading of its input, and one draw from bits.

``release`` is the one place where an answer is made from an exact value. It reads as its promise: check the input, use
the receipt, draw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from discreet.answer import Accuracy, Answer
from discreet.errors import BadParameter, NoLaw
from discreet.mechanisms.base.law import readable
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Promise
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import Bits, SystemBits

V = TypeVar("V")
R = TypeVar("R")


def check_receipt(receipt: Receipt) -> Receipt:
    """The receipt, if it is one."""
    given: object = receipt
    if not isinstance(given, Receipt):
        raise BadParameter("receipt", given, "must be a receipt, as Filter(budget).spend(mechanism.event) gives it")
    return given


class Mechanism(ABC, Generic[V, R]):
    """A randomized function whose price is known before it sees data."""

    __slots__ = ()

    lists_all_outputs: ClassVar[bool] = False
    """Whether ``law`` leaves out outputs of probability 0 only."""
    adds_noise: ClassVar[bool] = False
    """Whether the output of a number in cells is that number plus the event's noise, which does not depend on it."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        written = cls.__dict__.get("law")
        if written is not None and not hasattr(written, "__wrapped__"):
            cls.law = readable(written)  # type: ignore[method-assign]

    @property
    @abstractmethod
    def event(self) -> Event:
        """What one release writes into the ledger. It follows from the parameters alone."""

    @property
    @abstractmethod
    def cost(self) -> str:
        """The price of the event as text, such as "epsilon 0.5"."""

    @abstractmethod
    def read(self, value: Any) -> V:
        """The exact input, or ``BadData``, whose message never holds its values."""

    @abstractmethod
    def draw(self, value: V, bits: Bits) -> R:
        """The output for one exact input, from any source of bits: for tests and audits. Not a release."""

    def law(self, value: V) -> dict[Any, tuple[Fraction, Fraction]]:
        """Bounds of the probability of each output; what is left out has mass below 2^-100 in all.

        For checks on small inputs: the law that the proof speaks of, computed without the sampler.
        """
        raise NoLaw(f"{type(self).__name__} does not write its law down")

    @property
    def accuracy(self) -> Accuracy | None:
        """How far off an answer may be, if that is known."""
        return None

    def story(self) -> str:
        """One line on what was done."""
        return type(self).__name__

    def release(self, value: Any, receipt: Receipt | None = None) -> Answer:
        """An answer for an exact value, with fresh noise from the operating system.

        With a receipt, the event must have been paid and not been released yet; without one, the caller
        accounts for it: the answer names its event.
        """
        exact = self.read(value)
        if receipt is not None:
            check_receipt(receipt).redeem(self.event)
        return Answer(
            value=self.draw(exact, SystemBits()),
            event=self.event,
            cost=self.cost,
            story=(self.story(),),
            accuracy=self.accuracy,
            receipt=receipt,
        )


class Priced(Mechanism[V, R]):
    """A mechanism whose price is one promise."""

    __slots__ = ()

    @property
    @abstractmethod
    def price(self) -> Promise:
        """The price as a promise."""

    @property
    def cost(self) -> str:
        """The price as text."""
        return str(self.price)
