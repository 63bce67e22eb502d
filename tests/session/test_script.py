"""A query as a program: run elsewhere it asks the same, costs the same, and shows no row."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.session.script import script_of

ROWS = {"patient": [1, 1, 2, 3], "clinic": ["North", "South", "secret", "North"], "cost": [1.5, 2.0, 777.0, 4.0],
        "day": [date(2024, 1, 31)] * 4, "drug": ["a", "b", "a", "b"]}  # fmt: skip


@pytest.fixture
def visits(tmp_path: Path) -> str:
    pq.write_table(pa.table(ROWS), tmp_path / "visits.parquet")
    return str(tmp_path / "visits.parquet")


def run(script: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    names: dict[str, Any] = {}
    exec(compile(script, "script", "exec"), names)  # noqa: S102
    return names, capsys.readouterr().out


DECLARED: list[dict[str, Any]] = [
    {"unit": "patient"},
    {"unit": dp.each_row},
    {"unit": "patient", "max_rows": 3, "max_groups": 2},
    {
        "unit": "patient",
        "columns": {
            "clinic": dp.keys(["North", "South", None], other="elsewhere"),
            "cost": dp.bounds("1/3", 5_000, nullable=False),
            "day": dp.bounds("2024-01-01", "2024-12-31"),
            "drug": dp.unknown_keys(),
        },
        "max_rows_per_group": 2,
    },
]


@pytest.mark.parametrize("declared", DECLARED)
def test_a_script_asks_the_same_of_the_same_tables(
    visits: str, declared: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    session = dp.Session({"my visits": dp.table(visits, **declared)}, budget=dp.Approx("3/2", "1e-7"))
    query = session.sql("""SELECT COUNT(*) AS "n", SUM(CLAMP(cost, 0, 100)) AS s FROM "my visits" """)
    script = query.script(epsilon="0.1", confidence="0.9")
    names, printed = run(script, capsys)
    assert printed.strip() == str(query.preview(epsilon="0.1", confidence="0.9")).strip()
    theirs = names["session"]
    assert theirs.budget == session.budget
    assert theirs.remaining == session.budget  # a preview is free
    assert theirs._backend.schemas == session._backend.schemas
    assert names["query"].text == query.text


def test_keys_that_are_dates_are_written_as_dates(visits: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = dp.table(visits, unit="patient", columns={"day": dp.keys([date(2024, 1, 31), date(2024, 2, 1)])})
    session = dp.Session(visits=table, budget=dp.Pure(1))
    query = session.sql("SELECT day, COUNT(*) AS n FROM visits GROUP BY day")
    names, _ = run(query.script(epsilon="0.1"), capsys)
    assert names["session"]._backend.schemas == session._backend.schemas


def test_no_row_stands_in_a_script() -> None:
    session = dp.Session(visits=dp.table(ROWS, unit="patient"), budget=dp.Pure(1))
    script = session.sql("SELECT COUNT(*) AS n FROM visits").script(epsilon=1)
    assert "put the dict here" in script
    assert "secret" not in script
    assert "777" not in script
    compile(script, "script", "exec")


def test_terms_that_are_not_the_defaults_are_written(visits: str, capsys: pytest.CaptureFixture[str]) -> None:
    session = dp.Session(
        visits=dp.table(visits, unit="patient", max_rows=1),
        towns=dp.table({"town": ["a"]}, public=True),
        budget=dp.Approx(1, "1e-6"),
        neighbours=dp.Neighbours.CHANGE_ONE,
        rule=dp.Rule.BASIC,
    )
    query = session.sql("SELECT COUNT(*) AS n\nFROM visits")
    script = script_of(query.backend, query.text, query._offered(epsilon="0.1")).replace(
        "...,  # put", "{'town': ['a']},  #"
    )
    names, _ = run(script, capsys)
    theirs = names["session"]._backend.terms
    assert theirs == session._backend.terms
