"""What a database driver (PEP 249) sent back, as exact integers and plain keys; anything else is refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.emit import Statement
from discreet.engines.sql.results import checked, integers
from discreet.query.plan.work import AnyWork, Exact


def exact(work: AnyWork, statement: Statement, rows: Sequence[Sequence[Any]], dialect: Dialect) -> Exact:
    """The rows of a statement, held against what the work asks for."""
    width = len(statement.keys) + statement.cells
    if any(len(row) != width for row in rows):
        raise ValueError("rows of another width")
    columns = list(zip(*rows, strict=True)) or [()] * width
    keys = [
        [plain(value, sort, dialect.mark) for value in column]
        for (_, sort), column in zip(statement.keys, columns, strict=False)
    ]
    numbers = [integers([whole(value) for value in column]) for column in columns[len(keys) :]]
    return checked(work, statement, keys, numbers, len(rows))


def whole(value: object) -> int:
    """An integer, as drivers send it: never a float.

    >>> whole(Decimal("7.000")), whole(True)
    (7, 1)
    """
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    raise TypeError("not an integer")


def plain(value: Any, sort: Sort, mark: str = "") -> Any:
    """A key of a certain kind; what is of no such kind is left for others to refuse.

    >>> plain("a |", Sort.TEXT, "|"), plain(1, Sort.BOOLEAN)
    ('a ', True)
    """
    if value is None:
        return None
    match sort:
        case Sort.INTEGER:
            return whole(value)
        case Sort.BOOLEAN if isinstance(value, int) and value in (0, 1):
            return bool(value)
        case Sort.TEXT if isinstance(value, str) and value.endswith(mark):
            return value.removesuffix(mark)
        case Sort.TIMESTAMP if isinstance(value, datetime):
            return datetime.fromisoformat(value.isoformat())  # some drivers have a kind of their own
        case Sort.DATE if isinstance(value, date) and not isinstance(value, datetime):
            return date.fromisoformat(value.isoformat())
        case _:
            raise TypeError("a key of another kind")
