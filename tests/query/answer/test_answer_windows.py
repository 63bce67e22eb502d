"""What windows make of released numbers has intervals, too, and ranks have none."""

from __future__ import annotations

import pytest

import discreet as dp

SQL = """SELECT c, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS whole, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY c) AS more,
    RANK() OVER (ORDER BY COUNT(*)) AS place FROM t GROUP BY c"""


@pytest.mark.parametrize("simultaneous", [False, True])
def test_columns_with_windows_have_intervals(simultaneous: bool) -> None:
    """With next to no noise they are where the numbers are; a sum over all rows is as long as all errors together."""
    rows = {"u": range(300), "c": ["a"] * 150 + ["b"] * 100 + ["d"] * 50}
    table = dp.table(rows, unit="u", max_rows=1, columns={"c": dp.keys(["a", "b", "d"])})
    session = dp.Session(t=table, budget=dp.Pure(10**5))
    answer = session.sql(SQL).release(epsilon=1000)
    found = answer.intervals(simultaneous=simultaneous)
    assert list(found) == ["n", "whole", "more"]
    exact: dict[str, list[float | None]] = {"n": [150, 100, 50], "whole": [300] * 3, "more": [None, -50, -50]}
    for name, values in exact.items():
        for interval, value in zip(found[name], values, strict=True):
            assert (interval is None) is (value is None)
            assert interval is None or value is None or interval[0] <= value <= interval[1] <= value + 1
    rough = session.sql(SQL).release(epsilon=1).intervals(simultaneous=simultaneous)
    lengths = {name: [high - low for low, high in filter(None, rough[name])] for name in rough}
    assert min(lengths["whole"]) > max(lengths["more"]) > max(lengths["n"])
