"""What is computed from released values is checked before anybody pays."""

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadQuestion
from discreet.query.functions.catalogue import OF_RELEASED
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import Window
from discreet.query.plan.types import Boolean, Date, Kind, Real, Text, Timestamp
from discreet.query.typing.released import _RULES, _WINDOWS, Sort, _sort_of_window, sort_of, sort_of_kind

ROWS = {"id": list(range(100)), "v": [1.5] * 100, "c": ["a", "b"] * 50, "d": [date(2024, 3, 1)] * 100,
        "t": [datetime(2024, 3, 1, 12)] * 100}  # fmt: skip
COLUMNS = {"v": dp.bounds(0, 10), "c": dp.keys(["a", "b"]), "d": dp.bounds("2024-01-01", "2024-12-31"),
           "t": dp.bounds("2024-01-01", "2024-12-31")}  # fmt: skip


def session() -> dp.Session:
    return dp.Session(t=dp.table(ROWS, unit="id", columns=COLUMNS), budget=dp.Pure(10**15))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("SELECT COUNT(*) AS n FROM t HAVING COUNT(*) > '5'", 100), ("SELECT MAX(d) + 7 AS x FROM t", date(2024, 3, 8)),
        ("SELECT 7 + MIN(d) AS x FROM t", date(2024, 3, 8)), ("SELECT MAX(d) - 1 AS x FROM t", date(2024, 2, 29)),
        ("SELECT MAX(d) - DATE '2024-02-01' AS x FROM t", 29), ("SELECT CONCAT('n=', COUNT(*)) AS x FROM t", "n=100"),
        ("SELECT 'n=' || COUNT(*) AS x FROM t", "n=100"), ("SELECT POWER(COUNT(*), 0.5) AS x FROM t", 10.0),
        ("SELECT ROUND(COUNT(*), 400) AS x FROM t", 100), ("SELECT COUNT(*)::DOUBLE / 8 AS x FROM t", 12.5),
        ("SELECT CAST(COUNT(*) AS TEXT) AS x FROM t", "100"), ("SELECT CAST(MAX(t) AS DATE) AS x FROM t",
                                                               date(2024, 3, 1)),
        ("SELECT CAST(COUNT(*) / 3 AS DECIMAL(5, 2)) AS x FROM t", 33.33), ("SELECT CAST(1.5 * COUNT(*) AS INT) FROM t",
                                                                            150),
        ("SELECT CASE WHEN COUNT(*) > 50 THEN 'many' ELSE 'few' END AS x FROM t", "many"),
        ("SELECT MAX(d) > '2024-01-01' AS x FROM t", True), ("SELECT YEAR(MAX(d)) AS x FROM t", 2024),
        ("SELECT CAST(COUNT(*) AS DECIMAL(2, 0)) AS x FROM t", None), ("SELECT LEFT(c, 1) AS x, COUNT(*) AS n FROM t "
                                                                       "GROUP BY c", "a"),
        ("SELECT COALESCE(NULL, COUNT(*)) AS x FROM t", 100), ("SELECT DATE_TRUNC('month', MAX(t)) AS x FROM t",
                                                               datetime(2024, 3, 1)),
    ],
)  # fmt: skip
def test_works_as_sql_says(asked: str, value: Any) -> None:
    assert next(iter(session().sql(asked).release(epsilon=10**9).rows[0].values())) == value


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT COUNT(*) AS m FROM t HAVING m", "SELECT COUNT(*) AS m FROM t HAVING COUNT(*) > 'five'",
        "SELECT COUNT(*) + 'x' AS x FROM t", "SELECT c, COUNT(*) AS n FROM t GROUP BY c HAVING c > 5",
        "SELECT AVG(t) + 7 AS x FROM t", "SELECT MAX(d) * 2 AS x FROM t", "SELECT LOWER(COUNT(*)) AS x FROM t",
        "SELECT CASE WHEN COUNT(*) THEN 1 END AS x FROM t", "SELECT COALESCE(COUNT(*), 'none') AS x FROM t",
        "SELECT COUNT(*) = NULL AS x FROM t", "SELECT HOUR(MAX(d)) AS x FROM t", "SELECT NOT COUNT(*) AS x FROM t",
        "SELECT COUNT(*) AS n FROM t ORDER BY COUNT(*) + TRUE", "SELECT STRFTIME(MAX(d), '%Q') AS x FROM t",
        "SELECT LEAST(COUNT(*), c) AS x FROM t GROUP BY c", "SELECT MAX(d) > '2024-13-01' AS x FROM t",
        "SELECT REGEXP_MATCHES(c, '(a+)+') AS x, COUNT(*) AS n FROM t GROUP BY c", "SELECT COUNT(*) + NULL AS x FROM t",
        "SELECT DATE_TRUNC('month', COUNT(*)) AS x FROM t", "SELECT CAST(MAX(d) AS INT) AS x FROM t",
        "SELECT (COUNT(*) > 1) < (COUNT(*) > 2) AS x FROM t",
        "SELECT SUBSTRING(c, 'a') AS x, COUNT(*) FROM t GROUP BY c",
    ],
)  # fmt: skip
def test_refused_for_nothing(asked: str) -> None:
    asking = session()
    with pytest.raises(BadQuestion):
        asking.sql(asked)
    assert asking.remaining == asking.budget


