"""Marginals of a table, or of a query's rows, where they lie: the engine counts many sets of columns in one pass.

Guarantee: the marginals are exact whole numbers in which a row weighs at most ``scale``, and all rows of one unit
together at most ``scale`` times its cap on rows. Adding or removing one unit moves a marginal by at most that in L1 and
L2; changing one, by twice that in L1, and by twice its square in squared L2. Proof: engine_source.md.

Nothing is read before ``marginals`` is called, and then only counts come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter, EngineFailed
from discreet.mechanisms.statistics.budget import Moves
from discreet.privacy.promises.neighbours import Neighbours
from discreet.query.engine import CountsSets, Engine
from discreet.query.lower.bounding import Noise, row_reach, rows
from discreet.query.lower.prune import prune
from discreet.query.lower.relation_facts import UNIT
from discreet.query.lower.relations import lower_all
from discreet.query.plan.expressions import Call, Expression, Literal
from discreet.query.plan.nodes import Filter, Relation, Scan
from discreet.query.plan.schema import Caps, Schema
from discreet.query.plan.work import Cells, Exact, GroupingSets, RowSum, Work, WorkKey
from discreet.query.run import before_payment
from discreet.synthetic.domain import Domain
from discreet.synthetic.tables.column_keys import key_of

Counts = NDArray[np.int64]
Clique = tuple[int, ...]

MOST_COLUMNS = 128
MERGED = 1 << 20
"""Marginals are counted together, as one over all their columns, where that has at most so many cells."""
AT_ONCE = 1 << 23
"""Cells of the sets of one statement, which are in memory together."""
WHOLE = 1 << 24
"""A domain of at most so many cells is counted once and for all where tables are kept."""
KEPT = 1 << 25
"""Cells that are kept for later questions."""
_MANY = 1000


class EngineSource:
    """The marginals of one private table of a session over a public domain.

    ``keep``: tables that were counted stay in memory, so that a later question about the same columns reads nothing.
    """

    def __init__(
        self,
        engine: Engine,
        schemas: Mapping[str, Schema],
        table: str,
        domain: Domain,
        *,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        keep: bool = False,
    ) -> None:
        lowered = lower_all(Scan(table), schemas)
        if not lowered.private or lowered.caps is None:
            raise BadParameter("table", table, "must be private: a public table needs no privacy")
        if lowered.caps.auto:
            counted = f"dp.table(..., max_rows=1) if a unit of {table} has one row, else how many of its rows count"
            raise BadParameter("max_rows", "auto", f"must be a number here: {counted}")
        if len(domain) > MOST_COLUMNS:
            raise BadParameter("columns", len(domain), f"must be at most {MOST_COLUMNS}: name those that matter")
        self._again = partial(EngineSource, engine, schemas, table, neighbours=neighbours, keep=keep)
        source = prune(lowered.relation, frozenset({UNIT, *domain.columns}))
        keys = tuple(key_of(name, lowered.fields[name], domain[name]) for name in domain)
        self._count(engine, schemas, source, lowered.caps, keys, domain, neighbours)
        self._keep = keep

    @classmethod
    def of_rows(  # noqa: PLR0917
        cls,
        engine: Engine,
        schemas: Mapping[str, Schema],
        rows: Relation,
        caps: Caps,
        keys: tuple[WorkKey, ...],
        domain: Domain,
        neighbours: Neighbours,
    ) -> EngineSource:
        """The marginals of the rows of a query, by keys that list a value for each code of the domain."""
        self = cls.__new__(cls)
        self._count(engine, schemas, rows, caps, keys, domain, neighbours)
        self._keep = False
        return self

    def _count(  # noqa: PLR0917
        self,
        engine: Engine,
        schemas: Mapping[str, Schema],
        source: Relation,
        caps: Caps,
        keys: tuple[WorkKey, ...],
        domain: Domain,
        neighbours: Neighbours,
    ) -> None:
        reach = row_reach(caps, Noise.GAUSSIAN, grouped=False)
        self._engine, self._schemas, self._domain = engine, schemas, domain
        self._work = GroupingSets(source=source, unit=UNIT, keys=keys, sets=(), weights=reach.weights)
        twice = 1 if neighbours is Neighbours.ADD_REMOVE else 2
        self._scale = reach.weights.scale
        self._moves = Moves(l1=twice * self._scale * reach.l1, l2_squared=twice * self._scale**2 * reach.l2_squared)
        self.max_rows = rows(caps)
        """How many rows of a unit count."""
        self._kept: dict[Clique, Counts] = {}

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self._domain

    @property
    def scale(self) -> int:
        """What a row weighs that is not weighted down."""
        return self._scale

    def moves(self, clique: Clique) -> Moves:
        """The same for every marginal: all rows of a unit may lie in one cell."""
        del clique
        return self._moves

    def with_domain(self, domain: Domain) -> EngineSource:
        """The same rows, counted over other values of the same columns."""
        return self._again(domain)

    def check(self) -> None:
        """Find out, before anything is paid, whether the engine is there and can compute this. Reads no data."""
        before_payment(self._engine, works(replace(self._work, sets=((),))), self._schemas)

    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]:
        """Exact numbers, in the shape of each clique."""
        missing = [c for c in cliques if not any(set(c) <= set(have) for have in self._kept)]
        if self._keep and missing and self._domain.cells <= WHOLE:
            missing = [tuple(range(len(self._domain)))]  # then nothing is ever read again
        tables = dict(self._kept)
        for some in batches(self._domain, cover(self._domain, missing)):
            tables.update(zip(some, self._counted(some), strict=True))
        if self._keep:
            self._remember(tables)
        return [self._part(clique, tables) for clique in cliques]

    def cells(self, clique: Clique) -> Cells:
        """The cells of one marginal that are not 0, for marginals that are mostly empty."""
        (cells,) = self._read([clique])
        return cells

    def _counted(self, sets: Sequence[Clique]) -> Iterator[Counts]:
        for clique, cells in zip(sets, self._read(sets), strict=True):
            table = np.zeros(self._domain.size(clique), dtype=np.int64)
            table[cells.places] = cells.counts
            yield table.reshape(self._domain.shape(clique))

    def _read(self, sets: Sequence[Clique]) -> tuple[Cells, ...]:
        work = replace(self._work, sets=tuple(sets))
        if isinstance(self._engine, CountsSets):
            return self._engine.grouping_sets(work, self._schemas)
        todo = works(work)
        answered = self._engine.run(todo, self._schemas)
        if len(answered) != len(todo):
            raise EngineFailed
        return tuple(cells_of(each, exact) for each, exact in zip(todo, answered, strict=True))

    def _part(self, clique: Clique, tables: Mapping[Clique, Counts]) -> Counts:
        """A marginal as the sum of the smallest table that has its columns."""
        whole = min((c for c in tables if set(clique) <= set(c)), key=self._domain.size)
        table = tables[whole].sum(axis=tuple(i for i, c in enumerate(whole) if c not in clique))
        return np.asarray(table, dtype=np.int64)

    def _remember(self, tables: Mapping[Clique, Counts]) -> None:
        """The latest, as far as they fit."""
        self._kept, room = {}, KEPT
        for clique, table in reversed(list(tables.items())):
            room -= table.size
            if room >= 0:
                self._kept[clique] = table
        self._kept = dict(reversed(list(self._kept.items())))


# --- which sets are asked for -----------------------------------------------------------------------------------------


def cover(domain: Domain, cliques: Sequence[Clique]) -> list[Clique]:
    """Few sets of columns that hold all of these: those that others hold are left out, small ones are put together.

    >>> cover(Domain({"a": range(3), "b": range(3), "c": range(3)}), [(0,), (0, 1), (1, 2)])
    [(0, 1, 2)]
    """
    distinct = sorted(set(cliques), key=lambda c: (-len(c), domain.size(c), c))
    sets: list[set[int]] = []
    for clique in distinct:
        if not any(set(clique) <= have for have in sets):
            sets.append(set(clique))
    while 1 < len(sets) <= _MANY:
        pairs = [(domain.size(sorted(a | b)), i, j) for (i, a), (j, b) in combinations(enumerate(sets), 2)]
        size, i, j = min(pairs)
        if size > MERGED:
            break
        union = sets[i] | sets[j]
        sets = [*(columns for columns in sets if not columns <= union), union]
    return [tuple(sorted(columns)) for columns in sets]


def batches(domain: Domain, sets: Sequence[Clique]) -> Iterator[list[Clique]]:
    """The sets of one statement after the other, as many as fit into memory."""
    some: list[Clique] = []
    for columns in sets:
        if some and sum(map(domain.size, some)) + domain.size(columns) > AT_ONCE:
            yield some
            some = []
        some.append(columns)
    if some:
        yield some


# --- engines that count one set at a time -----------------------------------------------------------------------------


def works(sets: GroupingSets) -> tuple[Work, ...]:
    """The same numbers, one work for each set: rows that do not count in all sets are left out first."""
    counts: list[Expression] = [Call("in", (key.expression, *map(Literal, key.allowed or ()))) for key in sets.keys]
    condition = counts[0]
    for other in counts[1:]:
        condition = Call("and", (condition, other))
    source = Filter(sets.source, condition)
    return tuple(
        Work(
            source=source,
            unit=sets.unit,
            keys=tuple(sets.keys[i] for i in other),
            cells=(RowSum(Literal(1)),),
            weights=sets.weights,
        )
        for other in sets.sets
    )


def cells_of(work: Work, exact: Exact) -> Cells:
    """The numbers of a work by their places; EngineFailed for a key that was not asked for."""
    places_of = [{value: i for i, value in enumerate(key.allowed or ())} for key in work.keys]
    sizes = [len(by_value) for by_value in places_of]
    try:
        places = [
            sum(by_value[v] * prod(sizes[i + 1 :]) for i, (by_value, v) in enumerate(zip(places_of, key, strict=True)))
            for key in exact.keys
        ]
        return Cells(np.array(places, dtype=np.int64), np.asarray(exact.numbers[0], dtype=np.int64))
    except (KeyError, ValueError, OverflowError, IndexError):
        raise EngineFailed from None
