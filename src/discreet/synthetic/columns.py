"""The values a column may have, as small whole numbers: categories, ranges of whole numbers, bins, days.

Guarantee: the code of a value follows from that value and the public declaration alone, by exact comparisons. Nothing
that a cell holds makes a call fail; what fits no code is -1. Decoding gives values of the declared kind, always inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, BadParameter
from discreet.exact import Number, integer, number
from discreet.mechanisms.base.marks import Ruler, ruler
from discreet.privacy.promises.record import show
from discreet.shown import brief

Codes = NDArray[np.int64]
Value = str | int | bool | date | None

LARGEST = 1 << 16
"""The most codes of one column."""
_EXACT_IN_FLOATS = 1 << 53
_EPOCH = date(1970, 1, 1)
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def _end(value: Fraction | date) -> str:
    """The end of a bin in a text."""
    if isinstance(value, date):
        return value.isoformat()
    return str(value.numerator) if value.denominator == 1 else str(float(value))


class Column(ABC):
    """A column of a domain: ``values`` codes 0, 1, ..., and one more for NULL where that is allowed."""

    nullable: bool

    @property
    @abstractmethod
    def values(self) -> int:
        """How many codes there are for values that are not NULL."""

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.values + self.nullable

    @property
    @abstractmethod
    def labels(self) -> list[Any]:
        """What each code stands for, without NULL: a value, or the two ends of a bin."""

    @property
    def keys(self) -> list[Any]:
        """The labels as a table shows them: a bin as a text, such as "0 to 31.25", whose second end is left out.

        >>> from discreet.synthetic.columns import bins, days
        >>> bins([0, "12.5", 100]).keys, categories(["a", "b"]).keys
        (['0 to 12.5', '12.5 to 100'], ['a', 'b'])
        """
        return [" to ".join(map(_end, label)) if isinstance(label, tuple) else label for label in self.labels]

    @property
    def ordered(self) -> bool:
        """Whether codes lie in the order of values, so that ranges have a meaning."""
        return True

    def encode(self, column: Any) -> Codes:
        """The codes of an Arrow column; -1 for what fits none."""
        if str(column.type) == "null":  # nothing but NULL: its type was never said
            return np.full(len(column), self.values if self.nullable else -1, dtype=np.int64)
        codes, present = self._encode(column)
        return np.where(present, codes, self.values if self.nullable else -1)

    @abstractmethod
    def _encode(self, column: Any) -> tuple[Codes, NDArray[np.bool_]]:
        """Codes of values, and where there is a value at all."""

    def decode(self, codes: Codes, draw: np.random.Generator) -> Any:
        """An Arrow column of values with these codes, drawn evenly inside bins."""
        import pyarrow as pa

        missing = codes >= self.values
        values = self._decode(np.where(missing, 0, codes), draw)
        return pa.array(values, type=self._type(), mask=missing, from_pandas=False)

    @abstractmethod
    def _decode(self, codes: Codes, draw: np.random.Generator) -> Any: ...

    @abstractmethod
    def _type(self) -> Any:
        """The Arrow type of decoded values."""

    def places(self, test: str, value: Any, name: str) -> NDArray[np.bool_]:
        """For each code but NULL's, whether its values are =, < or <= a value; refused inside a bin."""
        return np.array([_compare(label, test, value, name) for label in self.labels])


def _compare(label: Any, test: str, value: Any, name: str) -> bool:
    try:
        match test:
            case "=":
                return bool(label == value)
            case "<":
                return bool(label < value)
            case _:
                return bool(label <= value)
    except TypeError:
        raise BadParameter(name, value, "must be compared with a value of its own kind") from None


