"""Answers as Parquet and CSV files: the same rows as in memory, in pieces, never over what is there."""

import csv
import json
import tracemalloc
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import BadParameter, MissingExtra
from discreet.query.answer import export
from discreet.query.answer.export import write_parquet, write_rows

ROWS = pa.table(
    {
        "user": list(range(400)),
        "place": [("a", "b", None)[i % 3] for i in range(400)],
        "late": [i % 2 == 0 for i in range(400)],
        "amount": [i % 7 for i in range(400)],
        "key": [f"k{i % 20}" for i in range(400)],
    }
)
QUESTIONS = {
    "listed": "SELECT place, COUNT(*) AS n, AVG(amount) AS m FROM t GROUP BY place",
    "unknown": "SELECT key, COUNT(*) AS n, SUM(amount) / 2 AS half FROM t GROUP BY key",
    "rollup": "SELECT place, late, COUNT(*) AS n FROM t GROUP BY ROLLUP (place, late)",
    "having": "SELECT key, COUNT(*) AS n FROM t GROUP BY key HAVING COUNT(*) > 19.5",
    "ordered": "SELECT key, COUNT(*) AS n FROM t GROUP BY key ORDER BY n DESC, key LIMIT 7",
    "nothing": "SELECT key, COUNT(*) AS n FROM t GROUP BY key HAVING COUNT(*) > 100000",
    "one number": "SELECT COUNT(*) AS n FROM t",
    "a date": "SELECT late, DATE '2024-02-29' AS d, NULL AS nothing, COUNT(*) AS n FROM t GROUP BY late",
}


def answer(question: str, source: Any = ROWS, engine: Any = None) -> Any:
    columns = {
        "place": dp.keys(["a", "b", None]),
        "late": dp.keys([True, False]),
        "amount": dp.bounds(0, 6),
        "key": dp.unknown_keys(),
    }
    table = dp.table(source, unit="user", columns=columns)
    options = {} if engine is None else {"engine": engine}
    session = dp.Session(t=table, budget=dp.Approx(20, "1e-6"), **options)
    return session.sql(question).release(epsilon=10)


@pytest.mark.slow
@pytest.mark.parametrize("piece", [1, 3, 50_000])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_file_holds_what_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, piece: int) -> None:
    monkeypatch.setattr(export, "PIECE", piece)
    found = answer(QUESTIONS[name])
    found.write(tmp_path / "fresh.parquet")  # before anything was looked at
    shown = found.to_arrow()
    found.write(str(tmp_path / "again.parquet"))
    found.write(tmp_path / "bare.parquet", errors=False)
    found.write(tmp_path / "sure.parquet", confidence="0.999")
    assert pq.read_table(tmp_path / "fresh.parquet").equals(shown)
    assert pq.read_table(tmp_path / "again.parquet").equals(shown)
    assert pq.read_table(tmp_path / "bare.parquet").equals(found.to_arrow(errors=False))
    assert pq.read_table(tmp_path / "sure.parquet").equals(found.to_arrow(confidence="0.999"))


def test_nothing_is_written_over(tmp_path: Path) -> None:
    found = answer(QUESTIONS["listed"])
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("file", "folder", "link"):
        with pytest.raises(BadParameter, match="must not be there yet"):
            found.write(tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(BadParameter, match="in a folder"):
        found.write(tmp_path / "no" / "such" / "folder.parquet")
    with pytest.raises(BadParameter):
        found.write(tmp_path / "x.parquet", confidence=2)
    assert not (tmp_path / "x.parquet").exists()


@pytest.mark.slow
@pytest.mark.parametrize("piece", [3, 50_000])
@pytest.mark.parametrize("name", QUESTIONS)
def test_csv_holds_what_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, piece: int) -> None:
    monkeypatch.setattr(export, "PIECE", piece)
    found = answer(QUESTIONS[name])
    found.write(tmp_path / "answer.CSV")
    shown = found.to_arrow()
    with (tmp_path / "answer.CSV").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == shown.column_names
    assert len(rows) == shown.num_rows
    for row, expected in zip(rows, shown.to_pylist(), strict=True):
        for text, value in zip(row, expected.values(), strict=True):
            if isinstance(value, bool) or not isinstance(value, int | float):
                assert text == {None: "", True: "true", False: "false"}.get(value, str(value))
            else:
                assert float(text) == value


def test_a_file_says_what_was_spent_and_how_sure_its_errors_are(tmp_path: Path) -> None:
    """A CSV file carried no cost, no confidence and no notes."""
    found = answer(QUESTIONS["unknown"])
    found.write(tmp_path / "a.csv", confidence="0.9")
    found.write(tmp_path / "a.parquet", confidence="0.9")
    about = json.loads((tmp_path / "a.csv-metadata.json").read_text(encoding="utf-8"))
    assert json.loads(pq.read_metadata(tmp_path / "a.parquet").metadata[b"discreet"]) == about
    assert about["spent"] == found.cost
    assert about["confidence_of_errors"] == "90%"
    assert about["notes"] == [str(note) for note in found.notes]
    assert about["how_it_was_made"] == list(found.story)