def test_every_function_of_released_values_has_a_rule() -> None:
    assert OF_RELEASED - {"grouping"} <= set(_RULES)


def test_sorts() -> None:
    kinds: list[Kind] = [Text(), Boolean(), Date(), Timestamp(), Real()]
    assert [sort_of_kind(k) for k in kinds] == [Sort.TEXT, Sort.BOOLEAN, Sort.DATE, Sort.TIME, Sort.NUMBER]
    assert sort_of(Call("grouping", (Column("c"),)), {"c": Sort.TEXT}) is Sort.NUMBER
    assert sort_of(Call("nullif", (Column("c"), Literal("a"))), {"c": Sort.TEXT}) is Sort.TEXT
    assert sort_of(Call("greatest", (Column("d"), Literal(datetime(2024, 1, 1)))), {"d": Sort.DATE}) is Sort.TIME
    assert sort_of(Call("case", (Literal(None), Literal(None), Literal(None))), {}) is Sort.NULL
    with pytest.raises(BadQuestion, match="constant"):
        sort_of(Literal(1.5), {})  # type: ignore[arg-type]


SORTS = {"n": Sort.NUMBER, "c": Sort.TEXT, "d": Sort.DATE, "b": Sort.BOOLEAN}
N, C, D, B = (Column(name) for name in SORTS)
WINDOWS: dict[str, tuple[int, int]] = {
    "row_number": (0, 0), "rank": (0, 0), "dense_rank": (0, 0), "percent_rank": (0, 0), "cume_dist": (0, 0),
    "ntile": (1, 1), "sum": (1, 1), "avg": (1, 1), "min": (1, 1), "max": (1, 1), "first_value": (1, 1),
    "last_value": (1, 1), "count": (0, 1), "lag": (1, 3), "lead": (1, 3), "nth_value": (2, 2), "count_distinct": (1, 1),
    "variance": (1, 1), "stddev": (1, 1), "quantile": (2, 2),
}  # fmt: skip


def over(function: str, *arguments: Any) -> Sort:
    return _sort_of_window(Window("w", function, arguments), SORTS)


@pytest.mark.parametrize("function", WINDOWS)
def test_how_many_arguments_a_window_takes(function: str) -> None:
    """Numbers that are right for all of them: a column, then steps and a number in place of what is beyond."""
    every = (Literal(2), Literal(2), Literal(2)) if function == "ntile" else (N, Literal(1), Literal(0))
    fewest, most = WINDOWS[function]
    assert _WINDOWS.keys() == WINDOWS.keys()
    for many in range(4):
        if fewest <= many <= most:
            assert over(function, *every[:many]) is Sort.NUMBER
        else:
            with pytest.raises(BadQuestion, match=f"takes {fewest} to {most} arguments"):
                over(function, *every[:many], *([N] * max(0, many - 3)))


@pytest.mark.parametrize(
    ("function", "arguments", "sort"),
    [
        ("lag", (C,), Sort.TEXT), ("lead", (D, Literal(0)), Sort.DATE),
        ("lag", (C, Literal(1), Literal("x")), Sort.TEXT), ("lag", (N, Literal(1), Literal("x")), None),
        ("lead", (C, Literal(1), N), None), ("lag", (N, Literal(-1)), None),
        ("lag", (N, Literal(10**6)), None), ("lag", (N, Literal(10**6 - 1)), Sort.NUMBER), ("lag", (N, N), None),
        ("lag", (N, Literal(Fraction(3, 2))), None), ("nth_value", (C, Literal(1)), Sort.TEXT),
        ("nth_value", (C, Literal(0)), None), ("ntile", (Literal(1),), Sort.NUMBER), ("ntile", (Literal(0),), None),
        ("min", (C,), Sort.TEXT), ("max", (D,), Sort.DATE), ("min", (B,), None), ("sum", (C,), None),
        ("avg", (D,), None),
        ("stddev", (B,), None), ("quantile", (C, Literal(1)), None), ("first_value", (B,), Sort.BOOLEAN),
        ("count", (C,), Sort.NUMBER), ("count_distinct", (D,), Sort.NUMBER),
    ],
)  # fmt: skip
def test_what_a_window_gives(function: str, arguments: tuple[Any, ...], sort: Sort | None) -> None:
    if sort is not None:
        assert over(function, *arguments) is sort
    else:
        with pytest.raises(BadQuestion):
            over(function, *arguments)
