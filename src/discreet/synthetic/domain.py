"""The domain of a table: which values each column may have. Public, and never read from the data.

Promise: everything here follows from what was declared. Encoding reads each row by itself; a row with a value outside
its column is left out of everything, so one row is one cell of the domain, or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadParameter
from discreet.query.plan.schema import Declared
from discreet.synthetic.binning.open_bins import equal_bins
from discreet.synthetic.columns import Bins, Categories, Codes, Column, Days, Whole, categories, days, whole

SINGLE = 128
"""Bounds that hold at most so many whole numbers become one code each; others are cut into bins."""

Given = Column | Declared | Sequence[Any] | range


class Domain:
    """Named columns with public values.

    >>> from discreet.synthetic.columns import bins
    >>> domain = Domain({"clinic": ["North", "South"], "age": range(0, 100), "cost": bins([0, 10, 100, 1000])})
    >>> domain.sizes, domain.cells, domain.columns
    ((3, 101, 4), 1212, ('clinic', 'age', 'cost'))
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, Given]) -> None:
        given: object = columns
        if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) and name for name in given):
            raise BadParameter("domain", given, "must map at least one column's name to its values")
        self._columns = {name: _read(name, what) for name, what in columns.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each column has."""
        return tuple(column.size for column in self._columns.values())

    @property
    def cells(self) -> int:
        """How many different rows there can be."""
        return prod(self.sizes)

    def __getitem__(self, name: str) -> Column:
        return self._columns[self.check([name])[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Domain({', '.join(f'{name}: {column.size}' for name, column in self._columns.items())})"

    def check(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names, if all are columns."""
        for name in names:
            if name not in self._columns:
                near = get_close_matches(str(name), self._columns, n=1)
                hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(self._columns)}"
                raise BadParameter("column", name, f"must be a column of the domain; {hint}")
        if len(set(names)) < len(names):
            raise BadParameter("columns", list(names), "must name each column once")
        return tuple(names)

    def with_columns(self, columns: Mapping[str, Column]) -> Domain:
        """The same columns in the same order, some of them otherwise."""
        return Domain({**self._columns, **columns})

    def only(self, names: Sequence[str]) -> Domain:
        """The domain of some of the columns."""
        return Domain({name: self._columns[name] for name in self.check(names)})

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Where these columns stand, in ascending order: how a clique is written down."""
        order = {name: i for i, name in enumerate(self._columns)}
        return tuple(sorted(order[name] for name in self.check(names)))

    def size(self, clique: Sequence[int]) -> int:
        """How many cells the marginal of these columns has."""
        sizes = self.sizes
        return prod(sizes[c] for c in clique)

    def shape(self, clique: Sequence[int]) -> tuple[int, ...]:
        """The shape of the marginal of these columns."""
        sizes = self.sizes
        return tuple(sizes[c] for c in clique)

    def encode(self, table: Any) -> NDArray[np.int64]:
        """The codes of an Arrow table, one row of codes for each row; -1 where a value fits none."""
        for name in self._columns:
            if name not in table.column_names:
                raise BadParameter("column", name, "must be a column of the table, as the domain has it")
        rows = np.empty((table.num_rows, len(self)), dtype=np.int64)
        for i, (name, column) in enumerate(self._columns.items()):
            rows[:, i] = column.encode(_plain(table.column(name)))
        return rows

    def decode(self, rows: NDArray[np.integer[Any]], draw: np.random.Generator | None = None) -> Any:
        """An Arrow table of rows with these codes. Where a code stands for many values, one is drawn."""
        import pyarrow as pa

        source = draw if draw is not None else np.random.default_rng()
        codes: list[Codes] = [np.asarray(rows[:, i], dtype=np.int64) for i in range(len(self))]
        return pa.table(
            {name: column.decode(c, source) for (name, column), c in zip(self._columns.items(), codes, strict=True)}
        )


def _plain(column: Any) -> Any:
    """An Arrow column as one array without a dictionary."""
    import pyarrow as pa

    whole_column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole_column, pa.ChunkedArray):  # of no rows
        whole_column = pa.array([], type=column.type)
    return whole_column.dictionary_decode() if pa.types.is_dictionary(whole_column.type) else whole_column


def _read(name: str, given: Given) -> Column:
    match given:
        case Categories() | Whole() | Bins() | Days():
            return given
        case range() if given and given.step == 1:
            return whole(given.start, given.stop - 1)
        case Declared(unknown=True):
            raise BadParameter(
                f"domain[{name!r}]",
                "unknown keys",
                "must be listed: release them first by dp.synthetic.private_categories, which is charged",
            )
        case Declared(auto=True):
            raise BadParameter(
                f"domain[{name!r}]", "auto", "must have bounds, such as dp.bounds(0, 100): only session.synthesize "
                "chooses them, for tables of a session",
            )  # fmt: skip
        case Declared(keys=tuple(listed), nullable=nullable):
            plain: list[Any] = [v for v in listed if v is not None]
            return categories(plain, nullable=nullable or None in listed)
        case Declared(low=date() as low, high=date() as high, nullable=nullable):
            width = (high - low).days // SINGLE + 1
            return days(low, high, step=width, nullable=nullable, times=isinstance(low, datetime))
        case Declared(low=Fraction() as low, high=Fraction() as high, nullable=nullable):
            if low.denominator == high.denominator == 1 and high - low < SINGLE:
                return whole(int(low), int(high), nullable=nullable)
            return equal_bins(low, high, nullable=nullable)
        case str() | bytes() | Declared() | range():
            raise BadParameter(f"domain[{name!r}]", given, "must be a list, a range, dp.keys, dp.bounds, or bins")
        case Sequence():
            return categories([v for v in given if v is not None], nullable=True)
        case _:
            raise BadParameter(f"domain[{name!r}]", given, "must be a list, a range, dp.keys, dp.bounds, or bins")
