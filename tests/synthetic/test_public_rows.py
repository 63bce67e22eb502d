"""public_rows.py: what a table, a frame and a file have in common, and what SQL may reach."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.errors import BadQuestion, MissingExtra
from discreet.synthetic.public_rows import PublicRows


class Two(PublicRows):
    def to_arrow(self) -> pa.Table:
        return pa.table({"n": [1, 2]})


def test_frames_have_the_rows() -> None:
    assert Two().to_polars()["n"].to_list() == list(Two().to_pandas()["n"]) == [1, 2]


@pytest.mark.parametrize(("name", "method"), [("pandas", "to_pandas"), ("polars", "to_polars")])
def test_a_frame_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, name: str, method: str) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match="frames"):
        getattr(Two(), method)()


@pytest.mark.slow
def test_sql_reaches_the_rows_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("secret\n1\n")
    assert Two().sql("SELECT SUM(n) AS s FROM synthetic").column("s").to_pylist() == [3]
    for question in (f"SELECT * FROM '{tmp_path / 'other.csv'}'", "SET enable_external_access = true", "no SQL"):
        with pytest.raises(BadQuestion):
            Two().sql(question)
