"""Lowered relations as SQL: one nested SELECT per node.

Columns get names of our own (c0, c1, ...), so nothing that an owner or an analyst named reaches a database, except the
stored columns themselves, quoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.primitives import write
from discreet.engines.sql.reading import clamped
from discreet.engines.sql.scope import UNBOUNDED, Piece, Scope, condition, never, typed
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import (
    Aggregate,
    Elements,
    Filter,
    How,
    Join,
    Measure,
    Order,
    PerUnit,
    Project,
    Relation,
    Scan,
    UnionAll,
    UnitWindows,
    Window,
    scans,
)
from discreet.query.plan.schema import EACH_ROW, Stored, StoredKind
from discreet.query.plan.types import LARGEST

_SORTS = {
    StoredKind.INTEGER: Sort.INTEGER,
    StoredKind.DECIMAL: Sort.DECIMAL,
    StoredKind.REAL: Sort.REAL,
    StoredKind.TEXT: Sort.TEXT,
    StoredKind.BOOLEAN: Sort.BOOLEAN,
    StoredKind.DATE: Sort.DATE,
    StoredKind.TIME: Sort.OTHER,
    StoredKind.TIMESTAMP: Sort.TIMESTAMP,
    StoredKind.OTHER: Sort.OTHER,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a table's rows come from: an item for FROM, in the words of the database; and what is stored there."""

    sql: str
    stored: Mapping[str, Stored]
    reach: Mapping[str, int] = field(default_factory=dict)
    """How far from 0 an integer column can be, by its stored type; unknown if missing."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Further columns of a prepared copy, by what they hold (``kept.py``)."""
    view: bool = False
    """Whether the rows are computed at each reading, and may then be others."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A relation: an item for FROM, and its columns."""

    sql: str
    columns: Mapping[str, Piece]


