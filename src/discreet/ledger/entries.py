"""Entries of the ledger, each bound to the one before it by a hash.

Promise: whoever changes, removes, adds or reorders an entry changes the hash of the last one. An entry is one line of
text; its hash is the SHA-256 of that line, which holds the hash of the line before. So a chain can be checked anywhere,
from its lines alone.
Believes: SHA-256 has no collisions that anybody can find.

A line is canonical JSON: keys sorted, no spaces, ASCII, no floats; rationals are text. It holds a random salt, so
that nobody can test guesses of an entry that they may not see against the hash in the next one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

from discreet.errors import BadParameter
from discreet.privacy.promises.events import Event
from discreet.privacy.promises.measures import Measure
from discreet.privacy.promises.serialize import measure_from_json, to_json

T = TypeVar("T")
Json = Mapping[str, Any]
"""A mapping that is kept as it is: texts, whole numbers, lists and mappings."""
BEFORE_ALL = "0" * 64
"""What the first entry names as the hash before it."""
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_DECODE = json.JSONDecoder().raw_decode
_ATOMS = frozenset({str, int, bool, type(None)})
_FIELDS = {"body", "by", "kind", "ledger", "previous", "salt", "sequence", "time"}


class Broken(Exception):
    """An entry that does not continue its chain. It is reported as a LedgerMismatch, or by ``verify_ledger``."""

    advice = "restore a copy that verifies"


class Newer(Broken):
    """An entry that only a later version of discreet can read."""

    advice = "update discreet"


class Entry(NamedTuple):
    """One line of the ledger as it was written, and its fields."""

    sequence: int
    hash: str
    text: str
    kind: str
    by: str
    time: str
    """The clock when it was written, for people. Nothing is ever decided by it."""
    ledger: str
    previous: str
    body: dict[str, Any]


def canonical(value: Any) -> str:
    """The value as canonical JSON; equal values have equal texts.

    >>> canonical({"b": 1, "a": ["x", None, True]})
    '{"a":["x",null,true],"b":1}'
    """
    try:
        return _ENCODE(_plain(value))
    except (RecursionError, ValueError):  # too deep, or an integer too long to print
        raise BadParameter("value", type(value).__name__, "must not be nested so deeply or hold such numbers") from None


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_entry(
    *, sequence: int, previous: str, ledger: str, kind: str, by: str, time: str, body: Mapping[str, Any]
) -> Entry:
    """A new entry that follows the one with the hash ``previous``.

    >>> first = write_entry(sequence=1, previous=BEFORE_ALL, ledger="x", kind="note", by="owner", time="", body={})
    >>> read_entry(first.text) == first
    True
    """
    text = canonical(
        {
            "body": body,
            "by": by,
            "kind": kind,
            "ledger": ledger,
            "previous": previous,
            "salt": secrets.token_hex(16),
            "sequence": sequence,
            "time": time,
        }
    )
    return read_entry(text)


def read_entry(text: str) -> Entry:
    """The entry in a line, or Broken if it is none. Whether it fits its chain is for ``follows``."""
    try:
        parsed, end = _DECODE(text)
        kind, by, time = parsed["kind"], parsed["by"], parsed["time"]
        ledger, previous, body = parsed["ledger"], parsed["previous"], parsed["body"]
        texts = type(kind) is type(by) is type(time) is type(ledger) is type(previous) is str
        whole = end == len(text) and parsed.keys() == _FIELDS
        if not texts or not whole or type(parsed["sequence"]) is not int or type(body) is not dict:
            raise Broken("it does not read as an entry")
        return Entry(parsed["sequence"], digest(text), text, kind, by, time, ledger, previous, body)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise Broken("it does not read as an entry") from None


def follows(entry: Entry, *, sequence: int, previous: str, ledger: str) -> None:
    """Check that an entry is the next one of this chain, after the entry with this number and hash; else Broken."""
    if entry.sequence != sequence + 1:
        raise Broken(f"it calls itself number {entry.sequence}")
    if entry.previous != previous:
        raise Broken("it does not follow from the entry before it")
    if entry.ledger != ledger:
        raise Broken("it belongs to another ledger")


def _plain(value: Any) -> Any:
    """The value in terms of JSON, floats and everything else refused: a float has many texts."""
    if type(value) in _ATOMS or isinstance(value, (str, int)):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if type(value) is dict or isinstance(value, Mapping):
        if any(type(name) is not str and not isinstance(name, str) for name in value):
            raise BadParameter("value", "a mapping", "must have texts as keys")
        return {name: item if type(item) in _ATOMS else _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _ATOMS else _plain(item) for item in value]
    raise BadParameter("value", f"a {type(value).__name__}", "must be made of texts, integers, lists and mappings")


# --- fields of records as JSON, by their annotations -----------------------------------------------------------------


def read_fields(kind: type[T], written: Any) -> T:
    """The frozen dataclass whose fields were written, all of them and no others, each exactly as it is written here.

    ValueError, TypeError, KeyError or Broken if they were not.

    >>> from discreet.ledger.head_file import Head
    >>> read_fields(Head, {"ledger": "x", "sequence": 7, "hash": "00ff"})
    Head(ledger='x', sequence=7, hash='00ff')
    """
    described: Any = kind
    readers = _readers(described)
    if len(written) != len(readers):  # and each of them is there, below
        raise ValueError
    return kind(*[read(written[name]) for name, read in readers])


def write_fields(record: object) -> dict[str, Any]:
    """The fields of a frozen dataclass, in terms of JSON."""
    kind: Any = type(record)
    return {name: form.write(getattr(record, name)) for name, form in _forms(kind).items()}


# --- values -------------------------------------------------------------------------------------------------------


def write_event(event: Event | Measure) -> dict[str, Any]:
    """An event or promise as it stands in an entry."""
    result: dict[str, Any] = json.loads(to_json(event))
    return result


def read_measure(written: Any) -> Measure:
    """The promise that was written."""
    return measure_from_json(json.dumps(written))


def amounts_text(amounts: tuple[Fraction, ...]) -> list[str]:
    """Exact amounts, as they stand in an entry."""
    return [str(a) for a in amounts]


def read_amounts(texts: Any) -> tuple[Fraction, ...]:
    """Exact amounts as they were written: non-negative, in lowest terms, in the one way to write them."""
    if not isinstance(texts, list):
        raise Broken("its amounts are not a list")
    try:
        return _rationals(*texts)
    except TypeError:
        raise Broken("its amounts are not texts") from None


@lru_cache(maxsize=1024)  # prices repeat, and what was spent after one charge was spent before the next
def _rationals(*texts: Any) -> tuple[Fraction, ...]:
    return tuple(map(_rational, texts))


def _rational(text: Any) -> Fraction:
    try:
        top, _, bottom = text.partition("/")
        result = Fraction(int(top), int(bottom or "1"))
    except (AttributeError, ValueError, ZeroDivisionError):
        raise Broken("it holds an amount that is no number") from None
    if result.numerator < 0 or str(result) != text:
        raise Broken("it holds an amount that is not written as it should be")
    return result


# --- forms --------------------------------------------------------------------------------------------------------


class _Form(NamedTuple):
    """How the values of one annotation stand in a body."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


