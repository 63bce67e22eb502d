"""Units stored as floats: on every engine the numbers of the oracle over the same units as whole numbers."""

from collections.abc import Mapping
from hashlib import md5
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.prepared import prepare
from discreet.engines.memory.engine import memory
from discreet.engines.postgres.engine import Postgres
from discreet.engines.spark.engine import Spark
from discreet.query.engine import Engine
from discreet.query.estimate.prepare import jobs
from discreet.query.plan.work import AnyWork, Work
from tests.contracts.engines.lab import Lab, Numbers, every_engine, numbers

SALT = "0123456789abcdef0123456789abcdef"
MOST = 2.0**53
WHO = [
    1.0,
    1.0,
    1.0,
    -0.0,
    0.0,
    -7.0,
    MOST - 1,
    1 - MOST,
    None,
    nan,
    inf,
    -inf,
    1.5,
    -0.5,
    5e-324,
    MOST,
    -MOST,
    2.0**63,
]
ROWS = 5 * len(WHO)
VISITS = pa.table(
    {
        "who": pa.array(WHO * 5, pa.float64()),
        "place": [f"k{(i * i) % 23}" for i in range(ROWS)],
        "cost": pa.array([i % 11 for i in range(ROWS)]),
        "number": pa.array(range(ROWS)),
    }
)
PEOPLE = pa.table({"who": pa.array([-7, 0, 1, 2, 1 << 53]), "age": pa.array([30, 40, 50, 60, 70])})
BILLS = pa.table({"visit": pa.array([0.0, 3.0, -0.0, 1e300, None, nan, 4.5, 6.0]), "paid": pa.array(range(8))})
TABLES = {"visits": VISITS, "people": PEOPLE, "bills": BILLS}
QUESTIONS = [
    "SELECT COUNT(*) AS n, COUNT(DISTINCT who) AS u, SUM(cost) AS s FROM visits",
    "SELECT place, COUNT(*) AS n FROM visits GROUP BY place",  # a hash of the unit chooses among its keys
    "SELECT COUNT(*) AS n FROM visits WHERE who < 1",
    "SELECT SUM(cost) AS s, SUM(age) AS a FROM visits JOIN people USING (who)",
    "SELECT AVG(CLAMP(n, 0, 9)) AS a FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who)",
    "SELECT SUM(paid) AS s FROM bills",
    "SELECT SUM(paid) AS p, SUM(cost) AS c FROM bills JOIN visits ON bills.visit = visits.number",
]


def whole(table: pa.Table, column: str) -> pa.Table:
    """The oracle of the rule: whole numbers below 2^53 are themselves, all else is NULL."""
    given = table.column(column).to_pylist()
    kept = [int(x) if x is not None and isfinite(x) and x == int(x) and abs(x) < MOST else None for x in given]
    return table.set_column(table.schema.get_field_index(column), column, pa.array(kept, pa.int64()))


def session(engine: Engine, sources: Mapping[str, Any]) -> dp.Session:
    visits = {"place": dp.unknown_keys(), "cost": dp.bounds(0, 10)}
    return dp.Session(
        visits=dp.table(sources["visits"], unit="who", columns=visits, max_rows=2),
        people=dp.table(sources["people"], unit="who", columns={"age": dp.bounds(0, 99)}, max_rows=1),
        bills=dp.table(sources["bills"], unit="visit -> visits.number", columns={"paid": dp.bounds(0, 9)}, max_rows=2),
        engine=engine,
        budget=dp.Approx(100, "1e-5"),
    )


def works(text: str, asking: dp.Session) -> list[AnyWork]:
    """What the engine is asked, without noise."""
    quote = asking.sql(text).quote(epsilon=1)
    sets = zip(quote.parts, quote.plan.sets, quote.plan.selections, strict=True)
    return [job.work for part, noised, selection in sets for job in jobs(part, noised, selection, SALT)]


def exact(engine: Engine, sources: Mapping[str, Any], text: str) -> list[Numbers]:
    asking = session(engine, sources)
    return [numbers(one) for one in engine.run(works(text, asking), asking.schemas)]


def right(text: str, tables: Mapping[str, pa.Table]) -> list[Numbers]:
    given = {**tables, "visits": whole(tables["visits"], "who"), "bills": whole(tables["bills"], "visit")}
    return exact(memory(), given, text)


@every_engine
def test_the_numbers_are_those_of_whole_units(lab: Lab) -> None:
    tables = {name: lab.tame(table) for name, table in TABLES.items()}
    sources = {name: schema.table.source for name, schema in lab.schemas(tables).items()}
    for text in lab.some(QUESTIONS) if lab.engine.name == "spark" else QUESTIONS:
        assert exact(lab.engine, sources, text) == right(text, tables), text
    if isinstance(lab.engine, DuckDB | Postgres | Spark):
        # whoever registers the same people again, with ids as floats, is recognised
        ids = {one for one in whole(tables["visits"], "who").column("who").to_pylist() if one is not None}
        found = lab.engine.smallest_hashes(sources["visits"], "who", 100)
        assert found == sorted(md5(str(one).encode(), usedforsecurity=False).hexdigest() for one in ids)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
def test_files_and_prepared_copies_agree(tmp_path: Path, kind: pa.DataType) -> None:
    """A copy is sorted by the floats, and keeps numbers and counts of the whole units."""
    visits = VISITS.set_column(0, "who", VISITS.column("who").cast(kind, safe=False))
    pa.parquet.write_table(visits, tmp_path / "visits.parquet")
    engine, tables = dp.engines.duckdb(threads=1), {**TABLES, "visits": visits}
    sources = {**TABLES, "visits": str(tmp_path / "visits.parquet")}
    asking = session(engine, sources)
    asked = [one for text in QUESTIONS[:3] for one in works(text, asking) if isinstance(one, Work)]
    copy = prepare(sources["visits"], tmp_path / "copy.duckdb", unit="who", works=asked)
    for text in QUESTIONS[:4]:
        assert exact(engine, sources, text) == right(text, tables), text
        assert exact(engine, {**sources, "visits": copy}, text) == right(text, tables), text
