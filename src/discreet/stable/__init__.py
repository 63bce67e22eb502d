"""Stable maps: exact functions of data that keep neighbours close, chained with ``>>`` up to a mechanism.

release = count_by(keys=["a", "b"]) >> laplace(epsilon=1)
release.cost(distance=1)        # before any data
release(rows)                   # an Answer
"""

from discreet.stable.capping import cap_rows
from discreet.stable.casting import cast
from discreet.stable.clipping import clip
from discreet.stable.composing import parallel, sequential
from discreet.stable.counting import count, count_by
from discreet.stable.filtering import filter
from discreet.stable.grouping import group_by
from discreet.stable.mapping import map
from discreet.stable.maps import StableMap
from discreet.stable.metrics import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, Moves, RowMetric, units
from discreet.stable.quantising import quantise
from discreet.stable.release import Release
from discreet.stable.resizing import resize
from discreet.stable.streams import as_vector, first
from discreet.stable.summing import sum, sum_by

__all__ = [
    "ADD_REMOVE",
    "CHANGE",
    "EDIT",
    "IN_PLACE",
    "Moves",
    "Release",
    "RowMetric",
    "StableMap",
    "as_vector",
    "cap_rows",
    "cast",
    "clip",
    "count",
    "count_by",
    "filter",
    "first",
    "group_by",
    "map",
    "parallel",
    "quantise",
    "resize",
    "sequential",
    "sum",
    "sum_by",
    "units",
]
