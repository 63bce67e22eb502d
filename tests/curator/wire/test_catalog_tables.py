"""The tables of the catalogue: each can be made, and types and settings are there once."""

from __future__ import annotations

import duckdb

from discreet.curator.wire.catalog_tables import INFORMATION_TABLES, SETTINGS, TABLES, TYPES


def test_tables_can_be_made_and_names_are_there_once() -> None:
    with duckdb.connect(":memory:") as made:
        for name, columns in (TABLES | INFORMATION_TABLES).items():
            made.execute(f"CREATE TABLE {name} ({columns})")
    oids = [oid for oid, *_ in TYPES] + [array for *_, array in TYPES if array]
    assert len(oids) == len(set(oids))
    assert all(name == name.lower() for name in SETTINGS)