class Relations:
    """Writes relations over these tables."""

    def __init__(self, dialect: Dialect, tables: Mapping[str, Origin]) -> None:
        self.dialect = dialect
        self.tables = tables

    def rows(self, node: Relation) -> Rows:
        """The relation as an item for FROM."""
        match node:
            case Scan(table, numbered, lists):
                scanned = self._scan(self.tables[table])
                scanned = self._numbered(scanned) if numbered else scanned
                for elements in lists:
                    kind = self.tables[table].stored[elements.column].element
                    scanned = self._unnested(scanned, elements, _SORTS[kind or StoredKind.OTHER])
                return scanned
            case Filter(source, predicate):
                below = self.rows(source)
                scope = Scope(self.dialect, below.columns)
                where = condition(write(predicate, scope), self.dialect)
                names = ", ".join(piece.sql for piece in below.columns.values())
                return replace(below, sql=f"(SELECT {names} FROM {scope.around(below.sql)} AS t WHERE {where})")
            case Project(source, columns):
                below = self.rows(source)
                scope = Scope(self.dialect, below.columns)
                pieces = [(name, write(expression, scope)) for name, expression in columns]
                return self._select(pieces, f" FROM {scope.around(below.sql)} AS t")
            case Join():
                return self._join(node)
            case UnionAll(parts):
                return self._union([self.rows(part) for part in parts])
            case PerUnit():
                return self._per_unit(node)
            case UnitWindows():
                return self._windows(node)

    def _scan(self, origin: Origin) -> Rows:
        columns = {
            name: Piece(self.dialect.identifier(name), _SORTS[how.kind], origin.reach.get(name, UNBOUNDED << 64), True)
            for name, how in origin.stored.items()
        }
        kept = {name: Piece(self.dialect.identifier(name), Sort.OTHER, simple=True) for name in origin.kept.values()}
        return Rows(origin.sql, columns | kept)

    def _numbered(self, rows: Rows) -> Rows:
        """The rows, each with a number of its own."""
        name = self.dialect.identifier(EACH_ROW)
        sql = f"(SELECT t.*, {self.dialect.call('row_number')} AS {name} FROM {rows.sql} AS t)"
        return Rows(sql, {**rows.columns, EACH_ROW: Piece(name, Sort.INTEGER, UNBOUNDED, simple=True)})

    def _unnested(self, rows: Rows, elements: Elements, sort: Sort) -> Rows:
        """Each row once for each element of a list."""
        element = self.dialect.identifier(elements.name)
        operation = "unnest_outer" if elements.outer else "unnest"
        joined = self.dialect.call(operation, rows.sql, self.dialect.identifier(elements.column), element)
        piece = Piece(element, sort, UNBOUNDED << 64, simple=True)
        read = self.dialect.call("element", f"u.{element}") if sort is Sort.TEXT else f"u.{element}"
        return Rows(f"(SELECT t.*, {read} AS {element} FROM {joined})", {**rows.columns, elements.name: piece})

    def _select(self, pieces: Sequence[tuple[str, Piece]], rest: str) -> Rows:
        own = {name: self._own(i, piece) for i, (name, piece) in enumerate(pieces)}
        listed = ", ".join(
            f"{typed(piece, self.dialect)} AS {mine.sql}" for (_, piece), mine in zip(pieces, own.values(), strict=True)
        )
        return Rows(f"(SELECT {listed or '1 AS c'}{rest})", own)

    def _own(self, i: int, piece: Piece) -> Piece:
        return Piece(self.dialect.identifier(f"c{i}"), piece.sort, piece.reach, simple=True)

    def _join(self, node: Join) -> Rows:
        left, right = self.rows(node.left), self.rows(node.right)
        pieces = [(name, _of("l", piece)) for name, piece in left.columns.items()]
        taken = list(left.columns)
        for name, piece in right.columns.items():
            taken.append(free_name(name, taken))
            pieces.append((taken[-1], _of("r", piece)))
        pairs = [(left.columns[a], right.columns[b]) for a, b in node.on]
        on = " AND ".join(self._equal(_of("l", a), _of("r", b)) for a, b in pairs) or self._always()
        if any(Sort.NULL in (a.sort, b.sort) for a, b in pairs):
            on = never(self.dialect)
        word = "LEFT JOIN" if node.how is How.LEFT else "JOIN"
        return self._select(pieces, f" FROM {left.sql} AS l {word} {right.sql} AS r ON {on}")

    def _equal(self, a: Piece, b: Piece) -> str:
        if a.sort is Sort.TEXT and self.dialect.mark:
            return self.dialect.call("text_eq", a.sql, b.sql)
        return f"{a.sql} = {b.sql}"

    def _always(self) -> str:
        return "TRUE" if self.dialect.truths else "(1 = 1)"

    def _union(self, parts: Sequence[Rows]) -> Rows:
        first = parts[0]
        columns = [list(part.columns.values()) for part in parts]
        own: dict[str, Piece] = {}
        for i, name in enumerate(first.columns):
            same = [pieces[i] for pieces in columns]
            sort = next((piece.sort for piece in same if piece.sort is not Sort.NULL), Sort.NULL)
            own[name] = self._own(i, Piece("", sort, max(piece.reach for piece in same)))
        texts = []
        for part, pieces in zip(parts, columns, strict=True):
            renamed = ", ".join(f"{self._as(a, b.sort)} AS {b.sql}" for a, b in zip(pieces, own.values(), strict=True))
            texts.append(f"SELECT {renamed} FROM {part.sql} AS t")
        return Rows(f"({' UNION ALL '.join(texts)})", own)

    def _as(self, piece: Piece, sort: Sort) -> str:
        return self.dialect.cast("NULL", sort) if piece.sort is Sort.NULL is not sort else piece.sql

    def _per_unit(self, node: PerUnit) -> Rows:
        below = self.rows(node.source)
        scope = Scope(self.dialect, below.columns)
        keys = [(name, write(expression, scope)) for name, expression in node.keys]
        measures = [(measure.name, self._measure(measure, scope)) for measure in node.measures]
        if self.dialect.mark:
            inner = self._grouped(keys, measures, scope.around(below.sql))
        else:
            places = ", ".join(str(i + 1) for i in range(len(keys)))
            inner = self._select([*keys, *measures], f" FROM {scope.around(below.sql)} AS t GROUP BY {places}")
        return self._narrowed(inner, {m.name for m in node.measures if m.aggregate is Aggregate.SUM})

    def _windows(self, node: UnitWindows) -> Rows:
        below = self.rows(node.source)
        scope = Scope(self.dialect, below.columns)
        made = [*below.columns.items(), *((w.name, self._window(w, scope)) for w in node.windows)]
        inner = self._select(made, f" FROM {scope.around(below.sql)} AS t")
        return self._narrowed(inner, {w.name for w in node.windows if w.function == "sum"})

    def _window(self, window: Window, scope: Scope) -> Piece:
        d = self.dialect
        arguments = [write(argument, scope) for argument in window.arguments[:1]]
        x = typed(arguments[0], d) if arguments else ""
        match window.function, window.arguments:
            case ("lag" | "lead") as name, (_, Literal(value=int(many))):
                value = Piece(f"{name}({x}, {many})", arguments[0].sort, arguments[0].reach)
            case "first_value" | "last_value", _:
                value = Piece(f"{window.function}({x})", arguments[0].sort, arguments[0].reach)
            case "row_number" | "rank" | "dense_rank", ():
                value = Piece(f"{window.function}()", Sort.INTEGER)
            case _:
                value = self._measure(Measure(window.name, Aggregate(window.function), window.arguments), scope)
        by = [f"PARTITION BY {', '.join(self._compared(write(e, scope)) for e in window.partition)}"]
        if window.order:
            by.append(f"ORDER BY {', '.join(self._ordered(sorting, scope) for sorting in window.order)}")
        if window.rows is not None:
            first, last = (_edge(end, word) for end, word in zip(window.rows, ("PRECEDING", "FOLLOWING"), strict=True))
            by.append(f"ROWS BETWEEN {first} AND {last}")
        sql = f"{value.sql} OVER ({' '.join(by if window.partition else by[1:])})"
        return replace(value, sql=d.cast(sql, Sort.INTEGER) if window.function in _PLACES else sql)

    def _compared(self, piece: Piece) -> str:
        """A value by which rows are grouped: text as it is, letter by letter."""
        return self.dialect.marked(piece.sql) if piece.sort is Sort.TEXT else typed(piece, self.dialect)

    def _ordered(self, order: Order, scope: Scope) -> str:
        piece = scope.named(write(order.expression, scope))
        x = self.dialect.call("binary", piece.sql) if piece.sort is Sort.TEXT else typed(piece, self.dialect)
        return self.dialect.call("nulls_last_down" if order.descending else "nulls_last", x)

    def _narrowed(self, rows: Rows, sums: set[str]) -> Rows:
        if not sums:
            return rows
        outer = [(name, self._narrow(piece) if name in sums else piece) for name, piece in rows.columns.items()]
        return self._select(outer, f" FROM {rows.sql} AS t")

    def _grouped(self, keys: Sequence[tuple[str, Piece]], measures: Sequence[tuple[str, Piece]], source: str) -> Rows:
        """The same where GROUP BY takes no places: keys get names first, text is marked while it is grouped."""
        d = self.dialect
        own = [d.identifier(f"g{i}") for i in range(len(keys))]
        named = ", ".join(
            f"{d.marked(piece.sql) if piece.sort is Sort.TEXT else typed(piece, d)} AS {mine}"
            for (_, piece), mine in zip(keys, own, strict=True)
        )
        shown = [
            (name, replace(piece, sql=d.unmarked(mine) if piece.sort is Sort.TEXT else mine, condition=False))
            for (name, piece), mine in zip(keys, own, strict=True)
        ]
        rest = f" FROM (SELECT t.*, {named} FROM {source} AS t) AS t GROUP BY {', '.join(own)}"
        return self._select([*shown, *measures], rest)

    def _narrow(self, wide: Piece) -> Piece:
        """A sum of one unit, clamped into what every number must fit into."""
        cast = self.dialect.cast(wide.sql, Sort.INTEGER)
        return Piece(clamped(wide.sql, -LARGEST, LARGEST, cast, self.dialect), Sort.INTEGER, LARGEST)

    def _measure(self, measure: Measure, scope: Scope) -> Piece:
        piece = write(measure.arguments[0], scope) if measure.arguments else None
        x = "1" if piece is None else typed(piece, self.dialect)
        if measure.where is not None:
            x = f"CASE WHEN {condition(write(measure.where, scope), self.dialect)} THEN {x} END"
        match measure.aggregate, piece:
            case Aggregate.COUNT, _:
                counted = "*" if piece is None and measure.where is None else x
                return Piece(f"{self.dialect.count}({counted})", Sort.INTEGER)
            case Aggregate.COUNT_DISTINCT, Piece(sort=sort):
                different = self.dialect.marked(x) if sort is Sort.TEXT else x
                return Piece(f"{self.dialect.count}(DISTINCT {different})", Sort.INTEGER)
            case Aggregate.SUM, Piece():
                return Piece(self.dialect.call("sum", x), Sort.INTEGER)
            case (Aggregate.MIN | Aggregate.MAX) as extreme, Piece(sort=sort, reach=reach):
                if sort is Sort.TEXT:
                    x = self.dialect.call("binary", x)
                    return Piece(self.dialect.call(f"text_{extreme.value}", x), sort, reach)
                return Piece(f"{extreme.value}({x})", sort, reach)
            case _:
                raise ValueError("not a measure of one unit")


_PLACES = frozenset({"row_number", "rank", "dense_rank"})


def _edge(end: int | None, open_side: str) -> str:
    """One end of a frame of rows, as an offset."""
    match end:
        case None:
            return f"UNBOUNDED {open_side}"
        case 0:
            return "CURRENT ROW"
        case _:
            return f"{abs(end)} {'PRECEDING' if end < 0 else 'FOLLOWING'}"


def _of(side: str, piece: Piece) -> Piece:
    return replace(piece, sql=f"{side}.{piece.sql}")


def scanned(node: Relation) -> frozenset[str]:
    """The tables that a relation reads."""
    return frozenset(scan.table for scan in scans(node))


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name itself, or with the first of _2, _3, ... that is free, as the plan says.

    >>> free_name("x", ["x", "x_2"])
    'x_3'
    """
    candidate, n = name, 1
    while candidate in taken:
        n += 1
        candidate = f"{name}_{n}"
    return candidate
