"""A made-up table, computed by a server and by plain Python before the first question: do they agree?

Promise: a server that means something else by a primitive, by the choice of keys or by the bounding, in any of the
values below, is refused before it sees data and before anything is paid. The table travels inside the statements:
nothing is written and no table of the owner is read.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import date, datetime
from itertools import cycle, islice
from typing import Any

from discreet.engines.experimental.result import exact
from discreet.engines.experimental.source import Run
from discreet.engines.memory.engine import memory
from discreet.engines.sql.dialects import Dialect, Sort
from discreet.engines.sql.emit import Statement, emit
from discreet.engines.sql.relations import Origin
from discreet.errors import BadData, Unsupported
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Join, Measure, PerUnit, Project, Scan
from discreet.query.plan.schema import Schema, Stored, StoredKind, Table
from discreet.query.plan.types import Value
from discreet.query.plan.work import (
    AnyWork,
    ClippedSum,
    DistinctWork,
    Exact,
    Form,
    RowSum,
    Total,
    TotalsWork,
    UnitClasses,
    UnitSum,
    Weights,
    Work,
    WorkKey,
)

LOG = logging.getLogger("discreet.engines")

_BIG = 1 << 62
_ROWS = 24
_VALUES: dict[str, tuple[Sort, StoredKind, Sequence[Any]]] = {
    "id": (Sort.INTEGER, StoredKind.INTEGER, range(_ROWS)),
    "i": (Sort.INTEGER, StoredKind.INTEGER, [0, 7, -7, 8, -8, None, 2**53 + 1, -(2**53) - 1, _BIG - 1, 1 - _BIG]),
    "j": (Sort.INTEGER, StoredKind.INTEGER, [2, -2, 3, 0, 10, None, -10]),
    "x": (Sort.REAL, StoredKind.REAL, [0.0, -0.5, 0.5, 1.5, -2.5, 0.1, 99.99, -1e300, 1e300, None, 4503599627370497.0]),
    "t": (Sort.TEXT, StoredKind.TEXT,
          ["a", "A", "a ", "", " ", "é", "e\u0301", None, "👍b", "it's", "a\\b", "a%b", "a|b", "+7", "7", "7\n", " 7",
           "-0", "2024-02-29", "2023-02-29", "\uffff", "\U00010000", "[a]", "É"]),
    "s": (Sort.TEXT, StoredKind.TEXT, ["a", "b", "a ", "A", None, "é", ""]),
    "b": (Sort.BOOLEAN, StoredKind.BOOLEAN, [True, False, None, True, True]),
    "d": (Sort.DATE, StoredKind.DATE,
          [date.min, date(1582, 10, 10), date(1969, 12, 28), date(2000, 2, 29), date(2023, 12, 31), None, date.max]),
    "m": (Sort.TIMESTAMP, StoredKind.TIMESTAMP,
          [datetime.min, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 13, 5), None, datetime.max]),
}  # fmt: skip


def table() -> dict[str, list[Any]]:
    """The made-up rows, by column."""
    return {name: list(islice(cycle(values), _ROWS)) for name, (_, _, values) in _VALUES.items()}


def origin(dialect: Dialect) -> Origin:
    """The same rows as an item for FROM."""
    selects = []
    for row in zip(*table().values(), strict=True):
        cells = (
            f"{_cell(value, sort, dialect)} AS {dialect.identifier(name)}"
            for value, (name, (sort, _, _)) in zip(row, _VALUES.items(), strict=True)
        )
        selects.append(f"SELECT {', '.join(cells)}")
    return Origin(f"({' UNION ALL '.join(selects)})", {name: Stored(kind) for name, (_, kind, _) in _VALUES.items()})


def _cell(value: Any, sort: Sort, d: Dialect) -> str:
    if value is None:
        return d.cast("NULL", sort)
    if isinstance(value, float):
        return d.real(value)
    return d.call("binary", d.cast(d.text(value), sort)) if isinstance(value, str) else d.literal(value)


# --- what is asked ----------------------------------------------------------------------------------------------------


def _f(function: str, *arguments: Expression | Value) -> Call:
    return Call(function, tuple(a if isinstance(a, Column | Literal | Call) else Literal(a) for a in arguments))


_I, _J = (_f("read_integer", Column(name), -_BIG, _BIG) for name in "ij")
_X = _f("read_real", Column("x"), -3, -8000, 8000)
_T, _S, _B = _f("read_text", Column("t")), _f("read_text", Column("s")), _f("read_boolean", Column("b"))
_D, _M = _f("read_date", Column("d")), _f("read_timestamp", Column("m"))
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute")

PROBES: tuple[Call, ...] = (
    _X, _T, _B, _D, _M, _f("read_integer", Column("i"), -7, 7), _f("read_coarse", Column("i"), 0, 1, -_BIG, _BIG),
    _f("read_real", Column("x"), -60, -_BIG, _BIG), _f("read_whole", Column("x")),
    _f("is_null", _f("read_float", Column("x"))),
    _f("add", _J, 1), _f("sub", _J, 3), _f("mul", _J, -5), _f("neg", _I), _f("abs", _I), _f("sign", _I),
    _f("least", _I, _J), _f("greatest", _I, _J), _f("div", _I, _J), _f("mod", _I, _J),
    *(_f(name, _I, n) for name in ("round_div", "floor_div", "ceil_div") for n in (2, 7, 2**53 + 1)),
    *(_f("root", _f("read_integer", Column("i"), 0, high)) for high in (8, 2**53 + 1, _BIG - 1)),
    _f("curve", _f("read_integer", Column("i"), -9, _BIG), -9, -3, 0, 0, 1, 1, -7, 5, 40, 1, 3, 2, 8, 2**40, 7, 0, 2,
       4),
    _f("eq", _T, _S), _f("ne", _T, "a"), _f("lt", _I, _J), _f("le", _D, date(2000, 2, 29)), _f("gt", _M, _M),
    _f("ge", _J, 2), _f("lt", _T, _S), _f("gt", _T, "\uffff"),
    _f("in", _T, "a", "é", "it's", "a\\b", "a|b"), _f("in", _J, 2, -10), _f("is_null", _T),
    _f("and", _B, _f("gt", _J, 0)), _f("or", _B, _f("is_null", _J)), _f("not", _B), _f("not", _f("eq", _T, _S)),
    _f("case", _B, _I, _f("eq", _T, "a"), _J, 0), _f("coalesce", _T, _S, "none"), _f("eq", _B, _f("is_null", _T)),
    *(_f("like", _T, pattern) for pattern in ("a%", "%b", "%\\%", "[a]", "a|b", "%'%")), _f("like", _T, "_"),
    _f("lower", _T), _f("upper", _T), _f("trim", _T), _f("ltrim", _T), _f("rtrim", _T), _f("length", _T),
    _f("substring", _T, 2, 2), _f("concat", _T, "|"),
    *(_f(name, _T, word) for name in ("starts_with", "ends_with", "contains") for word in ("", "a", " ", "b")),
    _f("text_to_integer", _T), _f("integer_to_text", _I), _f("date_to_text", _D), _f("boolean_to_integer", _B),
    _f("split_part", _T, " ", 2), _f("right", _T, 2), _f("right", _T, 0), _f("replace", _T, "a", "b'"),
    _f("regexp_extract", _T, "^[a-z]{0,1}(.{1,2})$"), _f("regexp_replace", _T, "([^a])", "<\\1$>", True),
    _f("regexp_replace", _T, "[a ]", "\\\\", False), _f("replace", _T, " ", ""),
    _f("text_to_date", _T), _f("text_to_timestamp", _T),
    _f("read_coarse", _f("text_to_decimal", _T), 20, -4, -_BIG, _BIG), _f("timestamp_to_date", _M),
    _f("date_to_timestamp", _D),
    *(_f(part, x) for part in ("year", "quarter", "month", "day", "day_of_week", "day_of_year") for x in (_D, _M)),
    *(_f(part, _M) for part in ("hour", "minute", "second")),
    *(_f("date_trunc", unit, x) for unit in _UNITS for x in (_D, _M) if x is _M or unit not in _UNITS[5:]),
    _f("days_between", _D, date(2000, 1, 1)), _f("add_days", _D, 40), _f("add_days", _D, -400),
    _f("seconds_between", _M, datetime(2000, 1, 1)), *(_f("add_seconds", _M, n) for n in (1, -90_061, 2**31)),
)  # fmt: skip
"""Every primitive, on values where databases are known to differ."""

_ROWS_READ = Project(Scan("t"), (("u", _J), ("name", _S), ("t", _T), ("b", _B), ("i", _X), ("d", _D), ("m", _M)))
_BATCH = 8


def _values(probes: Sequence[Call]) -> Work:
    """A work whose rows out are the values themselves."""
    unit = _f("read_integer", Column("id"), 0, _ROWS)
    names = [f"v{n}" for n in range(len(probes))]
    source = Project(Scan("t"), (("u", unit), ("id", unit), *zip(names, probes, strict=True)))
    keys = tuple(WorkKey(name, Column(name), None) for name in ("id", *names))
    return Work(source=source, unit="u", keys=keys, cells=(RowSum(Literal(1)),), weights=_weights(Form.ROWS, 1))


def _weights(form: Form, cap: int, each: int | None = None) -> Weights:
    return Weights(form=form, cap=cap, scale=1000, per_group=each)


def _key(name: str, *allowed: Value) -> WorkKey:
    return WorkKey(name, Column(name), allowed or None)


def bounded() -> list[AnyWork]:
    """Every shape of bounding, with units and keys of text, and keys chosen by hash."""
    count, total, split = (
        RowSum(Literal(1)),
        RowSum(Column("i")),
        WorkKey("s", _f("mod", _f("abs", Column("i")), 5), None),
    )
    rows, text = _ROWS_READ, _key("t")
    again = Project(rows, (("name", Column("name")), ("d", Column("d"))))
    measures = (
        Measure("n", Aggregate.COUNT, ()),
        Measure("i", Aggregate.SUM, (Column("i"),)),
        Measure("texts", Aggregate.COUNT_DISTINCT, (Column("t"),)),
    )
    each = PerUnit(rows, (("name", Column("name")), ("b", Column("b"))), measures)
    return [
        Work(source=rows, unit="name", keys=(), cells=(count, total, UnitSum()), weights=_weights(Form.ROWS, 2)),
        Work(source=rows, unit="u", keys=(_key("t", "a", "a ", "A", None),), cells=(count, total),
             weights=_weights(Form.ROWS, 1)),
        Work(source=rows, unit="name", keys=(text, _key("b")), cells=(count, UnitSum()),
             weights=_weights(Form.L2, 3, 1)),
        Work(source=rows, unit="u", keys=(text, _key("d")), cells=(count, total), weights=_weights(Form.L1, 3, 2),
             most_keys=2, salt="s|'\\"),
        Work(source=rows, unit="name", keys=(_key("m"),), cells=(count,), weights=_weights(Form.L2, 3, 2), split=split),
        Work(source=rows, unit="u", keys=(_key("b"),), cells=(count,), weights=_weights(Form.L1, 2, 1), split=split,
             pick=(12345, 678)),
        DistinctWork(source=rows, unit="name", keys=(_key("b"),), value=Column("t"), cap=2, salt="x"),
        Work(source=Join(rows, again, (("name", "name"),)), unit="u", keys=(_key("d"),), cells=(total,),
             weights=_weights(Form.ROWS, 2)),
        Work(source=each, unit="name", keys=(_key("n"),), cells=(total, RowSum(Column("texts"))),
             weights=_weights(Form.ROWS, 2)),
    ]  # fmt: skip


def totals() -> list[AnyWork]:
    """Clipped totals and classes of units: presence, rows, small numbers, and sums beyond 64 bits."""
    rows = Project(Scan("t"), (("name", _S), ("t", _T), ("b", _B), ("i", _I), ("x", _X)))
    some = (Total(None), Total(Literal(1)), Total(Column("i")), Total(Column("x")))
    cells = tuple(ClippedSum(total, cap) for total, cap in zip(some, (1, 2, (1 << 42) - 1, 5000), strict=True))
    edges = (0, 1, 2, 3, 8, 8000, 2**53, 2**53 + 1, _BIG - 2, _BIG - 1)
    grouped: list[dict[str, Any]] = [
        {"keys": ()},
        {"keys": (_key("t", "a", "a ", "A", None),)},
        {"keys": (_key("t"), _key("b")), "most_keys": 2, "salt": "s|'\\"},
    ]  # fmt: skip
    works: list[AnyWork] = []
    for more in grouped:
        base: dict[str, Any] = {"source": rows, "unit": "name", **more}
        works.append(TotalsWork(cells=(*cells, ClippedSum(some[2], 1)), scale=1 << 20, **base))
        works.append(UnitClasses(totals=some, edges=edges, **base))
    return works


# --- held against plain Python ----------------------------------------------------------------------------------------


def check_server(dialect: Dialect, run: Run) -> None:
    """Raise ``BadData`` unless the server gives the numbers of plain Python; what the dialect refuses is left out."""
    here = origin(dialect)
    for what, work in works(dialect, here):
        if not agrees(work, dialect, here, run):
            raise BadData(
                f"this {dialect.name} server must compute as plain Python does, and does not: it differs in {what}; "
                "see docs/how-to/warehouses.md"
            )


def agrees(work: AnyWork, dialect: Dialect, here: Origin, run: Run) -> bool:
    """Whether the server gives the numbers of plain Python."""
    schemas = {"t": Schema(table=Table(source=table(), unit="id"), stored=here.stored, fields={})}
    (right,) = memory().run([work], schemas)
    return _computed(work, emit(work, dialect, {"t": here}), dialect, run) == _numbers(right)


def works(dialect: Dialect, here: Origin) -> list[tuple[str, AnyWork]]:
    """What is asked of the server, and what it is called; without what the dialect refuses."""
    probes = [probe for probe in PROBES if _can(_values([probe]), dialect, here)]
    batches = [probes[n : n + _BATCH] for n in range(0, len(probes), _BATCH)]
    named = [("one of " + ", ".join(dict.fromkeys(p.function for p in batch)), _values(batch)) for batch in batches]
    others = [("the bounding", work) for work in bounded()] + [("the totals of units", work) for work in totals()]
    return [*named, *((what, work) for what, work in others if _can(work, dialect, here))]


def _can(work: AnyWork, dialect: Dialect, here: Origin) -> bool:
    try:
        emit(work, dialect, {"t": here})
    except Unsupported:
        return False
    return True


def _computed(work: AnyWork, statement: Statement, dialect: Dialect, run: Run) -> object:
    try:
        return _numbers(exact(work, statement, run(statement.sql), dialect))
    except Exception as error:  # these rows are nobody's: the owner may see all of what the server says
        LOG.error("%s could not compute a made-up table: %s", dialect.name, " ".join(str(error).split())[:500])
        return None


def _numbers(result: Exact) -> dict[Any, tuple[int, ...]]:
    """By key, with the type of each: True is not 1."""
    return {
        tuple((type(value), value) for value in key): tuple(int(column[i]) for column in result.numbers)
        for i, key in enumerate(result.keys)
    }
