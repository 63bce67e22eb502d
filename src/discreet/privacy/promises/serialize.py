"""Events and promises as JSON, and back.

Promise: what is read equals what was written, number for number; what is not understood is refused, never guessed.
Believes: the classes in events and measures.py take their own fields as keywords.

Format 1: ``{"version": 1, "event": {"kind": "Gaussian", "sigma_squared": "100", ...}}``, or ``"promise"`` in place of
``"event"``; rationals are text, whole counts are numbers, choices are their names. ``"neighbours"`` stands in an event
that is stated for one relation; one without it was stored before, or holds for whatever its sensitivity was worked out
for. It is read as it was written: of any relation.
"""

from __future__ import annotations

import dataclasses
import json
from enum import Enum
from fractions import Fraction
from typing import Any

from discreet.errors import BadParameter
from discreet.privacy.promises import events, measures
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.neighbours import Neighbours, RelationName
from discreet.privacy.promises.record import Record

VERSION = 1
_LABEL = "RelationName | None"  # the annotation of the relation that any event may name

_EVENTS: dict[str, type[Record]] = {
    name: kind
    for name, kind in vars(events).items()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
}
_PROMISES: dict[str, type[Record]] = {
    kind.__name__: kind
    for kind in (measures.Pure, measures.Approx, measures.ZCDP, measures.Renyi, measures.GDP)
}  # fmt: skip
_CHOICES: dict[str, type[Enum]] = {
    kind.__name__: kind for kind in (events.MaxNoise, events.Sampling, Neighbours)
}  # fmt: skip


def to_json(record: Event | Measure) -> str:
    """The event or promise as one line of JSON.

    >>> to_json(events.Laplace(scale="0.1"))
    '{"version": 1, "event": {"kind": "Laplace", "scale": "1/10", "sensitivity": "1"}}'
    """
    given: object = record
    if not isinstance(given, (Event, measures.Promise)):
        raise BadParameter("record", given, "must be an event or a promise")
    return json.dumps({"version": VERSION, "event" if isinstance(given, Event) else "promise": _write(given)})


def event_from_json(text: str) -> Event:
    """The event that was written, exactly.

    >>> event_from_json(to_json(events.Laplace(scale="0.1")))
    Laplace(scale='1/10', sensitivity=1)
    """
    try:
        result: Event = _read(_open(text, "event"), _EVENTS)
    except RecursionError:
        raise BadParameter("text", text, "must not nest events so deeply") from None
    return result


def measure_from_json(text: str) -> Measure:
    """The promise that was written, exactly.

    >>> measure_from_json(to_json(measures.Approx(1, "1e-6")))
    Approx(epsilon=1, delta='1/1000000')
    """
    result: Measure = _read(_open(text, "promise"), _PROMISES)
    return result


def _write(value: Any) -> Any:
    if isinstance(value, Record):
        names = value.shown()
        if isinstance(value, Event) and value.neighbours is not None:
            names = (*(name for name in names if name != "neighbours"), "neighbours")
        return {"kind": type(value).__name__} | {name: _write(getattr(value, name)) for name in names}
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Enum):
        return value.name
    return [_write(item) for item in value] if isinstance(value, tuple) else value


def _open(text: str, what: str) -> Any:
    try:
        outer = json.loads(text, object_pairs_hook=_object)
    except (TypeError, ValueError, RecursionError):
        raise BadParameter("text", text, "must be JSON in which no name stands twice") from None
    if not isinstance(outer, dict) or outer.keys() != {"version", what} or repr(outer["version"]) != repr(VERSION):
        raise BadParameter("text", text, f'must be {{"version": {VERSION}, "{what}": ...}}')
    return outer[what]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name stands twice")
    return fields


def _read(data: Any, kinds: dict[str, type[Record]]) -> Any:
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or data["kind"] not in kinds:
        raise BadParameter("kind", data.get("kind") if isinstance(data, dict) else data, "must be a kind that is known")
    kind: Any = kinds[data["kind"]]
    fields = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    named = fields.get("neighbours") == _LABEL and fields.pop("neighbours")
    given = data.keys() - ({"kind", "neighbours"} if named else {"kind"})
    if given != fields.keys():
        raise BadParameter("fields", sorted(given), f"must be {sorted(fields)} for {data['kind']}")
    made = kind(**{name: _read_field(name, data[name], meant) for name, meant in fields.items()})
    return made.about(_read_label(data["neighbours"])) if named and "neighbours" in data else made


def _read_label(value: Any) -> RelationName:
    """The relation that an event is stated for, by its name or as text."""
    if not isinstance(value, str) or not value:
        raise BadParameter("neighbours", value, "must be the name of a relation, as it was written")
    return Neighbours[value] if value in Neighbours.__members__ else value


def _read_field(name: str, value: Any, meant: str) -> Any:
    """The value of a field, by what its annotation says it is."""
    if meant == "Fraction" and isinstance(value, str):
        return value
    if meant == "int" and isinstance(value, int):
        return value
    if meant in _CHOICES and isinstance(value, str) and value in _CHOICES[meant].__members__:
        return _CHOICES[meant][value]
    if meant == "Event":
        return _read(value, _EVENTS)
    if meant == "tuple[Event, ...]" and isinstance(value, list):
        return [_read(item, _EVENTS) for item in value]
    if meant == "tuple[tuple[Fraction, Fraction], ...]" and _are_pairs(value):
        return dict(value)
    raise BadParameter(name, value, f"must be a {meant} as it was written")


def _are_pairs(value: Any) -> bool:
    """Whether this is a list of pairs of texts: the bounds of a Rényi promise."""
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(number, str) for number in pair) for pair in value
    )
