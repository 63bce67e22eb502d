"""What Spark sends becomes exact integers: those of 64 bits as they are, larger ones as text."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.spark.result import exact, frame_of, numbers_of
from discreet.engines.sql.dialects import Sort
from discreet.engines.sql.hashed_sums import Statement
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import Scan
from discreet.query.plan.work import Form, RowSum, Weights, Work, WorkKey

WORK = Work(
    source=Scan("t"),
    unit="u",
    keys=(WorkKey("k", Column("k"), ("a", None)),),
    cells=(RowSum(Literal(1)),),
    weights=Weights(form=Form.ROWS, cap=1, scale=1),
)
STATEMENT = Statement("SELECT k0, n0 FROM t", (("k0", Sort.TEXT),), 1)


def test_numbers_come_short_or_as_text() -> None:
    short = numbers_of(pa.chunked_array([[1, -(2**63)]]), pa.chunked_array([pa.array([None, None], pa.string())]))
    assert (short.dtype.name, short.tolist()) == ("int64", [1, -(2**63)])
    mixed = numbers_of(pa.chunked_array([[1, None]]), pa.chunked_array([[None, str(-(2**100))]]))
    assert (mixed.dtype.name, mixed.tolist()) == ("object", [1, -(2**100)])
    none = pa.chunked_array([], pa.int64()), pa.chunked_array([], pa.string())
    assert numbers_of(*none).tolist() == []


def test_a_number_that_is_missing_is_refused() -> None:
    with pytest.raises(TypeError):
        numbers_of(pa.chunked_array([pa.array([None], pa.int64())]), pa.chunked_array([pa.array([None], pa.string())]))


def test_rows_become_keys_and_numbers() -> None:
    found = exact(
        WORK, STATEMENT, pa.table({"k0": ["a", None], "n0": [5, 6], "t0": pa.array([None, None], pa.string())})
    )
    assert found.keys == (("a",), (None,))
    assert found.numbers[0].tolist() == [5, 6]


@pytest.mark.parametrize("keys", [["b"], [7], ["a", "a"]], ids=str)
def test_keys_that_nobody_asked_for_are_refused(keys: list[Any]) -> None:
    rows = pa.table({"k0": keys, "n0": [1] * len(keys), "t0": pa.array([None] * len(keys), pa.string())})
    with pytest.raises((TypeError, ValueError)):
        exact(WORK, STATEMENT, rows)


def test_a_statement_asks_for_each_number_twice() -> None:
    class Session:
        def sql(self, text: str) -> str:
            return text

    text = str(frame_of(STATEMENT, Session()))  # type: ignore[arg-type]
    assert text.startswith("SELECT k0, TRY_CAST(n0 AS BIGINT) AS n0, CASE WHEN TRY_CAST(n0 AS BIGINT) IS NULL THEN ")
