"""Turn each row into a whole number, text or truth value, without ever failing.

Promise: every row becomes a value of the wanted kind, whatever it was, and depends on that row alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.errors import BadParameter
from discreet.exact import integer
from discreet.stable.core import domains
from discreet.stable.core.metrics import Relation, as_metric
from discreet.stable.core.stable_map import RowByRow
from discreet.stable.core.total import attempt, whole, whole_from_text

Kind = type[int] | type[str] | type[bool]
_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})
_ROWS: dict[Kind, domains.Row] = {int: domains.Whole(), str: domains.Text(), bool: domains.OneOf((False, True))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast(RowByRow):
    """Each row as another kind; what cannot be read so is ``otherwise``.

    Guarantee: stability d. To ``int``: numbers are rounded to the nearest whole one, text is read as a number. To
    ``str``: text stays, whole numbers and truth values are written out. To ``bool``: true, 1, yes and false, 0, no in
    any case, and the numbers 1 and 0.

    >>> cast(int)([7, "12", " 3 ", 2.5, "x", None, float("inf")]), cast(int, otherwise=-1)(["1e3", ""])
    ([7, 12, 3, 2, 0, 0, 0], [1000, -1])
    >>> cast(str)(["a", 1, True, None, 0.5]), cast(bool)(["Yes", 0, "maybe"])
    (['a', '1', 'True', '', ''], [True, False, False])
    """

    name: ClassVar[str] = "cast"

    to: Kind
    otherwise: Any

    @property
    def row(self) -> domains.Row:
        """The wanted kind."""
        return _ROWS[self.to]

    def rows(self, rows: list[Any]) -> list[Any]:
        """Each row, cast."""
        if self.to is int:
            return [self._whole(row) for row in rows]
        read = _text if self.to is str else _truth
        return [attempt(read, row, self.otherwise) for row in rows]

    def _whole(self, row: Any) -> int:
        read = attempt(whole_from_text, row, None)
        return whole(row, None, None, self.otherwise) if read is None else read

    def story(self) -> tuple[str, ...]:
        """The wanted kind."""
        return (f"cast to {self.to.__name__}, or {self.otherwise!r}",)


def cast(to: Kind, *, otherwise: Any = None, neighbours: Relation = None) -> Cast:
    """Turn each row into an ``int``, ``str`` or ``bool``; ``otherwise`` (0, "" or False) where that cannot be done."""
    given: object = to
    if given is int:
        blank: Any = 0 if otherwise is None else integer(otherwise, "otherwise")
    elif given is str or given is bool:
        blank = given() if otherwise is None else otherwise
        if type(blank) is not given:
            raise BadParameter("otherwise", otherwise, f"must be a {given.__name__}")
    else:
        raise BadParameter("to", given, "must be int, str or bool; for reals use quantise(grid)")
    return Cast(to=to, otherwise=blank, metric=as_metric(neighbours))


def _text(row: Any) -> str:
    if isinstance(row, str):
        return str.__str__(row)
    if isinstance(row, (bool, np.bool_)):
        return str(bool(row))
    if isinstance(row, (int, np.integer)):
        return str(int(row))
    raise LookupError


def _truth(row: Any) -> bool:
    if isinstance(row, (bool, np.bool_)):
        return bool(row)
    word = row.strip().lower() if isinstance(row, str) else None
    if word in _TRUE or (word is None and row == 1):
        return True
    if word in _FALSE or (word is None and row == 0):
        return False
    raise LookupError
