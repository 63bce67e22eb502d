"""The engines that the contract suite holds to the oracle, and how to ask them. A new engine joins by one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from zlib import crc32

import pyarrow as pa
import pytest

from discreet.engines.duckdb.engine import duckdb
from discreet.engines.experimental.databases import WAREHOUSES
from discreet.engines.experimental.engine import Experimental
from discreet.engines.memory.engine import memory
from discreet.engines.postgres.engine import postgres
from discreet.engines.spark.engine import spark
from discreet.query.engine import Engine
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Project, Relation, Scan
from discreet.query.plan.schema import Schema, Table, resolve
from discreet.query.plan.types import Value
from discreet.query.plan.work import AnyWork, Exact
from tests.contracts.engines.layouts import duckdb_layouts, parquet_loader, plain_layouts, prepared_loader
from tests.helpers import postgres_tables
from tests.helpers.extent import extent
from tests.helpers.mariadb import MariaDB, tame

UNIT = "__unit"
T = TypeVar("T")
_TAMED: dict[int, tuple[pa.Table, pa.Table]] = {}


def cached_tame(table: pa.Table) -> pa.Table:
    """Each table once, so that it is loaded once."""
    if id(table) not in _TAMED:
        _TAMED[id(table)] = table, tame(table)
    return _TAMED[id(table)][1]


Numbers: TypeAlias = dict[tuple[tuple[str, Value], ...], tuple[int, ...]]


@dataclass(frozen=True)
class Lab:
    """A running engine, and how it is given a small table: ``load(name, table)`` is the source of a session's table."""

    engine: Engine
    load: Callable[[str, pa.Table], Any] = lambda _name, table: table
    lacks: frozenset[str] = frozenset()
    """What its storage cannot hold at all: "nul" (the character U+0000), "beyond" (days outside years 1 to 9999)."""
    tame: Callable[[pa.Table], pa.Table] = lambda table: table
    """What a table becomes before its storage can hold it: for the engine and for the oracle."""
    every: int = 1
    """Of an engine that is slow to begin, only every n-th work is asked; the works say where to begin."""
    loaded: dict[tuple[str, int], tuple[pa.Table, Schema]] = field(default_factory=dict)

    def schemas(self, tables: Mapping[str, pa.Table]) -> dict[str, Schema]:
        """Each table loaded once; it is kept, so that its identity stays its own."""
        found = {}
        for name, table in tables.items():
            if (name, id(table)) not in self.loaded:
                given = Table(source=self.load(name, table), unit=None, public=True)
                self.loaded[name, id(table)] = table, resolve(name, given, self.engine.columns(given.source))
            found[name] = self.loaded[name, id(table)][1]
        return found

    def some(self, works: Sequence[T]) -> Sequence[T]:
        """Those that are asked: the same in each run, others for other works."""
        start = crc32(repr(works[0]).encode()) % min(self.every, len(works)) if works else 0
        return works[start :: self.every]

    def skips(self, name: str) -> bool:
        """Whether a test of this name is left out: the same in each run."""
        return crc32(name.encode()) % self.every != 0

    def run(self, works: Sequence[AnyWork], tables: Mapping[str, pa.Table]) -> list[Numbers]:
        """The exact numbers of each work."""
        return [numbers(exact) for exact in self.engine.run(works, self.schemas(tables))]


@dataclass(frozen=True)
class EngineCase:
    """How an engine is opened; ``request`` gives the servers that it needs."""

    name: str
    open: Callable[[pytest.FixtureRequest], Lab]
    layouts: Callable[[pa.Table, Path], dict[str, Any]] = lambda _table, _folder: {}
    """Sources that hold the same rows in other ways."""
    marks: tuple[pytest.MarkDecorator, ...] = ()
    searched: bool = True
    """Whether it is quick enough for searches at random."""


def _postgres(request: pytest.FixtureRequest) -> Lab:
    server = request.getfixturevalue("postgres")
    dsn = server.fresh()
    request.addfinalizer(lambda: server.drop(dsn))
    return Lab(
        postgres(dsn),
        lambda _name, table: postgres_tables.load(dsn, table),
        lacks=frozenset({"nul"}),
        every=extent(2, 1),
    )


def _mariadb(request: pytest.FixtureRequest) -> Lab:
    server: MariaDB = request.getfixturevalue("mariadb")
    engine = Experimental(WAREHOUSES["mariadb"], server.connect)
    return Lab(
        engine,
        lambda _name, table: server.load(table),
        lacks=frozenset({"beyond", "regexp_extract", "regexp_replace"}),
        tame=cached_tame,
        every=extent(3, 1),
    )


