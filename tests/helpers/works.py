"""Works over a small table, what they are by hand, and dialects in which they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb as driver
import pyarrow as pa
from hypothesis import strategies as st

from discreet.engines.duckdb.engine import duckdb
from discreet.engines.experimental.databases import WAREHOUSES
from discreet.engines.sql.dialects import DUCKDB, POSTGRES, SPARK, Dialect, Shape, Sort
from discreet.engines.sql.emit import emit
from discreet.engines.sql.primitives import write
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.scope import Piece, Scope
from discreet.errors import Unsupported
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import Project, Scan
from discreet.query.plan.schema import Schema, Stored, StoredKind, Table
from discreet.query.plan.work import AnyWork, Cell, DistinctWork, Form, RowSum, UnitSum, Weights, Work, WorkKey

DIALECTS = [DUCKDB, POSTGRES, SPARK]
EXPERIMENTAL = [warehouse.dialect for warehouse in WAREHOUSES.values()]
PARSERS = {"sqlserver": "tsql", "mariadb": "mysql"}
"""What sqlglot calls them."""
U, K, X = Column("__unit"), Column("k"), Column("x")
ONE = RowSum(Literal(1))
STORED = {"u": Stored(StoredKind.INTEGER), "k": Stored(StoredKind.TEXT), "x": Stored(StoredKind.INTEGER)}


def f(name: str, *arguments: Any) -> Call:
    return Call(name, tuple(a if isinstance(a, Column | Literal | Call) else Literal(a) for a in arguments))


ROWS = Project(
    Scan("t"), (("__unit", Column("u")), ("k", f("read_text", Column("k"))), ("x", f("read_integer", X, -100, 100)))
)


def work(form: Form, cap: int, each: int | None, *cells: Cell, allowed: Any = None, **more: Any) -> Work:
    keys = more.pop("keys", (WorkKey("k", K, allowed),))
    weights = Weights(form=form, cap=cap, scale=more.pop("scale", 60), per_group=each)
    return Work(source=ROWS, unit="__unit", keys=keys, cells=cells, weights=weights, **more)


# Unit 1 has three rows in a, two in b, one in c; unit 2 one in a; unit 3 one in b (and a NULL); nobody has one in a.
TABLE = pa.table(
    {
        "u": [1, 1, 1, 1, 1, 1, 2, 3, None],
        "k": ["a", "a", "a", "b", "b", "c", "a", "b", "a"],
        "x": [1, 2, 3, 10, 20, 500, 7, None, 9],
    }
)


def answer(asked: AnyWork, table: pa.Table = TABLE) -> dict[Any, Any]:
    """What the engine over DuckDB computes."""
    engine = duckdb(threads=2)
    schema = Schema(table=Table(source=table, unit="u"), stored=engine.columns(table), fields={})
    (exact,) = engine.run([asked], {"t": schema})
    return {key: tuple(int(n[i]) for n in exact.numbers) for i, key in enumerate(exact.keys)}


_ODD = WorkKey("s", f("mod", X, 2), None)
_SPLIT = WorkKey("s", X, None)
BY_HAND: dict[str, tuple[AnyWork, dict[Any, tuple[int, ...]]]] = {
    # unit 1: six rows, cap 3: each weighs 60*3 // 6 = 30
    "rows": (
        work(Form.ROWS, 3, None, ONE, RowSum(X)),
        {("a",): (3 * 30 + 60, 6 * 30 + 7 * 60), ("b",): (2 * 30 + 60, 30 * 30), ("c",): (30, 100 * 30)},
    ),
    # cap 4: 60*4 // 6 = 40; without keys the same rows, and the unit itself counts once
    "units": (work(Form.ROWS, 4, None, ONE, UnitSum(), keys=()), {(): (6 * 40 + 2 * 60, 40 + 2 * 60)}),
    # rows whose key is not listed do not count: unit 1 has three rows left, and all of them weigh 60
    "listed rows": (
        work(Form.ROWS, 3, None, ONE, allowed=("b", "c", "d")), {("b",): (3 * 60,), ("c",): (60,)},
    ),
    "listed groups": (work(Form.L1, 3, 2, ONE, allowed=("b", None)), {("b",): (3 * 60,)}),
    # unit 1: min(3, 2) + 2 + 1 = 5 > 4: w = 60*4 // 5 = 48; in a it has 3 rows for 2: 48*2 // 3 = 32
    "L1": (
        work(Form.L1, 4, 2, ONE, RowSum(X)),
        {("a",): (3 * 32 + 60, 6 * 32 + 7 * 60), ("b",): (2 * 48 + 60, 30 * 48), ("c",): (48, 100 * 48)},
    ),
    # unit 1: 4 + 4 + 1 = 9 > 5: w = isqrt(3600*5 // 9) = isqrt(2000) = 44; in a: 44*2 // 3 = 29
    "L2": (
        work(Form.L2, 5, 2, ONE, RowSum(X)),
        {("a",): (3 * 29 + 60, 6 * 29 + 7 * 60), ("b",): (2 * 44 + 60, 30 * 44), ("c",): (44, 100 * 44)},
    ),
    # each unit once in each group: w = isqrt(3600*2 // 3) = 48
    "presence": (work(Form.L2, 2, 1, UnitSum()), {("a",): (108,), ("b",): (108,), ("c",): (48,)}),
    # as L1, rows apart by parity; the NULL of unit 3 has no split, so unit 3 has no row
    "split": (
        work(Form.L1, 4, 2, ONE, split=_ODD),
        {("a", 0): (32,), ("a", 1): (64 + 60,), ("b", 0): (96,), ("c", 0): (48,)},
    ),
    # one split for each unit and group: the order is that of (a*s + b) mod 2^31 - 1, here that of s itself
    "pick": (
        work(Form.L1, 3, 1, ONE, split=_SPLIT, pick=(1, 0), scale=1),
        {("a", 1): (1,), ("a", 7): (1,), ("b", 10): (1,), ("c", 100): (1,)},
    ),
    # here with a = -1 the reverse
    "pick the other end": (
        work(Form.L1, 3, 1, ONE, split=_SPLIT, pick=(2147483646, 0), scale=1),
        {("a", 3): (1,), ("a", 7): (1,), ("b", 20): (1,), ("c", 100): (1,)},
    ),
    "distinct": (
        DistinctWork(source=ROWS, unit="__unit", keys=(), value=X, cap=1 << 16, salt=""), {(): (7,)},
    ),  # 1, 2, 3, 10, 20, 100, 7
    "distinct, one each": (DistinctWork(source=ROWS, unit="__unit", keys=(), value=X, cap=1, salt=""), {(): (2,)}),
}  # fmt: skip
"""Works over ``TABLE`` and what they are, worked out by hand."""


def computed(asked: AnyWork, shape: Shape, table: pa.Table = TABLE) -> dict[Any, tuple[int, ...]]:
    """What DuckDB computes by a statement of another shape than the one that is quick there."""
    statement = emit(asked, replace(DUCKDB, shape=shape), {"t": Origin("given", STORED)})
    with driver.connect() as connection:
        connection.register("given", table)
        connection.execute("CREATE MACRO shiftright(x, n) AS x >> n")  # a function of Spark
        rows = connection.execute(statement.sql).fetchall()
    width = len(statement.keys)
    return {row[:width]: tuple(map(int, row[width:])) for row in rows}


HOSTILE = [
    "'",
    "''",
    '"',
    "\\",
    "\\'",
    "';--",
    "a\0b",
    "\n",
    "$1",
    "{0}",
    "%s",
    "é",
    "日本",
    "\u202e",
    "👍",
    "E'x'",
    "\ue000",
]
ANY_TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20))


def refusal(dialect: Dialect, probe: Call) -> str | None:
    """Why a dialect cannot write an expression; None if it can."""
    columns = {
        "t": Piece(dialect.identifier("t"), Sort.TEXT, simple=True),
        **{name: Piece(dialect.identifier(name), Sort.OTHER, simple=True) for name in "ijxsbdm"},
    }
    try:
        write(probe, Scope(dialect, columns))
    except Unsupported as error:
        return str(error)
    return None
