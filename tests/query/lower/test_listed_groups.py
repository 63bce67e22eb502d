"""Which of the listed keys there are: as SQL says, and for a price."""

import pytest

import discreet as dp

ROWS = {"id": list(range(100)), "c": ["a"] * 50 + ["b"] * 50, "e": [n % 4 for n in range(100)], "u": ["x"] * 100}


def session() -> dp.Session:
    columns = {"e": dp.bounds(0, 9), "c": dp.keys(["a", "b", "d"]), "u": dp.unknown_keys()}
    public = dp.table({"k": ["a", "z"]}, public=True)
    table = dp.table(ROWS, unit="id", columns=columns, max_rows=1)
    return dp.Session(t=table, p=public, budget=dp.Approx(10**15, "0.5"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT c FROM t GROUP BY c", [("a",), ("b",)]),
        ("SELECT DISTINCT c FROM t", [("a",), ("b",)]),
        ("SELECT DISTINCT c, e > 1 AS high FROM t WHERE e < 3 ORDER BY c, high",
         [("a", False), ("a", True), ("b", False), ("b", True)]),
        ("SELECT k FROM t JOIN p ON c = k GROUP BY k", [("a",)]),
        ("SELECT COUNT(*) AS n FROM (SELECT DISTINCT c FROM t) AS d", [(2,)]),
        ("SELECT SUM(e) AS s FROM (SELECT DISTINCT e FROM t) AS d", [(6,)]),
        ("SELECT c FROM t GROUP BY c UNION ALL SELECT DISTINCT c FROM t WHERE e > 1", [("a",), ("b",), ("a",), ("b",)]),
        ("SELECT u FROM t GROUP BY u", [("x",)]),
    ],
)  # fmt: skip
def test_the_groups_that_there_are(text: str, rows: list[tuple[object, ...]]) -> None:
    asking = session()
    before = asking.remaining
    found = asking.sql(text).release(epsilon=10**6)
    assert [tuple(row.values()) for row in found.rows] == rows
    assert asking.remaining != before


def test_it_is_the_question_for_the_number_of_rows() -> None:
    asking = session()
    short = asking.sql("SELECT c FROM t GROUP BY c")
    assert short.plan == asking.sql("SELECT c FROM t GROUP BY c HAVING COUNT(*) >= 1").plan
    assert asking.sql(short.text).plan == short.plan
    assert asking["t"].group_by("c").agg().plan == short.plan
