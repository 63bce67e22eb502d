"""Stata, SPSS and SAS files: types by the header alone, codes by their labels, no row refuses a file."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import discreet as dp
from discreet.engines.labelled_files import read_labelled, value_labels
from discreet.errors import BadData
from discreet.query.plan.schema import StoredKind
from tests.helpers.source_rows import kinds

SURVEY = pd.DataFrame(
    {
        "person": [1.0, 1.0, 2.0],
        "sex": [1.0, 2.0, np.nan],
        "age": [30.0, 98.0, 41.5],
        "town": ["a", "", "ü"],
        "seen": pd.to_datetime(["2024-01-02 10:11:12.5", "1999-02-03 00:00:00.0", None]),
        "day": [date(2024, 1, 2), None, date(1960, 1, 1)],
    }
)
LABELS = {"sex": {1: "male", 2: "female", 3: "other"}}
READ = {
    "person": [1.0, 1.0, 2.0],
    "sex": ["male", "female", None],
    "town": ["a", "", "ü"],
    "seen": [datetime(2024, 1, 2, 10, 11, 12, 500_000), datetime(1999, 2, 3), None],
    "day": [date(2024, 1, 2), None, date(1960, 1, 1)],
}


def written(folder: Path, ending: str, frame: pd.DataFrame = SURVEY, **options: Any) -> str:
    path = str(folder / f"survey.{ending}")
    options = {"variable_value_labels": LABELS, **options} if ending != "xpt" else {}
    write: dict[str, Any] = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}
    write[ending](frame, path, **options)
    return path


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_rows_are_read_with_the_types_and_labels_of_the_header(tmp_path: Path, ending: str) -> None:
    columns = read_labelled(written(tmp_path, ending)).to_pydict()
    expected = READ if ending != "xpt" else {**READ, "sex": [1.0, 2.0, None]}
    assert {name: columns[name] for name in expected} == expected
    assert columns["age"] == [30.0, 98.0, 41.5]


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_types_do_not_follow_the_rows(tmp_path: Path, ending: str) -> None:
    """Also with no row at all, or with numbers that are no days of any calendar."""
    far = SURVEY.assign(person=[1e300, np.nan, 0.5])
    (tmp_path / "far").mkdir()
    assert kinds(written(tmp_path / "far", ending, far)) == kinds(written(tmp_path, ending))
    if ending != "xpt":  # what it holds of text has no width there
        (tmp_path / "none").mkdir()
        assert kinds(written(tmp_path / "none", ending, SURVEY.iloc[:1])) == kinds(written(tmp_path, ending))


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
@pytest.mark.parametrize(
    ("bytes_there", "read"),
    [
        (b"z\xff\xfe\x80zz", None),
        ("zéüz".encode(), "zéüz"),
        ("zéüzzz".encode("latin-1"), None),
        (b"zzzz\xe2\x82", "zzzz"),
    ],
)
def test_bytes_that_are_no_text_do_not_refuse_a_file(
    tmp_path: Path, ending: str, bytes_there: bytes, read: str | None
) -> None:
    """What somebody's row holds decided whether anybody could ask."""
    path = Path(written(tmp_path, ending, pd.DataFrame({"g": ["first", "zzzzzz", "ü"]}), variable_value_labels={}))
    path.write_bytes(path.read_bytes().replace(b"zzzzzz", bytes_there))
    assert read_labelled(str(path)).to_pydict() == {"g": ["first", read, "ü"]}


def test_text_of_older_stata_is_read_as_windows_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "old.dta"
    pyreadstat.write_dta(pd.DataFrame({"g": ["zzz", "x"]}), str(path), version=12)
    path.write_bytes(path.read_bytes().replace(b"zzz", b"z\x80\xe9"))
    assert read_labelled(str(path)).to_pydict() == {"g": ["z€é", "x"]}


