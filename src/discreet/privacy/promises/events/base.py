"""What all events share: the relation between neighbours that they are stated for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Self, TypeVar

from discreet.errors import BadParameter, NotATheorem
from discreet.privacy.promises.neighbours import Neighbours, RelationName, relation_text
from discreet.privacy.promises.record import Record, code

NO_WEAK_SUM = (
    "two releases from biased bits do not add up: one source may bias the later bits by the earlier ones; "
    "make one such release, or use fair bits"
)
_E = TypeVar("_E", bound=Enum)
_Event = TypeVar("_Event", bound="Event")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Event(Record):
    """Something that was released. Equal events have equal laws, and are stated for the same neighbours.

    ``neighbours`` is the relation that the event is true for. None stands for any: the event speaks of a sensitivity,
    and holds for whichever neighbours that was worked out for. An event that was stored without one is read as None.
    """

    neighbours: RelationName | None = field(default=None, kw_only=True)

    natural: ClassVar[Neighbours | None] = None
    """The relation that a kind is about by its definition, if it is."""
    weak: ClassVar[bool] = False
    """Whether its price is for bits that may be biased."""

    def fill(self, **values: Any) -> None:
        """Set the fields, once, in the constructor."""
        Record.fill(self, **{"neighbours": None} | values)

    @property
    def parts(self) -> tuple[Event, ...]:
        """The events that it is made of."""
        return ()

    def about(self, neighbours: RelationName | None) -> Self:
        """The same event, stated for these neighbours; refused if it is stated for others already.

        >>> from discreet.privacy.promises.events.black_boxes import Pure
        >>> Pure(1).about(Neighbours.CHANGE_ONE)
        Pure(epsilon=1).about(Neighbours.CHANGE_ONE)
        """
        if neighbours is None:
            return self
        agree([self], neighbours)
        return restated(self, neighbours)

    def shown(self) -> tuple[str, ...]:
        """The names of the fields but for the relation, which stands behind them where it is named."""
        return tuple(name for name in Record.shown(self) if name != "neighbours")

    def __repr__(self) -> str:
        named = self.neighbours is not None and "neighbours" not in self.shown()
        return Record.__repr__(self) + (f".about({code(self.neighbours)})" if named else "")


def restated(event: _Event, neighbours: RelationName | None) -> _Event:
    """The event for other neighbours than it names: for a caller who has proven that it holds for them."""
    made = object.__new__(type(event))
    for slot in dataclasses.fields(event):
        object.__setattr__(made, slot.name, getattr(event, slot.name))
    object.__setattr__(made, "neighbours", neighbours)
    return made


def stated_for(event: Event) -> RelationName | None:
    """The relation that an event is stated for: its own, that of its kind, or that of its parts; None for any.

    >>> from discreet.privacy.promises.events.black_boxes import Pure
    >>> from discreet.privacy.promises.events.combined import Parallel
    >>> stated_for(Parallel([Pure(1), Pure(1)]))
    <Neighbours.ADD_REMOVE: 'add or remove one unit'>
    """
    own = event.neighbours or event.natural
    return own or next((named for named in map(stated_for, event.parts) if named is not None), None)


def weak_releases(event: Event) -> int:
    """How many releases of an event are priced for bits that may be biased."""
    return event.weak + sum(map(weak_releases, event.parts))


def agree(events: Iterable[Event], relation: RelationName | None = None) -> RelationName | None:
    """Refuse events whose prices do not add up, by name; else the relation that they are all stated for.

    Stated for different relations, their sum would hold for neither. Of releases from bits that may be biased there is
    at most one: one source may bias the bits of a later release by those of an earlier one.
    """
    weak = 0
    for event in events:
        named, weak = stated_for(event), weak + weak_releases(event)
        if relation is not None and named not in (None, relation):
            raise BadParameter(
                "event", event, f"must be stated for {relation_text(relation)!r}, as what surrounds it is"
            )
        if weak > 1:
            raise NotATheorem(NO_WEAK_SUM)
        relation = relation or named
    return relation


def member(value: _E, kind: type[_E], name: str) -> _E:
    """One of the choices of an Enum, or a refusal that names them."""
    given: object = value
    if not isinstance(given, kind):
        raise BadParameter(name, given, f"must be one of {', '.join(f'{kind.__name__}.{m.name}' for m in kind)}")
    return given
