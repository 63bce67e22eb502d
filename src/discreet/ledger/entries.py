"""Entries of the ledger, each bound to the one before it by a hash.

Promise: whoever changes, removes, adds or reorders an entry changes the hash of the last one. An entry is one line of
text; its hash is the SHA-256 of that line, which holds the hash of the line before. So a chain can be checked anywhere,
with nothing but its lines.
Believes: SHA-256 has no collisions that anybody can find.

A line is canonical JSON: keys sorted, no spaces, ASCII, no floats; rationals are text. It holds a random salt, so
that nobody can test guesses of an entry that they may not see against the hash in the next one.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.errors import BadParameter

BEFORE_ALL = "0" * 64
"""What the first entry names as the hash before it."""
_FIELDS = {"body", "by", "kind", "ledger", "previous", "salt", "sequence", "time"}


class Broken(Exception):
    """An entry that does not continue its chain. It is told as a LedgerMismatch, or in a report."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger, as it was written, and what it says."""

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
        return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))
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
    """What a line says, or Broken if it is not an entry at all. Whether it fits its chain is for ``follows``."""
    try:
        said = json.loads(text)
        if said.keys() != _FIELDS or type(said["sequence"]) is not int or not isinstance(said["body"], dict):
            raise Broken("it does not read as an entry")
        return Entry(
            sequence=said["sequence"],
            hash=digest(text),
            text=text,
            kind=str(said["kind"]),
            by=str(said["by"]),
            time=str(said["time"]),
            ledger=str(said["ledger"]),
            previous=str(said["previous"]),
            body=said["body"],
        )
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise Broken("it does not read as an entry") from None


def follows(entry: Entry, *, sequence: int, previous: str, ledger: str) -> None:
    """Check that an entry is the next one of this chain, after the entry with this number and hash; else Broken."""
    if entry.sequence != sequence + 1:
        raise Broken(f"it calls itself number {entry.sequence}")
    if entry.previous != previous:
        raise Broken("it does not follow from the entry before it")
    if entry.ledger != ledger:
        raise Broken("it belongs to another ledger")


# --- how entries are found ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Columns:
    """What an entry is found by. All of it follows from its text."""

    kind: str
    population: str | None
    analyst: str | None
    token: str | None
    """Stands for an analyst and their idempotency key: no two charges share one."""


def columns(entry: Entry) -> Columns:
    """What an entry is found by."""
    if entry.kind == "charge":
        return Columns(entry.kind, entry.body.get("population"), entry.by, token_of(entry.by, entry.body.get("key")))
    if "." in entry.kind:
        return Columns(entry.kind, None, None, None)
    return Columns(entry.kind, entry.body.get("population"), entry.body.get("analyst"), None)


def token_of(analyst: str, key: Any) -> str:
    """What stands for an analyst and an idempotency key."""
    return digest(canonical([analyst, key]))


# --- exact numbers as text ----------------------------------------------------------------------------------------


def amounts_text(amounts: tuple[Fraction, ...]) -> list[str]:
    """Exact amounts, as they stand in an entry."""
    return [str(a) for a in amounts]


def read_amounts(texts: Any) -> tuple[Fraction, ...]:
    """Exact amounts as they were written: non-negative, in lowest terms, in the one way to write them."""
    if not isinstance(texts, list):
        raise Broken("its amounts are not a list")
    try:
        return tuple(map(_rational, texts))
    except TypeError:
        raise Broken("its amounts are not texts") from None


@lru_cache(maxsize=1024)  # prices repeat
def _rational(text: Any) -> Fraction:
    try:
        top, _, bottom = text.partition("/")
        result = Fraction(int(top), int(bottom or "1"))
    except (AttributeError, ValueError, ZeroDivisionError):
        raise Broken("it holds an amount that is no number") from None
    if result < 0 or str(result) != text:
        raise Broken("it holds an amount that is not written as it should be")
    return result


def _plain(value: Any) -> Any:
    """The value in terms of JSON, floats and everything else refused: a float has many texts."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise BadParameter("value", "a mapping", "must have texts as keys")
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    raise BadParameter("value", f"a {type(value).__name__}", "must be made of texts, whole numbers, lists and mappings")
