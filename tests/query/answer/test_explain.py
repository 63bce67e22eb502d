"""The story of an answer names every step from the rows to the price."""

import re

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory

ROWS = pa.table({"who": [1], "place": ["a"], "cost": [1.0], "kind": ["x"]})
COLUMNS = {"place": dp.keys(["a", "b"]), "cost": dp.bounds(0, 100), "kind": dp.unknown_keys()}


def told(text: str) -> str:
    table = dp.table(ROWS, unit="who", columns=COLUMNS, max_rows=3)
    session = dp.Session(t=table, budget=dp.Approx(10, "1e-6"), engine=memory())
    return str(session.sql(text).explain(epsilon=1))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("SELECT COUNT(*) AS n FROM t", "all rows are one group"),
        ("SELECT COUNT(*) AS n FROM t WHERE cost > 1", "keep rows that pass WHERE"),
        ("SELECT place, COUNT(*) AS n FROM t GROUP BY place", "2 groups, all listed in advance"),
        ("SELECT kind, COUNT(*) AS n FROM t GROUP BY kind", "undeclared keys"),
        ("SELECT kind, COUNT(*) AS n FROM t GROUP BY kind", "a key is named if its noisy number of units is at least"),
        ("SELECT COUNT(*) AS n, AVG(cost) AS m FROM t", "sums that together move like one"),
        ("SELECT MEDIAN(cost) AS m FROM t", "look for the quantile 0.5 in 4,096 bins"),
        ("SELECT MEDIAN(cost) AS m, QUANTILE(cost, 0.9) AS q FROM t", "the quantiles 0.5, 0.9 in"),
        ("SELECT MEDIAN(cost) AS m, MIN(cost) AS q FROM t", "as a tree"),
        ("SELECT COUNT(DISTINCT place) AS n FROM t", "count distinct values"),
        ("SELECT COUNT(DISTINCT who) AS n FROM t", "count units"),
        ("SELECT place, COUNT(*) AS n FROM t GROUP BY place HAVING COUNT(*) > 1", "HAVING (post-processing, free)"),
        ("SELECT place, COUNT(*) AS n FROM t GROUP BY place ORDER BY n LIMIT 1", "keep 1 released rows"),
        ("SELECT COUNT(*) AS n FROM (SELECT place FROM t UNION ALL SELECT place FROM t)", "put the rows together"),
        ("SELECT COUNT(*) AS n FROM t", "a unit weighs at most 3 rows in all"),
        ("SELECT COUNT(*) AS n FROM t", "all together: epsilon 1"),
    ],
)
def test_a_step_is_named(text: str, line: str) -> None:
    assert line in told(text)


def test_a_question_without_a_condition_names_none() -> None:
    found = told("SELECT COUNT(*) AS n FROM t")
    for absent in ("WHERE", "HAVING", "post-processing", "undeclared keys", "tree"):
        assert absent not in found


def test_large_numbers_are_written_out() -> None:
    """Bounds, caps, noise and thresholds beyond a thousand: 1,070 and not 1.07e+03."""
    columns = COLUMNS | {"cost": dp.bounds(0, 3_000_000)}
    session = dp.Session(
        t=dp.table(ROWS, unit="who", columns=columns, max_rows=2_000), budget=dp.Approx(10, "1e-6"), engine=memory()
    )
    wide = "SELECT kind, COUNT(*) AS n, SUM(cost) AS s, AVG(cost) AS m FROM t GROUP BY kind"
    words = str(session.workload([wide, "SELECT MEDIAN(cost) AS m FROM t"]).explain(epsilon="0.01"))
    assert "3,000,000" in words or "1,500,000" in words
    assert "2,000" in words
    assert re.search(r"\de\+", words) is None


def test_a_preview_says_for_which_columns_the_price_is_shared() -> None:
    own = dp.Session(
        t=dp.table({"u": [1], "x": [3], "y": [4]}, unit="u", max_rows=1, columns={"x": dp.bounds(0, 9)}),
        budget=dp.Pure(1),
    )
    two = "SELECT COUNT(DISTINCT x) AS a, COUNT(DISTINCT y) AS b, AVG(x) AS mean, COUNT(x) AS n FROM t"
    lines = str(own.sql(two).preview(epsilon=1)).splitlines()
    for words in ("count distinct values (for a)", "count distinct values (for b)", "(for mean, n)"):
        assert sum(line.endswith(words) and "% of the cost: " in line for line in lines) == 1
    assert "(for" not in str(own.sql("SELECT AVG(x) AS mean FROM t").preview(epsilon=1))
