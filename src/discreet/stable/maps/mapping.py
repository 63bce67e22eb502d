"""Apply a function to each row, into a range that is declared beforehand.

Promise: whatever the function does on a row, a row in the declared range comes out, and it depends on that row alone.
Believes: the function is a function of its row: no state, no look at other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadParameter
from discreet.stable.core import domains
from discreet.stable.core.bounds import Bounds, as_bounds
from discreet.stable.core.keys import check_keys
from discreet.stable.core.metrics import Relation, as_metric
from discreet.stable.core.stable_map import RowByRow
from discreet.stable.core.total import attempt, wholes


@dataclass(frozen=True, slots=True, kw_only=True)
class MapToNumbers(RowByRow):
    """A function of each row, with integers in [low, high] as results.

    Guarantee: stability d. A result outside is clamped, one between whole numbers is rounded; what is no number, or
    raises, is ``missing``.

    >>> inverse = map(lambda x: 100 // x, bounds=(0, 50))
    >>> inverse([4, 1, -2, 0, None]), inverse.stability(1)
    ([25, 50, 0, 0, 0], 1)
    """

    name: ClassVar[str] = "map"

    f: Callable[[Any], Any]
    bounds: Bounds

    @property
    def row(self) -> domains.Row:
        """Whole numbers in the declared range."""
        return domains.Whole(self.bounds.low, self.bounds.high)

    def rows(self, rows: list[Any]) -> list[int]:
        """The clamped result for each row."""
        b = self.bounds
        return wholes((attempt(self.f, row, None) for row in rows), b.low, b.high, b.missing)

    def story(self) -> tuple[str, ...]:
        """The function by its name, and the range."""
        return (f"took {getattr(self.f, '__name__', 'a function')} of each row, clamped to {self.bounds}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapToValues(RowByRow):
    """A function of each row, with one of some public values as result.

    Guarantee: stability d. A result that is none of the values, or an exception, gives ``otherwise``.

    >>> size = map(lambda x: "big" if x > 9 else "small", values=["small", "big"], otherwise="small")
    >>> size([3, 30, None])
    ['small', 'big', 'small']
    """

    name: ClassVar[str] = "map"

    f: Callable[[Any], Any]
    values: tuple[Hashable, ...]
    otherwise: Hashable

    @property
    def row(self) -> domains.Row:
        """One of the values."""
        return domains.OneOf(self.values)

    def rows(self, rows: list[Any]) -> list[Any]:
        """The value for each row: the caller's own object, not the equal one that the function gave."""
        own = {value: value for value in self.values}
        return [attempt(lambda row: own[self.f(row)], row, self.otherwise) for row in rows]

    def story(self) -> tuple[str, ...]:
        """The function by its name, and the range."""
        name = getattr(self.f, "__name__", "a function")
        return (f"took {name} of each row, one of {len(self.values)} public values",)


def map(
    f: Callable[[Any], Any],
    *,
    bounds: tuple[int, int] | None = None,
    missing: int | None = None,
    values: Sequence[Hashable] | None = None,
    otherwise: Hashable = None,
    neighbours: Relation = None,
) -> MapToNumbers | MapToValues:
    """Apply f to each row, with whole numbers in ``bounds`` or one of ``values`` as results.

    ``missing`` (by default the number in the bounds that is nearest to 0) stands for whatever is no number, and
    ``otherwise`` (one of the values) for whatever is none of them.

    >>> list(map(len, bounds=(0, 3))(["a", "bcdef", None]))
    [1, 3, 0]
    """
    if not callable(f):
        raise BadParameter("f", f, "must be a function of one row")
    if (bounds is None) == (values is None):
        raise BadParameter("bounds", bounds, "must be given, or values in their place: the range is public")
    metric = as_metric(neighbours)
    if values is None:
        return MapToNumbers(f=f, bounds=as_bounds(bounds, missing), metric=metric)
    listed = check_keys(values, "values")
    if otherwise not in listed:
        raise BadParameter("otherwise", otherwise, "must be one of the values")
    return MapToValues(f=f, values=listed, otherwise=otherwise, metric=metric)