# --- categories ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Categories(Column):
    """A public list of text, whole numbers, booleans or days. A value outside it drops its row, or is ``other``.

    >>> import pyarrow as pa
    >>> categories(["a", "b"], other="b").encode(pa.array(["b", None, "z", "a"])).tolist()
    [1, 2, 1, 0]
    """

    __repr__ = brief

    listed: tuple[Any, ...]
    nullable: bool
    other: int | None = None

    @property
    def values(self) -> int:
        """One code for each category."""
        return len(self.listed)

    @property
    def labels(self) -> list[Any]:
        """The categories."""
        return list(self.listed)

    @property
    def ordered(self) -> bool:
        """In ascending order, as listed."""
        return all(a < b for a, b in pairwise(self.listed))

    def _encode(self, column: Any) -> tuple[Codes, NDArray[np.bool_]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        present = ~np.asarray(pc.is_null(column, nan_is_null=True))
        try:
            kind = _kind_for(column.type, self.listed)
            fitting = [i for i, v in enumerate(self.listed) if not pa.types.is_integer(kind) or _fits(v, kind)]
            kept = pa.array([self.listed[i] for i in fitting], type=kind)  # the others are in no such column
            places = pc.index_in(column.cast(kind) if column.type != kind else column, value_set=kept)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            raise BadData(f"a column of type {column.type} cannot hold the declared categories") from None
        codes = np.array([*fitting, -1])[np.asarray(pc.fill_null(places, -1))]
        if self.other is not None:
            codes[codes < 0] = self.other
        return codes, present

    def _decode(self, codes: Codes, draw: np.random.Generator) -> Any:
        listed = np.empty(len(self.listed), dtype=object)
        listed[:] = self.listed
        return listed[codes]

    def _type(self) -> Any:
        import pyarrow as pa

        return pa.array(list(self.listed)).type


def _kind_for(stored: Any, listed: Sequence[Any]) -> Any:
    """The Arrow type in which stored values and categories are compared: no value of the column fails to be read."""
    import pyarrow as pa

    text, whole = isinstance(listed[0], str), isinstance(listed[0], int) and not isinstance(listed[0], bool)
    if text and (pa.types.is_string(stored) or pa.types.is_large_string(stored) or stored == pa.string_view()):
        return pa.large_string()
    if whole and pa.types.is_integer(stored):
        return stored
    if whole and pa.types.is_floating(stored) and all(abs(v) <= _EXACT_IN_FLOATS for v in listed):
        return pa.float64()
    natural = pa.array(list(listed)).type
    if natural != stored:
        raise pa.ArrowTypeError("the categories are of another kind")
    return natural


def _fits(value: int, stored: Any) -> bool:
    bits = int(stored.bit_width)
    if str(stored).startswith("u"):
        return 0 <= value < 1 << bits
    return -(1 << bits - 1) <= value < 1 << bits - 1


def categories(values: Sequence[Value], *, nullable: bool = True, other: Value = None) -> Categories:
    """A column with a public list of categories.

    ``other`` names the category that stands for all values outside the list; without it such rows are left out.
    ``nullable=False`` leaves out rows where it is NULL.
    """
    given: object = values
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)) or not len(given):
        raise BadParameter("categories", given, 'must be a list, such as ["North", "South"]')
    listed = tuple(v.item() if isinstance(v, np.generic) else v for v in given if v is not None)
    kinds = {type(v) for v in listed}
    if len(kinds) != 1 or not kinds <= {str, int, bool, date}:
        raise BadParameter("categories", "a list of other kinds", "must be all text, integers, booleans or days")
    if kinds == {int} and max(abs(v) for v in listed) >= 1 << 63:
        raise BadParameter("categories", "integers", "must fit into 64 bits")
    if len(set(listed)) < len(listed) or len(listed) > LARGEST:
        raise BadParameter("categories", f"{len(listed)} values", f"must be at most {LARGEST}, each listed once")
    if other is not None and other not in listed:
        raise BadParameter("other", other, "must be one of the categories")
    return Categories(listed, bool(nullable), None if other is None else listed.index(other))


# --- whole numbers, bins, days ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Whole(Column):
    """Whole numbers from ``low`` to ``high``, one code each; what lies beyond is read as the nearest end.

    >>> import pyarrow as pa
    >>> whole(0, 5).encode(pa.array([3, 99, None, -1])).tolist()
    [3, 5, 6, 0]
    """

    low: int
    high: int
    nullable: bool

    @property
    def values(self) -> int:
        """One code for each number."""
        return self.high - self.low + 1

    @property
    def labels(self) -> list[Any]:
        """The numbers."""
        return list(range(self.low, self.high + 1))

    def _encode(self, column: Any) -> tuple[Codes, NDArray[np.bool_]]:
        numbers, present = _numbers(column)
        inside = np.clip(np.where(present, numbers, self.low), self.low, self.high)  # clip first: nothing wraps
        return np.floor(inside).astype(np.int64) - self.low, present

    def _decode(self, codes: Codes, draw: np.random.Generator) -> Any:
        return codes + self.low

    def _type(self) -> Any:
        import pyarrow as pa

        return pa.int64()


