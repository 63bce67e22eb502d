"""Excel files: one row of names, all cells text, nothing that a row holds can refuse the file."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

import discreet as dp
from discreet.engines.workbooks import read_workbook
from discreet.errors import BadData


def workbook(folder: Path, *rows: list[Any]) -> str:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.create_sheet("codes").append(["another", "sheet"])
    path = folder / "visits.xlsx"
    book.save(path)
    return str(path)


def test_every_cell_is_text_or_null(tmp_path: Path) -> None:
    when = datetime(2025, 1, 31, 10, 30)
    path = workbook(
        tmp_path,
        ["id", "v", None],
        [1, 34.0],
        [2.5, "n/a", "beside", "the names"],
        [None, True],
        ["x", when],
        ["y", datetime(2025, 1, 31)],
        ["z", time(7, 5)],
    )
    assert read_workbook(path).to_pydict() == {
        "id": ["1", "2.5", None, "x", "y", "z"],
        "v": ["34", "n/a", "TRUE", "2025-01-31 10:30:00", "2025-01-31", "07:05:00"],
    }


def test_queries_decide_what_is_a_number_and_one_text_refuses_nothing(tmp_path: Path) -> None:
    path = workbook(tmp_path, ["person", "clinic", "cost"], [1, "North", 10], [2, "South", "n/a"], [3, "South", 70.5])
    visits = dp.table(path, unit="person", max_rows=1, columns={"clinic": dp.keys(["North", "South"])})
    session = dp.Session(visits=visits, budget=dp.Pure(900))
    answer = session.sql("SELECT clinic, COUNT(*) AS n FROM visits WHERE cost > 50 GROUP BY clinic")
    assert answer.release(epsilon=900)["n"] == [0, 1]


@pytest.mark.parametrize("names", [[], ["a", None, "b"], ["a", "A"]])
def test_columns_without_names_are_refused(tmp_path: Path, names: list[Any]) -> None:
    with pytest.raises(BadData, match="must name its columns"):
        read_workbook(workbook(tmp_path, names, [1, 2, 3]))


def test_a_damaged_file_is_refused_without_its_values(tmp_path: Path) -> None:
    path = tmp_path / "visits.xlsx"
    path.write_bytes(b"secret")
    with pytest.raises(BadData, match="can be read") as refused:
        dp.Session(visits=dp.table(path, unit="person"), budget=dp.Pure(1))
    assert "secret" not in str(refused.value)
