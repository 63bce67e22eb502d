"""The role of an engine: every engine has all of it, and the abilities that it should have."""

import inspect
from typing import Any

import pytest

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.experimental.engine import Experimental
from discreet.engines.memory.engine import Memory
from discreet.engines.postgres.engine import Postgres
from discreet.engines.spark.engine import Spark
from discreet.query.engine import ChecksReachable, ChecksWork, Engine, InBatches, Staged, Staging

ENGINES = [DuckDB, Experimental, Memory, Postgres, Spark]
ABILITIES: dict[Any, set[type]] = {
    ChecksReachable: {Postgres, Spark, Experimental},
    ChecksWork: {DuckDB, Experimental, Postgres, Spark},
    InBatches: {Spark},
    Staging: {Spark},
}


def parameters(kind: type, method: str) -> list[str]:
    return list(inspect.signature(getattr(kind, method)).parameters)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_the_whole_role(engine: type) -> None:
    assert hasattr(engine, "name")
    for method in ("columns", "run"):
        assert parameters(engine, method) == parameters(Engine, method)


@pytest.mark.parametrize("ability", ABILITIES, ids=lambda a: a.__name__)
def test_an_ability_is_found_by_isinstance(ability: type[object]) -> None:
    having = {engine for engine in ENGINES if isinstance(object.__new__(engine), ability)}
    assert having == ABILITIES[ability]
    (method,) = (name for name in vars(ability) if inspect.isfunction(getattr(ability, name)) and name[0] != "_")
    for engine in having:
        assert parameters(engine, method) == parameters(ability, method)


def test_what_lacks_a_method_has_not_the_ability() -> None:
    class Half:
        def named(self) -> None: ...

    assert not isinstance(Half(), Staged)
