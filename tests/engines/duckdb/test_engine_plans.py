"""The plan of every statement: no pairs of all rows with all rows, where no question asks for them.

DuckDB 2.0 pulls the condition of an inner join up into a filter, and its filter pushdown brings it back. With the
second switched off alone, ``k0 IN (days)`` kept it above: 25 s of processor time at 57,000 rows, and no end at 1e6.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb as driver
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines.duckdb.engine import DuckDB, _locked, _register
from discreet.engines.duckdb.prepared import prepare
from discreet.engines.duckdb.source import UNUSED_OPTIMIZERS, needs
from discreet.engines.sources import DatabaseTable
from discreet.engines.sql.dialects import DUCKDB
from discreet.engines.sql.emit import emit
from discreet.engines.sql.relations import Origin
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import Filter, How, Join, Project, Relation, Scan, UnionAll
from discreet.query.plan.schema import Schema, Table, resolve
from discreet.query.plan.work import AnyWork, Cell, DistinctWork, UnitSum, Weights, Work, WorkKey
from tests.contracts.engines import forms
from tests.contracts.engines.lab import UNIT, f
from tests.contracts.engines.relations import EVENTS, PLACES, RELATIONS
from tests.contracts.engines.test_grouping_sets import asked as grouping_sets
from tests.contracts.engines.test_questions import asked as asked_of_the_shop
from tests.helpers import shop, tables
from tests.helpers.extent import extent

PAIRS = frozenset({"CROSS_PRODUCT", "BLOCKWISE_NL_JOIN", "NESTED_LOOP_JOIN", "PIECEWISE_MERGE_JOIN", "IE_JOIN"})
"""Operators that look at pairs of rows, rather than at rows with an equal key."""
BEFORE = "'statistics_propagation,filter_pushdown,join_filter_pushdown,type_pushdown'"
"""What was switched off when a listed day made a cross product."""
OURS = UNUSED_OPTIMIZERS.strip("'").split(",")
DAYS = tuple(date(2024, 1, 1) + timedelta(days=n) for n in range(60))
MOMENTS = tuple(datetime(2024, 1, 1) + timedelta(hours=n) for n in range(60))
MANY = tuple(date(2000, 1, 1) + timedelta(days=n) for n in range(1001))
KEYS: dict[str, tuple[WorkKey, ...]] = {
    "days": (WorkKey("d", Column("d"), DAYS),),
    "days and NULL": (WorkKey("d", Column("d"), (*DAYS, None)),),
    "many days": (WorkKey("d", Column("d"), MANY),),
    "months": (WorkKey("d", f("date_trunc", "month", Column("d")), tuple(day for day in DAYS if day.day == 1)),),
    "moments": (WorkKey("m", Column("m"), MOMENTS),),
    "hours": (WorkKey("m", f("date_trunc", "hour", Column("m")), MOMENTS),),
    "gaps": (WorkKey("k", Column("k"), tuple(range(0, 200, 2))),),
    "texts": (WorkKey("g", Column("g"), tuple(f"name {n}" for n in range(10_001))),),
    "texts and NULL": (WorkKey("g", Column("g"), ("a", "b", "c", None)),),
    "days and texts": (WorkKey("d", Column("d"), DAYS), WorkKey("g", Column("g"), ("a", "b", None))),
    "truth and moments": (WorkKey("b", Column("b"), (True, False)), WorkKey("m", Column("m"), MOMENTS)),
}
IN_DAYS = Filter(EVENTS, f("in", Column("d"), *DAYS))
SOURCES: dict[str, Relation] = {
    "table": EVENTS,
    "filter": IN_DAYS,
    "join": Join(IN_DAYS, Filter(PLACES, f("in", Column("worth"), *range(0, 90, 3))), (("g", "g"),)),
    "left join": Join(IN_DAYS, PLACES, (("g", "g"),), How.LEFT),
    "own rows": Join(IN_DAYS, Project(IN_DAYS, ((UNIT, Column(UNIT)), ("y", Column("k")))), ((UNIT, UNIT),)),
    "union": UnionAll((EVENTS, IN_DAYS)),
}


def asks_for_pairs(relation: Relation) -> bool:
    """Whether a question itself joins all rows with all rows."""
    match relation:
        case Scan():
            return False
        case Join(left, right, on):
            return not on or asks_for_pairs(left) or asks_for_pairs(right)
        case UnionAll(parts):
            return any(map(asks_for_pairs, parts))
        case _:
            return asks_for_pairs(relation.source)


# --- what is asked ----------------------------------------------------------------------------------------------------


def of_keys() -> Iterator[AnyWork]:
    """Every kind of key over every kind of relation, in every form of bounding."""
    weights = (forms.BOUNDING[1], forms.BOUNDING[5], forms.BOUNDING[10])
    for name, source in SOURCES.items():
        for keys in KEYS.values() if name in ("table", "join") else (KEYS["days and texts"], KEYS["hours"]):
            for one in weights:
                cells = (forms.ONE, forms.X, *((UnitSum(),) if one.per_group == 1 else ()))
                yield work(source, keys, cells, one)
        yield work(source, KEYS["days"], cells[:2], weights[0], split=WorkKey("k", Column("k"), (0, 1, 2, 5)))
        yield work(source, (WorkKey("d", Column("d"), None),), cells[:2], weights[2], most_keys=2, salt="s")
        yield DistinctWork(source=source, unit=UNIT, keys=KEYS["days"], value=Column("g"), cap=3, salt="s")


def work(source: Relation, keys: tuple[WorkKey, ...], cells: tuple[Cell, ...], weights: Weights, **more: Any) -> Work:
    return Work(source=source, unit=UNIT, keys=keys, cells=cells, weights=weights, **more)


def of_forms() -> Iterator[AnyWork]:
    for name in forms.KNOWN:
        yield from (*forms.known(name), *forms.split(name), *forms.picked(name), *forms.distinct(name))
    for name in forms.UNKNOWN:
        yield from (*forms.unknown(name), *forms.distinct(name))


def of_relations() -> Iterator[AnyWork]:
    for relation in RELATIONS.values():
        yield work(relation, (), (forms.ONE,), forms.BOUNDING[1])


# --- which statements that gives --------------------------------------------------------------------------------------


class Listening:
    """A cursor that writes down the plan of what it is asked."""

    def __init__(self, cursor: Any, seen: dict[str, set[str]]) -> None:
        self._cursor, self._seen = cursor, seen

    def execute(self, text: str, *more: Any) -> Any:
        self._listen(text)
        return self._cursor.execute(text, *more)

    def sql(self, text: str) -> Any:
        self._listen(text)
        return self._cursor.sql(text)

    def _listen(self, text: str) -> None:
        if "SELECT" in text:
            self._seen[text] = operators(self._cursor, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


class Recording(DuckDB):
    """The engine, with the plans of all statements that it ran, and statements that it would run."""

    def __init__(self) -> None:
        super().__init__({"threads": "1"}, None)
        self.texts: dict[str, None] = {}
        self.seen: dict[str, set[str]] = {}

    def _run(self, works: Any, schemas: Any, job: Callable[[Any, dict[str, Origin]], Any]) -> Any:
        return super()._run(works, schemas, lambda cursor, origins: job(Listening(cursor, self.seen), origins))

    def write(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> None:
        """Keep the statements of these works; nothing is run."""
        origins = {name: self._open(schema.table.source).origin for name, schema in schemas.items()}
        self.texts |= {emit(work, DUCKDB, origins).sql: None for work in works}

    def plans(self, disabled: str) -> Iterator[tuple[str, set[str]]]:
        """Each SELECT with the operators of its plan, if these optimizers are switched off."""
        assert self._connected is not None
        settings = {**self._settings, "disabled_optimizers": disabled}
        with closing(_locked(self._connected[0], settings)) as connection, closing(connection.cursor()) as cursor:
            for known in self._known.values():
                _register(cursor, needs(known.opened, known.label))
            yield from ((text, operators(cursor, text)) for text in self.texts)


def operators(cursor: Any, text: str) -> set[str]:
    """The names of all operators in the plan of a SELECT."""
    ((_, plan),) = cursor.execute(f"EXPLAIN (FORMAT JSON) {text}").fetchall()
    names: set[str] = set()
    nodes: list[dict[str, Any]] = list(json.loads(plan))
    while nodes:
        node = nodes.pop()
        names.add(str(node["name"]).strip().upper().replace(" ", "_"))
        nodes += node.get("children", [])
    return names


def pairs(engine: Recording, disabled: str) -> list[str]:
    """The statements whose plans look at pairs of rows."""
    return [text for text, names in engine.plans(disabled) if names & PAIRS]


STORAGES = ("parquet", "prepared", "arrow", "parts", "database")[: extent(2, 5)]


def stored(storage: str, name: str, table: pa.Table, folder: Path) -> Any:
    if storage == "arrow":
        return table
    path = folder / f"{name}.parquet"
    pq.write_table(table, path)
    if storage == "parts":
        pq.write_table(table.slice(0, 3), folder / f"{name}-2.parquet")
        return [str(path), str(folder / f"{name}-2.parquet")]
    if storage == "database":
        with driver.connect(str(folder / f"{name}.duckdb")) as connection:
            connection.execute(f"CREATE TABLE rows AS SELECT * FROM read_parquet('{path}')")
        return DatabaseTable(str(folder / f"{name}.duckdb"), "rows")
    if storage == "prepared":
        unit = next((column for column in ("u", "user_id") if column in table.column_names), None)
        return prepare(
            str(path),
            folder / f"{name}.copy.duckdb",
            unit=unit,
            works=[one for one in list(of_keys())[:12] if isinstance(one, Work)],
        )
    return str(path)


def recorded(storage: str, folder: Path) -> Recording:
    """All statements over one storage."""
    engine = Recording()
    rows = {"t": pa.concat_tables([tables.crowd(40)] * 20), "p": tables.places()}
    sources = {name: stored(storage, name, table, folder) for name, table in rows.items()}
    schemas = {
        name: resolve(name, Table(source=source, unit=None, public=True), engine.columns(source))
        for name, source in sources.items()
    }
    works = [*of_keys(), *list(of_forms())[:: extent(20, 1)], *of_relations()]
    assert not any(asks_for_pairs(work.source) for work in works)
    engine.write(works, schemas)
    engine.run(works[::25], schemas)
    for cap in (1, 3):
        engine.grouping_sets(grouping_sets(cap, 1000), schemas)
    engine.by_unit([by_unit()], schemas)
    engine.run(profile_works(), schemas)
    in_shop = {name: stored(storage, name, table, folder) for name, table in shop.tables().items()}
    questions = [job.work for _, job, _ in asked_of_the_shop() if not asks_for_pairs(job.work.source)]
    engine.write(questions[:: extent(12, 1)], shop.schemas_on(engine, in_shop))
    return engine


def by_unit() -> Work:
    keys = (WorkKey("k", Column("k"), (0, 1, 2)), WorkKey("who", Column(UNIT), None))
    return work(EVENTS, keys, (forms.ONE,), forms.BOUNDING[1])


def profile_works() -> list[AnyWork]:
    """Histograms that share one reading of the rows."""
    spread = [work(EVENTS, KEYS[name], (forms.ONE,), forms.BOUNDING[0]) for name in ("days", "hours", "gaps")]
    return [*spread, DistinctWork(source=EVENTS, unit=UNIT, keys=(), value=Column("g"), cap=1, salt="s")]


# --- their plans ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=STORAGES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded(request.param, tmp_path_factory.mktemp(request.param))


EVERY = [str(name) for (name,) in driver.execute("SELECT * FROM duckdb_optimizers()").fetchall()]
OTHERS = {
    "none off": "''",
    "all off": f"'{','.join(EVERY)}'",
    **{f"{name} off too": f"'{','.join([*OURS, name])}'" for name in EVERY if name not in OURS},
}


@pytest.mark.slow
def test_no_statement_looks_at_pairs_of_rows(engine: Recording) -> None:
    assert len(engine.texts) > 100
    assert not pairs(engine, UNUSED_OPTIMIZERS)
    assert len(engine.seen) > 15
    assert not [text for text, names in engine.seen.items() if names & PAIRS]


@pytest.mark.slow
@pytest.mark.parametrize("disabled", OTHERS.values(), ids=OTHERS)
def test_whatever_else_is_switched_off(engine: Recording, disabled: str) -> None:
    assert not pairs(engine, disabled)


@pytest.mark.slow
def test_the_settings_of_before_made_a_cross_product(engine: Recording) -> None:
    """The plant: with filters pulled up and not pushed down again, joins beside a listed day are lost."""
    days = [text for text in engine.texts if "2024-01-02" in text and "JOIN" in text]
    engine = copy(engine)
    engine.texts = dict.fromkeys(days[::3])
    assert pairs(engine, BEFORE)


@pytest.mark.parametrize(
    "planted",
    [
        "SELECT count(*) FROM a, b",
        "SELECT count(*) FROM a JOIN b ON a.x < b.x",
        "SELECT count(*) FROM a JOIN b ON a.x + b.x = 3",
    ],
)
def test_a_planted_cross_product_is_read(planted: str) -> None:
    with driver.connect() as connection:
        connection.execute("CREATE TABLE a AS SELECT range AS x FROM range(1000)")
        connection.execute("CREATE TABLE b AS SELECT range AS x FROM range(1000)")
        connection.execute(f"SET disabled_optimizers = {UNUSED_OPTIMIZERS}")
        assert operators(connection, planted) & PAIRS
        assert not operators(connection, "SELECT count(*) FROM a JOIN b ON a.x = b.x") & PAIRS
