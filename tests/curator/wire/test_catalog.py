"""The catalogue: what programs ask at connect is answered from the public schema, and nothing else is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import discreet as dp
from discreet.curator.wire import catalog
from discreet.curator.wire.catalog import Catalog
from discreet.curator.wire.catalog_queries import read
from discreet.errors import BadQuestion

CANARY = "Zebra-7741"
PSQL_TABLES = """SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r','p','') AND n.nspname !~ '^pg_toast' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2"""
PSQL_NAME = """SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname OPERATOR(pg_catalog.~) '^(visits)$' COLLATE pg_catalog.default ORDER BY 2, 3"""
PSQL_COLUMNS = """SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
  (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d
   WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull
FROM pg_catalog.pg_attribute a WHERE a.attrelid = '20000' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""


@pytest.fixture(scope="module")
def made() -> Iterator[Catalog]:
    rows = {"who": [CANARY], "clinic": [CANARY], "cost": [1.5], "day": ["2025-01-01"], "ok": [True], "n": [3]}
    columns: dict[str, Any] = {"clinic": dp.keys(["North", "South"])}
    session = dp.Session(visits=dp.table(rows, unit="who", columns=columns), budget=dp.Pure(1))
    found = Catalog("the hospital's", "an'n", session.schemas)
    yield found
    found.close()


def rows(made: Catalog, text: str) -> list[tuple[Any, ...]]:
    tree = read(text)
    assert tree is not None
    return list(made.run(tree).rows)


def test_psql_is_answered(made: Catalog) -> None:
    assert rows(made, PSQL_TABLES) == [("public", "visits", "table", "an'n")]
    assert rows(made, PSQL_NAME) == [(20000, "public", "visits")]
    assert rows(made, PSQL_COLUMNS) == [
        ("who", "text", None, False),
        ("clinic", "text", None, False),
        ("cost", "double precision", None, False),
        ("day", "text", None, False),
        ("ok", "boolean", None, False),
        ("n", "bigint", None, False),
    ]


def test_statements_about_no_table_are_answered(made: Catalog) -> None:
    assert rows(made, "SELECT 1, current_database(), current_user, current_schema()") == [
        (1, "the hospital's", "an'n", "public")
    ]
    tree = read("SELECT 1, version(), 2 AS b, 'visits'::regclass::oid, current_setting('server_version')")
    assert tree is not None
    found = made.run(tree)
    assert [name for name, _ in found.columns] == ["?column?", "version", "b", "oid", "current_setting"]
    assert found.rows[0][3:] == (20000, "15.0")


def test_information_schema_has_the_declared_columns(made: Catalog) -> None:
    text = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $$visits$$"
    assert rows(made, text)[:2] == [("who", "text"), ("clinic", "text")]


@pytest.mark.parametrize(
    "text",
    ["SELECT read_text('/etc/passwd')", "SELECT * FROM read_csv('/etc/passwd')", "SELECT getenv('HOME')",
     "SELECT * FROM glob('/*')", "SELECT * FROM duckdb_settings()", "SELECT pg_read_file('/etc/passwd')",
     "SELECT pg_sleep(100)", "SELECT * FROM pg_class WHERE relname = nothing_here", "SELECT query('SELECT 1')",
     "SELECT * INTO x FROM pg_class", "SELECT lo_import('/etc/passwd')"],
)  # fmt: skip
def test_nothing_else_is_reached(made: Catalog, text: str) -> None:
    tree = read(text)
    if tree is not None:  # else it is for the curator, which reads no such thing
        with pytest.raises(BadQuestion):
            made.run(tree)


def test_a_statement_without_end_is_stopped(made: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "SECONDS", 0.2)
    tree = read("SELECT count(*) FROM generate_series(1, 100000000000) a, generate_series(1, 100000) b")
    assert tree is not None
    with pytest.raises(BadQuestion):
        made.run(tree)


def test_no_value_of_a_row_is_in_it(made: Catalog) -> None:
    tables = made._base.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    text = str([made._base.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables])
    assert "visits" in text
    assert CANARY not in text
    assert "North" not in text
