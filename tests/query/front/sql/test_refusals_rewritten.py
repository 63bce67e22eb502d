"""What a refusal suggests works: each call of a hint is read, and statements rewritten as it says are planned."""

from __future__ import annotations

import re
from datetime import date, datetime

import pytest

import discreet as dp
from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql import clauses, functions, refusals, syntax_tree
from discreet.query.front.sql.expressions import expression
from discreet.query.front.sql.parse import question
from tests.helpers.sql_questions import V, read

HINTS = sorted(
    {hint for catalogue in (functions._KNOWN, refusals._REFUSED, clauses._CLAUSES, syntax_tree._MARKS)
     for _, hint in catalogue.values()}
)  # fmt: skip
_CALL = re.compile(r"\b[A-Z][A-Z_]+\((?:[^()]|\([^()]*\))*\)(?! of| \()")


def calls(hint: str) -> list[str]:
    """The calls that a hint shows, without those that stand for any."""
    found = [call[0] for call in _CALL.finditer(hint)]
    return [call.replace("...", "x") for call in found if "..." not in call or "SELECT" not in call]


@pytest.mark.parametrize("hint", [hint for hint in HINTS if calls(hint)])
def test_every_call_that_a_hint_shows_can_be_read(hint: str) -> None:
    for call in calls(hint):
        if call.startswith("UNNEST"):  # an item of FROM
            question(f"SELECT COUNT(*) FROM visits, {call} AS t(tag)", {"visits": ["id"]}, {"visits": ["tags"]})
        else:
            expression(call)


def test_hints_show_calls() -> None:
    assert sum(len(calls(hint)) for hint in HINTS) > 15


REWRITTEN = [
    ("SELECT APPROX_TOP_K(clinic, 5) FROM visits", "GROUP BY x ORDER BY COUNT(*) DESC LIMIT 5",
     "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic ORDER BY COUNT(*) DESC LIMIT 5"),
    ("SELECT HISTOGRAM(cost) FROM visits", "GROUP BY WIDTH_BUCKET(x, low, high, 10)",
     "SELECT WIDTH_BUCKET(cost, 0, 50, 10) AS k, COUNT(*) AS n FROM visits GROUP BY WIDTH_BUCKET(cost, 0, 50, 10)"),
    (f"{V} WHERE POSITION('a', note) > 0", "STRPOS(x, 'text')", f"{V} WHERE STRPOS(note, 'a') > 0"),
    (f"{V} WHERE AGE(at, day) = 1", "DATE_DIFF('day', earlier, later)", f"{V} WHERE DATE_DIFF('day', day, at) = 1"),
    (f"{V} WHERE EXTRACT(DAY FROM AGE(at, day)) = 1", "DATE_DIFF('day', earlier, later)",
     f"{V} WHERE DATE_DIFF('day', day, at) = 1"),
    (f"{V} WHERE INITCAP(note) = 'A'", "UPPER(LEFT(x, 1)) || LOWER(SUBSTRING(x, 2))",
     f"{V} WHERE UPPER(LEFT(note, 1)) || LOWER(SUBSTRING(note, 2)) = 'A'"),
    ("SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY cost) FROM visits", "PERCENTILE_CONT",
     "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) FROM visits"),
    (f"{V} WHERE cost ^ 2 > 1", "POWER(x, n)", f"{V} WHERE POWER(cost, 2) > 1"),
    (f"{V} WHERE note SIMILAR TO 'a.%'", "REGEXP_FULL_MATCH", f"{V} WHERE REGEXP_FULL_MATCH(note, 'a.*')"),
    (f"{V} WHERE cost BETWEEN SYMMETRIC 2 AND 1", "BETWEEN with the smaller value first",
     f"{V} WHERE cost BETWEEN 1 AND 2"),
    ("SELECT 'a' 'b', COUNT(*) FROM visits", "a || b", "SELECT 'a' || 'b' AS x, COUNT(*) AS n FROM visits"),
    (f"{V} WHERE DATE_FORMAT(day, '%x') = 'a'", "STRFTIME(x, '%Y-%m')", f"{V} WHERE STRFTIME(day, '%Y-%m') = 'a'"),
    (f"{V} WHERE TO_DATE(note, 'DD.MM') = day", "CAST(x AS DATE)", f"{V} WHERE CAST(note AS DATE) = day"),
    ("SELECT DISTINCT ON (clinic) clinic FROM visits", "put it into a subquery",
     "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"),
    (f"{V} WHERE EXTRACT(MILLENNIUM FROM day) = 2", "century", f"{V} WHERE EXTRACT(CENTURY FROM day) = 2"),
    ("SELECT * FROM visits", "COUNT(*)", "SELECT COUNT(*) FROM visits"),
    (f"{V} PIVOT (SUM(cost) FOR year IN (1))", "FILTER (WHERE k = 'a') AS a",
     "SELECT SUM(cost) FILTER (WHERE year = 1) AS a FROM visits"),
    ("SELECT COUNT(*)", "SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM visits"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "hint", "right"), REWRITTEN, ids=[one[0] for one in REWRITTEN])
