"""One SELECT becomes a plan: the whole question, FROM, joins, unions, and messages about wrong questions."""

from __future__ import annotations

import pytest

from discreet.errors import BadQuestion
from discreet.query.plan.expressions import Column
from discreet.query.plan.nodes import (
    Aggregate,
    Filter,
    How,
    Join,
    Key,
    Measure,
    Order,
    PerUnit,
    Project,
    Scan,
    UnionAll,
)
from tests.helpers.sql_questions import CLINIC, COST, VISITS, V, call, number, read, source

# --- a whole question -------------------------------------------------------------------------------------------------


def test_a_grouped_question() -> None:
    found = read(
        "SELECT clinic, COUNT(*) AS n, AVG(cost) FROM visits WHERE year = 2025 GROUP BY clinic "
        "HAVING COUNT(*) > 10 ORDER BY n DESC, 1 LIMIT 3"
    )
    assert found.source == Filter(VISITS, call("eq", "year", 2025))
    assert found.keys == (Key("clinic", CLINIC),)
    assert found.measures == (Measure("n", Aggregate.COUNT), Measure("avg_cost", Aggregate.AVG, (COST,)))
    assert found.outcome.columns == (("clinic", CLINIC), ("n", Column("n")), ("avg_cost", Column("avg_cost")))
    assert found.outcome.having == call("gt", "n", 10)
    assert found.outcome.order == (Order(Column("n"), descending=True), Order(CLINIC))
    assert found.outcome.limit == 3
    assert found.sets == (("clinic",),)


def test_no_group_by_is_one_set_without_keys() -> None:
    found = read("SELECT COUNT(*) FROM visits;")
    assert (found.keys, found.sets) == ((), ((),))


# --- FROM -------------------------------------------------------------------------------------------------------------


def test_subqueries_and_ctes() -> None:
    half = Project(Filter(VISITS, call("gt", "cost", 1)), (("half", call("div", "cost", 2)), ("clinic", CLINIC)))
    assert source("(SELECT cost / 2 AS half, clinic FROM visits WHERE cost > 1) AS t") == half
    text = "WITH t AS (SELECT cost / 2 AS half, clinic FROM visits WHERE cost > 1) SELECT COUNT(*) FROM t"
    assert read(text).source == half
    text = "WITH t(half, clinic) AS (SELECT cost / 2, clinic FROM visits WHERE cost > 1) SELECT COUNT(*) FROM t"
    found = read(text).source
    assert isinstance(found, Project)
    assert [name for name, _ in found.columns] == ["half", "clinic"]


def test_a_star_inside_a_subquery_is_all_columns() -> None:
    assert source("(SELECT * FROM visits) t") == VISITS
    found = source(
        "(SELECT *, cost + 1 AS more FROM patients JOIN regions USING (city) JOIN visits ON id = patient_id)"
    )
    assert [name for name, _ in found.columns][:5] == ["id", "age", "city", "region", "patient_id"]


def test_a_cte_may_be_called_like_a_table() -> None:  # E6: lineage is by plan, not by name
    found = read("WITH visits AS (SELECT 1 AS patient_id, cost FROM visits) SELECT SUM(cost) FROM visits")
    assert found.source == Project(VISITS, (("patient_id", number(1)), ("cost", COST)))


def test_per_unit_subqueries() -> None:
    total = Measure("total", Aggregate.SUM, (COST,))
    summary = PerUnit(VISITS, (("patient_id", Column("patient_id")),), (total,))
    assert source("(SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t") == summary
    found = source("(SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id HAVING SUM(cost) > 3) t")
    assert found == Filter(summary, call("gt", "total", 3))
    found = source("(SELECT SUM(cost) AS total FROM visits GROUP BY patient_id) t")
    assert found == Project(summary, (("total", Column("total")),))
    found = source("(SELECT DISTINCT patient_id, clinic FROM visits) t")
    assert found == PerUnit(VISITS, (("patient_id", Column("patient_id")), ("clinic", CLINIC)), ())


def test_joins() -> None:
    joined = Join(VISITS, Scan("patients"), (("patient_id", "id"),))
    assert source("visits JOIN patients ON patient_id = id") == joined
    assert source("visits v INNER JOIN patients p ON p.id = v.patient_id") == joined
    assert source("visits LEFT OUTER JOIN patients ON patient_id = id") == Join(
        VISITS, Scan("patients"), (("patient_id", "id"),), How.LEFT
    )
    assert source("visits v JOIN patients p ON v.patient_id = p.id AND age > 3") == Filter(joined, call("gt", "age", 3))
    assert source("patients JOIN regions USING (CITY)") == Join(Scan("patients"), Scan("regions"), (("city", "city"),))


def test_union_all() -> None:
    parts = tuple(
        Project(Scan(table), ((name, Column(name)),)) for table, name in [("visits", "cost"), ("patients", "age")]
    )
    assert source("(SELECT cost FROM visits UNION ALL SELECT age FROM patients) t") == UnionAll(parts)
    three = "(SELECT cost FROM visits UNION ALL (SELECT age FROM patients UNION ALL SELECT cost FROM visits))"
    assert source(three) == UnionAll((*parts, parts[0]))
    hundred = " UNION ALL ".join(["SELECT cost FROM visits"] * 100)
    assert len(source(f"({hundred}) t").parts) == 100
    with pytest.raises(BadQuestion, match="different numbers of columns"):
        source("(SELECT cost FROM visits UNION ALL SELECT age, city FROM patients)")


# --- refusals by name -------------------------------------------------------------------------------------------------


