"""The emitter: one statement whatever is asked, over the table that is named and no other."""

from __future__ import annotations

import pytest
import sqlglot
import sqlglot.expressions as exp

from discreet.engines.sql.dialects import DUCKDB, Dialect
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Aggregate, Filter, Join, Measure, PerUnit, Project, Scan, UnionAll
from discreet.query.plan.work import AnyWork, DistinctWork, Form, RowSum, UnitSum, Weights, Work, WorkKey
from tests.helpers.works import DIALECTS, EXPERIMENTAL, ONE, PARSERS, ROWS, STORED, K, U, X, f, work

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


@pytest.mark.slow
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

    def together(x: str) -> str:
        mass, wide = "CAST((w * CAST(1 AS BIGINT)) AS HUGEINT)", f"CAST({x} AS HUGEINT)"
        return f"({mass} * ({wide} // n) + (({mass} * ({wide} % n)) // n))"

    assert sql == (
        "SELECT CAST(k0 AS VARCHAR) AS k0, n0, n1 FROM (\n"
        'WITH pairs AS MATERIALIZED (SELECT u, k0, count(*) AS n, sum(v2) AS xv2 FROM (SELECT "c0" AS u, '
        'TRY_CAST("c1" AS ENUM(\'North\', \'it\'\'s\')) AS k0, "c2" AS v2 FROM (SELECT "u" AS "c0", '
        'CAST("k" AS VARCHAR) AS "c1", CASE WHEN "x" < CAST(-100 AS BIGINT) THEN CAST(-100 AS BIGINT) '
        'WHEN "x" > CAST(100 AS BIGINT) THEN CAST(100 AS BIGINT) ELSE CAST("x" AS BIGINT) END AS "c2" '
        "FROM read_parquet(['visits.parquet']) AS t) AS t) AS b GROUP BY u, k0 "
        "HAVING u IS NOT NULL AND k0 IS NOT NULL),\n"
        "units AS (SELECT u, q, CASE WHEN q <= CAST(10 AS BIGINT) THEN CAST(1048576 AS BIGINT) ELSE "
        "CAST(floor(sqrt(CAST((CAST(10995116277760 AS BIGINT) // q) AS DOUBLE))) AS BIGINT) END AS w "
        "FROM (SELECT u, count(*) AS q FROM pairs GROUP BY u) AS t),\n"
        "weighed AS (SELECT p.u, p.k0, p.n, p.xv2, g.w, g.q FROM pairs AS p JOIN units AS g ON p.u = g.u)\n"
        f"SELECT k0, coalesce(sum(CASE WHEN r = 0 THEN CAST({together('n')} AS BIGINT) ELSE r * n END), 0) AS n0, "
        f"coalesce(sum(CASE WHEN r = 0 THEN {together('xv2')} ELSE r * xv2 END), 0) AS n1 "
        "FROM (SELECT k0, n, xv2, w, q, "
        "CASE WHEN n <= CAST(1 AS BIGINT) THEN w ELSE ((w * CAST(1 AS BIGINT)) // n) END AS r "
        "FROM (SELECT k0, n, xv2, w, q FROM weighed) AS t) AS t GROUP BY k0) AS t"
    )
