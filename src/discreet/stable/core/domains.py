"""What a map takes and gives: rows of some kind, rows in groups, one whole number, or a vector of them.

Promise: bounds, sizes and keys in a domain are public; none is read from data.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.errors import BadData


@dataclass(frozen=True, slots=True)
class Anything:
    """Rows of any kind."""

    def __str__(self) -> str:
        return "rows"


@dataclass(frozen=True, slots=True)
class Whole:
    """Rows that are whole numbers, between public bounds where these are given."""

    low: int | None = None
    high: int | None = None

    def __str__(self) -> str:
        return f"integers in [{'' if self.low is None else self.low}, {'' if self.high is None else self.high}]"


@dataclass(frozen=True, slots=True)
class OneOf:
    """Rows that are one of some public values."""

    values: tuple[Any, ...]

    def __str__(self) -> str:
        return f"one of {len(self.values)} values"


@dataclass(frozen=True, slots=True)
class Text:
    """Rows that are text."""

    def __str__(self) -> str:
        return "texts"


Row: TypeAlias = Anything | Whole | OneOf | Text


@dataclass(frozen=True, slots=True)
class Rows:
    """A list of rows; ``size`` where their number is public."""

    row: Row = Anything()
    size: int | None = None

    def __str__(self) -> str:
        return str(self.row) if self.size is None else f"{self.size} {self.row}"


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows under public keys, in the order of the keys; the same keys whatever the data hold."""

    keys: tuple[Hashable, ...]
    row: Row = Anything()

    def __str__(self) -> str:
        return f"{self.row} in {len(self.keys)} groups"


@dataclass(frozen=True, slots=True)
class Number:
    """One whole number."""

    def __str__(self) -> str:
        return "one integer"


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of whole numbers, of public length; ``keys`` where each has a name."""

    size: int
    keys: tuple[Hashable, ...] | None = None

    def __str__(self) -> str:
        return f"a vector of {self.size} integers"


Domain: TypeAlias = Rows | Groups | Number | Vector


def read_rows(data: Any) -> list[Any]:
    """The rows of a list, tuple or numpy array, as Python objects.

    >>> read_rows((1, "a", None)), read_rows(np.array([[1, 2], [3, 4]]))
    ([1, 'a', None], [(1, 2), (3, 4)])
    """
    if isinstance(data, np.ndarray) and data.ndim >= 1:
        rows = data.tolist()
        return [tuple(row) for row in rows] if data.ndim == 2 else list(rows)
    if isinstance(data, (list, tuple)):
        return list(data)
    raise BadData("the data must be a list, a tuple or a numpy array of rows")


def read_groups(data: Any, keys: tuple[Hashable, ...]) -> dict[Hashable, list[Any]]:
    """Rows under the public keys, in their order."""
    if not isinstance(data, Mapping) or set(data) != set(keys):
        raise BadData("the data must map each of the public keys to its rows")
    return {key: read_rows(data[key]) for key in keys}
