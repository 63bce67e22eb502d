"""Events made of events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from discreet.errors import BadParameter
from discreet.exact import Number, integer, non_negative, number
from discreet.privacy.promises.events.base import Event, agree, member
from discreet.privacy.promises.measures import small_probability
from discreet.privacy.promises.neighbours import Neighbours


class Sampling(Enum):
    """How a sample of the units is drawn before a mechanism sees it."""

    POISSON = "each unit by itself with probability rate"
    WITHOUT_REPLACEMENT = "a uniform subset of exactly rate times n units, n public"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Subsampled(Event):
    """``event`` ran once on a secret random sample of the units.

    The inner event is stated for the same relation, between two samples. POISSON with ADD_REMOVE (its default): if
    P is the law with the unit in the sample and Q without it, the pairs are ((1-q)Q + qP, Q) and (Q, (1-q)Q + qP),
    both (Zhu, Dong and Wang 2022). WITHOUT_REPLACEMENT defaults to CHANGE_ONE, where n is public. A shuffled and
    cut deck is neither.

    >>> from discreet.privacy.promises.events.additive import Gaussian
    >>> Subsampled(Gaussian(sigma=1), rate="0.01").neighbours
    <Neighbours.ADD_REMOVE: 'add or remove one unit'>
    """

    event: Event
    rate: Fraction
    how: Sampling
    neighbours: Neighbours

    def __init__(
        self, event: Event, rate: Number, how: Sampling = Sampling.POISSON, neighbours: Neighbours | None = None
    ) -> None:
        how = member(how, Sampling, "how")
        natural = Neighbours.ADD_REMOVE if how is Sampling.POISSON else Neighbours.CHANGE_ONE
        q = number(rate, "rate")
        if not 0 < q <= 1:
            raise BadParameter("rate", rate, "must be above 0 and at most 1")
        relation = natural if neighbours is None else member(neighbours, Neighbours, "neighbours")
        self.fill(event=_event(event), rate=q, how=how, neighbours=relation)
        agree(self.parts, relation)

    def shown(self) -> tuple[str, ...]:
        """The names of the fields; the relation is one of its own."""
        return (*Event.shown(self), "neighbours")

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event on a sample."""
        return (self.event,)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Repeat(Event):
    """``event`` ran ``times`` times on the same data, with fresh randomness, one after the other."""

    event: Event
    times: int

    def __init__(self, event: Event, times: int) -> None:
        self.fill(event=_event(event), times=integer(times, "times", at_least=1))
        agree(self.parts * min(self.times, 2))

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event, once."""
        return (self.event,)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Composed(Event):
    """All of ``events`` ran on the same data, one after the other; all were declared in advance.

    What each one asks may depend on earlier answers; which events they are may not. None at all costs nothing.

    >>> from discreet.privacy.promises.events import Gaussian, Pure
    >>> Composed([Pure("0.1"), Gaussian(sigma=2)])
    Composed(events=[Pure(epsilon='1/10'), Gaussian(sigma_squared=4, sensitivity_squared=1)])
    """

    events: tuple[Event, ...]

    def __init__(self, events: Iterable[Event]) -> None:
        self.fill(events=_events(events))
        agree(self.events)

    @property
    def parts(self) -> tuple[Event, ...]:
        """All of them."""
        return self.events


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Interactive(Event):
    """``event`` describes all answers of a mechanism that stays open, with hidden randomness, while others are asked.

    Its price is that of ``event``; a budget whose theorem does not cover interleaving refuses it, or keeps it alone.

    >>> from discreet.privacy.promises.events.black_boxes import ZCDP
    >>> Interactive(ZCDP("1/2", "1e-9"))
    Interactive(event=ZCDP(rho='1/2', delta='1/1000000000'))
    """

    event: Event

    def __init__(self, event: Event) -> None:
        self.fill(event=_event(event))

    @property
    def parts(self) -> tuple[Event, ...]:
        """The event of all answers."""
        return (self.event,)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Parallel(Event):
    """Each of ``events`` ran on its own part of the data; the parts are disjoint and fixed without looking.

    Stated for ADD_REMOVE: one unit is in one part. When units may *change*, one can leave a part and enter another:
    price the change as two steps, with ``group(2)`` on the price.

    >>> from discreet.privacy.promises.events.additive import Laplace
    >>> len(Parallel([Laplace(scale=2), Laplace(scale=4)]).events)
    2
    """

    events: tuple[Event, ...]

    natural = Neighbours.ADD_REMOVE

    def __init__(self, events: Iterable[Event]) -> None:
        self.fill(events=_events(events))
        agree(self.events, Neighbours.ADD_REMOVE)

    @property
    def parts(self) -> tuple[Event, ...]:
        """All of them."""
        return self.events


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Stated(Event):
    """``event`` ran, and is known to be (ε, δ)-differentially private: a Gaussian with the (ε, δ) it was made for.

    Both are true of the same release, so an accountant takes the one that it can add up. Whoever writes it down has a
    proof of the (ε, δ), for the relation between neighbours that ``event`` is stated for; it is not checked here.

    >>> from discreet.privacy.promises.events.additive import DiscreteGaussian
    >>> Stated(DiscreteGaussian(sigma=5), epsilon=1, delta="1e-6")
    Stated(event=DiscreteGaussian(sigma_squared=25, sensitivity_squared=1, dimension=1), epsilon=1, delta='1/1000000')
    """

    event: Event
    epsilon: Fraction
    delta: Fraction

    def __init__(self, event: Event, epsilon: Number, delta: Number) -> None:
        self.fill(event=_event(event), epsilon=non_negative(epsilon, "epsilon"), delta=small_probability(delta))

    @property
    def parts(self) -> tuple[Event, ...]:
        """What ran."""
        return (self.event,)


def _event(event: Event) -> Event:
    given: object = event
    if not isinstance(given, Event):
        raise BadParameter("event", given, "must be an event, such as events.Gaussian(sigma=10)")
    return given


def _events(events: Iterable[Event]) -> tuple[Event, ...]:
    given: object = events
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise BadParameter("events", given, "must be a sequence of events")
    return tuple(_event(event) for event in given)