def test_days_that_no_calendar_has_are_null(tmp_path: Path) -> None:
    frame = pd.DataFrame({"day": [0.0, 1e300, -1e12, np.nan], "seen": [0.0, 1e300, -1e300, 8.64e7]})
    path = str(tmp_path / "far.dta")
    pyreadstat.write_dta(frame, path, variable_format={"day": "%td", "seen": "%tc"})
    columns = read_labelled(path).to_pydict()
    assert columns["day"] == [date(1960, 1, 1), None, None, None]
    assert columns["seen"] == [datetime(1960, 1, 1), None, None, datetime(1960, 1, 2)]


def test_whole_numbers_stay_whole_with_missing_ones(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": pd.array([1, None, 3], dtype="Int32"), "u": np.array([1, 2, 3], dtype=np.int16)})
    path = str(tmp_path / "whole.dta")
    pyreadstat.write_dta(frame, path)
    assert kinds(path) == {"n": StoredKind.INTEGER, "u": StoredKind.INTEGER}
    assert read_labelled(path).to_pydict() == {"n": [1, None, 3], "u": [1, 2, 3]}


def test_labels_are_proposed_as_keys_but_not_those_of_missing_values(tmp_path: Path) -> None:
    labels = {**LABELS, "age": {98: "refused"}}
    path = written(tmp_path, "sav", variable_value_labels=labels, missing_ranges={"age": [98]})
    assert value_labels(path) == {"sex": dp.keys(["male", "female", "other"])}
    assert read_labelled(path).to_pydict()["age"] == [30.0, None, 41.5]


def test_a_code_without_a_label_is_written_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, "sav", variable_value_labels={"age": {98: "98 or older"}})
    assert read_labelled(path).to_pydict()["age"] == ["30", "98 or older", "41.5"]


def test_a_query_groups_by_labels_and_reads_numbers_among_them(tmp_path: Path) -> None:
    """Proposed keys are declared only if somebody passes them; text among numbers is clamped away, not refused."""
    path = written(tmp_path, "sav", variable_value_labels={**LABELS, "age": {98: "98 or older"}})
    survey = dp.table(path, unit="person", columns=value_labels(path) | {"age": dp.bounds(0, 120)}, max_rows=2)
    session = dp.Session(survey=survey, budget=dp.Pure(2000))
    answer = session.sql("SELECT sex, COUNT(*) AS n FROM survey GROUP BY sex").release(epsilon=900)
    assert dict(zip(answer["sex"], answer["n"], strict=True)) == {"female": 1, "male": 1, "other": 0}
    assert session.sql("SELECT SUM(age) AS s FROM survey").release(epsilon=900).value == pytest.approx(71.5, abs=2)


def test_a_file_that_changed_is_read_again_and_other_columns_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "sav")
    session = dp.Session(survey=dp.table(path, unit="person", max_rows=1), budget=dp.Pure(3000))
    query = session.sql("SELECT COUNT(DISTINCT person) AS n FROM survey")
    assert query.release(epsilon=900).value == 2
    written(tmp_path, "sav", pd.concat([SURVEY, SURVEY.assign(person=7.0)]))
    assert query.release(epsilon=900).value == 3
    written(tmp_path, "sav", SURVEY.rename(columns={"town": "city"}))
    spent = str(session.remaining)
    with pytest.raises(BadData, match="have changed"):
        query.release(epsilon=900)
    assert str(session.remaining) == spent


def test_a_damaged_file_is_refused_without_its_values(tmp_path: Path) -> None:
    path = tmp_path / "survey.sav"
    path.write_bytes(b"secret" * 100)
    with pytest.raises(BadData, match="can be read") as refused:
        dp.Session(survey=dp.table(path, unit="person"), budget=dp.Pure(1))
    assert "secret" not in str(refused.value)
    with pytest.raises(BadData, match="must end in"):
        value_labels(str(tmp_path / "survey.parquet"))


def test_a_ledger_knows_the_file_again(tmp_path: Path) -> None:
    path = written(tmp_path, "sav")
    for left in ("3/4", "1/2"):
        survey = dp.table(path, unit="person", max_rows=1)
        session = dp.Session(survey=survey, budget=dp.Pure(1), ledger=str(tmp_path / "budget.db"))
        session.sql("SELECT COUNT(*) AS n FROM survey").release(epsilon="1/4")
        assert session.remaining == dp.Pure(left)
