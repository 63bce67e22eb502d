"""A work as one SELECT statement. The SQL of the bounding follows ``query/plan/work.py`` word by word.

Promise: whatever the tables hold, the statement does not fail, and its numbers are exact and the same on every engine:
integer arithmetic throughout, divisions of non-negative integers, and a choice by md5 where a unit has too many keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.sql.counted_sums import CountedSums
from discreet.engines.sql.dialects import Dialect, Shape
from discreet.engines.sql.hashed_sums import Statement, hashed_distinct
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.sorted_sums import SortedSums, sorted_distinct
from discreet.engines.sql.totals.statements import clipped_sums, unit_classes
from discreet.engines.sql.windowed_sums import WindowedSums, windowed_distinct
from discreet.query.plan.work import AnyWork, DistinctWork, TotalsWork, UnitClasses, Work

__all__ = ["Statement", "emit"]
_SHAPES = {
    Shape.HASHED: (CountedSums, hashed_distinct),
    Shape.SORTED: (SortedSums, sorted_distinct),
    Shape.WINDOWED: (WindowedSums, windowed_distinct),
}


def emit(work: AnyWork, dialect: Dialect, tables: Mapping[str, Origin]) -> Statement:
    """The statement that computes a work over these tables."""
    sums, different = _SHAPES[dialect.shape]
    match work:
        case DistinctWork():
            return different(work, dialect, tables)
        case TotalsWork():
            return clipped_sums(work, dialect, tables)
        case UnitClasses():
            return unit_classes(work, dialect, tables)
        case Work():
            return sums(work, dialect, tables).statement()