def _exactly(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError
        return value

    return read


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_exactly(str), _exactly(list)(value)))


def _same(value: Any) -> Any:
    return value


_FORMS: dict[str, _Form] = {
    "str": _Form(_exactly(str), _same),
    "int": _Form(_exactly(int), _same),
    "bool": _Form(_exactly(bool), _same),
    "tuple[str, ...]": _Form(_texts, list),
    "Json": _Form(_exactly(dict), dict),
    "Amounts": _Form(read_amounts, amounts_text),
    "Fraction": _Form(lambda text: read_amounts([text])[0], str),
    "Measure": _Form(read_measure, write_event),
}


@cache
def _forms(kind: Any) -> dict[str, _Form]:
    names = vars(sys.modules[kind.__module__])
    return {field.name: _form(str(field.type), names) for field in dataclasses.fields(kind)}


@cache
def _readers(kind: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    return tuple((name, form.read) for name, form in _forms(kind).items())


def _form(annotation: str, names: Mapping[str, Any]) -> _Form:
    """The form for an annotation: one of the list, an Enum by its name, a dataclass by its fields; or null."""
    if annotation.endswith(" | None"):
        inner = _form(annotation.removesuffix(" | None"), names)
        return _Form(
            lambda value: None if value is None else inner.read(value),
            lambda value: None if value is None else inner.write(value),
        )
    if annotation in _FORMS:
        return _FORMS[annotation]
    kind = names[annotation]
    if issubclass(kind, Enum):
        return _Form(kind.__getitem__, lambda choice: choice.name)
    return _Form(lambda value: read_fields(kind, value), write_fields)
