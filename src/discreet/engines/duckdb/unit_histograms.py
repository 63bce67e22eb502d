"""Histograms in which each unit weighs one, as a profile asks for them: many of them in one reading of the rows.

Promise: the numbers are those of each work by itself (``query/plan/work.py``), exactly: counts, and sums of integers
below 2^53. What does not have one of the forms below, and histograms in which a unit has more rows than a weight has
steps, are left to the statements of each work.

  sizes     units by a function of how many rows they have
  groups    units by a function of how many keys they have: of those listed, or of whatever is there
  spread    rows by a listed key, each row of a unit weighing the same
  named     how many different keys there are that nobody listed, if each unit names one
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import duckdb as driver
import numpy as np

from discreet.engines.duckdb.named_keys import NamedKeys
from discreet.engines.duckdb.row_codes import Numbers, Part, RowCodes
from discreet.engines.duckdb.shared_rows import Fact, fact_of, shared_rows
from discreet.engines.sql.relations import Origin
from discreet.query.plan.evaluate import program
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, DistinctWork, Exact, Work

_EXACT = 1 << 53
"""Sums of integers in doubles are exact below this."""


def shared_histograms(
    works: Sequence[AnyWork], cursor: driver.DuckDBPyConnection, tables: Mapping[str, Origin]
) -> dict[int, Exact]:
    """The numbers of those works, by their places, that one reading of their table gives."""
    numbers: dict[int, Exact] = {}
    facts = {i: fact for i, work in enumerate(works) if (fact := fact_of(work)) is not None}
    for table in dict.fromkeys(fact.chain.table for fact in facts.values()):
        here = {i: fact for i, fact in facts.items() if fact.chain.table == table}
        shared = shared_rows(list(here.values()), tables) if len(here) > 1 else None
        if shared is not None:
            rows = RowCodes(shared, cursor)
            made = {i: _histogram(here[i], place, rows) for i, place in zip(here, shared.places, strict=True)}
            histograms = {i: histogram for i, histogram in made.items() if histogram is not None}
            for part in rows.parts():
                for histogram in histograms.values():
                    histogram.add(part)
            numbers |= {i: exact for i, histogram in histograms.items() if (exact := histogram.exact()) is not None}
    return numbers


class _Histogram(Protocol):
    """One work, part by part."""

    def add(self, part: Part) -> None:
        """All rows of further units."""

    def exact(self) -> Exact | None:
        """Its numbers; None if its own statement must find them."""


def _histogram(fact: Fact, place: int | None, rows: RowCodes) -> _Histogram | None:
    work = fact.work
    if place is not None and not rows.coded[place]:
        return None
    if isinstance(work, DistinctWork):
        return None if place is None else _Named(work, place, rows)
    if fact.kind == "spread":
        fits = place is not None and work.weights.scale * rows.rows < _EXACT
        return _Spread(work, place, rows.labels[place]) if place is not None and fits else None
    return _Sizes(work, fact.counted, place, listed=fact.allowed is not None)


class _Sizes:
    """Units by the class of their number of rows, or of keys: each has one row in the relation of the work."""

    def __init__(self, work: Work, counted: str, place: int | None, *, listed: bool) -> None:
        self._work, self._counted, self._place, self._listed = work, counted, place, listed
        self._sizes: Counter[int] = Counter()

    def add(self, part: Part) -> None:
        sizes = self._of_units(part)
        units = np.bincount(sizes)
        self._sizes.update({int(size): int(units[size]) for size in np.flatnonzero(units)})

    def _of_units(self, part: Part) -> Numbers:
        if self._place is None:
            return part.rows
        keys = part.keys[self._place]
        return keys.keys_of_units if self._listed else np.bincount(keys.pairs[0], minlength=len(keys.rows))

    def exact(self) -> Exact:
        (key,) = self._work.keys
        label, units_of = program(key.expression), Counter[Value]()
        for size, units in self._sizes.items():
            if size > 0 and ((of := label({self._counted: size})) in (key.allowed or (of,))):
                units_of[of] += self._work.weights.scale * units
        return _exact([(of,) for of in units_of], list(units_of.values()))


class _Spread:
    """Rows by a listed key; each unit weighs one."""

    def __init__(self, work: Work, place: int, labels: Sequence[Value]) -> None:
        self._place, self._labels, self._scale, self._fits = place, labels, work.weights.scale, True
        self._total = np.zeros(len(labels), dtype=np.int64)

    def add(self, part: Part) -> None:
        keys = part.keys[self._place]
        sizes = keys.coded_rows
        self._fits = self._fits and bool(sizes.max(initial=0) <= self._scale)  # rows that weigh 0 weigh together
        self._total += keys.weighed((self._scale // np.maximum(sizes, 1)).astype(np.float64))

    def exact(self) -> Exact | None:
        some = np.flatnonzero(self._total).tolist()
        return _exact([(self._labels[i],) for i in some], self._total[some]) if self._fits else None


class _Named:
    """Different keys, of which each unit names one."""

    def __init__(self, work: DistinctWork, place: int, rows: RowCodes) -> None:
        self._salt, self._place, self._rows = work.salt, place, rows
        self._named = NamedKeys(rows.sizes[place])

    def add(self, part: Part) -> None:
        def choose(units: Numbers, codes: Numbers) -> Numbers:
            return self._rows.smallest_hashes(self._salt, self._place, units.astype(np.int64) + part.first, codes)

        self._named.add(part.keys[self._place], choose)

    def exact(self) -> Exact:
        count = self._named.count
        return _exact([()] if count else [], [count] if count else [])


def _exact(keys: Sequence[tuple[Value, ...]], numbers: Numbers | Sequence[int]) -> Exact:
    return Exact(tuple(keys), (np.array(numbers, dtype=np.int64),))