def _spark(request: pytest.FixtureRequest) -> Lab:
    return Lab(spark(request.getfixturevalue("spark")), lacks=frozenset({"beyond"}), every=extent(20, 1))


ENGINES = [
    EngineCase("memory", lambda _request: Lab(memory()), plain_layouts),
    EngineCase("duckdb", lambda _request: Lab(duckdb()), duckdb_layouts),
    EngineCase("postgres", _postgres, marks=(pytest.mark.slow,)),
    EngineCase("mariadb", _mariadb, marks=(pytest.mark.slow,), searched=False),
    EngineCase("spark", _spark, marks=(pytest.mark.slow,), searched=False),
]
STORED = [
    EngineCase("duckdb over Parquet", lambda request: Lab(duckdb(), parquet_loader(request))),
    EngineCase(
        "duckdb over prepared copies", lambda request: Lab(duckdb(), prepared_loader(request), every=extent(40, 1))
    ),
]
"""Engines that are there already, over another storage: readers have bugs of their own."""
ORACLE = Lab(memory())


def _labs(cases: Sequence[EngineCase]) -> pytest.MarkDecorator:
    params = [pytest.param(case, id=case.name, marks=case.marks) for case in cases]
    return pytest.mark.parametrize("lab", params, indirect=True, scope="module")


every_engine, every_storage = _labs(ENGINES), _labs(ENGINES + STORED)
every_quick_engine, every_quick_storage = (
    _labs([case for case in cases if case.searched]) for cases in (ENGINES, ENGINES + STORED)
)


def numbers(exact: Exact) -> Numbers:
    """Exact numbers by key, with the type of each key beside it: True is not 1, and a moment is not a day."""
    found: Numbers = {}
    for i, key in enumerate(exact.keys):
        named = tuple((type(value).__name__, value) for value in key)
        assert named not in found, "a key twice"
        found[named] = tuple(int(column[i]) for column in exact.numbers)
        assert all(int(column[i]) == column[i] for column in exact.numbers)
    return found


def agree(lab: Lab, works: Sequence[AnyWork], tables: Mapping[str, pa.Table]) -> None:
    """The engine gives the numbers of the oracle, all of them, exactly. (The oracle itself: in any order of rows.)"""
    works = lab.some(works)
    tables = {name: lab.tame(table) for name, table in tables.items()}
    given = {name: _reversed(table) for name, table in tables.items()} if lab.engine.name == "memory" else tables
    for work, got, right in zip(works, lab.run(works, given), ORACLE.run(works, tables), strict=True):
        assert got == right, work


def _reversed(table: pa.Table) -> pa.Table:
    return table.take(list(reversed(range(table.num_rows)))) if table.num_rows else table


# --- short words for expressions --------------------------------------------------------------------------------------


def f(function: str, *arguments: Expression | Value) -> Call:
    """A call whose plain arguments are literals."""
    return Call(function, tuple(a if isinstance(a, Column | Literal | Call) else Literal(a) for a in arguments))


READ: dict[str, Expression] = {
    name: f(reader, Column(name), *bounds)
    for reader, names, bounds in (
        ("read_integer", ("id", "i", "j", "k", "x", "u", "tiny", "unsigned", "worth"), (-(1 << 63), (1 << 63) - 1)),
        ("read_text", ("t", "s", "coded", "g", "g_2", "name"), ()),
        ("read_boolean", ("b", "c"), ()),
        ("read_date", ("d", "e"), ()),
        ("read_timestamp", ("m", "n", "seconds", "millis", "nanos", "zoned"), ()),
        ("read_float", ("f", "single"), ()),
        ("read_decimal", ("cents",), (2, -(1 << 62), 1 << 62)),
        ("read_decimal", ("digits",), (10, -(1 << 62), 1 << 62)),
        ("read_decimal", ("whole",), (0, -(1 << 62), 1 << 62)),
    )
    for name in names
}


def reading(table: str, unit: str, *names: str) -> Project:
    """The columns of a table, read as they are, with its unit."""
    return Project(Scan(table), ((UNIT, READ[unit]), *((name, READ[name]) for name in names)))


def columns(relation: Project) -> list[str]:
    """The names of its columns."""
    return [name for name, _ in relation.columns]


def only(relation: Relation, *pairs: tuple[str, Expression]) -> Project:
    """New columns beside the unit."""
    return Project(relation, ((UNIT, Column(UNIT)), *pairs))
