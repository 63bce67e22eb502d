"""In a picture a total of ROLLUP is labelled "all" for each key that it is over; a group of NULL is labelled NULL."""

from __future__ import annotations

import discreet as dp


def test_only_the_keys_that_a_total_is_over_are_shown_as_all() -> None:
    rows = {"u": range(200), "a": ["x", None] * 100, "b": ["p", "p", "q", "q"] * 50}
    columns = {"a": dp.keys(["x", None]), "b": dp.keys(["p", "q"], nullable=False)}
    session = dp.Session(t=dp.table(rows, unit="u", max_rows=1, columns=columns), budget=dp.Pure(1000))
    answer = session.sql("SELECT a, b, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, b) ORDER BY n DESC").release(
        epsilon=900
    )
    labels = [", ".join(answer._label(row, key) for key in ("a", "b")) for row in answer._kept]
    assert labels[0] == "all, all"
    assert sorted(labels[1:3]) == ["NULL, all", "x, all"]
    assert sorted(labels[3:]) == ["NULL, p", "NULL, q", "x, p", "x, q"]
