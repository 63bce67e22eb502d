"""Results with many groups: written once, read in batches, removed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.spark import staging as spark_staging
from tests.helpers.spark_rows import SURE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY = pa.table({"user": list(range(3000)), "key": [f"k{i % 40}" if i < 2000 else f"rare {i}" for i in range(3000)]})


@pytest.mark.slow
@pytest.mark.parametrize("staging", ["of its own", "given", "none", "heavy units"])
def test_unknown_keys_in_batches(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, staging: str
) -> None:
    monkeypatch.setattr(spark_staging, "BATCH", 97)
    given = str(tmp_path) if staging == "given" else None
    engine = dp.engines.spark(spark, staging=given, heavy_units=staging == "heavy units")
    if staging == "none":
        monkeypatch.setattr(sys.modules[type(engine).__module__], "_here", lambda _session: False)
    table = dp.table(MANY, unit="user", columns={"key": dp.unknown_keys()})
    s = dp.Session(t=table, budget=dp.Approx(2 * SURE, "1e-15"), engine=engine)
    answer = s.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=SURE)
    assert dict(zip(answer["key"], answer["n"], strict=True)) == {f"k{i}": 50 for i in range(40)}
    assert not list(tmp_path.iterdir()), "nothing stays behind"
    for copy in ("one", "two"):  # what was released once is the same in every copy
        answer.write(tmp_path / copy)
        assert pq.read_table(tmp_path / copy).equals(answer.to_arrow())


def test_a_folder_is_private_and_goes_at_the_end(tmp_path: Path) -> None:
    with spark_staging._folder("") as own:
        path = Path(own.path)
        path.mkdir()
        assert path.parent.stat().st_mode & 0o077 == 0
        assert own.uri("exact") == f"file://{path}/exact"
    assert not path.parent.exists()
    with spark_staging._folder(f"{tmp_path}/") as given:
        Path(given.path).mkdir()
        assert Path(given.path).parent == tmp_path
    assert not list(tmp_path.iterdir())
    with spark_staging._folder(f"file://{tmp_path}") as one, spark_staging._folder(str(tmp_path)) as other:
        assert one.path != other.path, "never the same twice"