def whole(low: int, high: int, *, nullable: bool = True) -> Whole:
    """A column of whole numbers between two public bounds, both included."""
    first, last = integer(low, "low"), integer(high, "high")
    if not 0 <= last - first < LARGEST or max(abs(first), abs(last)) > _EXACT_IN_FLOATS:
        raise BadParameter("high", high, f"must be at least low, with at most {LARGEST} numbers; use bins for more")
    return Whole(first, last, bool(nullable))


@dataclass(frozen=True, eq=False)
class Bins(Column):
    """Numbers in bins [e_0, e_1), [e_1, e_2), ..., the last one closed; what lies beyond is read as the nearest end.

    >>> import pyarrow as pa
    >>> bins([0, 10, 100]).encode(pa.array([5.0, 10.0, 1e9, float("nan")])).tolist()
    [0, 1, 1, 2]
    """

    __repr__ = brief

    edges: tuple[Fraction, ...]
    nullable: bool
    integral: bool = False
    marks: Ruler = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "marks", ruler(self.edges, "bins"))

    @property
    def values(self) -> int:
        """One code for each bin."""
        return len(self.edges) - 1

    @property
    def labels(self) -> list[Any]:
        """The two edges of each bin."""
        return list(zip(self.edges[:-1], self.edges[1:], strict=True))

    def _encode(self, column: Any) -> tuple[Codes, NDArray[np.bool_]]:
        numbers, present = _numbers(column)
        place = self.marks.places(np.where(present, numbers, float(self.edges[0])))
        return np.clip(((place + 1) >> 1) - 1, 0, self.values - 1), present

    def _decode(self, codes: Codes, draw: np.random.Generator) -> Any:
        low, high = self.marks.marks[:-1][codes], self.marks.marks[1:][codes]
        if self.integral:
            return np.minimum(np.floor(low + draw.random(len(codes)) * (high - low)), np.maximum(low, high - 1)).astype(
                int
            )
        return np.minimum(low + draw.random(len(codes)) * (high - low), np.nextafter(high, low))

    def _type(self) -> Any:
        import pyarrow as pa

        return pa.int64() if self.integral else pa.float64()

    def places(self, test: str, value: Any, name: str) -> NDArray[np.bool_]:
        """Whole bins below an edge; a value inside a bin is refused, since nobody knows what lies below it."""
        at = number(value, name)
        last = self.edges[-1]
        if test == "<=" and at >= last:
            return np.ones(self.values, dtype=bool)
        if test == "<" and (at in self.edges or at > last or at < self.edges[0]):
            return np.array([high <= at for _, high in self.labels]) if at <= last else np.ones(self.values, dtype=bool)
        near = min(self.edges, key=lambda e: abs(e - at))
        raise BadParameter(
            name, value, f"must be split at an edge of its bins, as in < {show(near)} or >= {show(near)}"
        )


def bins(edges: Sequence[Number], *, nullable: bool = True, integral: bool = False) -> Bins:
    """A column of numbers in bins with public edges; ``integral`` for whole numbers, whose last bin is [e, e'] too."""
    given: object = edges
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)):
        raise BadParameter("bins", given, "must be a list of edges, such as [0, 10, 100]")
    exact = tuple(number(e, "bins") for e in edges)
    if not 2 <= len(exact) <= LARGEST or any(a >= b for a, b in pairwise(exact)):
        raise BadParameter("bins", f"{len(exact)} edges", f"must be 2 to {LARGEST} edges in ascending order")
    if integral and any(e.denominator != 1 for e in exact):
        raise BadParameter("bins", "edges between integers", "must be integers for integral bins")
    if len({float(e) for e in exact}) < len(exact):
        raise BadParameter("bins", f"{len(exact)} edges", "must be further apart than floats can tell")
    return Bins(exact, bool(nullable), bool(integral))


