"""The engine in plain Python: slow, and meant to be obviously right. Every other engine must give the same numbers.

It holds a whole table in memory and follows ``query/plan/work.py`` and ``query/plan/nodes.py`` line by line. It is the
oracle of the tests, and fit for tables of some thousand rows.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias

import numpy as np

from discreet.engines.memory import source as memory_source
from discreet.engines.memory.row import clamp, evaluate
from discreet.errors import EngineFailed
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import (
    Aggregate,
    Elements,
    Filter,
    How,
    Join,
    Measure,
    PerUnit,
    Project,
    Relation,
    Scan,
    UnionAll,
    UnitWindows,
    Window,
)
from discreet.query.plan.schema import EACH_ROW, Schema, Stored
from discreet.query.plan.types import LARGEST
from discreet.query.plan.work import (
    AnyWork,
    Cell,
    Cells,
    DistinctWork,
    Exact,
    Form,
    GroupingSets,
    RowSum,
    Total,
    TotalsWork,
    UnitClasses,
    Weights,
    Work,
    WorkKey,
)

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]
Key: TypeAlias = tuple[Any, ...]
Schemas: TypeAlias = Mapping[str, Schema]


@dataclass(frozen=True, slots=True)
class Memory:
    """Made by ``memory()``."""

    @property
    def name(self) -> str:
        """What it is called."""
        return "memory"

    def columns(self, source: object) -> dict[str, Stored]:
        """The names and stored types of the columns of an Arrow table, a list of dicts or a dict of lists."""
        return memory_source.columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Schemas) -> tuple[Exact, ...]:
        """The exact numbers of each work."""
        try:
            sources = {id(work.source): work.source for work in works}  # works often share one: its rows are read once
            rows = {name: relation(source, schemas) for name, source in sources.items()}
            return tuple(compute(work, rows[id(work.source)]) for work in works)
        except Exception:
            raise EngineFailed from None

    def grouping_sets(self, work: GroupingSets, schemas: Schemas) -> tuple[Cells, ...]:
        """The numbers of each set of keys."""
        try:
            return tuple(_cells(work, key_set, relation(work.source, schemas)) for key_set in work.sets)
        except Exception:
            raise EngineFailed from None


def memory() -> Memory:
    """An engine that computes in plain Python: right and slow, for small tables.

    >>> memory().columns([{"name": "a", "age": 7}])["age"].kind.value
    'integer'
    """
    return Memory()


# --- relations ------------------------------------------------------------------------------------------------------


def relation(node: Relation, schemas: Schemas) -> Rows:
    """All rows of a lowered relation."""
    match node:
        case Scan(table, numbered, lists):
            rows = memory_source.rows(schemas[table].table.source)
            rows = [{**row, EACH_ROW: i} for i, row in enumerate(rows)] if numbered else rows
            for elements in lists:
                rows = [{**row, elements.name: x} for row in rows for x in _elements(row[elements.column], elements)]
            return rows
        case Filter(source, predicate):
            return [row for row in relation(source, schemas) if evaluate(predicate, row) is True]
        case Project(source, columns):
            return [{name: evaluate(e, row) for name, e in columns} for row in relation(source, schemas)]
        case Join():
            return _join(node, schemas)
        case UnionAll(parts):
            names = column_names(parts[0], schemas)
            return [dict(zip(names, row.values(), strict=True)) for part in parts for row in relation(part, schemas)]
        case PerUnit():
            return _per_unit(node, relation(node.source, schemas))
        case UnitWindows(source, windows):
            return windowed(windows, relation(source, schemas))


def _elements(values: Sequence[Any] | None, how: Elements) -> Sequence[Any]:
    return values or ([None] if how.outer else [])


def column_names(node: Relation, schemas: Schemas) -> list[str]:
    """The names of a relation's columns, in order; known without its rows."""
    match node:
        case Scan(table, numbered, lists):
            return [*schemas[table].stored, *([EACH_ROW] if numbered else []), *(elements.name for elements in lists)]
        case Filter(source, _):
            return column_names(source, schemas)
        case Project(_, columns):
            return [name for name, _ in columns]
        case Join(left, right):
            names = column_names(left, schemas)
            for name in column_names(right, schemas):
                names.append(free_name(name, names))
            return names
        case UnionAll(parts):
            return column_names(parts[0], schemas)
        case PerUnit(_, keys, measures):
            return [name for name, _ in keys] + [measure.name for measure in measures]
        case UnitWindows(source, windows):
            return column_names(source, schemas) + [window.name for window in windows]


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name itself, or with the first of _2, _3, ... that is free.

    >>> free_name("x", ["x", "x_2"])
    'x_3'
    """
    candidate, n = name, 1
    while candidate in taken:
        n += 1
        candidate = f"{name}_{n}"
    return candidate


def _join(node: Join, schemas: Schemas) -> Rows:
    left, right = relation(node.left, schemas), relation(node.right, schemas)
    names = column_names(node, schemas)
    width = len(column_names(node.right, schemas))
    joined: Rows = []
    for a in left:
        partners = [b for b in right if all(_equal(a[x], b[y]) for x, y in node.on)]
        values = [[*a.values(), *b.values()] for b in partners]
        if node.how is How.LEFT and not partners:
            values = [[*a.values(), *[None] * width]]
        joined += [dict(zip(names, row, strict=True)) for row in values]
    return joined


def _equal(x: Any, y: Any) -> bool:
    return x is not None and y is not None and bool(x == y)


def _per_unit(node: PerUnit, rows: Rows) -> Rows:
    groups: dict[Key, Rows] = defaultdict(list)
    for row in rows:
        groups[tuple(evaluate(e, row) for _, e in node.keys)].append(row)
    names = [name for name, _ in node.keys]
    return [
        dict(zip(names, key, strict=True)) | {measure.name: _measure(measure, members) for measure in node.measures}
        for key, members in groups.items()
    ]


def _measure(measure: Measure, rows: Rows) -> Any:
    if measure.where is not None:
        rows = [row for row in rows if evaluate(measure.where, row) is True]
    if not measure.arguments:
        if measure.aggregate is not Aggregate.COUNT:
            raise ValueError("only COUNT has no argument")
        return len(rows)
    (argument,) = measure.arguments
    values = [value for value in (evaluate(argument, row) for row in rows) if value is not None]
    match measure.aggregate:
        case Aggregate.COUNT:
            return len(values)
        case Aggregate.COUNT_DISTINCT:
            return len(set(values))
        case Aggregate.SUM:
            return clamp(sum(values), -LARGEST, LARGEST) if values else None
        case Aggregate.MIN:
            return min(values, default=None)
        case Aggregate.MAX:
            return max(values, default=None)
        case _:
            raise ValueError("not a measure of one unit")


def windowed(windows: Sequence[Window], rows: Rows) -> Rows:
    """The rows with what each window says of them, one part and one row at a time."""
    widened = [dict(row) for row in rows]
    for window in windows:
        parts: dict[Key, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            parts[tuple(evaluate(e, row) for e in window.partition)].append(place)
        for part in parts.values():
            by = {i: tuple(_Placed(evaluate(o.expression, rows[i]), o.descending) for o in window.order) for i in part}
            part.sort(key=by.__getitem__)
            members, order = [rows[i] for i in part], [by[i] for i in part]
            for here, i in enumerate(part):
                widened[i][window.name] = _windowed(window, members, order, here)
    return widened


@functools.total_ordering
class _Placed:
    """A value in ORDER BY: NULL is last either way, and NaN is above all numbers."""

    def __init__(self, value: Any, descending: bool) -> None:
        self.value, self.descending = (value is None, value != value, 0 if value != value else value), descending  # noqa: PLR0124

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Placed) and self.value == other.value

    def __lt__(self, other: _Placed) -> bool:
        if self.value[0] or other.value[0]:
            return other.value[0] and not self.value[0]
        return other.value[1:] < self.value[1:] if self.descending else self.value[1:] < other.value[1:]

    __hash__ = None  # type: ignore[assignment]


def _windowed(window: Window, members: Rows, order: Sequence[tuple[_Placed, ...]], here: int) -> Any:
    """What one window says of the row that stands at ``here`` in its part."""
    match window.function, window.arguments:
        case "row_number", _:
            return here + 1
        case "rank", _:
            return order.index(order[here]) + 1
        case "dense_rank", _:
            return sum(order[i] != order[i - 1] for i in range(1, here + 1)) + 1
        case ("lag" | "lead") as name, (x, Literal(value=int(many))):
            place = here - many if name == "lag" else here + many
            return evaluate(x, members[place]) if 0 <= place < len(members) else None
    if window.rows is not None:
        first, last = window.rows
        low = 0 if first is None else max(0, here + first)
        frame = members[low : len(members) if last is None else max(low, here + last + 1)]
    elif window.order:
        frame = [row for row, place in zip(members, order, strict=True) if not order[here] < place]
    else:
        frame = members
    match window.function, window.arguments:
        case "first_value", (x,):
            return evaluate(x, frame[0]) if frame else None
        case "last_value", (x,):
            return evaluate(x, frame[-1]) if frame else None
        case _:
            return _measure(Measure(window.name, Aggregate(window.function), window.arguments), frame)


# --- works ----------------------------------------------------------------------------------------------------------


def compute(work: AnyWork, rows: Rows) -> Exact:
    """The exact numbers of one work over the rows of its source."""
    match work:
        case DistinctWork():
            return _distinct(work, rows)
        case TotalsWork():
            return _clipped(work, rows)
        case UnitClasses():
            return _classes(work, rows)
        case Work():
            return _sums(work, rows)


def _by_unit(work: AnyWork | GroupingSets, rows: Rows) -> dict[Any, dict[Key, Rows]]:
    """For each unit that is not NULL, its rows under each allowed combination of keys."""
    units: dict[Any, dict[Key, Rows]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        key = tuple(evaluate(k.expression, row) for k in work.keys)
        allowed = all(k.allowed is None or value in k.allowed for k, value in zip(work.keys, key, strict=True))
        if row[work.unit] is not None and allowed:
            units[row[work.unit]][key].append(row)
    return units


def _sums(work: Work, rows: Rows) -> Exact:
    if work.split is not None:
        values = [evaluate(work.split.expression, row) for row in rows]
        allowed = work.split.allowed
        kept = [v is not None and (allowed is None or v in allowed) for v in values]
        rows = [row for row, keep in zip(rows, kept, strict=True) if keep]
    totals: dict[Key, list[int]] = defaultdict(lambda: [0] * len(work.cells))
    for unit, by_key in _by_unit(work, rows).items():
        chosen = by_key if work.most_keys is None else smallest(unit, by_key, work.salt, work.most_keys)
        groups = {key: by_key[key] for key in chosen}
        sizes = [len(members) for members in groups.values()]
        w = unit_weight(work.weights, sizes)
        for key, members in groups.items():
            if work.split is not None and work.pick is not None:
                totals[(*key, _picked(work.split, work.pick, members))][0] += w
                continue
            if row_weight(work.weights, w, len(members)) == 0:
                _add_together(work, key, members, share(work.weights, w, sum(sizes), len(members)), totals)
            for row in members:
                out = key if work.split is None else (*key, evaluate(work.split.expression, row))
                for i, cell in enumerate(work.cells):
                    totals[out][i] += _contribution(cell, w, work.weights, row, members)
    return _exact(totals, len(work.cells))


def _add_together(work: Work, key: Key, members: Rows, part: tuple[int, int], totals: dict[Key, list[int]]) -> None:
    """What the rows of a unit in one group add when each of them weighs 0."""
    mass, size = part
    sums: dict[tuple[Key, int], int] = defaultdict(int)
    for row in members:
        out = key if work.split is None else (*key, evaluate(work.split.expression, row))
        for i, cell in enumerate(work.cells):
            if isinstance(cell, RowSum):
                sums[out, i] += evaluate(cell.value, row) or 0
    for (out, i), x in sums.items():
        totals[out][i] += mass * abs(x) // size * (1 if x > 0 else -1)


def share(weights: Weights, w: int, rows: int, in_group: int) -> tuple[int, int]:
    """By how much the sum of a unit's values in a group is scaled down when its rows weigh together."""
    if weights.form is Form.ROWS or weights.per_group is None:
        return weights.scale * weights.cap, rows
    return w * weights.per_group, in_group