def test_a_statement_rewritten_as_the_refusal_says_is_planned(wrong: str, hint: str, right: str) -> None:
    with pytest.raises(BadQuestion) as caught:
        read(wrong)
    assert hint in str(caught.value)
    assert read(right).measures


def session() -> dp.Session:
    columns = {"clinic": dp.keys(["N"]), "day": dp.bounds("2025-01-01", "2025-12-31")}
    rows = {"id": [1, 2], "clinic": ["N", "N"], "note": ["2025-01-02", "7"], "day": [date(2025, 1, 2)] * 2,
            "start": [datetime(2025, 1, 2)] * 2, "stop": [datetime(2025, 1, 6)] * 2}  # fmt: skip
    return dp.Session(t=dp.table(rows, unit="id", columns=columns, max_rows=1), budget=dp.Pure(10**6))


@pytest.mark.parametrize(
    ("wrong", "hint", "right"),
    [
        ("note > 5", "CAST(note AS BIGINT)", "CAST(note AS BIGINT) > 5"),
        ("note > 5", "'8'", "note > '5'"),
        ("YEAR(note) = 2025", "CAST(note AS DATE)", "YEAR(CAST(note AS DATE)) = 2025"),
        ("day > 2025", "YEAR(", "YEAR(day) > 2025"),
        ("day > 2025", "DATE '2025-01-31'", "day > DATE '2025-01-31'"),
        ("stop - start > 2", "INTERVAL '2 days'", "stop - start > INTERVAL '2 days'"),
        ("day - day > INTERVAL '2 days'", "> 2", "day - day > 2"),
        ("(stop - start) / 60 > 2", "EXTRACT(EPOCH FROM x)", "EXTRACT(EPOCH FROM stop - start) / 60 > 2"),
        ('clinic = "Zug"', "single quotes", "clinic = 'Zug'"),
        ("note ~ '^[a-z]+[a-d]-'", "^[A-Z]{1,3}-[0-9]", "note ~ '^[A-Z]{1,3}-[0-9]'"),
    ],
)
def test_a_condition_rewritten_as_the_refusal_says_is_answered(wrong: str, hint: str, right: str) -> None:
    asking = session()
    with pytest.raises(BadQuestion) as caught:
        asking.sql(f"SELECT COUNT(*) AS n FROM t WHERE {wrong}")
    assert hint in str(caught.value)
    assert asking.remaining == asking.budget
    assert asking.sql(f"SELECT COUNT(*) AS n FROM t WHERE {right}").release(epsilon=1).rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT clinic, COUNT(*) FROM visits GRUOP BY clinic", "GRUOP in line 1, column 37: did you mean GROUP?"),
        ("SELECT COUNT(*)\nFROM visits WEHRE cost > 1", "WEHRE in line 2, column 13: did you mean WHERE?"),
        ("SELECT clinic, COUNT(*) FROM visits GROUP BY clinic ODRER BY 1", "ODRER in line 1, column 53: did you mean"),
        ("SELECT clinic, COUNT(*) FROM visits ORDER YB clinic", "ORDER in line 1, column 37: did you mean ORDER BY?"),
    ],
)
def test_a_misspelled_word_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(BadQuestion) as caught:
        read(text)
    assert said in str(caught.value)
    assert not isinstance(caught.value, Unsupported)


def test_a_column_that_is_nearly_a_word_is_none() -> None:
    with pytest.raises(BadQuestion, match="near line 1"):
        question("SELECT COUNT(*) FROM t WHERE wheres = = 1", {"t": ["wheres"]})
