"""Quotes of other databases, and the time of asking."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import discreet as dp
from discreet.errors import BadParameter, BadQuestion
from discreet.messages import message
from discreet.query.front.sql.dialects import DIALECTS, OwnSpelling, frozen, respelled, spelling_of, utc_now

NOON = datetime(2025, 3, 1, 12)


@pytest.mark.parametrize(
    ("text", "dialect", "wanted"),
    [
        ("SELECT [a b], x[1], y[z] FROM [t]", None, 'SELECT "a b", x[1], y[z] FROM "t"'),
        ("`a`.`b` = 'it''s `x` [y]'", None, "\"a\".\"b\" = 'it''s `x` [y]'"),
        ('-- [a]\n/* `b` */ "[c]"', None, '-- [a]\n/* `b` */ "[c]"'),
        ("N'x' = r'\\d' AND run'1'", None, " 'x' =  '\\d' AND run'1'"),
        ("\"text\" # [a]\n= 'it\\'s'", "bigquery", "'text'      \n= 'it''s'"),
        ("'a\\nb' = '\\\\'", "mysql", "'a\nb'  = '\\' "),
        ('"a" = [b]', "bigquery", "'a' = [b]"),
        ("'a\\b' = \"c\"", "postgres", "'a\\b' = \"c\""),
        ("`p.d.t`", "bigquery", '"p"."d"."t"'),
    ],
)
def test_quotes(text: str, dialect: str | None, wanted: str) -> None:
    assert respelled(text, dialect) == wanted
    assert respelled(OwnSpelling(text), dialect) == text


@pytest.mark.parametrize("quote", ["'", '"', "`", "[", "/*", "r'", "N'"])
@pytest.mark.parametrize("dialect", [None, *DIALECTS])
def test_a_quote_that_does_not_end_is_left_to_the_parser(quote: str, dialect: str | None) -> None:
    assert respelled(f"SELECT {quote}x", dialect) in (f"SELECT {quote}x", f"SELECT  {quote[1:]}x")


@pytest.mark.parametrize("mark", ["/*", "'a", '"', "`a", "[a", "r'", "NOW ", "--", "'a\\", "{"])
@pytest.mark.parametrize("dialect", [None, "bigquery"])
def test_the_time_is_linear_in_the_text(mark: str, dialect: str | None) -> None:
    """A text of the largest length that were read again from each of its marks would take minutes."""
    text = mark * (100_000 // len(mark))
    assert len(frozen(respelled(text, dialect))[0]) >= len(text)


def test_dialects_are_known_by_their_names() -> None:
    assert spelling_of("PostgreSQL") is spelling_of("postgres")
    for other in ("oracle", "", 7):
        with pytest.raises(BadParameter, match="must be one of duckdb"):
            spelling_of(other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("CURRENT_DATE", "DATE '2025-03-01'"),
        ("current_date()", "DATE '2025-03-01'"),
        ("CURRENT_DATE('UTC')", "DATE '2025-03-01'"),
        ("NOW() - x", "TIMESTAMP '2025-03-01 12:00:00' - x"),
        ("CURRENT_TIMESTAMP(3)", "TIMESTAMP '2025-03-01 12:00:00'"),
        ("GETDATE()", "TIMESTAMP '2025-03-01 12:00:00'"),
    ],
)
def test_the_time_of_asking_is_a_constant(text: str, wanted: str) -> None:
    assert frozen(text, lambda: NOON) == (wanted, NOON)


@pytest.mark.parametrize(
    "text",
    ["now", "t.current_date", "'NOW()'", '"now"()', "-- NOW()", "now_()", "CURRENT_DATE('Asia/Tokyo')", "my_now()"],
)
def test_what_only_looks_like_the_clock_stays(text: str) -> None:
    assert frozen(text, lambda: NOON) == (text, None)


def test_the_clock_is_read_once_and_to_the_second() -> None:
    seen = iter([NOON])
    assert frozen("NOW() = NOW() AND CURRENT_DATE > x", lambda: next(seen))[1] == NOON
    assert utc_now().microsecond == 0
    assert abs(utc_now() - datetime.now(UTC).replace(tzinfo=None)) < timedelta(minutes=5)


def session(**more: Any) -> dp.Session:
    days = [date(2000, 1, 1), date(2000, 1, 2), date(9000, 1, 1)]
    return dp.Session(t=dp.table({"id": [1, 2, 3], "day": days}, unit="id", max_rows=1), budget=dp.Pure(10**6), **more)


def test_an_answer_says_what_the_time_of_asking_was() -> None:
    query = session().sql("SELECT COUNT(*) AS n FROM t WHERE day < CURRENT_DATE")
    answer = query.release(epsilon=1000)
    moment = query.plan.outcome.asked_at
    assert moment is not None
    assert answer.rows[0]["n"] == 2
    assert message("asked_at", moment=moment.isoformat(sep=" ")) in answer.notes
    assert f"'{moment.date().isoformat()}'" in query.ledger_text()
    assert session().sql(query.text).plan.source == query.plan.source


def test_no_clock_no_note() -> None:
    answer = session().sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1000)
    assert "asked_at" not in {note.code for note in answer.notes}


def test_a_dashboard_has_no_time_of_asking() -> None:
    with pytest.raises(BadQuestion, match="write the date itself"):
        session().continual("SELECT COUNT(*) AS n FROM t WHERE day < NOW()", epsilon=1, by="day", horizon=3)
