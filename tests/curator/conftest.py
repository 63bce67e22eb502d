"""Where ledgers lie in tests: every test that takes ``place`` runs on SQLite and on a durable PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.curator.places import Place


def files(tmp_path: Path, location: str) -> Place:
    folder = tmp_path / "curator"
    folder.mkdir()
    return Place(location or str(folder / "ledger"), str(folder / "ledger.key"), str(folder / "ledger.head"))


@pytest.fixture
def lite(tmp_path: Path) -> Place:
    return files(tmp_path, "")


@pytest.fixture
def postgres_place(tmp_path: Path, durable_postgres_dsn: str) -> Place:
    return files(tmp_path, durable_postgres_dsn)


@pytest.fixture(params=["lite", "postgres_place"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found
