"""Tables of other databases: names, what their catalogue is asked, and the types it names."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
import sqlglot.expressions as exp

from discreet.engines.experimental.databases import WAREHOUSES
from discreet.engines.experimental.source import describe, named
from discreet.errors import BadData
from discreet.query.plan.schema import StoredKind


@pytest.mark.parametrize("name", WAREHOUSES)
def test_the_catalogue_is_asked_by_quoted_names(name: str) -> None:
    sql = WAREHOUSES[name].question(("shop", "o'brien"))
    parser = {"sqlserver": "tsql", "mariadb": "mysql"}.get(name, name)
    (tree,) = sqlglot.parse(sql, dialect=parser)
    assert isinstance(tree, exp.Select)
    assert {"shop", "o'brien"} <= {literal.this for literal in tree.find_all(exp.Literal, exp.National)}
    three = WAREHOUSES[name].question(("main", "shop", "orders"))
    assert "main" in three


def test_types_of_a_catalogue() -> None:
    def kind(name: str, *described: Any) -> Any:
        return WAREHOUSES[name].origin(("a", "b"), [("day", "date", None, None, None), ("x", *described)]).stored["x"]

    assert kind("mysql", "tinyint", "tinyint(1)", None, 0).kind is StoredKind.BOOLEAN
    assert kind("mysql", "bigint", "bigint(20) unsigned", None, 0).kind is StoredKind.INTEGER
    assert kind("mysql", "decimal", "decimal(10,2)", None, 2).scale == 2
    assert kind("snowflake", "NUMBER", None, None, 4).scale == 4
    assert kind("snowflake", "TEXT", None, "en-ci", None).kind is StoredKind.OTHER  # A would be a
    assert kind("snowflake", "TEXT", None, None, None).kind is StoredKind.TEXT
    assert kind("bigquery", "NUMERIC(10, 3)", "NUMERIC(10, 3)", None, None).scale == 3
    assert kind("bigquery", "STRING", "STRING", "und:ci", None).kind is StoredKind.OTHER
    assert kind("bigquery", "ARRAY<STRING>", "ARRAY<STRING>", None, None).kind is StoredKind.OTHER
    assert kind("databricks", "DECIMAL", "decimal(12,1)", None, 1).scale == 1
    assert kind("sqlserver", "money", None, None, 4).scale == 4


@pytest.mark.parametrize(
    "source", ["visits", "a.b.c.d", "a..b", ".a", 7, None, ("a",), ("a", "b\0"), ("a", 3), "", ["a", "b"]]
)
def test_a_table_must_be_named(source: Any) -> None:
    with pytest.raises(BadData, match="named"):
        named(source)
    assert named("main.clinic.visits") == ("main", "clinic", "visits")


def test_a_column_is_cast_to_what_is_computed_with() -> None:
    described = [("id", "bigint", "bigint(20)", None, 0), ("o`k", "varchar", "varchar(9)", "latin1", None)]
    found = WAREHOUSES["mysql"].origin(("a", "b"), [*described, ("blob", "blob", "blob", None, None)])
    assert found.sql.startswith("(SELECT ")
    assert found.sql.endswith(" FROM `a`.`b`)")
    assert " AS `o``k`" in found.sql
    assert "`blob`" not in found.sql
    assert [how.kind for how in found.stored.values()] == [StoredKind.INTEGER, StoredKind.TEXT, StoredKind.OTHER]


def test_decimals_with_too_many_digits_or_none_known_cannot_be_used() -> None:
    warehouse = WAREHOUSES["snowflake"]
    for digits, kind in ((30, StoredKind.DECIMAL), (31, StoredKind.OTHER), (None, StoredKind.OTHER)):
        described = [("day", "date", None, None, None), ("x", "NUMBER", None, None, digits)]
        assert warehouse.origin(("a", "b"), described).stored["x"].kind is kind


def test_a_table_of_which_nothing_can_be_read_is_refused() -> None:
    for described in ([], [("blob", "blob", "blob", None, None)]):
        with pytest.raises(BadData, match="may read"):
            describe(WAREHOUSES["mysql"], ("a", "b"), lambda _, described=described: described)  # type: ignore[misc]
