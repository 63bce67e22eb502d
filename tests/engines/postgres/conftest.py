"""A database with a role that may look and no more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.postgres_engine import execute


@pytest.fixture
def shop(fresh_database: str) -> Iterator[str]:
    """A database whose role ``reader`` may look at the schema public, and no more."""
    execute(fresh_database, "CREATE ROLE reader LOGIN", "GRANT USAGE ON SCHEMA public TO reader")
    yield fresh_database
    execute(fresh_database, "DROP OWNED BY reader", "DROP ROLE reader")
