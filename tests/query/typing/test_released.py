"""What is computed from released values is checked before anybody pays."""

from datetime import date, datetime
from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadQuestion
from discreet.query.functions.catalogue import OF_RELEASED
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.types import Boolean, Date, Kind, Real, Text, Timestamp
from discreet.query.typing.released import _RULES, Sort, sort_of, sort_of_kind

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
