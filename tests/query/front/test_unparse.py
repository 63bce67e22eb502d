"""A plan as SQL text is read back as the equal plan, or refused: never changed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import Dialect

import discreet as dp
from discreet.errors import BadQuestion, Unsupported
from discreet.query.front import unparse as module
from discreet.query.front.frame import Frame
from discreet.query.front.sql.parse import question
from discreet.query.front.unparse import as_sql
from discreet.query.functions import record
from discreet.query.plan.expressions import Call, Column
from discreet.query.plan.nodes import Filter, Question, Scan
from tests.helpers.cases import cases
from tests.helpers.extent import extent
from tests.helpers.shop import schemas
from tests.query.front.sql.test_parse_fuzz import TABLES as RANDOM
from tests.query.front.sql.test_parse_fuzz import Grammar
from tests.query.test_front import PAIRS, TABLES, Kept, visits

SHOP = {name: tuple(schema.fields) for name, schema in schemas().items()}


def returns(plan: Question, tables: Any) -> str:
    """The text of a plan, which is read back as the plan; and the text of that is the text."""
    text = as_sql(plan, tables)
    again = question(text, tables)
    assert again == plan
    assert as_sql(again, tables) == text
    return text


@pytest.mark.parametrize("name", cases())
def test_every_case_returns(name: str) -> None:
    try:
        plan = question(cases()[name].ask, SHOP)
    except BadQuestion:
        pytest.skip("refused by the parser")
    returns(plan, SHOP)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "verbs"), PAIRS, ids=[text for text, _ in PAIRS])
def test_every_question_with_verbs_returns(text: str, verbs: Callable[[], Kept]) -> None:
    assert returns(verbs().plan, TABLES) == returns(question(text, TABLES), TABLES)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_questions_return(seed: int) -> None:
    read, tried = 0, extent(150, 400)
    for number in range(tried):
        try:
            plan = question(Grammar(random.Random(1000 * seed + number), wild=0.0).query(), RANDOM)
        except BadQuestion:
            continue
        returns(plan, RANDOM)
        read += 1
    assert read >= tried * 3 // 4


MORE = [
    "SELECT clinic AS c, COUNT(*) AS clinic FROM visits GROUP BY clinic HAVING clinic <> 'x' ORDER BY clinic DESC, c",
    "SELECT YEAR(day) AS day, COUNT(*) AS n FROM visits GROUP BY YEAR(day) HAVING YEAR(visits.day) > 2 ORDER BY day",
    "SELECT COUNT(*) > 1 AND SUM(cost) > 2 AS a, SUM(cost) AS s FROM visits HAVING a AND s < 9",
    "SELECT clinic FROM visits GROUP BY clinic, year HAVING -SUM(cost) < -3 ORDER BY year, COUNT(*) DESC",
    "SELECT SUM(b.cost) / 2 AS half FROM visits a JOIN visits b USING (patient_id)",
    "SELECT COUNT(*) FROM visits a JOIN patients b ON a.patient_id = b.id JOIN visits c ON b.id = c.patient_id "
    "WHERE a.cost - (b.age - c.cost) > 0",
    "SELECT COUNT(*) FROM (SELECT * FROM visits a JOIN patients b ON a.patient_id = b.id WHERE a.cost > 1) x "
    "LEFT JOIN regions USING (city)",
    "SELECT clinic, year, SUM(cost) FROM visits GROUP BY GROUPING SETS ((year), (clinic, year), ())",
    "SELECT clinic, year, SUM(cost) FROM visits GROUP BY clinic, CUBE(year, paid)",
    "SELECT clinic AS c, GROUPING(clinic, year) AS clinic, COUNT(*) FROM visits GROUP BY CUBE(clinic, year) "
    "HAVING GROUPING(year) + 1 < 2 ORDER BY GROUPING(visits.clinic) DESC",
    'SELECT COUNT(*) AS "order", SUM(cost) AS "a ""b"" c", MAX(cost) AS "Group", MIN(year) AS "day" FROM visits',
    "SELECT COUNT(*) FROM visits WHERE note = 'it''s' OR note = '\\' OR note = '--' OR note LIKE '%;%' OR note = '/*'",
    "SELECT COUNT(*) FROM visits WHERE NOT (NOT paid) AND (paid = (cost > 1)) AND ((cost > 1) = paid) IS TRUE",
    "SELECT SUM(cost - (year - 1)), SUM(cost / (year * 2) / 3), SUM(-(-cost)), SUM(- cost * -2), SUM((cost + 1) * 2)"
    " FROM visits",
    "SELECT COUNT(*) FROM visits WHERE (note || clinic) || 'x' = note AND note || (clinic || note) = 'y'",
    "SELECT SUM(CAST(cost AS DECIMAL(10, 2))), SUM(CAST(note AS DECIMAL)), COUNT(DATE(note)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE at > TIMESTAMP '0009-01-01 00:00:00.000001' AND day <> DATE '0001-01-01'",
    "SELECT COUNT(NULL), SUM(CASE WHEN paid THEN 1e-30 END), SUM(1e50 * cost) FROM visits WHERE cost IN (-1, 2.50)",
    "WITH visits AS (SELECT * FROM visits WHERE paid), t AS (SELECT * FROM visits UNION ALL SELECT * FROM visits) "
    "SELECT COUNT(*) FROM t WHERE cost > 1",
]  # fmt: skip


@pytest.mark.parametrize("text", MORE)
def test_what_is_hard_to_write_returns(text: str) -> None:
    returns(question(text, TABLES), TABLES)


def test_the_text_reads_well() -> None:
    asked = visits.filter("paid", dp.col("year") == 2025).group_by("clinic").agg(n=dp.count(), mean=dp.mean("cost"))
    assert returns(asked.having("n > 10").order_by("mean DESC").limit(3).plan, TABLES) == (
        "SELECT clinic, COUNT(*) AS n, AVG(cost) AS mean FROM visits WHERE paid AND year = 2025 GROUP BY clinic "
        "HAVING COUNT(*) > 10 ORDER BY mean DESC LIMIT 3"
    )


def test_steps_are_written_once_and_are_not_nested() -> None:
    deep = visits
    for i in range(22):
        deep = deep.select("patient_id", "cost").filter(f"cost > {i}")
    text = returns(deep.join(deep, on="patient_id").agg(dp.count()).plan, TABLES)
    assert text.count("step23 AS (") == 1
    assert "((" not in text


def test_steps_do_not_hide_tables() -> None:
    tables = {"visits": ("id", "x"), "STEP1": ("id",), "step1_2": ("id",)}
    frame = Frame.of("visits", tables, Kept).select("x").agg(dp.sum("x"))
    returns(frame.plan, tables)


def test_sides_of_a_join_that_differ_in_case_only() -> None:
    tables = {"visits": ("id", "x"), "Visits": ("id", "X")}
    frame = Frame.of("visits", tables, Kept)
    joined = frame.join(Frame.of("Visits", tables, Kept), on="id").join(frame, on="id")
    returns(joined.agg(dp.sum("X"), dp.sum("x"), dp.sum("x_2")).plan, tables)


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufdd0"), min_size=1, max_size=12)


def test_an_output_that_differs_from_a_key_in_case_only() -> None:
    frame = Frame.of("N", {"N": ("N", "x")}, Kept)
    returns(frame.group_by("N").agg(n=dp.count("x")).order_by(dp.col("N")).plan, {"N": ("N", "x")})


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(names, min_size=2, max_size=4, unique_by=str.casefold), names, st.data())
def test_any_name_and_any_text(columns: list[str], text: str, data: st.DataObject) -> None:
    columns = [name for name in columns if not name.startswith(("__", "#"))]
    if len(columns) < 2:
        return
    table = data.draw(st.sampled_from(columns))
    frame = Frame.of(table, {table: columns}, Kept)
    first, second = (dp.col(name) for name in columns[:2])
    asked = frame.filter(first == text).group_by(first).agg(dp.sum(second).alias(columns[1] + "!"), n=dp.count(second))
    returns(asked.order_by(dp.col(columns[0])).plan, {table: columns})


@pytest.mark.slow
def test_any_word_of_sql_as_a_name() -> None:
    """As the name of a table, a column, a key, an output, a step and a side of a join."""
    dialect = Dialect.get_or_raise("duckdb")
    listed = {
        *dialect.tokenizer_class.KEYWORDS,
        *dialect.parser_class.FUNCTIONS,
        *dialect.parser_class.FUNCTION_PARSERS,
    }
    more = (
        "within nulls at ignore respect exclude asc try columns materialized zone epoch dow month day year hour escape"
    )
    words = sorted({word.lower() for one in listed for word in one.split() if word.isidentifier()} | set(more.split()))
    assert len(words) > 500
    for word in words[:: extent(3, 1)]:
        tables = {word: (word, "other", "id")}
        frame = Frame.of(word, tables, Kept)
        joined = frame.filter(dp.col(word) > 1).select(dp.col(word), "id").join(frame, on="id")
        asked = joined.group_by(dp.col(word)).agg(dp.sum("other").alias(f"{word}_2"), dp.count(dp.col(word)))
        returns(asked.having(dp.col(word) > 2).order_by(dp.col(word)).plan, tables)
        returns(frame.agg(dp.sum(dp.col(word)).alias(word)).order_by(dp.col(word)).plan, tables)


# --- what has no text -------------------------------------------------------------------------------------------------


def asked(expression: Any) -> Question:
    return visits.filter(expression).agg(dp.count()).plan


@pytest.mark.parametrize(
    "plan",
    [
        asked(dp.col("cost") > Fraction(1, 3)),
        asked(dp.col("cost") > Fraction(1, 1 << 300)),
        asked(dp.col("at") > datetime(2024, 1, 1, tzinfo=UTC)),
        asked(dp.col("note").concat() == "x"),
        asked(dp.col("clinic").is_in([])),
        visits.agg(dp.quantile("cost", Fraction(1, 3))).plan,
        visits.agg(x=dp.lit(1)).plan,
        replace(asked("paid"), source=Filter(Filter(Scan("visits"), Column("paid")), Column("paid"))),
        replace(asked("paid"), source=Filter(Scan("visits"), Call("read_real", (Column("cost"),)))),
        replace(asked("paid"), source=Filter(Scan("visits"), Call("and", (Column("paid"),)))),
    ],
)
def test_what_has_no_text_is_refused_by_name(plan: Question) -> None:
    with pytest.raises(Unsupported):
        as_sql(plan, TABLES)


def test_an_aggregate_that_nobody_sees_is_refused() -> None:
    plan = question("SELECT clinic FROM visits GROUP BY clinic ORDER BY COUNT(*)", TABLES)
    with pytest.raises(Unsupported):
        as_sql(replace(plan, outcome=replace(plan.outcome, order=())), TABLES)


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(BadQuestion):
        as_sql(question("SELECT COUNT(*) FROM visits", TABLES), {"others": ("x",)})


def test_a_text_that_says_something_else_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parentheses forgotten: the check on every text finds it."""
    plan = question("SELECT SUM(cost - (year - 1)) FROM visits", TABLES)
    monkeypatch.setattr(record, "placed", lambda _, part: part[0])
    assert "cost - year - 1" in module._Writer(TABLES).question(plan)
    with pytest.raises(Unsupported):
        as_sql(plan, TABLES)


def test_a_query_tells_its_text() -> None:
    import pyarrow as pa

    rows = pa.table({"id": [1], "clinic": ["a"], "day": [date(2024, 1, 1)]})
    session = dp.Session(visits=dp.table(rows, unit="id", columns={"clinic": dp.keys(["a"])}), budget=dp.Pure(1))
    query = session["visits"].group_by("clinic").agg(n=dp.count())
    assert query.text == "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic"
    assert session.sql(query.text).plan == query.plan