def _cells(work: GroupingSets, key_set: tuple[int, ...], rows: Rows) -> Cells:
    """The numbers of one set: each row that counts adds its weight to the place of its keys in this set."""
    totals: dict[int, int] = defaultdict(int)
    for groups in _by_unit(work, rows).values():
        sizes: dict[int, int] = defaultdict(int)
        for key, members in groups.items():
            place = 0
            for i in key_set:
                allowed = work.keys[i].allowed or ()
                place = place * len(allowed) + allowed.index(key[i])
            sizes[place] += len(members)
        w = unit_weight(work.weights, list(sizes.values()))
        mass, many = share(work.weights, w, sum(sizes.values()), 0)
        for place, size in sizes.items():
            totals[place] += w * size if w else mass * size // many
    return Cells(np.array(list(totals), dtype=np.int64), np.array(list(totals.values()), dtype=np.int64))


def _picked(split: WorkKey, pick: tuple[int, int], members: Rows) -> Any:
    """The split under which a unit counts: the smallest by a line modulo a prime, with secret coefficients."""
    a, b = pick
    return min((evaluate(split.expression, row) for row in members), key=lambda s: ((a * s + b) % 2147483647, s))


def _contribution(cell: Cell, w: int, weights: Weights, row: Row, members: Rows) -> int:
    if isinstance(cell, RowSum):
        return row_weight(weights, w, len(members)) * (evaluate(cell.value, row) or 0)
    return w if row is members[0] else 0  # once for each unit