def test_a_file_about_another_is_not_written_over_and_does_not_stay_alone(tmp_path: Path) -> None:
    found = answer(QUESTIONS["listed"])
    (tmp_path / "a.csv-metadata.json").write_text("mine")
    (tmp_path / "b.csv").write_text("mine")
    for name in ("a.csv", "b.csv"):
        with pytest.raises(BadParameter, match="must not be there yet"):
            found.write(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv-metadata.json", "b.csv"]


@pytest.mark.parametrize("name", ["listed", "rollup", "one number"])
def test_frames_made_of_an_answer_have_its_errors(name: str) -> None:
    """``pandas.DataFrame(answer)`` dropped the columns of errors."""
    found = answer(QUESTIONS[name])
    pd.testing.assert_frame_equal(pd.DataFrame(found), found.to_pandas(), check_dtype=False)
    assert pl.DataFrame(found).equals(found.to_polars())
    assert pa.table(found).equals(found.to_arrow())


def test_a_key_cannot_steer_a_terminal() -> None:
    rows = pa.table({"user": list(range(90)), "k": ["\x1b[2J"] * 90})
    table = dp.table(rows, unit="user", columns={"k": dp.keys(["\x1b[2J"])})
    found = dp.Session(t=table, budget=dp.Pure(9)).sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").release(epsilon=9)
    assert found["k"] == ["\x1b[2J"]
    assert "\x1b" not in str(found)


def test_no_text_of_a_csv_is_a_formula(tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "a=1", 'say "hi", twice', "", None, "two\n=lines"]
    texts += ["\n=1", "\t=1", "＝1", "a;=1", ";;-1", "a\r@b", "a; b"]
    rows = pa.table({"=head": texts, "n": [-3, *range(len(texts) - 1)]})
    write_rows(tmp_path / "x.csv", lambda: iter([rows]))
    with (tmp_path / "x.csv").open(newline="") as file:
        head, *found = csv.reader(file)
    assert head == ["'=head", "n"]
    assert [text for text, _ in found] == [
        *("'=1+1", "'+1", "'-1", "'@a", "'\tx", "'\rx", "a=1", 'say "hi", twice', "", "", "two\n'=lines"),
        *("'\n'=1", "'\t'=1", "'＝1", "a;'=1", ";;'-1", "a\r'@b", "a; b"),
    ]
    assert found[0][1] == "-3"  # a number is no text


def test_the_ending_says_what_is_written(tmp_path: Path) -> None:
    found = answer(QUESTIONS["listed"])
    found.write(tmp_path / "folder")
    found.write(f"{tmp_path}/other/")
    assert pq.read_table(tmp_path / "folder").equals(found.to_arrow())
    assert pq.read_table(tmp_path / "other").equals(found.to_arrow())
    for name in ("answer.xls", "answer.csv.gz", "answer.json", "answer.parquet.old"):
        with pytest.raises(BadParameter, match=r"must end in \.parquet, \.csv"):
            found.write(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "other"]


@pytest.mark.parametrize("name", ["x.csv", "x"])
def test_half_of_anything_does_not_stay(tmp_path: Path, name: str) -> None:
    def pieces() -> Iterator[pa.Table]:
        yield pa.table({"x": [1]})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(tmp_path / name, pieces)
    assert not list(tmp_path.iterdir())


def test_half_a_file_does_not_stay(tmp_path: Path) -> None:
    def pieces() -> Iterator[pa.Table]:
        yield pa.table({"x": [1]})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parquet(tmp_path / "x.parquet", pieces)
    assert not list(tmp_path.iterdir())


def test_types_are_those_of_all_pieces(tmp_path: Path) -> None:
    tables = [pa.table({"x": [None], "y": [1]}), pa.table({"x": ["a"], "y": [0.5]}), pa.table({"x": [None], "y": [2]})]
    write_parquet(tmp_path / "x.parquet", lambda: iter(tables))
    assert pq.read_table(tmp_path / "x.parquet").equals(pa.table({"x": [None, "a", None], "y": [1.0, 0.5, 2.0]}))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_answer(tmp_path: Path) -> None:
    def peak(pieces: int) -> int:
        tracemalloc.start()
        write_parquet(
            tmp_path / f"{pieces}.parquet",
            lambda: (pa.table({"x": [f"{i}" for i in range(2000)]}) for _ in range(pieces)),
        )
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(2)
    assert peak(60) < 2 * peak(6)


def test_an_excel_file_has_the_rows_and_what_is_said_about_them(tmp_path: Path) -> None:
    rows = pa.table({"=name": ["=1+1", None, "a\x07b"], "n": [1, 2, None], "day": [date(2024, 2, 29)] * 3})
    write_rows(tmp_path / "a.xlsx", lambda: iter([rows.slice(0, 2), rows.slice(2)]), {"cost": "epsilon 1", "notes": []})
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    day = datetime(2024, 2, 29)
    listed = [("=name", "n", "day"), ("=1+1", 1, day), (None, 2, day), ("a\ufffdb", None, day)]
    assert list(book["rows"].values) == listed
    assert {cell.data_type for cell in next(book["rows"].iter_cols())} <= {"s", "n"}  # no formula
    assert dict(book["about"].values) == {"cost": "epsilon 1", "notes": "[]"}
    with pytest.raises(BadParameter, match="nothing is written over"):
        write_rows(tmp_path / "a.xlsx", lambda: iter([rows]))


def test_more_rows_than_a_sheet_holds_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "_SHEET", 3)
    with pytest.raises(BadParameter, match="must have fewer than 3 rows"):
        write_rows(tmp_path / "a.xlsx", lambda: iter([pa.table({"n": [1, 2, 3]})]))
    assert not (tmp_path / "a.xlsx").exists()


def test_excel_files_without_their_library_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(export, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="openpyxl"):
        write_rows(tmp_path / "a.xlsx", lambda: iter([pa.table({"n": [1]})]))
    assert not (tmp_path / "a.xlsx").exists()
