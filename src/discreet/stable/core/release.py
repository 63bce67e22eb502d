"""Releases: a stable map that ends in a mechanism; a function from rows to an answer whose price is known beforehand.

Promise: ``event(distance)`` holds for any two inputs that far apart in ``input_metric``, and follows from public
parameters alone. A call works out the event, uses the receipt, and only then looks at the data and draws.
Believes: the stability of the map, and the mechanism's own proof.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, runtime_checkable

from discreet.answer import CONFIDENCE, Accuracy, Answer
from discreet.errors import BadParameter, NoPrice
from discreet.exact import Number, integer
from discreet.mechanisms.additive.gaussian import Gaussian, GaussianFor
from discreet.mechanisms.additive.laplace import Laplace, LaplaceFor
from discreet.mechanisms.base.sensitivity import L1, L2, Sensitivity
from discreet.mechanisms.selection.shared import Selection, SelectionFor
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.events.base import restated
from discreet.privacy.promises.measures import ZCDP, Approx, Pure
from discreet.privacy.promises.neighbours import relation_text
from discreet.privacy.promises.receipt import Receipt
from discreet.randomness import Bits, SystemBits
from discreet.stable.core import domains
from discreet.stable.core.metrics import Metric, Moves, RowMetric, relation_name

Price: TypeAlias = Pure | Approx | ZCDP


class Before(Protocol):
    """What a release needs of the map before it."""

    @property
    def input_domain(self) -> domains.Rows | domains.Groups:
        """What it takes."""
        ...

    @property
    def input_metric(self) -> RowMetric:
        """What distance counts before it."""
        ...

    @property
    def output_domain(self) -> domains.Domain:
        """What it gives."""
        ...

    @property
    def output_metric(self) -> Metric:
        """What distance counts behind it."""
        ...

    def stability(self, distance: int) -> Any:
        """How far apart its outputs are."""
        ...

    def apply(self, data: Any) -> Any:
        """The function."""
        ...

    def story(self) -> tuple[str, ...]:
        """What it does, one line a step."""
        ...


@runtime_checkable
class Noisy(Protocol):
    """A mechanism on whole numbers that can price any sensitivity: ``laplace``, ``gaussian``, choices by score."""

    @property
    def event(self) -> Event:
        """What a release writes into the ledger."""
        ...

    def event_at(self, sensitivity: Sensitivity) -> Event:
        """The event for another sensitivity, with the same noise."""
        ...

    def read(self, value: Any) -> Any:
        """The exact input."""
        ...

    def draw(self, value: Any, bits: Bits) -> Any:
        """The noisy value."""
        ...

    @property
    def accuracy(self) -> Accuracy | None:
        """How far off an answer may be."""
        ...

    def story(self) -> str:
        """What is done, one line a step."""
        ...


@runtime_checkable
class Waiting(Protocol):
    """A mechanism that waits for its sensitivity."""

    def at(self, sensitivity: Sensitivity, dimension: int = 1) -> Noisy:
        """The mechanism for this sensitivity."""
        ...


class Release(ABC):
    """A randomized function of rows whose price is known before it sees any.

    Guarantee: between inputs at ``distance`` the law of the answer differs by at most ``event(distance)``.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def input_domain(self) -> domains.Rows | domains.Groups:
        """What it takes."""

    @property
    @abstractmethod
    def input_metric(self) -> RowMetric:
        """What ``distance`` counts."""

    @abstractmethod
    def _event(self, distance: int) -> Event:
        """What one call writes into the ledger, for inputs that far apart."""

    @abstractmethod
    def draw(self, data: Any, bits: Bits) -> Any:
        """The output from any source of bits: for tests and audits. Not a release."""

    @abstractmethod
    def story(self) -> tuple[str, ...]:
        """How the answer is made, step by step."""

    @property
    def accuracy(self) -> Accuracy | None:
        """How far off an answer may be, if that is known; the same for all data."""
        return None

    def __str__(self) -> str:
        return self.explain()

    def event(self, distance: int = 1) -> Event:
        """What one call writes into the ledger; ``distance`` is how many steps the protected group can make.

        It is stated for one step of ``input_metric``, or for that many.
        """
        steps = integer(distance, "distance", at_least=1)
        neighbours = relation_name(self.input_metric)
        return restated(self._event(steps), neighbours if steps == 1 else f"{relation_text(neighbours)}, {steps} times")

    def cost(self, distance: int = 1) -> Price:
        """The price for one unit, or for a group of ``distance`` units together.

        >>> from discreet.mechanisms.additive.laplace import laplace
        >>> from discreet.stable.maps.counting import count
        >>> release = count() >> laplace(epsilon="1/2")
        >>> release.cost(), release.cost(distance=3)
        (Pure(epsilon='1/2'), Pure(epsilon='3/2'))
        """
        return price(self.event(distance))

    def __call__(self, rows: Any, receipt: Receipt | None = None) -> Answer:
        """An answer, with fresh noise from the operating system.

        With a receipt, the event must have been paid and not been released yet; without one, the caller keeps the
        books, and the answer says what to write into them.
        """
        event = self.event()
        cost = str(price(event))
        data = self.read(rows)  # the kind of container alone
        if receipt is not None:
            receipt.redeem(event)
        return Answer(
            value=self.draw(data, SystemBits()),
            event=event,
            cost=cost,
            story=self.story(),
            accuracy=self.accuracy,
            receipt=receipt,
        )

    def read(self, rows: Any) -> Any:
        """The data in the form that ``draw`` takes."""
        match self.input_domain:
            case domains.Groups(keys=keys):
                return domains.read_groups(rows, keys)
            case _:
                return domains.read_rows(rows)

    def then(self, f: Callable[[Any], Any], line: str | None = None, accuracy: Accuracy | None = None) -> Release:
        """Post-processing: the same release with f applied to what comes out, at the same price."""
        if not callable(f):
            raise BadParameter("f", f, "must be a function of the released value")
        name = line if line is not None else str(getattr(f, "__name__", "post-processed"))
        return Then(self, f, name, accuracy)

    def error_at(self, confidence: Number = CONFIDENCE) -> float:
        """The error bar of an answer, known before there is one."""
        if self.accuracy is None:
            raise BadParameter("confidence", confidence, "cannot be used: no accuracy is known for this release")
        return self.accuracy.error_at(confidence)

    def explain(self) -> str:
        """How an answer is made, and what it costs."""
        steps = (*self.story(), f"costs {self.cost()} against {self.input_metric.step}")
        return "\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1))