def unit_weight(weights: Weights, sizes: Sequence[int]) -> int:
    """w_u of a unit with ``sizes`` rows in its groups."""
    scale, cap = weights.scale, weights.cap
    if weights.form is Form.ROWS or weights.per_group is None:
        n = sum(sizes)
        return scale if n <= cap else scale * cap // n
    capped = [min(n, weights.per_group) for n in sizes]
    if weights.form is Form.L1:
        n = sum(capped)
        return scale if n <= cap else scale * cap // n
    square = sum(c * c for c in capped)
    return scale if square <= cap else math.isqrt(scale * scale * cap // square)


def row_weight(weights: Weights, w: int, n: int) -> int:
    """W_uk of each of the n rows that a unit of weight w has in one group."""
    if weights.per_group is None or n <= weights.per_group:
        return w
    return w * weights.per_group // n


def _distinct(work: DistinctWork, rows: Rows) -> Exact:
    seen: dict[Key, set[Any]] = defaultdict(set)
    for unit, groups in _by_unit(work, rows).items():
        pairs = {(*key, evaluate(work.value, row)) for key, members in groups.items() for row in members}
        present = [pair for pair in pairs if pair[-1] is not None]
        for *key, value in smallest(unit, present, work.salt, work.cap):
            seen[tuple(key)].add(value)
    return _exact({key: [len(values)] for key, values in seen.items()}, 1)


# --- totals of units ------------------------------------------------------------------------------------------------


def _clipped(work: TotalsWork, rows: Rows) -> Exact:
    sums: dict[Key, list[int]] = defaultdict(lambda: [0] * len(work.cells))
    for groups in kept_groups(work, rows):
        for i, cell in enumerate(work.cells):
            numbers = {key: number(cell.total, members) for key, members in groups.items()}
            w = clipped_weight(work.scale, cell.cap, length(numbers.values()))
            for key, x in numbers.items():
                sums[key][i] += w * x
    return _exact(sums, len(work.cells))


def _classes(work: UnitClasses, rows: Rows) -> Exact:
    units: dict[Key, list[int]] = defaultdict(lambda: [0])
    for groups in kept_groups(work, rows):
        for place, total in enumerate(work.totals):
            t = length(number(total, members) for members in groups.values())
            units[place, sum(edge < t for edge in work.edges)][0] += 1
    return _exact(units, 1)


def kept_groups(work: TotalsWork | UnitClasses, rows: Rows) -> Iterator[dict[Key, Rows]]:
    """For each unit that has rows that count, those of each of its groups; with ``most_keys``, of those it keeps."""
    for unit, groups in _by_unit(work, rows).items():
        kept = groups if work.most_keys is None else smallest(unit, groups, work.salt, work.most_keys)
        yield {key: groups[key] for key in kept}


def number(total: Total, members: Rows) -> int:
    """X_uk of a unit with these rows in a group."""
    return 1 if total.value is None else sum(evaluate(total.value, row) or 0 for row in members)


def length(numbers: Iterable[int]) -> int:
    """t_u of a unit with these numbers in its groups."""
    return sum(map(abs, numbers))


def clipped_weight(scale: int, cap: int, t: int) -> int:
    """w_u of a unit whose total has the length t.

    >>> clipped_weight(1000, 3, 3), clipped_weight(1000, 3, 4), clipped_weight(1000, 3, 3001)
    (1000, 750, 0)
    """
    return scale if t <= cap else scale * cap // t


# --- choosing by hash -----------------------------------------------------------------------------------------------


def smallest(unit: Any, keys: Iterable[Key], salt: str, count: int) -> list[Key]:
    """The keys with the smallest hashes; equal hashes by the keys themselves, NULL last."""
    return sorted(keys, key=lambda key: (hashed(salt, unit, key), [(v is None, v) for v in key]))[:count]


def hashed(salt: str, unit: Any, key: Key) -> str:
    """md5 of salt, unit and keys as text, in hexadecimal.

    >>> hashed("s", 7, ("a", None)) == hashlib.md5(b"s|7|a|", usedforsecurity=False).hexdigest()
    True
    """
    text = "|".join([salt, *map(as_text, (unit, *key))])
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def as_text(value: Any) -> str:
    """A key or unit as it enters the hash.

    >>> as_text(datetime(2024, 1, 2, 3, 4, 5)), as_text(True), as_text(None)
    ('2024-01-02T03:04:05.000000', 'true', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return value.isoformat() if isinstance(value, date) else str(value)


def _exact(totals: Mapping[Key, Sequence[int]], cells: int) -> Exact:
    arrays = []
    for i in range(cells):
        numbers = [values[i] for values in totals.values()]
        fits = all(-(1 << 63) <= n < 1 << 63 for n in numbers)
        arrays.append(np.array(numbers, dtype=np.int64 if fits else object))
    return Exact(tuple(totals), tuple(arrays))
