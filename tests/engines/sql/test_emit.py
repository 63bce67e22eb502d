"""The emitter: one statement whatever is asked, all names and values quoted, the numbers of work.py by hand."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import duckdb as driver
import pyarrow as pa
import pytest
import sqlglot
import sqlglot.expressions as exp
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb.engine import duckdb
from discreet.engines.experimental.databases import WAREHOUSES
from discreet.engines.sql.dialects import COMMON, DUCKDB, POSTGRES, SPARK, Dialect, Sort
from discreet.engines.sql.emit import emit
from discreet.engines.sql.primitives import WRITTEN, write
from discreet.engines.sql.relations import Origin
from discreet.engines.sql.scope import Piece, Scope
from discreet.errors import Unsupported
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Aggregate, Filter, Join, Measure, PerUnit, Project, Scan, UnionAll
from discreet.query.plan.primitives import PRIMITIVES
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


# --- numbers by hand ------------------------------------------------------------------------------------------------

# Unit 1 has three rows in a, two in b, one in c; unit 2 one in a; unit 3 one in b (and a NULL); nobody has one in a.
TABLE = pa.table(
    {
        "u": [1, 1, 1, 1, 1, 1, 2, 3, None],
        "k": ["a", "a", "a", "b", "b", "c", "a", "b", "a"],
        "x": [1, 2, 3, 10, 20, 500, 7, None, 9],
    }
)


def answer(asked: AnyWork, table: pa.Table = TABLE) -> dict[Any, Any]:
    engine = duckdb(threads=2)
    schema = Schema(table=Table(source=table, unit="u"), stored=engine.columns(table), fields={})
    (exact,) = engine.run([asked], {"t": schema})
    return {key: tuple(int(n[i]) for n in exact.numbers) for i, key in enumerate(exact.keys)}


def test_rows_of_a_heavy_unit_weigh_less() -> None:
    # unit 1: six rows, cap 3: each weighs 60*3 // 6 = 30
    assert answer(work(Form.ROWS, 3, None, ONE, RowSum(X))) == {
        ("a",): (3 * 30 + 60, (1 + 2 + 3) * 30 + 7 * 60),
        ("b",): (2 * 30 + 60, 30 * 30 + 0),
        ("c",): (30, 100 * 30),
    }
    # cap 4: 60*4 // 6 = 40; without keys the same rows, and the unit itself counts once
    assert answer(work(Form.ROWS, 4, None, ONE, UnitSum(), keys=())) == {(): (6 * 40 + 2 * 60, 40 + 2 * 60)}


def test_a_row_whose_key_is_not_listed_weighs_nothing_and_weighs_nobody_down() -> None:
    # unit 1 has three rows left: all of them count
    assert answer(work(Form.ROWS, 3, None, ONE, allowed=("b", "c", "d"))) == {("b",): (3 * 60,), ("c",): (60,)}
    assert answer(work(Form.L1, 3, 2, ONE, allowed=("b", None))) == {("b",): (3 * 60,)}


def test_groups_of_a_heavy_unit_weigh_less_in_length_l1() -> None:
    # unit 1: min(3, 2) + 2 + 1 = 5 > 4: w = 60*4 // 5 = 48; in a it has 3 rows for 2: 48*2 // 3 = 32
    assert answer(work(Form.L1, 4, 2, ONE, RowSum(X))) == {
        ("a",): (3 * 32 + 60, 6 * 32 + 7 * 60),
        ("b",): (2 * 48 + 60, 30 * 48),
        ("c",): (48, 100 * 48),
    }


def test_groups_of_a_heavy_unit_weigh_less_in_length_l2() -> None:
    # unit 1: 4 + 4 + 1 = 9 > 5: w = isqrt(3600*5 // 9) = isqrt(2000) = 44; in a: 44*2 // 3 = 29
    assert answer(work(Form.L2, 5, 2, ONE, RowSum(X))) == {
        ("a",): (3 * 29 + 60, 6 * 29 + 7 * 60),
        ("b",): (2 * 44 + 60, 30 * 44),
        ("c",): (44, 100 * 44),
    }
    # each unit once in each group: w = isqrt(3600*2 // 3) = 48
    assert answer(work(Form.L2, 2, 1, UnitSum())) == {("a",): (108,), ("b",): (108,), ("c",): (48,)}


def test_a_split_is_not_seen_by_the_bounding() -> None:
    split = WorkKey("s", f("mod", X, 2), None)
    # as above, rows apart by parity; the NULL of unit 3 has no split, so unit 3 has no row
    assert answer(work(Form.L1, 4, 2, ONE, split=split)) == {
        ("a", 0): (32,),
        ("a", 1): (64 + 60,),
        ("b", 0): (96,),
        ("c", 0): (48,),
    }


def test_a_pick_counts_each_unit_once_in_a_group() -> None:
    split = WorkKey("s", X, None)
    # the order is that of (a*s + b) mod 2^31 - 1; with a = 1, b = 0 that of s itself, with a = -1 the reverse
    asked = {"split": split, "scale": 1}
    assert answer(work(Form.L1, 3, 1, ONE, pick=(1, 0), **asked)) == {
        ("a", 1): (1,),
        ("a", 7): (1,),
        ("b", 10): (1,),
        ("c", 100): (1,),
    }
    assert ("a", 3) in answer(work(Form.L1, 3, 1, ONE, pick=(2147483646, 0), **asked))
    listed = WorkKey("s", X, (2, 20))
    assert set(answer(work(Form.L1, 3, 1, ONE, pick=(1, 0), split=listed))) == {("a", 2), ("b", 20)}


def test_a_unit_with_too_many_keys_keeps_some() -> None:
    asked = work(Form.L1, 2, 1, UnitSum(), most_keys=2, salt="s")
    kept = answer(asked)
    assert sum(n for (n,) in kept.values()) == 4 * 60
    others = {tuple(sorted(answer(work(Form.L1, 2, 1, UnitSum(), most_keys=2, salt=str(n))))) for n in range(12)}
    assert len(others) > 1  # which ones, the salt decides


def test_different_values_of_a_heavy_unit_are_cut() -> None:
    asked = DistinctWork(source=ROWS, unit="__unit", keys=(), value=X, cap=1 << 16, salt="")
    assert answer(asked) == {(): (7,)}  # 1, 2, 3, 10, 20, 100, 7
    one = DistinctWork(source=ROWS, unit="__unit", keys=(), value=X, cap=1, salt="")
    assert answer(one) == {(): (2,)}


def test_an_empty_table_has_no_groups() -> None:
    for asked in (work(Form.ROWS, 1, None, ONE), work(Form.L2, 1, 1, ONE), work(Form.ROWS, 1, None, ONE, keys=())):
        assert answer(asked, TABLE.slice(0, 0)) == {}


def test_a_root_that_a_double_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="exact"):
        emit(work(Form.L2, 1 << 20, 1, ONE, scale=1 << 16), DUCKDB, {"t": Origin("t", STORED)})


# --- every shape, every dialect -------------------------------------------------------------------------------------

SPLIT = WorkKey("s", X, None)
PLACES = Project(Scan("t"), (("k", f("read_text", Column("k"))), ("y", f("read_integer", X, 0, 9))))
JOINED = Join(ROWS, PLACES, (("k", "k"),))
SUMMED = PerUnit(ROWS, (("__unit", U), ("k", K)), (Measure("x", Aggregate.SUM, (X,)),))
WORKS: dict[str, AnyWork] = {
    "units": work(Form.ROWS, 3, None, ONE, RowSum(X), UnitSum(), keys=()),
    "rows": work(Form.ROWS, 3, None, ONE, RowSum(X), allowed=("a", "b")),
    "pairs": work(Form.L2, 3, 1, ONE, RowSum(X), UnitSum(), allowed=("a", None)),
    "hash": work(Form.L1, 3, 2, ONE, most_keys=3, salt="it's"),
    "split by rows": work(Form.ROWS, 3, None, ONE, split=SPLIT),
    "split by pairs": work(Form.L2, 3, 2, ONE, split=SPLIT),
    "split by hash": work(Form.L2, 3, 2, ONE, split=SPLIT, most_keys=2),
    "pick": work(Form.L2, 3, 1, ONE, split=SPLIT, pick=(5, 7)),
    "distinct": DistinctWork(source=ROWS, unit="__unit", keys=(WorkKey("k", K, None),), value=X, cap=3, salt="s"),
    "join": Work(source=JOINED, unit="__unit", keys=(WorkKey("k", K, None),), cells=(ONE,),
                 weights=Weights(form=Form.ROWS, cap=2, scale=5)),
    "per unit": Work(source=SUMMED, unit="__unit", keys=(), cells=(RowSum(X),),
                     weights=Weights(form=Form.ROWS, cap=2, scale=5)),
    "union": Work(source=UnionAll((ROWS, Filter(ROWS, f("gt", X, 3)))), unit="__unit", keys=(), cells=(ONE,),
                  weights=Weights(form=Form.ROWS, cap=2, scale=5)),
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS + EXPERIMENTAL, ids=lambda d: d.name)
@pytest.mark.parametrize("asked", WORKS.values(), ids=WORKS)
def test_a_work_is_one_select(asked: AnyWork, dialect: Dialect) -> None:
    name = "it's; t" if dialect.any_name else "its t"
    statement = emit(asked, dialect, {"t": Origin(dialect.identifier(name), STORED)})
    (tree,) = sqlglot.parse(statement.sql, dialect=PARSERS.get(dialect.name, dialect.name))
    assert isinstance(tree, exp.Select)
    assert tree.named_selects == [*(name for name, _ in statement.keys), *(f"n{i}" for i in range(statement.cells))]
    named = {table.name for table in tree.find_all(exp.Table)} - {cte.alias for cte in tree.find_all(exp.CTE)}
    assert named == {name}


def test_the_sql_of_a_typical_question() -> None:
    asked = work(Form.L2, 10, 1, ONE, RowSum(X), allowed=("North", "it's"), scale=1 << 20)
    sql = emit(asked, DUCKDB, {"t": Origin("read_parquet(['visits.parquet'])", STORED, {"x": 1 << 31})}).sql
    assert sql == (
        "SELECT CAST(k0 AS VARCHAR) AS k0, n0, n1 FROM (\n"
        'WITH pairs AS MATERIALIZED (SELECT u, k0, count(*) AS n, sum(v2) AS xv2 FROM (SELECT "c0" AS u, '
        'TRY_CAST("c1" AS ENUM(\'North\', \'it\'\'s\')) AS k0, "c2" AS v2 FROM (SELECT "u" AS "c0", '
        'CAST("k" AS VARCHAR) AS "c1", CASE WHEN "x" < CAST(-100 AS BIGINT) THEN CAST(-100 AS BIGINT) '
        'WHEN "x" > CAST(100 AS BIGINT) THEN CAST(100 AS BIGINT) ELSE CAST("x" AS BIGINT) END AS "c2" '
        "FROM read_parquet(['visits.parquet']) AS t) AS t) AS b GROUP BY u, k0 "
        "HAVING u IS NOT NULL AND k0 IS NOT NULL),\n"
        "units AS (SELECT u, CASE WHEN q <= CAST(10 AS BIGINT) THEN CAST(1048576 AS BIGINT) ELSE "
        "CAST(floor(sqrt(CAST((CAST(10995116277760 AS BIGINT) // q) AS DOUBLE))) AS BIGINT) END AS w "
        "FROM (SELECT u, count(*) AS q FROM pairs GROUP BY u) AS t),\n"
        "weighed AS (SELECT p.u, p.k0, p.n, p.xv2, g.w FROM pairs AS p JOIN units AS g ON p.u = g.u)\n"
        "SELECT k0, coalesce(sum(r * n), 0) AS n0, coalesce(sum(r * xv2), 0) AS n1 FROM (SELECT k0, n, xv2, w, "
        "CASE WHEN n <= CAST(1 AS BIGINT) THEN w ELSE ((w * CAST(1 AS BIGINT)) // n) END AS r "
        "FROM (SELECT k0, n, xv2, w FROM weighed) AS t) AS t GROUP BY k0) AS t"
    )


def test_products_that_may_not_fit_are_wide() -> None:
    def products(reach: int) -> str:
        rows = Project(Scan("t"), (*ROWS.columns[:2], ("x", f("read_integer", X, -reach, reach))))
        asked = work(Form.ROWS, 3, None, RowSum(X), scale=1 << 20)
        wide = Work(source=rows, unit="__unit", keys=asked.keys, cells=asked.cells, weights=asked.weights)
        return emit(wide, DUCKDB, {"t": Origin("t", STORED)}).sql

    assert "HUGEINT" not in products(1 << 41)
    assert "HUGEINT" in products(1 << 42)


# --- primitives -----------------------------------------------------------------------------------------------------


def test_every_primitive_is_written_in_every_dialect() -> None:
    assert WRITTEN == PRIMITIVES
    words = set(DUCKDB.templates) | set(POSTGRES.templates) | set(SPARK.templates)
    for dialect in DIALECTS:
        assert words - set(dialect.templates) <= {"in_many"}
        assert set(COMMON) <= set(dialect.templates)


@pytest.mark.parametrize("dialect", DIALECTS + EXPERIMENTAL, ids=lambda d: d.name)
@pytest.mark.parametrize("function", ["least", "greatest", "div", "round_div", "floor_div", "ceil_div", "add_days"])
def test_the_text_grows_with_the_question_and_no_faster(function: str, dialect: Dialect) -> None:
    def text(depth: int) -> str:
        day = function == "add_days"
        scope = Scope(dialect, {"x": Piece('"c0"', Sort.DATE if day else Sort.INTEGER, simple=True)})
        nested: Expression = X
        for n in range(depth):
            nested = f(function, f("add_days", nested, 1) if day else f("add", nested, n), 3)
        piece = write(nested, scope)
        return f"SELECT {piece.sql} AS r FROM {scope.around('(SELECT 1 AS c0)')} AS t"

    assert len(text(40)) < 50 * len(text(1))
    assert isinstance(sqlglot.parse_one(text(5), dialect=PARSERS.get(dialect.name, dialect.name)), exp.Select)


def test_a_named_piece_means_the_same() -> None:
    scope = Scope(DUCKDB, {"x": Piece('"c0"', Sort.INTEGER, simple=True)})
    nested = f("round_div", f("greatest", f("least", f("add", X, 1), f("neg", X)), f("round_div", X, 3)), 2)
    piece = write(nested, scope)
    sql = f"SELECT {piece.sql} FROM {scope.around('(SELECT unnest([-9, -4, 0, 5, 8, NULL]) AS c0)')} AS t"
    # x: least(x + 1, -x), greatest(that, x / 3 rounded), half of it, halves away from zero
    assert driver.execute(sql).fetchall() == [(-2,), (-1,), (0,), (1,), (2,), (None,)]


def test_functions_of_nothing_are_nothing() -> None:
    scope = Scope(POSTGRES, {"x": Piece('"c0"', Sort.INTEGER, simple=True), "n": Piece('"c1"', Sort.NULL, simple=True)})
    for nothing in (
        f("abs", None),
        f("lower", Column("n")),
        f("year", None),
        f("least", X, None),
        f("like", None, "a%"),
    ):
        assert write(nothing, scope).sql == "NULL"
    assert write(f("coalesce", Column("n"), X), scope).sort is Sort.INTEGER


# --- quoting --------------------------------------------------------------------------------------------------------

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


@settings(max_examples=150, deadline=None)
@given(ANY_TEXT)
def test_text_comes_back_as_it_was(text: str) -> None:
    assert driver.execute(f"SELECT {DUCKDB.text(text)}").fetchall() == [(text,)]
    (literal,) = sqlglot.parse_one(f"SELECT {SPARK.text(text)}", dialect="spark").expressions
    assert isinstance(literal, exp.Literal)


@settings(max_examples=100, deadline=None)
@given(ANY_TEXT.filter(lambda text: text and "\0" not in text))
def test_a_name_comes_back_as_it_was(name: str) -> None:
    assert driver.execute(f"SELECT 1 AS {DUCKDB.identifier(name)}").description[0][0] == name
    for dialect in (POSTGRES, SPARK):
        (column,) = sqlglot.parse_one(f"SELECT 1 AS {dialect.identifier(name)}", dialect=dialect.name).expressions
        assert column.alias == name


def test_what_cannot_be_written_is_refused() -> None:
    for dialect in DIALECTS:
        for value in ("\ud800", 1 << 63, -(1 << 63) - 1, Fraction(1, 3)):
            with pytest.raises(Unsupported):
                dialect.literal(value)
        with pytest.raises(Unsupported):
            dialect.identifier("a\0b")
    with pytest.raises(Unsupported):
        POSTGRES.text("a\0b")


@pytest.mark.parametrize(
    "value",
    [0, -1, (1 << 63) - 1, -(1 << 63), True, False, None, date.min, date.max, datetime.min, datetime.max,
     Fraction(-3, 4), Fraction(7)],
)  # fmt: skip
def test_a_constant_comes_back_as_it_was(value: Any) -> None:
    assert driver.execute(f"SELECT {DUCKDB.literal(value)}").fetchall() == [(value,)]


@pytest.mark.parametrize(
    "value", [5e-324, 1.7976931348623157e308, -0.0, 0.1, float("inf"), float("-inf"), float("nan")]
)
def test_a_double_comes_back_as_it_was(value: float) -> None:
    ((found,),) = driver.execute(f"SELECT {DUCKDB.real(value)}").fetchall()
    assert repr(found) == repr(value)


def test_keys_of_any_text_are_found(tmp_path: Any) -> None:
    keys = tuple(dict.fromkeys([*HOSTILE, "", " ", "a", "A"]))
    table = pa.table({"u": range(len(keys) + 1), "k": [*keys, "other"], "x": [1] * (len(keys) + 1)})
    many = tuple(f"{n}" for n in range(3000))
    for allowed in (keys, (*keys, None), (*keys, *many), (*keys, *many, None)):
        assert set(answer(work(Form.L1, 1, 1, ONE, allowed=allowed), table)) == {(key,) for key in keys}
