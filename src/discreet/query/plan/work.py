"""What an engine is asked to compute: one table of exact integers per work, and nothing else.

The relation is lowered (see ``expressions.py``); ``unit`` is a column of it. Rows whose unit is NULL are dropped. A key
with ``allowed`` values keeps only rows that have one of them. All of this happens before the bounding below, which is
the last step before the sums.

Bounding, for each unit u. Let n_uk be its rows under key combination k, c_uk = min(n_uk, per_group), and S = ``scale``.
  ROWS: w_u = S if n_u <= cap else S*cap // n_u, where n_u = Σ_k n_uk; a row weighs W_uk = w_u.
  L1:   w_u = S if Σ_k c_uk <= cap else S*cap // Σ_k c_uk; a row weighs W_uk = w_u if n_uk <= per_group
        else w_u*per_group // n_uk.
  L2:   w_u = S if Σ_k c_uk² <= cap else isqrt(S²*cap // Σ_k c_uk²), where cap is the *square* of the L2 norm;
        a row weighs as for L1.
Where a unit has so many rows that each of them would weigh 0 (ROWS: n_u > S*cap; L1, L2: n_uk > w_u*per_group), they
weigh together: to a RowSum the unit adds m*X / z, rounded towards zero, in each group (and split), where X is the sum
of its values there, and m/z is S*cap / n_u (ROWS) or w_u*per_group / n_uk (L1, L2). So it counts as its cap, not as 0.
With ``most_keys`` (keys that nobody listed), a unit that has more combinations keeps those with the smallest
``hash(unit, k, salt)``, before any of the above.
The hash is md5 of the salt, the unit and the keys as text, joined by "|" (integers in decimal, truth as true/false,
dates and times in ISO form with microseconds, NULL as nothing); ties are broken by the keys themselves.
All divisions are of non-negative integers, rounded down: so Σ_k Σ_rows W_uk <= S*cap (ROWS, L1), and for L2 the
vector of Σ_rows W_uk has length at most S*√cap, exactly.

Totals (``TotalsWork``, ``UnitClasses``) bound what a unit adds instead of how many rows it has; rows, keys, ``allowed``
and ``most_keys`` are the same as above, and so is the hash: with one salt, a unit keeps the same keys in each work.
Every total is an exact integer of any size. Proof of how far a unit reaches: ``engines/sql/totals/totals.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.query.plan.expressions import Expression
from discreet.query.plan.nodes import Relation
from discreet.query.plan.types import Value


class Form(Enum):
    """How the contributions of one unit are scaled down."""

    ROWS = "each row of a unit weighs the same; at most `cap` rows in all"
    L1 = "at most `per_group` rows in each group, at most `cap` in all"
    L2 = "at most `per_group` rows in each group; length at most the root of `cap`"
    TOTALS = "a unit's own sums, over all groups, are at most `cap` long: only in a TotalsWork"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The bounding of one work; see the module's docstring. ``scale**2 * cap < 2**52`` for L2."""

    form: Form
    cap: int
    scale: int
    per_group: int | None = None
    """None for ROWS."""


@dataclass(frozen=True, slots=True)
class RowSum:
    """Σ over the rows of the group of W_uk * value; ``value`` is a lowered integer, NULL counts as 0."""

    value: Expression


@dataclass(frozen=True, slots=True)
class UnitSum:
    """Σ over the units of the group of w_u: each unit counts once in each of its groups.

    Only in works with ``per_group`` 1 (or ROWS without keys), where it is the weighted number of units; never with
    ``split``.
    """


Cell: TypeAlias = RowSum | UnitSum


@dataclass(frozen=True, slots=True)
class WorkKey:
    """A group key: a lowered expression of kind integer, text, truth, date or time; ``allowed`` lists public keys."""

    name: str
    expression: Expression
    allowed: tuple[Value, ...] | None
    """In engine terms: integers are cells, never Fractions. None: whatever is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Weighted sums by group: rows out are (key values..., one exact integer per cell)."""

    source: Relation
    unit: str
    keys: tuple[WorkKey, ...]
    cells: tuple[Cell, ...]
    weights: Weights
    split: WorkKey | None = None
    """A further key (the bins of a histogram, say) by which the sums are split but which the bounding ignores: n_uk
    counts the rows of a unit under ``keys`` alone, whatever their split. Rows whose split is NULL are dropped first.
    Rows out are (key values..., split value, integers...)."""
    pick: tuple[int, int] | None = None
    """With ``split`` (whole numbers from 0 to 8191), ``per_group`` 1 and no cell but one RowSum of 1: the unit counts,
    with w_u, under one of the splits s that it has in the group: that with the smallest ((a*s + b) mod 2147483647, s);
    ``pick`` holds a and b, secret, below 2147483647. Otherwise its weight is spread over the splits of its rows."""
    most_keys: int | None = None
    salt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctWork:
    """How many different values of ``value`` (not NULL) each group has, when each unit keeps at most ``cap`` of its
    (key, value) pairs: those with the smallest ``hash(unit, keys, value, salt)``. Rows out: (keys..., one integer).
    """

    source: Relation
    unit: str
    keys: tuple[WorkKey, ...]
    value: Expression
    cap: int
    salt: str


