"""Keys that conditions exclude have no group: all fail where a condition narrows the keys of its own column alone."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BadQuestion
from discreet.query.lower.narrow_keys import combinations_allowed, conditions
from discreet.query.plan.expressions import Call, Column, Literal
from discreet.query.plan.nodes import Filter, How, Join, Project, Scan

START = date(2024, 1, 1)
VISITS = pa.table({
    "who": range(400),
    "site": [i % 10 for i in range(400)],
    "other": [(7 * i) % 10 for i in range(400)],
    "day": [START + timedelta(days=(37 * i) % 366) for i in range(400)],
    "ts": [datetime(2024, 1, 1) + timedelta(hours=(521 * i) % 8784) for i in range(400)],
    "n": [i % 6 if i % 50 else None for i in range(400)],
})  # fmt: skip
SITES = pa.table({
    "site_id": range(10), "name": [f"s{i}" for i in range(10)], "region": ["North", "South"] * 5,
    "kind": ["big" if i < 3 else None for i in range(10)],
})  # fmt: skip
REGIONS = pa.table({"region": ["North", "South", "West"], "head": ["Ann", "Bob", "Cy"]})
JOINED = "visits v JOIN sites s ON v.site = s.site_id"
TWICE = "visits v JOIN sites a ON v.site = a.site_id JOIN sites b ON v.other = b.site_id"


def _session() -> dp.Session:
    columns = {
        "site": dp.bounds(0, 9), "other": dp.bounds(0, 9), "n": dp.bounds(0, 5),
        "day": dp.bounds(START, date(2024, 12, 31)), "ts": dp.bounds(datetime(2024, 1, 1), datetime(2024, 12, 31, 23)),
    }  # fmt: skip
    visits = dp.table(VISITS, unit="who", columns=columns, max_rows=1)
    sites, regions = (dp.table(rows, public=True) for rows in (SITES, REGIONS))
    return dp.Session(visits=visits, sites=sites, regions=regions, budget=dp.Pure(10**9))


QUESTIONS = [
    (f"SELECT s.site_id AS k, COUNT(*) AS c FROM {JOINED} WHERE s.region = 'North' GROUP BY s.site_id", 5),
    (f"SELECT v.site AS k, COUNT(*) AS c FROM {JOINED} WHERE s.region = 'North' GROUP BY v.site", 5),
    (f"SELECT s.name AS k, COUNT(*) AS c FROM {JOINED} JOIN regions r ON s.region = r.region WHERE r.head = 'Bob' "
     "GROUP BY s.name", 5),
    (f"SELECT s.name AS k, COUNT(*) AS c FROM {JOINED} WHERE s.kind IS NULL AND s.site_id < 6 GROUP BY s.name", 3),
    ("SELECT s.name AS k, COUNT(*) AS c FROM visits v JOIN (SELECT * FROM sites WHERE region = 'South') s "
     "ON v.site = s.site_id GROUP BY s.name", 5),
    (f"SELECT k, COUNT(*) AS c FROM (SELECT s.name AS k, s.region AS r FROM {JOINED}) AS t WHERE r = 'North' "
     "GROUP BY k", 5),
    (f"SELECT a.name AS k, b.name AS l, COUNT(*) AS c FROM {TWICE} "
     "WHERE (a.name = 's1' AND b.name = 's7') OR (a.name = 's2' AND b.name = 's4') GROUP BY a.name, b.name", 2),
    ("SELECT k, l, COUNT(*) AS c FROM (SELECT a.name AS k, b.name AS l, YEAR(day) AS y "
     f"FROM {TWICE} WHERE (a.name = 's1' AND b.name = 's7') OR (a.name = 's2' AND b.name = 's4')) AS t "
     "GROUP BY k, l", 2),
    ("SELECT MONTH(ts) AS k, COUNT(*) AS c FROM visits WHERE ts >= '2024-02-01' AND ts < '2024-04-01' GROUP BY 1", 2),
    ("SELECT MONTH(day) AS k, COUNT(*) AS c FROM visits WHERE MONTH(day) <= 3 GROUP BY 1", 3),
    ("SELECT MONTH(day) AS k, COUNT(*) AS c FROM visits WHERE QUARTER(day) = 2 GROUP BY 1", 3),
    ("SELECT MONTH(ts) AS k, COUNT(*) AS c FROM visits WHERE QUARTER(ts) = 2 AND HOUR(ts) < 9 GROUP BY 1", 3),
    ("SELECT HOUR(ts) AS k, COUNT(*) AS c FROM visits WHERE HOUR(ts) BETWEEN 3 AND 6 GROUP BY 1", 4),
    ("SELECT n % 3 AS k, COUNT(*) AS c FROM visits WHERE n < 2 GROUP BY 1", 2),
    ("SELECT COALESCE(n, 9) AS k, COUNT(*) AS c FROM visits WHERE n IS NULL OR n = 1 GROUP BY 1", 2),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("sql", "many"), QUESTIONS)
def test_groups_are_those_that_conditions_allow(sql: str, many: int) -> None:
    """As DuckDB has them: at epsilon 10,000 the noise is 0 but with probability below 1e-1000."""
    answer = _session().sql(sql).release(epsilon=10_000)
    tables = {"visits": VISITS, "sites": SITES, "regions": REGIONS}
    with duckdb.connect() as database:
        for name, table in tables.items():
            database.register(name, table)
        expected = sorted(database.sql(sql).fetchall())
    assert len(answer) == many
    assert sorted(tuple(row.values()) for row in answer.rows) == expected


def test_other_groups_stay_with_nobody_in_them() -> None:
    """What a condition on a private column excludes by chance is not left out."""
    session = _session()
    assert len(session.sql("SELECT site, COUNT(*) AS c FROM visits WHERE n = 1 GROUP BY site").release(epsilon=1)) == 10
    left = "SELECT s.name AS k, COUNT(*) AS c FROM visits v LEFT JOIN sites s ON v.site = s.site_id GROUP BY s.name"
    assert len(session.sql(left).release(epsilon=1)) == 10


def test_conditions_that_leave_no_public_row_are_refused() -> None:
    sql = f"SELECT s.name AS k, COUNT(*) AS c FROM {JOINED} WHERE s.region = 'East' GROUP BY s.name"
    with pytest.raises(BadQuestion, match="leave no row of a public table"):
        _session().sql(sql)


@pytest.mark.slow
def test_limits_to_groups_of_nobody_are_told() -> None:
    session = _session()
    limited = session.sql("SELECT day, COUNT(*) AS c FROM visits GROUP BY day ORDER BY day DESC LIMIT 5")
    assert "LIMIT takes from all 366 listed groups" in str(limited.release(epsilon=1).notes)
    for rest in ("HAVING COUNT(*) > 1 ORDER BY day LIMIT 5", "ORDER BY c DESC LIMIT 5", "ORDER BY day LIMIT 500"):
        other = session.sql(f"SELECT day, COUNT(*) AS c FROM visits GROUP BY day {rest}").release(epsilon=1)
        assert "LIMIT" not in str(other.notes)


def _eq(a: str, b: Any) -> Call:
    return Call("eq", (Column(a), b if isinstance(b, Column) else Literal(b)))


def test_conditions_are_carried_up_as_far_as_they_are_about_columns() -> None:
    both = Filter(Scan("t"), Call("and", (_eq("a", 1), _eq("b", 2))))
    assert conditions(Project(both, (("x", Column("a")),))) == [_eq("x", 1)]
    assert conditions(Project(both, (("a", Column("b")), ("b", Column("a"))))) == [_eq("b", 1), _eq("a", 2)]
    other = Filter(Scan("u"), _eq("c", 3))
    assert conditions(Join(both, other, (("a", "c"),))) == [_eq("a", 1), _eq("b", 2), _eq("c", 3)]
    assert conditions(Join(both, other, (("a", "c"),), How.LEFT)) == [_eq("a", 1), _eq("b", 2)]


def test_combinations_by_all_of_them() -> None:
    keys = {"k": Column("a"), "l": Column("b")}
    test = Call("or", (Call("and", (_eq("a", 1), _eq("b", 2))), Call("and", (_eq("a", 2), _eq("b", 1)))))
    is_allowed = combinations_allowed(keys, Filter(Scan("t"), test))
    assert is_allowed is not None
    assert [pair for pair in product((1, 2, None), repeat=2) if is_allowed(pair)] == [(1, 2), (2, 1)]
    assert combinations_allowed(keys, Filter(Scan("t"), _eq("a", 1))) is None
    assert combinations_allowed(keys, Filter(Scan("t"), _eq("a", Column("c")))) is None
