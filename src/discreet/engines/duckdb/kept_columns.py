"""The columns that a prepared copy keeps beside its own: how they are made, for works that are likely to be asked.

Promise: on each row a column holds what its name says (``sql/kept.py``). It is made by the SQL that a question would
run, in the narrowest type that holds it; counts are of rows of the row's own unit alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb as driver

from discreet.engines.sql.base import Base, Key
from discreet.engines.sql.counted_sums import FIRST, GROUPS, ROWS
from discreet.engines.sql.dialects import DUCKDB, Sort
from discreet.engines.sql.kept import count_name, key_name, rows_of, unit_name, value_name
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.scope import free_prefix
from discreet.engines.sql.weights import size_of_unit
from discreet.query.plan.expressions import Column, Expression, columns
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import StoredKind
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey

_PREFIX = "discreet_kept_"
_UNIT = "#unit"
_BY_ROWS = Weights(form=Form.ROWS, cap=1, scale=1)


def narrowest(low: int, high: int) -> str | None:
    """The narrowest signed type for a range; None if BIGINT is too narrow, too.

    >>> narrowest(0, 127), narrowest(-129, 0), narrowest(0, 1 << 63)
    ('TINYINT', 'SMALLINT', None)
    """
    types = ((7, "TINYINT"), (15, "SMALLINT"), (31, "INTEGER"), (63, "BIGINT"))
    return next((kind for bits, kind in types if -(1 << bits) <= low and high < 1 << bits), None)


@dataclass(slots=True)
class Wanted:
    """What is to be kept, over the stored columns of one table."""

    unit: Expression
    keys: dict[str, WorkKey] = field(default_factory=dict)
    values: dict[str, Expression] = field(default_factory=dict)
    groups: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)
    """For the keys by which rows are grouped: the sizes of units that are needed there, by their SQL."""

    def names(self) -> list[str]:
        """What the columns are found by: the same for the same works."""
        return sorted(
            [*self.keys, *self.values, *(name for counts in self.groups.values() for name in counts.values())]
        )


def wanted(works: Sequence[Work], unit: str) -> Wanted:
    """What these works compute that can be kept: works over all rows of one table, whose unit is this column."""
    kept = Wanted(Column(unit))
    for work in works:
        rows = rows_of(work.source)
        if rows is None or rows.filtered or columns(rows.over_table(Column(work.unit))) != {unit}:
            continue
        if not kept.groups:
            kept.unit = rows.over_table(Column(work.unit))
        if rows.over_table(Column(work.unit)) != kept.unit:
            continue
        keys = [WorkKey(key.name, rows.over_table(key.expression), key.allowed) for key in work.keys]
        named = [(key_name(key.expression, key.allowed), key) for key in keys]
        for cell in work.cells:
            value = rows.over_table(cell.value) if isinstance(cell, RowSum) else None
            if value is not None and (name := value_name(value)) is not None:
                kept.values[name] = value
        if work.split is not None:
            split = WorkKey("s", rows.over_table(work.split.expression), work.split.allowed)
            if (name := key_name(split.expression, split.allowed)) is not None:
                kept.keys[name] = split
        if any(name is None for name, _ in named):
            continue
        kept.keys.update({name: key for name, key in named if name is not None})
        usual = (GROUPS, work.weights) if work.weights.per_group == 1 else (GROUPS, _BY_ROWS, work.weights)
        sizes = [size_of_unit(weights, DUCKDB) for weights in usual]
        allowed = [(key.expression, key.allowed) for key in keys]
        group = kept.groups.setdefault(tuple(name for name, _ in named if name is not None), {})
        group.update({w: c for w in (ROWS, FIRST, *sizes) if (c := count_name(w, kept.unit, allowed)) is not None})
    return kept


def add_kept(
    connection: driver.DuckDBPyConnection, staged: Origin, number: str, want: Wanted
) -> tuple[str, list[tuple[str, str]]]:
    """The rows of the staged table with all that is to be kept, as an item for FROM; and what each column holds.

    ``number`` is a column that has a number of its own for each row, and is left out. Makes temporary tables on the
    way: ``ids``, what is kept of each unit, and ``pairs``, of its groups.
    """
    source = Project(Scan("staged"), ((_UNIT, want.unit), *((name, Column(name)) for name in staged.stored)))
    work = Work(source=source, unit=_UNIT, keys=tuple(want.keys.values()), cells=(), weights=_BY_ROWS)
    base = Base(work, DUCKDB, {"staged": staged})
    places = dict(zip(want.keys, base.keys, strict=True))
    values = {name: base.value(expression) for name, expression in want.values.items()}
    stored = {f"t{i}": name for i, name in enumerate(staged.stored) if name != number}
    connection.execute(f"CREATE TEMP VIEW coded AS {base.select({**stored, 'place': number})}")
    ids = "SELECT u, row_number() OVER (ORDER BY u) - 1 AS number FROM (SELECT DISTINCT u FROM coded) AS t"
    connection.execute(f"CREATE TEMP TABLE ids AS {ids} WHERE u IS NOT NULL")
    # what is kept, and its SQL over the rows c, what is known of their units, and of their groups
    kept = [(name, f"c.{key.name}") for name, key in places.items() if key.coded or key.sort is Sort.INTEGER]
    kept += [
        (name, _narrow(connection, f"c.{piece.sql}", "coded AS c"))
        for name, piece in values.items()
        if piece.sort is Sort.INTEGER
    ]
    (unit,) = columns(want.unit)
    if staged.stored[unit].kind is not StoredKind.INTEGER or staged.reach.get(unit, 1 << 63) > 1 << 31:
        kept.append((unit_name(want.unit), _narrow(connection, "ids.number", "ids")))
    joins = ["coded AS c LEFT JOIN ids ON ids.u = c.u"]
    for i, (grouped, counts) in enumerate(want.groups.items()):
        keys = [places[name] for name in grouped]
        _count(connection, f"pairs{i}", keys, base.counts(keys), _sizes(counts))
        same = [f"pairs{i}.u = c.u", *(f"pairs{i}.{key.name} IS NOT DISTINCT FROM c.{key.name}" for key in keys)]
        joins.append(f"LEFT JOIN (SELECT * FROM pairs{i} WHERE n > 1) AS pairs{i} ON {' AND '.join(same)}")
        kept += [
            (counts[ROWS], f"coalesce({_narrow(connection, f'pairs{i}.n', f'pairs{i}')}, 1)"),
            (counts[FIRST], f"coalesce(pairs{i}.first = c.place, TRUE)"),
            *((name, _narrow(connection, f"ids.{_PREFIX}{name}", "ids")) for name in _sizes(counts).values()),
        ]
    own = [f"c.{short} AS {DUCKDB.identifier(name)}" for short, name in stored.items()]
    mine = free_prefix(_PREFIX, staged.stored)
    named = [f"{sql} AS {mine}{i}" for i, (_, sql) in enumerate(kept)]
    rows = f"(SELECT {', '.join([*own, *named])} FROM {' '.join(joins)})"
    return rows, [(name, f"{mine}{i}") for i, (name, _) in enumerate(kept)]


def _count(
    connection: driver.DuckDBPyConnection, pairs: str, keys: Sequence[Key], where: str, sizes: dict[str, str]
) -> None:
    """A table with the counts of the groups of each unit; the sizes of each unit beside its number.

    Groups of one row need not be joined to the rows: such a row is alone, and first. Of rows that do not count, nobody
    reads what is kept.
    """
    by = ", ".join(["u", *(key.name for key in keys)])
    counted = f"SELECT {by}, count(*) AS n, min(place) AS first FROM coded WHERE {where} GROUP BY {by}"
    connection.execute(f"CREATE TEMP TABLE {pairs} AS {counted}")
    listed = ", ".join(["u", *(f"{what} AS {_PREFIX}{name}" for what, name in sizes.items())])
    more = f"SELECT ids.*, t.* EXCLUDE (u) FROM ids LEFT JOIN (SELECT {listed} FROM {pairs} GROUP BY u) AS t USING (u)"
    connection.execute(f"CREATE TEMP TABLE more AS {more}; DROP TABLE ids; ALTER TABLE more RENAME TO ids")


def _sizes(counts: dict[str, str]) -> dict[str, str]:
    return {what: name for what, name in counts.items() if what not in (ROWS, FIRST)}


def _narrow(connection: driver.DuckDBPyConnection, sql: str, table: str) -> str:
    """The integer in the narrowest type that holds all there are."""
    ends = connection.execute(f"SELECT min({sql}), max({sql}) FROM {table}").fetchone() or (0, 0)
    kind = narrowest(ends[0] or 0, ends[1] or 0)
    return sql if kind is None else f"CAST({sql} AS {kind})"