@dataclass(frozen=True, eq=False)
class Days(Column):
    """Days from ``low`` to ``high``, ``step`` days to a code; what lies beyond is read as the nearest end.

    >>> import pyarrow as pa
    >>> days("2024-01-01", "2024-01-31", step=7).encode(pa.array([date(2024, 1, 8), date(1999, 1, 1)])).tolist()
    [1, 0]
    """

    low: date
    high: date
    step: int
    nullable: bool
    between: tuple[datetime, datetime] | None = None
    """For a column of times: decoded is a moment of the day, never outside these two."""

    @property
    def values(self) -> int:
        """One code for each stretch of days."""
        return ceil(((self.high - self.low).days + 1) / self.step)

    @property
    def labels(self) -> list[Any]:
        """The first day of each stretch, and the first day after it; days themselves if they have a code each."""
        starts = [self.low + timedelta(days=i * self.step) for i in range(self.values)]
        return (
            starts if self.step == 1 else list(zip(starts, [*starts[1:], self.high + timedelta(days=1)], strict=True))
        )

    def _encode(self, column: Any) -> tuple[Codes, NDArray[np.bool_]]:
        numbers, present = _day_numbers(column)
        first, last = (self.low - _EPOCH).days, (self.high - _EPOCH).days
        return (np.clip(np.where(present, numbers, first), first, last) - first) // self.step, present

    def _decode(self, codes: Codes, draw: np.random.Generator) -> Any:
        first, last = (self.low - _EPOCH).days, (self.high - _EPOCH).days
        start = first + codes * self.step
        width = np.minimum(self.step, last + 1 - start)
        days = (start + np.floor(draw.random(len(codes)) * width).astype(np.int64)).astype("datetime64[D]")
        if self.between is None:
            return days
        later = np.floor(draw.random(len(codes)) * _PER_DAY["us"]).astype("timedelta64[us]")
        first_at, last_at = (np.datetime64(at, "us") for at in self.between)
        return np.minimum(np.maximum(days.astype("datetime64[us]") + later, first_at), last_at)

    def _type(self) -> Any:
        import pyarrow as pa

        return pa.date32() if self.between is None else pa.timestamp("us")

    def places(self, test: str, value: Any, name: str) -> NDArray[np.bool_]:
        """Whole stretches before a day; a day inside a stretch is refused."""
        at = _day(value, name)
        if self.step == 1:
            return super().places(test, at, name)
        before = at if test == "<" else at + timedelta(days=1)
        if test != "=" and (before in {start for start, _ in self.labels} or not self.low <= before <= self.high):
            return np.array([end <= before for _, end in self.labels])
        raise BadParameter(name, value, f"must be split where its stretches of {self.step} days begin")


def days(low: date | str, high: date | str, *, step: int = 1, nullable: bool = True, times: bool = False) -> Days:
    """A column of days between two public bounds, both included; ``times`` for one of moments, which may bound it."""
    first, last, each = _day(low, "low"), _day(high, "high"), integer(step, "step", at_least=1)
    if last < first or (last - first).days // each >= LARGEST:
        raise BadParameter("high", high, f"must not be before low, with at most {LARGEST} codes; widen step for more")
    between = (_moment(low, first, time.min), _moment(high, last, time.max)) if times else None
    return Days(first, last, each, bool(nullable), between)


def _moment(given: Any, day: date, at: time) -> datetime:
    return given if isinstance(given, datetime) else datetime.combine(day, at)


# --- reading Arrow columns ----------------------------------------------------------------------------------------


def _numbers(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """An Arrow column of numbers as doubles, and where it has one; NaN is none. Rounding keeps the order of numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise BadData(f"a column of type {kind} cannot be read as numbers")
    numbers = np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), float("nan")), dtype=np.float64)
    return numbers, ~np.isnan(numbers)


def _day_numbers(column: Any) -> tuple[Codes, NDArray[np.bool_]]:
    """Days since 1970 of an Arrow column of dates or times, and where it has one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_date32(kind):
        per_day, numbers = 1, column.cast(pa.int32()).cast(pa.int64())
    elif pa.types.is_date64(kind):
        per_day, numbers = _PER_DAY["ms"], column.cast(pa.int64())
    elif pa.types.is_timestamp(kind):
        per_day, numbers = _PER_DAY[kind.unit], column.cast(pa.int64())
    else:
        raise BadData(f"a column of type {kind} cannot be read as days")
    present = ~np.asarray(pc.is_null(column))
    return np.asarray(pc.fill_null(numbers, 0), dtype=np.int64) // per_day, present


def _day(value: Any, name: str) -> date:
    if isinstance(value, date):
        return value.date() if isinstance(value, datetime) else value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise BadParameter(name, value, 'must be a day, such as "2024-12-31"') from None
