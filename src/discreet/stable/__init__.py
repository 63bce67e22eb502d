"""Stable maps: exact functions of data that keep neighbours close, chained with ``>>`` up to a mechanism.

release = count_by(keys=["a", "b"]) >> laplace(epsilon=1)
release.cost(distance=1)        # before any data
release(rows)                   # an Answer
"""

from discreet.stable.composing import parallel, sequential
from discreet.stable.core.metrics import ADD_REMOVE, CHANGE, EDIT, IN_PLACE, Moves, RowMetric, units
from discreet.stable.core.release import Release
from discreet.stable.core.stable_map import StableMap
from discreet.stable.interact import interact
from discreet.stable.maps.capping import cap_rows
from discreet.stable.maps.casting import cast
from discreet.stable.maps.clipping import clip
from discreet.stable.maps.counting import count, count_by
from discreet.stable.maps.custom import custom
from discreet.stable.maps.filtering import filter
from discreet.stable.maps.grouping import group_by
from discreet.stable.maps.mapping import map
from discreet.stable.maps.quantising import quantise
from discreet.stable.maps.resizing import resize
from discreet.stable.maps.streams import as_vector, first
from discreet.stable.maps.summing import sum, sum_by

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
    "custom",
    "filter",
    "first",
    "group_by",
    "interact",
    "map",
    "parallel",
    "quantise",
    "resize",
    "sequential",
    "sum",
    "sum_by",
    "units",
]
