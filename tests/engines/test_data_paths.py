"""Path traversal, links and addresses in the source of a data set."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.engines import data_paths
from discreet.errors import BadData, BadParameter
from tests.helpers.curator.town import Town

BAD = [
    "../secret.parquet",
    "a/../../secret.parquet",
    "/etc/passwd",
    "/tmp/secret.parquet",  # noqa: S108 - refused, never opened
    "~/secret.parquet",
    "~root/secret.csv",
    "..",
    ".",
    "",
    " ",
    "folder",
    ".hidden.parquet",
    ".folder/x.parquet",
    "**/x.parquet",
    "x.duckdb::table",
    "x.txt",
    "x.parquet\x00.csv",
    "x\n.parquet",
    "a\\..\\b.parquet",
    "file:///etc/passwd.csv",
    "http://169.254.169.254/latest.csv",
    "https://example.com/x.parquet",
    "s3://bucket/x.parquet",
    "postgres://internal/db.csv",
    "postgresql://internal:5432/x.csv",
    "x" * 2000 + ".csv",
    "0" * 300,
    "absent.parquet",
    "absent/*.parquet",
    "link.parquet",
    "linked/inside.parquet",
    "loop/x.parquet",
    "dir.parquet",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    base = tmp_path / "data"
    (base / "sub").mkdir(parents=True)
    (base / "dir.parquet").mkdir()
    for name in ("a.parquet", "sub/b1.parquet", "sub/b2.parquet", "c.csv", ".hidden.parquet"):
        (base / name).write_bytes(b"x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "inside.parquet").write_bytes(b"secret")
    (tmp_path / "secret.parquet").write_bytes(b"secret")
    (base / "link.parquet").symlink_to(tmp_path / "secret.parquet")
    (base / "linked").symlink_to(outside)
    (base / "loop").symlink_to(base / "loop")
    return base


@pytest.mark.parametrize("source", BAD)
def test_what_leads_elsewhere_is_refused(root: Path, source: str) -> None:
    with pytest.raises((BadParameter, BadData)) as found:
        data_paths.find(root, source)
    assert "secret" not in str(found.value).replace(repr(source)[:60], "").replace(source[:60], "")


def test_files_and_globs_below_the_root_are_found(root: Path) -> None:
    assert data_paths.find(root, "a.parquet") == (root / "a.parquet",)
    assert data_paths.find(root, "sub/*.parquet") == (root / "sub/b1.parquet", root / "sub/b2.parquet")
    assert list(data_paths.listed(root)) == ["a.parquet", "c.csv", "sub/b1.parquet", "sub/b2.parquet"]


def test_a_glob_that_meets_a_link_is_refused_as_a_whole(root: Path) -> None:
    with pytest.raises(BadData):
        data_paths.find(root, "*.parquet")


def test_a_copy_a_link_and_another_name_have_a_mark_in_common(root: Path) -> None:
    (root / "copy.parquet").write_bytes((root / "a.parquet").read_bytes())
    (root / "hard.parquet").hardlink_to(root / "c.csv")
    marks = {
        name: set(data_paths.marks((root / name,))) for name in ("a.parquet", "copy.parquet", "c.csv", "hard.parquet")
    }
    assert marks["a.parquet"] & marks["copy.parquet"]
    assert marks["c.csv"] & marks["hard.parquet"]


@pytest.mark.slow
@pytest.mark.parametrize("source", BAD)
def test_the_service_refuses_it_and_records_nothing(town: Town, source: str) -> None:
    before = town.curator.ledger.head
    table = {"source": source, "unit": "person_id"}
    register = {"name": "evil", "budget": {"epsilon": 1}, "tables": {"t": table}}
    for path, body in (("/api/datasets", register), ("/api/sources/columns", {"source": source})):
        assert town.post(path, body, town.owner).status_code == 422
    assert town.curator.ledger.head == before