WRONG: list[tuple[str, str]] = [
    ("", "no query"),
    (" ;; ", "no query"),
    ("hello", "must begin with SELECT"),
    ("SELECT COUNT(*) FROM", "near line 1 column"),
    ("SELECT COUNT(* FROM visits", "near line 1 column"),
    ("SELECT 'abc FROM visits", "does not end"),
    ("SELECT /* FROM visits", "does not end"),
    (f"{V} WHERE", "not SQL that we understand"),
    (f"{V} WHERE cost > 0x10", "a number is followed by letters"),
    (f"{V} WHERE cost > 12abc", "a number is followed by letters"),
    (f"{V} WHERE cost > 5e", "numbers have at most 60 digits"),
    (f"{V} WHERE cost > 1e999999999", "numbers have at most 60 digits"),
    (f"{V} WHERE cost > {'9' * 70}", "numbers have at most 60 digits"),
    (f"{V} WHERE day > DATE '2023-02-29'", "a real day"),
    (f"{V} WHERE day > DATE '20230228'", "a real day"),
    (f"{V} WHERE at > TIMESTAMP 'noon'", "TIMESTAMP"),
    (f"{V} WHERE cost IN ()", "not SQL|needs a list"),
    (f"{V} WHERE cost IN year", "needs a list"),
    (f"{V} LIMIT -1", "LIMIT needs"),
    (f"{V} LIMIT 1.5", "LIMIT needs"),
    (f"{V} LIMIT cost", "LIMIT needs"),
    (f"{V} ORDER BY 2", "from 1 to 1"),
    ("SELECT COUNT(*) FROM visits GROUP BY 0", "from 1 to 1"),
    ("SELECT COUNT(*) FROM visits GROUP BY 1", "not aggregates"),
    ("SELECT COUNT(*) FROM visits GROUP BY 'x'", "not a constant"),
    ("SELECT clinic, COUNT(*) FROM visits", "clinic must be in GROUP BY"),
    ("SELECT COUNT(*) FROM visits HAVING clinic = 'x'", "clinic must be in GROUP BY"),
    ("SELECT clinic AS a, year AS a FROM visits GROUP BY 1, 2", "two columns are named a"),
    ("SELECT COUNT(*) FROM (SELECT cost AS a, year AS a FROM visits) t", "two columns are named a"),
    ("SELECT COUNT(*) AS __unit FROM visits", "are ours"),
    ("SELECT COUNT(*) FROM (SELECT cost AS __unit FROM visits) t", "are ours"),
    ("WITH t(__unit) AS (SELECT cost FROM visits) SELECT COUNT(*) FROM t", "are ours"),
    ('SELECT COUNT(*) AS "#" FROM visits', "are ours"),
    (f"SELECT COUNT(*) AS {'n' * 201} FROM visits", "1 to 200 characters"),
    ("SELECT COUNT(*) FROM visits v JOIN patients v ON patient_id = id", "two tables are called v"),
    ("SELECT COUNT(*) FROM visits t(a, b)", "2 names are given for 9 columns"),
    ("WITH a AS (SELECT cost FROM visits), a AS (SELECT cost FROM visits) SELECT COUNT(*) FROM a", "name of its own"),
    ("SELECT SUM() FROM visits", "SUM takes 1 arguments, not 0"),
    ("SELECT SUM(cost, year) FROM visits", "SUM takes 1 arguments, not 2"),
    ("SELECT CORR(cost) FROM visits", "CORR takes 2 arguments"),
    ("SELECT SUM(*) FROM visits", "needs a column"),
    ("SELECT QUANTILE(cost, 1.5) FROM visits", "from 0 to 1"),
    ("SELECT QUANTILE(cost, year) FROM visits", "from 0 to 1"),
    ("SELECT PERCENTILE_CONT(0.5) FROM visits", "WITHIN GROUP"),
    ("SELECT SUM(ABS()) FROM visits", "ABS takes 1 arguments"),
    ("SELECT SUM(CLAMP(cost, 1)) FROM visits", "CLAMP takes 3 arguments"),
    ("SELECT ABS(cost) FILTER (WHERE paid) FROM visits GROUP BY cost", "must follow an aggregate"),
    (f"SELECT {', '.join(['COUNT(*)'] * 201)} FROM visits", "1 to 200 outputs"),
    (f"SELECT COUNT(*) FROM visits WHERE note = 'a{chr(0)}b'", "NUL"),
    ("SELECT COUNT(*) FROM visits WHERE note = '\ud800'", "surrogate"),
    (f"SELECT COUNT(*) FROM visits WHERE note = '{'x' * 100_000}'", "at most 100,000 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text[:60].replace("\0", "NUL") for text, _ in WRONG])
def test_wrong_questions_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(BadQuestion, match=message):
        read(text)


def test_messages_do_not_repeat_constants() -> None:
    canary = "canary7421"
    for text in (
        f"{V} WHERE note = '{canary}' AND",
        f"{V} WHERE note SIMILAR TO '{canary}.'",
        f"{V} WHERE foo('{canary}')",
        f"{V} WHERE day > DATE '{canary}'",
        f"{V} WHERE note = '{canary}",
        f"{V} GROUP BY '{canary}'",
        f"SELECT COUNT(*) FROM '{canary}'",
        f"SELECT COUNT(*) AS '{canary}' FROM visits",
        f"SELECT '{canary}' '{canary}', COUNT(*) FROM visits",
        f"PRAGMA x('{canary}')",
        f"{V} WHERE note = E'{canary}'",
        f"{V} LIMIT '{canary}'",
        f"{V} WHERE DATE_TRUNC('{canary}', 1, 2)",
        f"{V} WHERE EXTRACT(year FROM 1) = '{canary}' -> 1",
    ):
        with pytest.raises(BadQuestion) as caught:
            read(text)
        assert canary not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