def price(event: Event) -> Price:
    """The price that is simplest to say: pure where it is pure, else (ε, δ) where it has one, else zCDP.

    >>> from discreet.privacy.promises import events
    >>> price(events.DiscreteLaplace(scale=2)), price(events.DiscreteGaussian(sigma=2))
    (Pure(epsilon='1/2'), ZCDP(rho='1/8', delta=0))
    """
    try:
        box = price_basic(event)
    except NoPrice:
        return price_zcdp(event)
    return box if box.delta else Pure(box.epsilon)


# --- a map and a mechanism ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Behind(Release):
    """A release of what a stable map gives: it takes what the map takes."""

    map: Before

    @property
    def input_domain(self) -> domains.Rows | domains.Groups:
        """What the map takes."""
        return self.map.input_domain

    @property
    def input_metric(self) -> RowMetric:
        """What ``distance`` counts."""
        return self.map.input_metric


@dataclass(frozen=True, slots=True)
class Measured(Behind):
    """A stable map whose exact answer goes through a mechanism."""

    mechanism: Noisy

    @property
    def accuracy(self) -> Accuracy | None:
        """The mechanism's: how far the noise goes. Rows that were clamped or left out by the map are not errors."""
        return self.mechanism.accuracy

    def _event(self, distance: int) -> Event:
        return self.mechanism.event_at(sensitivity(self.map.stability(distance), self.mechanism))

    @property
    def candidates(self) -> tuple[Hashable, ...] | None:
        """What a choice chooses among: the public keys of the map before it."""
        if isinstance(self.mechanism, Selection) and isinstance(self.map.output_domain, domains.Vector):
            return self.map.output_domain.keys
        return None

    def draw(self, data: Any, bits: Bits) -> Any:
        """The exact answer with noise from these bits; of a choice the candidate, or its place if it has no name."""
        drawn = self.mechanism.draw(self.mechanism.read(self.map.apply(data)), bits)
        return drawn if self.candidates is None else self.candidates[drawn]

    def story(self) -> tuple[str, ...]:
        """The steps of the map, then the noise."""
        return (*self.map.story(), self.mechanism.story())


def measured(before: Before, mechanism: Noisy | Waiting) -> Measured:
    """The map with the mechanism behind it; a waiting one gets the map's stability at distance 1."""
    match before.output_domain:
        case domains.Number():
            dimension = 1
        case domains.Vector(size=size):
            dimension = size
        case other:
            raise BadParameter(
                "mechanism",
                f"behind {other}",
                "must come behind numbers: insert count(), count_by(keys=[...]) or sum(bounds=(low, high))",
            )
    moved = before.stability(1)
    if not (moved.l1 if isinstance(moved, Moves) else moved):
        raise BadParameter(
            "mechanism",
            "behind an answer that cannot move",
            "must be left out: the answer is public between neighbours",
        )
    if isinstance(mechanism, Waiting):
        if getattr(mechanism, "real", None):
            raise BadParameter("real", True, "must be left out: the answers of stable maps are integers")
        return Measured(before, mechanism.at(sensitivity(moved, mechanism), dimension))
    return Measured(before, _made_before(mechanism, moved, dimension))


