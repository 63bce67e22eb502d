"""An answer says which rows are in none of its groups, unless there are none."""

from __future__ import annotations

import pytest

import discreet as dp


@pytest.mark.parametrize(
    ("keys", "text", "words"),
    [
        (["a"], "SELECT g, COUNT(*) AS n FROM t GROUP BY g", "Rows whose g is NULL or none of the listed keys"),
        (["a", None], "SELECT g, COUNT(*) AS n FROM t GROUP BY g", "Rows whose g is none of the listed keys"),
        (["a"], "SELECT b, COUNT(*) AS n FROM t GROUP BY b", "Rows whose b is NULL"),
        (["a"], "SELECT g, b, COUNT(*) AS n FROM t GROUP BY g, b", "Rows whose g or b is NULL or none of"),
        (["a"], "SELECT UPPER(g) AS h, COUNT(*) AS n FROM t GROUP BY UPPER(g)", "Rows whose h is NULL or none"),
        (["a"], "SELECT COUNT(*) AS n FROM t", None),
        (["a"], "SELECT g, COUNT(*) AS n FROM t WHERE g IN ('a') GROUP BY g", None),
        (["a"], "SELECT x > 1 AS y, COUNT(*) AS n FROM t WHERE x IS NOT NULL GROUP BY x > 1", None),
        (["a"], "SELECT CASE WHEN x > 1 THEN 'p' ELSE 'q' END AS y, COUNT(*) AS n FROM t GROUP BY 1", None),
    ],
)
def test_what_is_left_out_is_said_once(keys: list[str | None], text: str, words: str | None) -> None:
    rows = {"u": [1, 2], "g": ["a", "b"], "b": [True, None], "x": [1, 2]}
    table = dp.table(rows, unit="u", max_rows=1, columns={"g": dp.keys(keys), "x": dp.bounds(0, 5)})
    query = dp.Session(t=table, budget=dp.Pure(9)).sql(text)
    for told in (str(query.preview(1)), query.release(1).explain()):
        assert told.count("are left out") == (words is not None)
        assert words is None or words in told
