"""Files behind addresses are read if the owner installed the extension, and refused before anything is spent if not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb as driver
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

import discreet as dp
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.duckdb.object_store import FOLDER, ObjectStore, check_address, files_at, object_store
from discreet.engines.duckdb.source import Needs
from discreet.errors import BadData, BadParameter, EngineFailed

ADDRESS = "s3://bucket/visits.parquet"


class FromFolder(ObjectStore):
    """In place of the extension, which is of no release here: addresses are files of a folder, behind the same locks.

    It stands at the lowest seam: DuckDB opens "s3://..." by its list of allowed paths and this file system.
    """

    def load(self, connection: driver.DuckDBPyConnection) -> None:
        folder = self.folder

        class Store(LocalFileSystem):  # type: ignore[misc]
            protocol = ("s3",)
            cachable = False

            @classmethod
            def _strip_protocol(cls, path: str) -> str:
                return f"{folder}/{path.removeprefix('s3://').removeprefix(folder).strip('/')}"

            def unstrip_protocol(self, name: str) -> str:
                return f"s3://{name.removeprefix('s3://').removeprefix(folder).strip('/')}"

        connection.register_filesystem(Store())


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    (tmp_path / "bucket").mkdir()
    rows: dict[str, Any] = {"patient": list(range(50)), "clinic": ["North", "South"] * 25}
    for name in ("visits", "other"):
        pq.write_table(pa.table(rows), tmp_path / "bucket" / f"{name}.parquet")
    return FromFolder(str(tmp_path))


def test_without_the_extension_nothing_is_downloaded_and_nothing_is_spent(tmp_path: Path) -> None:
    """Real: a folder of extensions that is empty."""
    engine = duckdb(threads=1, store=object_store({FOLDER: str(tmp_path)}))
    with pytest.raises(BadData, match="INSTALL httpfs"):
        engine.columns(ADDRESS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_table_on_a_store_is_asked_like_any_other(store: ObjectStore) -> None:
    engine = duckdb(threads=1, store=store)
    visits = dp.table(ADDRESS, unit="patient", max_rows=1, columns={"clinic": dp.keys(["North", "South"])})
    session = dp.Session(visits=visits, engine=engine, budget=dp.Pure(1000))
    answer = session.sql("SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic").release(epsilon=500)
    assert answer.rows == [{"clinic": "North", "n": 25}, {"clinic": "South", "n": 25}]
    assert dp.engines.duckdb(store=store).columns(ADDRESS) == engine.columns(ADDRESS)


def test_no_other_address_and_no_file_can_be_read(store: ObjectStore, tmp_path: Path) -> None:
    """Fails where the extension opens the way to everything."""
    engine = duckdb(threads=1, store=store)
    engine.columns(ADDRESS)
    connection = engine._connection(Needs())
    for place in ("s3://bucket/other.parquet", "s3://bucket/*.parquet", str(tmp_path / "bucket" / "other.parquet")):
        with pytest.raises(driver.PermissionException):
            connection.execute(f"SELECT * FROM read_parquet('{place}')")
    with pytest.raises(BadData):
        engine.columns(str(tmp_path / "bucket" / "other.parquet"))


def test_a_file_that_is_gone_is_refused_before_and_fails_after(store: ObjectStore, tmp_path: Path) -> None:
    engine = duckdb(threads=1, store=store)
    engine.columns(ADDRESS)
    (tmp_path / "bucket" / "visits.parquet").unlink()
    with pytest.raises(BadData, match="can read"):
        engine.columns(ADDRESS)
    with pytest.raises(EngineFailed):
        engine.smallest_hashes(ADDRESS, "patient", 3)


def test_what_lets_one_in_comes_from_the_environment_and_is_not_shown() -> None:
    given = {"HOME": "/home/x", "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "hu'sh", "AWS_DEFAULT_REGION": "eu"}
    found = object_store(given | {"AWS_ENDPOINT_URL": "https://minio.example"})
    assert dict(found.secret) == {
        "KEY_ID": "me", "SECRET": "hu'sh", "REGION": "eu", "ENDPOINT": "minio.example", "URL_STYLE": "path",
        "USE_SSL": "true",
    }  # fmt: skip
    assert "hu'sh" not in repr(found)
    said: list[str] = []
    found.load(type("Connection", (), {"execute": lambda _, text: said.append(text)})())
    assert said[0] == "SET extension_directory = '/home/x/.duckdb/extensions'"
    assert said[1] == "LOAD httpfs"
    assert "SECRET 'hu''sh'" in said[2]


@pytest.mark.parametrize(
    "address",
    [
        "http://host/a.parquet",
        "https://host/a.csv",
        "s3://bucket/*.parquet",
        "https://me:secret@host/a.parquet",
        "https://host/a.parquet?X-Amz-Signature=secret",
        "s3://bucket/",
    ],
)
def test_addresses_that_cannot_be_used_are_refused_without_being_shown(address: str) -> None:
    with pytest.raises(BadParameter) as found:
        check_address(address)
    assert "secret" not in str(found.value)
    with pytest.raises(BadParameter):
        files_at(address)
