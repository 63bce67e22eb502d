"""What PostgreSQL sent back, as exact integers and plain keys; anything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines.sql.emit import Statement
from discreet.engines.sql.results import checked, integers
from discreet.query.plan.work import AnyWork, Exact

if TYPE_CHECKING:
    from discreet.engines.postgres.connections import Connection


def fetch(work: AnyWork, statement: Statement, connection: Connection) -> Exact:
    """Run the statement; its keys and numbers. Numbers come as text, so that none passes through a decimal or float."""
    names = [name for name, _ in statement.keys]
    columns = [*names, *(f"CAST(n{i} AS TEXT)" for i in range(statement.cells))]
    text = f"SELECT {', '.join(columns)} FROM (\n{statement.sql}) AS t"
    rows = connection.execute(text.encode()).fetchall()
    found = list(zip(*rows, strict=True)) or [()] * len(columns)
    numbers = [integers([int(digits) for digits in column]) for column in found[len(names) :]]
    return checked(work, statement, found[: len(names)], numbers, len(rows))