LONGEST = 1 << 62
"""Weighed totals and edges are below this: they fit into 64 bits, whatever the totals are."""
MOST_EDGES = 512


@dataclass(frozen=True, slots=True)
class Total:
    """A unit's number in each of its groups: X_uk = Σ over the rows of u under k of ``value`` (a lowered integer, NULL
    counts as 0); with ``value`` None: X_uk = 1 for every group in which the unit has a row.

    Its length is t_u = Σ_k |X_uk| over all groups of the work that the unit keeps.
    """

    value: Expression | None


@dataclass(frozen=True, slots=True)
class ClippedSum:
    """Σ over the units of a group of w_u * X_uk; w_u = S if t_u <= cap else S*cap // t_u, with S = ``scale``."""

    total: Total
    cap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsWork:
    """Sums over units, each scaled down to a length of at most ``cap``: rows out are (keys..., one integer per cell).

    Guarantee: adding or removing one unit moves the vector of each cell by at most S*cap in L1, whatever the signs.
    A group is there if a unit keeps it, also where all of its numbers are 0.
    """

    source: Relation
    unit: str
    keys: tuple[WorkKey, ...]
    cells: tuple[ClippedSum, ...]
    scale: int
    most_keys: int | None = None
    salt: str = ""

    def __post_init__(self) -> None:
        if self.scale < 1 or any(cell.cap < 1 or self.scale * cell.cap >= LONGEST for cell in self.cells):
            raise ValueError("scale and cap must be at least 1, and their product below 2^62")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitClasses:
    """How many units have a total of which length: the class of t_u is the number of edges e with e < t_u.

    Rows out are ((place of the total in ``totals``, class), the number of units). Each unit that has a row that counts
    is in one class of each total; other units are in none. A class without units has no row.
    """

    source: Relation
    unit: str
    keys: tuple[WorkKey, ...]
    totals: tuple[Total, ...]
    edges: tuple[int, ...]
    """Ascending, each once, from 0 to 2^62 - 1; at most 512. The last class is open."""
    most_keys: int | None = None
    salt: str = ""

    def __post_init__(self) -> None:
        ascending = all(low < high for low, high in pairwise((-1, *self.edges, LONGEST)))
        if not ascending or len(self.edges) > MOST_EDGES:
            raise ValueError("at most 512 edges, ascending, from 0 to 2^62 - 1")


AnyWork: TypeAlias = Work | DistinctWork | TotalsWork | UnitClasses


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupingSets:
    """Weighted numbers of rows by several sets of the same keys, in one pass: what marginals are made of.

    A row counts, in every set, if it has a unit and each of ``keys`` is one of its ``allowed`` values, which all of
    them list, without NULL. The bounding is ROWS, and n_u counts the rows of u that count; so the weight of a row is
    the same in every set, and each set is the sum of any larger one over the keys that it lacks. The rows of a unit of
    more than S*cap rows weigh together in each group of each set: S*cap*n_uk // n_u; there a set is a little more than
    the sum of a larger one, which rounds more often.
    """

    source: Relation
    unit: str
    keys: tuple[WorkKey, ...]
    sets: tuple[tuple[int, ...], ...]
    """Which keys, by their places, in ascending order; no set comes twice."""
    weights: Weights


@dataclass(frozen=True, slots=True)
class Cells:
    """The numbers of one set: for each group that has rows, its place and its exact integer.

    The place counts through the ``allowed`` values of the set's keys, the last key fastest: it is an index of the
    whole table, flattened.
    """

    places: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class UnitSums:
    """The numbers of a work whose last key is the unit and whose other keys are listed: by place and unit.

    The place counts through the ``allowed`` values of the other keys, the last fastest. No pair comes twice.
    """

    places: NDArray[np.int64]
    units: NDArray[np.int64]
    """For each row which of ``whose`` it is."""
    whose: tuple[Value, ...]
    numbers: tuple[NDArray[Any], ...]


@dataclass(frozen=True, slots=True)
class Exact:
    """What came back: for each group its key values and its exact integers (as Python ints if 64 bits do not do)."""

    keys: tuple[tuple[Value, ...], ...]
    """One tuple per row, in no particular order; absent groups have no row."""
    numbers: tuple[NDArray[Any], ...]
    """One array per cell, dtype int64 or object, in the order of ``keys``."""

    def __post_init__(self) -> None:
        assert all(isinstance(n, np.ndarray) and len(n) == len(self.keys) for n in self.numbers)  # noqa: S101
