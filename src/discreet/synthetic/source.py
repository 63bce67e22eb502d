"""Where exact counts come from: marginals of a table over a domain, and how far one unit can move them.

Promise: a ``MarginalSource`` hands out exact whole numbers and states a bound on how far they move when one unit is
added or removed. It draws no noise and knows no budget; whoever asks pays before showing anything. Proof: source.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, BadParameter, EngineFailed
from discreet.exact import integer
from discreet.mechanisms.statistics.budget import Moves
from discreet.query.plan.work import Cells
from discreet.synthetic.domain import Domain
from discreet.unit_id import EXACT_IN_FLOATS

Counts = NDArray[np.int64]
Clique = tuple[int, ...]
Made = TypeVar("Made")
Done = TypeVar("Done")

MAX_ROWS = 1 << 16


@runtime_checkable
class MarginalSource(Protocol):
    """What all of this package needs of the data. An engine implements it with many grouping sets in one pass.

    >>> isinstance(Rows(Domain({"x": range(2)}), np.array([[0], [1]])), MarginalSource)
    True
    """

    @property
    def domain(self) -> Domain:
        """The public domain that the counts are over."""
        ...

    @property
    def scale(self) -> int:
        """What one row counts, unless it is weighted down: counts divided by it are numbers of rows."""
        ...

    def moves(self, clique: Clique) -> Moves:
        """How far this marginal moves, in L1 and L2, between neighbours: when one unit is added or removed, say."""
        ...

    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]:
        """Exact counts, in the shape of each clique; cliques are ascending places of columns."""
        ...


@runtime_checkable
class ChangesDomain(MarginalSource, Protocol):
    """A source that can count the same rows over other values of its columns."""

    def with_domain(self, domain: Domain) -> ChangesDomain:
        """The same rows, counted over this domain of the same columns."""
        ...


def then(work: Callable[[], Made], finish: Callable[[Made], Done]) -> Done:
    """What ``finish`` makes of what ``work`` returns; also if the engine fails first, and work goes on when asked
    again.
    """
    try:
        made = work()
    except EngineFailed as failed:
        if failed.again is not None:
            failed.again = partial(then, failed.again, finish)
        raise
    return finish(made)


class Rows:
    """Rows of codes in memory, at most ``max_rows`` of each unit.

    Guarantee: adding or removing one unit adds or removes at most ``max_rows`` rows, each in one cell of a marginal: it
    moves by at most ``max_rows`` in L1 and in L2.

    >>> rows = Rows(Domain({"x": range(2), "y": range(3)}), np.array([[0, 2], [1, 0], [1, 0]]))
    >>> rows.marginals([(0,), (0, 1)])[0].tolist(), rows.moves((0,))
    ([1, 2, 0], Moves(l1=1, l2_squared=1))
    """

    __slots__ = ("_codes", "_domain", "_max_rows")

    def __init__(self, domain: Domain, codes: NDArray[np.integer[Any]], *, max_rows: int = 1) -> None:
        given = np.asarray(codes)
        if given.ndim != 2 or given.shape[1] != len(domain) or given.dtype.kind not in "iu":
            raise BadData(f"rows must be an array of whole codes with {len(domain)} columns, as the domain has")
        inside = ((given >= 0) & (given < np.array(domain.sizes))).all(axis=1)
        self._codes = [np.ascontiguousarray(given[inside, i], dtype=np.int64) for i in range(len(domain))]
        self._domain = domain
        self._max_rows = integer(max_rows, "max_rows", at_least=1)

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self._domain

    @property
    def scale(self) -> int:
        """A row counts 1."""
        return 1

    def moves(self, clique: Clique) -> Moves:
        """All rows of a unit may lie in one cell."""
        del clique
        return Moves(l1=self._max_rows, l2_squared=self._max_rows**2)

    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]:
        """Exact counts, one pass over the rows for each clique."""
        return [self._marginal(clique) for clique in cliques]

    def cells(self, clique: Clique) -> Cells:
        """The cells of one marginal that are not 0."""
        return Cells(*np.unique(self._places(clique), return_counts=True))

    def _marginal(self, clique: Clique) -> Counts:
        places = self._places(clique)
        shape = self._domain.shape(clique)
        return np.bincount(places, minlength=self._domain.size(clique)).astype(np.int64).reshape(shape)

    def _places(self, clique: Clique) -> Counts:
        """Where each row stands in a marginal."""
        place = np.zeros(len(self._codes[0]), dtype=np.int64)
        for c in clique:
            place *= self._domain.sizes[c]
            place += self._codes[c]
        return place


class TableRows(Rows):
    """Rows of a table, which can be encoded again over other values of its columns."""

    __slots__ = ("_again",)

    def __init__(
        self, domain: Domain, codes: NDArray[np.integer[Any]], again: Callable[[Domain], TableRows], max_rows: int
    ) -> None:
        super().__init__(domain, codes, max_rows=max_rows)
        self._again = again

    def with_domain(self, domain: Domain) -> TableRows:
        """The rows of the same table; which rows of a unit are kept may differ."""
        return self._again(domain)


def rows_of(table: Any, domain: Domain, *, unit: str | None = None, max_rows: int | None = None) -> TableRows:
    """The rows of a table or frame, encoded over the domain, at most ``max_rows`` of each unit.

    ``unit`` names the column that says whose row it is; without it each row is its own unit. Which rows of a unit are
    kept depends on that unit's rows alone, and not on their order. Rows without a unit are left out.

    >>> table = {"id": [1, 1, 1, 2, None], "x": [0, 1, 2, 0, 1]}
    >>> rows_of(table, Domain({"x": range(3)}), unit="id", max_rows=2).marginals([(0,)])[0].sum()
    np.int64(3)
    """
    arrow = as_arrow(table)
    again = partial(_rows_again, arrow, unit, max_rows)
    if unit is None:
        if max_rows not in (None, 1):
            raise BadParameter("max_rows", max_rows, "must be left out when each row is its own unit; or name the unit")
        return TableRows(domain, domain.encode(arrow), again, 1)
    cap = integer(1 if max_rows is None else max_rows, "max_rows", at_least=1)
    if cap > MAX_ROWS:
        raise BadParameter("max_rows", max_rows, f"must be at most {MAX_ROWS}")
    if unit in domain.columns:
        raise BadParameter("unit", unit, "must not be a column of the domain: it names people")
    owner, has_unit = owners(arrow, unit)
    codes = domain.encode(arrow)
    inside = has_unit & (codes >= 0).all(axis=1)
    codes, owner = codes[inside], owner[inside]
    return TableRows(domain, codes[kept_rows(owner, codes, cap)], again, cap)


def _rows_again(arrow: Any, unit: str | None, max_rows: int | None, domain: Domain) -> TableRows:
    return rows_of(arrow, domain, unit=unit, max_rows=max_rows)


def kept_rows(owner: NDArray[np.int64], codes: Counts, cap: int) -> NDArray[np.int64]:
    """Of each owner the ``cap`` rows that come first by a hash of their codes, in whatever order they stand."""
    mixed = np.zeros(len(owner), dtype=np.uint64)
    for column in codes.T:
        mixed = _mix(mixed ^ column.astype(np.uint64))
    order = np.lexsort((*codes.T, mixed, owner))
    sorted_owner = owner[order]
    starts = (
        np.flatnonzero(np.r_[True, sorted_owner[1:] != sorted_owner[:-1]]) if len(order) else np.zeros(0, dtype=int)
    )
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    kept: NDArray[np.int64] = order[rank < cap]
    return kept


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A fixed permutation of 64 bits (splitmix64), so that no value of a column is always first."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def owners(arrow: Any, unit: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A number for the unit of each row, and whether it has one: by the rule of ``unit_id``, for whole columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if unit not in arrow.column_names:
        raise BadParameter("unit", unit, "must be a column of the table")
    column = arrow.column(unit).combine_chunks()
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()
    if not (text or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise BadData("the unit must be a column of integers or text")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(kind):  # a whole number only where each of them is a float of its own
        numbers = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        with np.errstate(invalid="ignore"):
            has_unit = (np.abs(numbers) < EXACT_IN_FLOATS) & (numbers == np.floor(numbers))
        return np.where(has_unit, numbers, 0).astype(np.int64), has_unit
    has_unit = ~np.asarray(pc.is_null(column))
    indices = column.dictionary_encode().indices
    return np.asarray(pc.fill_null(indices, 0)).astype(np.int64), has_unit


def as_arrow(table: Any) -> Any:
    """An Arrow table from an Arrow table, a Polars or pandas frame, or a mapping of names to lists."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    if hasattr(table, "to_arrow"):  # Polars
        return as_arrow(table.to_arrow())
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    try:
        if hasattr(table, "to_numpy") and hasattr(table, "columns"):  # pandas
            return pa.Table.from_pandas(table, preserve_index=False)
        if isinstance(table, dict):
            return pa.table(table)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError):
        raise BadData("the table has columns that Arrow cannot read; give each column one type") from None
    raise BadParameter(
        "table", type(table).__name__, "must be an Arrow table, a Polars or pandas frame, or a dict of lists"
    )