def _made_before(mechanism: Noisy, moved: int | Moves, dimension: int) -> Noisy:
    """A mechanism that was made with a sensitivity of its own, if that covers the map's."""
    if getattr(mechanism, "exponent", None) is not None:
        raise BadParameter("real", True, "must be left out: the answers of stable maps are integers")
    if getattr(mechanism, "dimension", dimension) != dimension:
        raise BadParameter("dimension", getattr(mechanism, "dimension", None), f"must be {dimension}, as the map gives")
    needed, had = price_zcdp(mechanism.event_at(sensitivity(moved, mechanism))), price_zcdp(mechanism.event)
    if not needed <= had:
        raise BadParameter(
            "sensitivity",
            "of the mechanism",
            f"must cover the map's, {moved}; leave it out and it follows from the map",
        )
    return mechanism


def sensitivity(moved: int | Moves, mechanism: Noisy | Waiting) -> Sensitivity:
    """The stability in the norm that the mechanism is priced by: L1, L2, or for choices how far any one score moves."""
    match mechanism:
        case Laplace() | LaplaceFor():
            return L1(moved.l1) if isinstance(moved, Moves) else Fraction(moved)
        case Gaussian() | GaussianFor():
            return L2(squared=moved.l2_squared) if isinstance(moved, Moves) else Fraction(moved)
        case Selection(monotone=True) | SelectionFor(monotone=True):
            raise BadParameter("monotone", True, "must be left out: a map does not say that all scores move one way")
        case Selection() | SelectionFor() if isinstance(moved, Moves):
            return Fraction(moved.linf)
        case Selection() | SelectionFor():
            raise BadParameter("mechanism", "a choice behind one number", "must come behind a vector of scores")
        case _:
            raise BadParameter("mechanism", type(mechanism).__name__, "must be laplace, gaussian or a choice by score")


# --- behind a release, and before it ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Then(Release):
    """A release with a function applied to what comes out.

    Guarantee: the price of the release: the function sees the released value alone.
    """

    release: Release
    f: Callable[[Any], Any]
    name: str
    own_accuracy: Accuracy | None = None

    @property
    def input_domain(self) -> domains.Rows | domains.Groups:
        """What the release takes."""
        return self.release.input_domain

    @property
    def input_metric(self) -> RowMetric:
        """What ``distance`` counts."""
        return self.release.input_metric

    @property
    def accuracy(self) -> Accuracy | None:
        """As stated by whoever chose the function."""
        return self.own_accuracy

    def _event(self, distance: int) -> Event:
        return self.release._event(distance)

    def draw(self, data: Any, bits: Bits) -> Any:
        """The function of what the release draws."""
        return self.f(self.release.draw(data, bits))

    def story(self) -> tuple[str, ...]:
        """The steps of the release, then the function."""
        return (*self.release.story(), self.name)


@dataclass(frozen=True, slots=True)
class Prepared(Behind):
    """A release of what a stable map gives.

    Guarantee: at distance d the event of the release at distance ``stability(d)``.
    """

    release: Release

    @property
    def accuracy(self) -> Accuracy | None:
        """The release's."""
        return self.release.accuracy

    def _event(self, distance: int) -> Event:
        return self.release._event(integer(self.map.stability(distance), "distance", at_least=1))

    def draw(self, data: Any, bits: Bits) -> Any:
        """What the release draws from the prepared data."""
        return self.release.draw(self.map.apply(data), bits)

    def story(self) -> tuple[str, ...]:
        """The steps of the map, then those of the release."""
        return (*self.map.story(), *self.release.story())


def prepared(before: Before, release: Release) -> Prepared:
    """The release behind the map, if it takes what the map gives and counts distance in the same way."""
    takes, gives = release.input_domain, before.output_domain
    if type(takes) is not type(gives):
        raise BadParameter("release", f"of {takes}", f"must take what comes before it, {gives}")
    if isinstance(takes, domains.Groups) and isinstance(gives, domains.Groups) and takes.keys != gives.keys:
        raise BadParameter("release", f"of {takes}", "must have the keys of the groups before it")
    if release.input_metric != before.output_metric:
        raise BadParameter(
            "release",
            f"priced for {release.input_metric}",
            f"must be priced for {before.output_metric}, which come before it: build it with that as neighbours=",
        )
    return Prepared(before, release)
