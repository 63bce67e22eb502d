"""Queries of the catalogue are told apart from all others, and rewritten for our own tables."""

from __future__ import annotations

import pytest

from discreet.curator.wire.catalog_queries import read, rewritten


def test_tables_and_functions_are_our_own() -> None:
    tree = read("SELECT pg_catalog.pg_get_userbyid(c.relowner), 'a'::regclass FROM pg_catalog.pg_class c")
    assert tree is not None
    assert rewritten(tree) == (
        'SELECT PG_GET_USERBYID(c.relowner) AS "pg_get_userbyid", _CLASS_OID(\'a\') AS "regclass" FROM _pg_class AS c'
    )


@pytest.mark.parametrize(
    "text",
    ["SELECT COUNT(*) FROM visits", "SELECT * FROM public.visits", "SELECT 1 FROM pg_class, visits",
     "DROP TABLE pg_class",
     "SELECT 1; SELECT 2", "SELECT * FROM '/etc/passwd'", "SELECT * FROM \"a.parquet\"", "COPY pg_class TO 'x'", "(((",
     "SELECT * FROM _pg_class", "SELECT * FROM duckdb_settings"],
)  # fmt: skip
def test_other_statements_are_not_of_the_catalogue(text: str) -> None:
    assert read(text) is None
