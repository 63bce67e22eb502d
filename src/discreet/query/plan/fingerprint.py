"""Which plans are the same: a hash of plans, whatever text or verbs they were made from.

Promise: equal plans have equal hashes in every process, and plans that differ in anything that an answer depends on
have different ones (SHA-256). A value of another kind than plans are made of is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any

_NOT_ASKED = frozenset({"asked_at"})
"""The moment of asking itself: what it means for a plan stands in the plan."""


def fingerprint(*values: Any) -> str:
    """One hash of these values.

    >>> from discreet.query.plan.expressions import Column
    >>> fingerprint(Column("a")) == fingerprint(Column("a")), fingerprint(Column("a")) == fingerprint("a")
    (True, False)
    """
    return hashlib.sha256("\n".join(_written(values)).encode()).hexdigest()


def _written(value: Any) -> Iterator[str]:
    """Each value with its type, and how many there are of what has several: no two values are written alike."""
    name = type(value).__name__
    if value is None or isinstance(value, bool | int | float | str | Fraction | date):
        yield f"{name} {value!r}"
    elif isinstance(value, Enum):
        yield f"{name} {value.name}"
    elif isinstance(value, tuple | list):
        yield f"list {len(value)}"
        for part in value:
            yield from _written(part)
    elif isinstance(value, Mapping):
        yield from _written(sorted(value.items()))
    elif is_dataclass(value):
        yield name
        for field in fields(value):
            if field.name not in _NOT_ASKED:
                yield from _written(getattr(value, field.name))
    else:
        raise TypeError(name)
