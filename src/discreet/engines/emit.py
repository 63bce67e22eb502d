"""A work as one SELECT statement. The SQL of the bounding follows ``table/work.py`` word by word.

Promise: whatever the tables hold, the statement does not fail, and its numbers are exact and the same on every engine:
integer arithmetic throughout, divisions of non-negative integers, and a choice by md5 where a unit has too many keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.dialects import Dialect, Shape
from discreet.engines.relations_sql import Origin
from discreet.engines.sorted_sql import SortedSums, sorted_distinct
from discreet.engines.spread_sql import SpreadSums, spread_distinct
from discreet.engines.sums_sql import Statement, Sums, distinct
from discreet.table.work import AnyWork, DistinctWork

__all__ = ["Statement", "emit"]
_SHAPES = {
    Shape.HASHED: (Sums, distinct),
    Shape.SORTED: (SortedSums, sorted_distinct),
    Shape.SPREAD: (SpreadSums, spread_distinct),
}


def emit(work: AnyWork, dialect: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement that computes a work over these tables."""
    sums, different = _SHAPES[dialect.shape]
    return (
        different(work, dialect, tables) if isinstance(work, DistinctWork) else sums(work, dialect, tables).statement()
    )
