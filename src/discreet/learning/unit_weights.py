"""What each row counts where a person may have several: all rows of one person share a weight of 1.

Guarantee: the integer weights of the rows of one unit add up to at most ``scale``, so a sum of weight times row moves
by at most ``scale`` times the longest row when a unit is added or removed: a mean of vectors is never longer than the
longest of them. The weight of a row depends on the rows of its own unit alone. Proof: unit_weights.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.errors import BadData
from discreet.learning.estimator import as_given
from discreet.unit_id import unit_id

SHARES = 1 << 10
"""The weight of one person, in integers; of somebody with more rows than these, none counts."""
WEIGHT_BITS = 11


@dataclass(frozen=True, slots=True)
class Weights:
    """One integer for each row, held by doubles, and how much of it one unit has at most."""

    values: Floats
    scale: int


def unit_weights(units: Any, rows: int) -> Weights:
    """Weights of rows by the unit that each belongs to; ``None``: each row is a person of its own.

    Rows whose unit is missing, or names nobody, count nothing.

    >>> unit_weights(["ann", "bob", "ann", None], 4).values.tolist()
    [512.0, 1024.0, 512.0, 0.0]
    >>> unit_weights(None, 2)
    Weights(values=array([1., 1.]), scale=1)
    """
    if units is None:
        return Weights(np.ones(rows), 1)
    given = as_given(units)
    if given.ndim != 1 or len(given) != rows:
        raise BadData("unit must be a flat list with the person of each row of X")
    places: dict[bytes | None, int] = {}
    codes = np.array([places.setdefault(unit_id(value), len(places)) for value in given.tolist()], dtype=np.int64)
    each = (SHARES // np.maximum(np.bincount(codes, minlength=1), 1))[codes].astype(np.float64)
    if None in places:
        each[codes == places[None]] = 0.0
    return Weights(each, SHARES)
