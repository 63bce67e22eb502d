"""The hash of a plan: the same for the same plan in every process, another for any other plan."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.plan.fingerprint import fingerprint

PROGRAM = """
import sys
import pyarrow as pa, discreet as dp
from discreet.query.plan.fingerprint import fingerprint
rows = pa.table({"who": [1, 2], "city": ["a", "b"], "pay": [1.0, 2.0]})
columns = {"city": dp.keys(["a", "b"]), "pay": dp.bounds(0, 9)}
session = dp.Session(t=dp.table(rows, unit="who", columns=columns, max_rows=2), budget=dp.Pure(1))
print(fingerprint(session.sql(sys.argv[1]).prepared.asked))
"""
TEXT = "SELECT city, SUM(pay) AS s FROM t WHERE city IN ('a', 'b') GROUP BY city"


def session(**caps: Any) -> dp.Session:
    rows = pa.table({"who": [1, 2], "city": ["a", "b"], "pay": [1.0, 2.0]})
    columns = {"city": dp.keys(["a", "b"]), "pay": dp.bounds(0, 9)}
    table = dp.table(rows, unit="who", columns=columns, **(caps or {"max_rows": 2}))
    return dp.Session(t=table, budget=dp.Pure(1))


def mark(text: str, s: dp.Session | None = None) -> str:
    return fingerprint((s or session()).sql(text).prepared.asked)


@pytest.mark.slow
def test_another_process_finds_the_same() -> None:
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, TEXT],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == mark(TEXT)


@pytest.mark.parametrize(
    "same", [TEXT.lower().replace("sum", "Sum"), TEXT.replace("FROM t", "FROM t AS x"), TEXT.replace("BY city", "BY 1")]
)
def test_how_it_is_written_does_not_count(same: str) -> None:
    assert mark(same) == mark(TEXT)


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("AS s", "AS r"),
        TEXT.replace("SUM", "AVG"),
        TEXT.replace("'a', 'b'", "'a'"),
        TEXT + " ORDER BY s",
        TEXT + " LIMIT 1",
        TEXT + " HAVING SUM(pay) > 1",
        TEXT.replace("SUM(pay)", "SUM(pay + 1)"),
        TEXT.replace("SUM(pay)", "SUM(pay) FILTER (WHERE pay > 1)"),
    ],
)
def test_anything_else_does(other: str) -> None:
    assert mark(other) != mark(TEXT)


def test_what_is_declared_counts() -> None:
    assert mark(TEXT, session(max_rows=3)) != mark(TEXT)


def test_values_are_told_apart_by_kind_and_place() -> None:
    values = [1, True, 1.0, "1", None, (), ((),), (1, 1), ((1,), 1), (1, (1,)), {"a": 1}, dp.Pure(1), dp.ZCDP(1)]
    assert len({fingerprint(value) for value in values}) == len(values)
    assert fingerprint("a\nstr 'b'") != fingerprint("a", "b")
    with pytest.raises(TypeError):
        fingerprint(object())
