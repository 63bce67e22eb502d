"""What all events share."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from discreet.errors import BadParameter
from discreet.privacy.promises.record import Record

_E = TypeVar("_E", bound=Enum)


class Event(Record):
    """Something that was released. Equal events have equal laws."""

    __slots__ = ()


def member(value: _E, kind: type[_E], name: str) -> _E:
    """One of the choices of an Enum, or a refusal that names them."""
    given: object = value
    if not isinstance(given, kind):
        raise BadParameter(name, given, f"must be one of {', '.join(f'{kind.__name__}.{m.name}' for m in kind)}")
    return given
