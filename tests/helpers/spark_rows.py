"""A small table on Spark, and how its rows are counted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import discreet as dp

ROWS = pa.table(
    {
        "user": [i // 2 for i in range(60)],
        "place": ["a" if i % 3 else "b" for i in range(60)],
        "amount": [i % 7 for i in range(60)],
    }
)


COUNTS = {"a": 40, "b": 20, "c": 0}


SURE = 1000


def counted(source: Any, engine: Any, question: str = "SELECT place, COUNT(*) AS n FROM t GROUP BY place") -> Any:
    """The number of rows at each place."""
    columns = {"place": dp.keys(list(COUNTS)), "amount": dp.bounds(0, 6)}
    table = dp.table(source, unit="user", columns=columns, max_rows=2)
    answer = dp.Session(t=table, budget=dp.Pure(SURE), engine=engine).sql(question).release(epsilon=SURE)
    return dict(zip(answer["place"], answer["n"], strict=True))
