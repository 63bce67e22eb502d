"""The SQL door: what a question becomes, and what is refused by name. Attack ids are those of docs/attacks.md."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadQuestion, Unsupported
from discreet.query.front.sql.parse import question
from discreet.query.functions.catalogue import BY_SQL_NAME, FUNCTIONS, PARTS
from discreet.query.plan.expressions import Call, Column, Expression, Literal
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
    Question,
    Scan,
    UnionAll,
)

TABLES = {
    "visits": ["patient_id", "clinic", "cost", "year", "day", "note", "paid", "at", "Name"],
    "patients": ["id", "age", "city"],
    "regions": ["city", "region"],
}
VISITS = Scan("visits")


def read(text: str) -> Question:
    return question(text, TABLES)


def where(condition: str) -> Expression:
    source = read(f"SELECT COUNT(*) FROM visits WHERE {condition}").source
    assert isinstance(source, Filter)
    assert source.source == VISITS
    return source.predicate


def measures(select: str) -> tuple[Measure, ...]:
    return read(f"SELECT {select} FROM visits").measures


def number(value: int | str) -> Literal:
    return Literal(Fraction(value))


def call(function: str, *arguments: Expression | int | str) -> Call:
    """Texts are columns, integers are numbers."""
    return Call(
        function,
        tuple(number(a) if isinstance(a, int) else Column(a) if isinstance(a, str) else a for a in arguments),
    )


COST, CLINIC = Column("cost"), Column("clinic")

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


AGGREGATES: list[tuple[str, Measure]] = [
    ("COUNT(*)", Measure("count", Aggregate.COUNT)),
    ("COUNT(1)", Measure("count", Aggregate.COUNT)),
    ("COUNT()", Measure("count", Aggregate.COUNT)),
    ("COUNT(cost)", Measure("count_cost", Aggregate.COUNT, (COST,))),
    ("COUNT(DISTINCT clinic)", Measure("count_distinct_clinic", Aggregate.COUNT_DISTINCT, (CLINIC,))),
    ("sum(ALL cost)", Measure("sum_cost", Aggregate.SUM, (COST,))),
    ('"SUM"(cost)', Measure("sum_cost", Aggregate.SUM, (COST,))),
    ("AVG(cost)", Measure("avg_cost", Aggregate.AVG, (COST,))),
    ("MEAN(cost)", Measure("avg_cost", Aggregate.AVG, (COST,))),
    ("VARIANCE(cost)", Measure("variance_cost", Aggregate.VARIANCE, (COST,))),
    ("VAR_SAMP(cost)", Measure("variance_cost", Aggregate.VARIANCE, (COST,))),
    ("STDDEV(cost)", Measure("stddev_cost", Aggregate.STDDEV, (COST,))),
    ("STDDEV_SAMP(cost)", Measure("stddev_cost", Aggregate.STDDEV, (COST,))),
    ("COVAR_SAMP(cost, year)", Measure("covariance_cost_year", Aggregate.COVARIANCE, (COST, Column("year")))),
    ("CORR(cost, year)", Measure("correlation_cost_year", Aggregate.CORRELATION, (COST, Column("year")))),
    ("MIN(cost)", Measure("min_cost", Aggregate.MIN, (COST,))),
    ("MAX(cost)", Measure("max_cost", Aggregate.MAX, (COST,))),
    ("MEDIAN(cost)", Measure("median_cost", Aggregate.QUANTILE, (COST,), level=Fraction(1, 2))),
    ("QUANTILE(cost, 0.9)", Measure("p90_cost", Aggregate.QUANTILE, (COST,), level=Fraction(9, 10))),
    ("QUANTILE_CONT(cost, .999)", Measure("p99_9_cost", Aggregate.QUANTILE, (COST,), level=Fraction(999, 1000))),
    (
        "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost)",
        Measure("p25_cost", Aggregate.QUANTILE, (COST,), level=Fraction(1, 4)),
    ),
    (
        "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost DESC)",
        Measure("p75_cost", Aggregate.QUANTILE, (COST,), level=Fraction(3, 4)),
    ),
    ("SUM(cost) FILTER (WHERE paid)", Measure("sum_cost", Aggregate.SUM, (COST,), Column("paid"))),
    (
        "MEDIAN(cost) FILTER (WHERE year > 2024)",
        Measure("median_cost", Aggregate.QUANTILE, (COST,), call("gt", "year", 2024), Fraction(1, 2)),
    ),
]


@pytest.mark.parametrize(("text", "expected"), AGGREGATES, ids=[text for text, _ in AGGREGATES])
def test_aggregates(text: str, expected: Measure) -> None:
    found = read(f"SELECT {text} FROM visits")
    assert found.measures == (expected,)
    assert found.outcome.columns == ((expected.name, Column(expected.name)),)


# --- expressions ------------------------------------------------------------------------------------------------------

EXPRESSIONS: list[tuple[str, Expression]] = [
    ("cost + 1 > 2 * 3", call("gt", call("add", "cost", 1), call("mul", 2, 3))),
    ("cost / 2 - 1 = -1", call("eq", call("sub", call("div", "cost", 2), 1), number(-1))),
    ("-cost < +1", call("lt", call("neg", "cost"), 1)),
    ("cost // 2 = cost % 3", call("eq", call("quotient", "cost", 2), call("mod", "cost", 3))),
    ("cost <> 1.50", call("ne", "cost", number("1.5"))),
    ("cost != 1e3", call("ne", "cost", 1000)),
    ("cost != 1_000", call("ne", "cost", 1000)),
    ("NOT paid", call("not", "paid")),
    ("paid AND paid AND NOT paid", call("and", "paid", "paid", call("not", "paid"))),
    ("paid AND paid OR paid", call("or", call("and", "paid", "paid"), "paid")),
    ("paid = TRUE", call("eq", "paid", Literal(True))),
    ("paid IS TRUE", call("coalesce", "paid", Literal(False))),
    ("paid IS NOT FALSE", call("not", call("coalesce", call("not", "paid"), Literal(False)))),
    ("note IS NULL", call("is_null", "note")),
    ("note IS NOT NULL", call("not", call("is_null", "note"))),
    ("year IN (2024, 2025)", call("in", "year", 2024, 2025)),
    ("clinic NOT IN ('a')", call("not", call("in", "clinic", Literal("a")))),
    ("cost BETWEEN 1 AND 2", call("and", call("ge", "cost", 1), call("le", "cost", 2))),
    ("cost NOT BETWEEN 1 AND 2", call("not", call("and", call("ge", "cost", 1), call("le", "cost", 2)))),
    ("note LIKE 'a%'", call("like", "note", Literal("a%"))),
    ("note NOT LIKE 'it''s'", call("not", call("like", "note", Literal("it's")))),
    ("note ILIKE 'a_'", call("ilike", "note", Literal("a_"))),
    ("note NOT ILIKE 'a_'", call("not", call("ilike", "note", Literal("a_")))),
    ("CASE WHEN paid THEN year = 1 END", call("case", "paid", call("eq", "year", 1), Literal(None))),
    (
        "CASE year WHEN 1 THEN paid WHEN 2 THEN NOT paid ELSE FALSE END",
        call("case", call("eq", "year", 1), "paid", call("eq", "year", 2), call("not", "paid"), Literal(False)),
    ),
    ("IF(paid, paid, paid)", call("case", "paid", "paid", "paid")),
    ("day = DATE '2024-02-29'", call("eq", "day", Literal(date(2024, 2, 29)))),
    ("day = CAST('2024-02-29' AS DATE)", call("eq", "day", Literal(date(2024, 2, 29)))),
    ("at < TIMESTAMP '2024-02-29 12:30:00'", call("lt", "at", Literal(datetime(2024, 2, 29, 12, 30)))),
    ("EXTRACT(month FROM day) = 2", call("eq", call("month", "day"), 2)),
    ("EXTRACT(isodow FROM day) = 2", call("eq", call("day_of_week", "day"), 2)),
    ("EXTRACT(dow FROM day) = 0", call("eq", call("mod", call("day_of_week", "day"), 7), 0)),
    ("DATE_PART('year', day) = 2", call("eq", call("year", "day"), 2)),
    ("DATE_TRUNC('MONTH', day) = day", call("eq", call("date_trunc", Literal("month"), "day"), "day")),
    ("DATE_TRUNC(week, day) = day", call("eq", call("date_trunc", Literal("week"), "day"), "day")),
    ("DATE_DIFF('day', day, at) > 3", call("gt", call("date_diff", Literal("day"), "day", "at"), 3)),
    ("day + INTERVAL 3 DAY > day", call("gt", call("add_days", "day", 3), "day")),
    ("day - INTERVAL '2' WEEKS > day", call("gt", call("add_days", "day", -14), "day")),
    ("CAST(note AS INTEGER) > 1", call("gt", call("cast_integer", "note"), 1)),
    ("TRY_CAST(note AS BIGINT) > 1", call("gt", call("cast_integer", "note"), 1)),
    ("note::int > 1", call("gt", call("cast_integer", "note"), 1)),
    ("CAST(cost AS DECIMAL(10, 2)) > 1", call("gt", call("cast_decimal", "cost", 2), 1)),
    ("CAST(cost AS DECIMAL) > cost::NUMERIC(9)", call("gt", call("cast_decimal", "cost"),
                                                      call("cast_decimal", "cost", 0))),
    ("CAST(cost AS DOUBLE) > 1", call("gt", call("cast_real", "cost"), 1)),
    ("CAST(year AS VARCHAR) = 'x'", call("eq", call("cast_text", "year"), Literal("x"))),
    ("CAST(note AS DATE) = day", call("eq", call("cast_date", "note"), "day")),
    ("CAST(day AS TIMESTAMP) = at", call("eq", call("cast_timestamp", "day"), "at")),
    ("CAST(year AS BOOLEAN)", call("cast_boolean", "year")),
    ("note || clinic || 'x' = 'y'", call("eq", call("concat", "note", "clinic", Literal("x")), Literal("y"))),
    (
        "CONCAT(note, 'x') = 'y'",
        call("eq", call("concat", call("coalesce", "note", Literal("")), Literal("x")), Literal("y")),
    ),
    ("LOWER(TRIM(note)) = UPPER(LTRIM(note))", call("eq", call("lower", call("trim", "note")),
                                                    call("upper", call("ltrim", "note")))),
    ("TRIM(TRAILING FROM note) = note", call("eq", call("rtrim", "note"), "note")),
    ("LEN(note) > LENGTH(note)", call("gt", call("length", "note"), call("length", "note"))),
    ("SUBSTRING(note FROM 2 FOR 3) = note", call("eq", call("substring", "note", 2, 3), "note")),
    ("SUBSTR(note, 2) = LEFT(note, 3)", call("eq", call("substring", "note", 2), call("left", "note", 3))),
    ("STARTS_WITH(note, 'a')", call("starts_with", "note", Literal("a"))),
    ("COALESCE(cost, 0) > NULLIF(cost, 1)", call("gt", call("coalesce", "cost", 0), call("nullif", "cost", 1))),
    ("ROUND(cost, 1) > FLOOR(cost)", call("gt", call("round", "cost", 1), call("floor", "cost"))),
    ("GREATEST(cost, 1) > LEAST(cost, 1, 2)", call("gt", call("greatest", "cost", 1), call("least", "cost", 1, 2))),
    ("WIDTH_BUCKET(cost, 0, 100, 10) = 3", call("eq", call("width_bucket", "cost", 0, 100, 10), 3)),
    ("CLAMP(cost, 0, 100) = 3", call("eq", call("clamp", "cost", 0, 100), 3)),
    ("cost = 1 IS NULL", call("is_null", call("eq", "cost", 1))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_expressions(text: str, expected: Expression) -> None:
    assert where(text) == expected


def test_every_function_that_the_door_emits_is_one_that_typing_knows() -> None:
    emitted = set(PARTS.values())
    emitted |= {part.function for _, tree in EXPRESSIONS for part in _calls(tree)}
    assert emitted <= set(FUNCTIONS)


def _calls(expression: Expression) -> list[Call]:
    if not isinstance(expression, Call):
        return []
    return [expression, *(inner for a in expression.arguments for inner in _calls(a))]


@pytest.mark.parametrize("name", sorted(BY_SQL_NAME))
def test_every_function_can_be_called_by_its_name(name: str) -> None:
    found = BY_SQL_NAME[name]
    columns = ["cost"] * found.arguments[0]
    first = [Literal("cost")] if found.unit_first else columns[:1]
    assert where(f"{name}({', '.join(columns)}) = 1") == call("eq", call(found.name, *first, *columns[1:]), 1)


def test_numbers_are_exact() -> None:
    assert where("cost > 0.1") == call("gt", "cost", number("1/10"))
    assert where("cost > 123456789012345678901234567890") == call("gt", "cost", 123456789012345678901234567890)


# --- names ------------------------------------------------------------------------------------------------------------


def test_equal_aggregates_appear_once() -> None:
    found = read("SELECT SUM(cost) / COUNT(*) AS a, COUNT(*) AS n, COUNT(*) AS m, ROUND(SUM(cost), 1) FROM visits")
    assert found.measures == (Measure("sum_cost", Aggregate.SUM, (COST,)), Measure("n", Aggregate.COUNT))
    assert found.outcome.columns == (
        ("a", call("div", "sum_cost", "n")),
        ("n", Column("n")),
        ("m", Column("n")),
        ("round_sum_cost", call("round", "sum_cost", 1)),
    )


def test_a_filter_makes_an_aggregate_another_one() -> None:
    assert len(measures("SUM(cost), SUM(cost) FILTER (WHERE paid)")) == 2


def test_unnamed_outputs_get_stable_names() -> None:
    found = read("SELECT COUNT(*), COUNT(*), SUM(cost * year), 1, cost + 1 FROM visits GROUP BY cost + 1")
    names = [name for name, _ in found.outcome.columns]
    assert names == ["count", "count_2", "sum_cost_year", "value", "add_cost"]


def test_hidden_measures_do_not_take_the_name_of_an_output() -> None:
    found = read("SELECT SUM(cost) / COUNT(*) AS count FROM visits")
    assert [m.name for m in found.measures] == ["sum_cost", "count_2"]


def test_names_are_found_whatever_their_case() -> None:
    expected = read("SELECT Name, COUNT(*) FROM visits GROUP BY Name")
    assert read("select NAME, count(*) from VISITS group by name") == expected
    assert read('SELECT "name", COUNT(*) FROM "Visits" v GROUP BY V."NAME"') == expected


def test_an_exact_name_wins() -> None:
    tables = {"t": ["x", "X"]}
    assert question("SELECT SUM(X) FROM t", tables).measures[0].arguments == (Column("X"),)
    assert question("SELECT SUM(x) FROM t", tables).measures[0].arguments == (Column("x"),)
    with pytest.raises(BadQuestion, match="ambiguous"):
        question("SELECT SUM(abc) FROM t", {"t": ["Abc", "ABC"]})


WORDS = ["day", "month", "year", "date", "time", "timestamp", "key", "value", "name", "type", "user", "index", "count",
         "left", "first", "row", "rows", "range", "interval", "text", "int", "number", "level", "sum", "if",
         "current", "object", "map", "list", "format", "filter", "over", "end", "case", "group", "order",
         "select"]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_reserved_words_can_be_columns(word: str) -> None:
    text = f'SELECT "{word}", COUNT(*), SUM(t."{word}") FROM t GROUP BY "{word}"'
    assert question(text, {"t": [word]}).keys == (Key(word, Column(word)),)


@pytest.mark.parametrize("word", WORDS[:13])
def test_common_words_need_no_quotes(word: str) -> None:
    text = f"SELECT {word}, COUNT(*) AS n, SUM({word}) FROM t WHERE {word} > 1 GROUP BY {word} ORDER BY {word}"
    assert question(text, {"t": [word]}).keys == (Key(word, Column(word)),)


def test_group_by_finds_columns_first_and_then_outputs() -> None:
    assert read("SELECT year AS cost, COUNT(*) FROM visits GROUP BY year").keys == (Key("cost", Column("year")),)
    assert read("SELECT cost + 1 AS c, COUNT(*) FROM visits GROUP BY c").keys == (Key("c", call("add", "cost", 1)),)
    assert read("SELECT cost + 1 AS c, COUNT(*) FROM visits GROUP BY 1").keys == (Key("c", call("add", "cost", 1)),)
    with pytest.raises(BadQuestion, match="cost must be in GROUP BY"):
        read("SELECT cost + 1 AS year, COUNT(*) FROM visits GROUP BY year")


def test_having_finds_keys_first_and_order_by_outputs_first() -> None:
    found = read("SELECT MAX(cost) AS year FROM visits GROUP BY year HAVING year > 2000 ORDER BY year")
    assert found.keys == (Key("year_2", Column("year")),)
    assert found.outcome.having == call("gt", "year_2", 2000)
    assert found.outcome.order == (Order(Column("year")),)


def test_an_expression_of_a_key_is_found_inside_others() -> None:
    found = read("SELECT FLOOR(cost / 10) * 10 AS low, COUNT(*) FROM visits GROUP BY FLOOR(cost / 10)")
    assert found.outcome.columns[0] == ("low", call("mul", "floor_cost", 10))


def test_order_by_may_ask_for_an_aggregate_of_its_own() -> None:
    found = read("SELECT clinic FROM visits GROUP BY clinic ORDER BY COUNT(*) DESC LIMIT 5")
    assert found.measures == (Measure("count", Aggregate.COUNT),)
    assert found.outcome.columns == (("clinic", CLINIC),)


MISSPELLED = [
    ("SELECT SUM(costt) FROM visits", "no column costt; did you mean cost"),
    ("SELECT SUM(CSOT) FROM visits", "no column CSOT; did you mean cost"),
    ("SELECT COUNT(*) FROM visit", "no table visit; did you mean visits"),
    ("SELECT COUNT(*) FROM visits v WHERE visits.cost = 1", "no table visits"),
    ("SELECT COUNT(*) FROM visits WHERE zzz = 1", "no column zzz; there are Name, at,"),
    ("SELECT COUNT(*) FROM visits JOIN patients USING (id)", "no column id"),
]


@pytest.mark.parametrize(("text", "message"), MISSPELLED)
def test_unknown_names_get_a_hint(text: str, message: str) -> None:
    with pytest.raises(BadQuestion, match=message):
        read(text)


def test_a_computed_key_of_a_cube_is_told_to_be_put_in_parentheses() -> None:
    for sets in ("CUBE", "ROLLUP", "GROUPING SETS"):
        text = f"SELECT clinic, COUNT(*) FROM visits GROUP BY {sets} (clinic, %s)"
        with pytest.raises(BadQuestion, match=r"not SQL .* a computed key needs parentheses: ROLLUP\(a, \(b > 1\)\)"):
            read(text % "cost > 50")
        read(text % "(cost > 50)")
        with pytest.raises(BadQuestion, match=r"not SQL .* column \d+$"):
            read(text % "cost)")


def test_a_column_that_is_called_like_a_word_of_sql_is_told_to_be_quoted() -> None:
    for name in ("when", "CASE"):
        tables = {"visits": ["clinic", name, "values"]}
        for text in (
            f"SELECT {name}, COUNT(*) FROM visits GROUP BY 1",
            f"SELECT EXTRACT(hour FROM {name}) FROM visits",
        ):
            with pytest.raises(BadQuestion, match=f'the column {name} is called like a word of SQL: .*, "{name}"'):
                question(text, tables)
        question(f'SELECT "{name}", COUNT(*) FROM visits GROUP BY 1', tables)
    with pytest.raises(BadQuestion, match=r"column [0-9]+$"):
        question("SELECT COUNT(* FROM visits", {"visits": ["clinic", "when"]})


# --- keys and sets ----------------------------------------------------------------------------------------------------


def test_keys_only() -> None:
    grouped = read("SELECT clinic FROM visits GROUP BY clinic")
    assert (grouped.keys, grouped.measures) == ((Key("clinic", CLINIC),), ())
    assert read("SELECT DISTINCT clinic FROM visits") == grouped


SETS = [
    ("ROLLUP(clinic, year)", [("clinic", "year"), ("clinic",), ()]),
    ("ROLLUP((clinic, year), cost)", [("clinic", "year", "cost"), ("clinic", "year"), ()]),
    ("CUBE(clinic, year)", [("clinic", "year"), ("clinic",), ("year",), ()]),
    ("GROUPING SETS ((clinic, year), cost, ())", [("clinic", "year"), ("cost",), ()]),
    ("GROUPING SETS (ROLLUP(clinic), year)", [("clinic",), (), ("year",)]),
    ("clinic, ROLLUP(year)", [("clinic", "year"), ("clinic",)]),
    ("ROLLUP(clinic), ROLLUP(year)", [("clinic", "year"), ("clinic",), ("year",), ()]),
    ("clinic, visits.CLINIC", [("clinic",)]),
]


@pytest.mark.parametrize(("group", "sets"), SETS, ids=[group for group, _ in SETS])
def test_grouping_sets(group: str, sets: list[tuple[str, ...]]) -> None:
    assert list(read(f"SELECT COUNT(*) FROM visits GROUP BY {group}").sets) == sets


@pytest.mark.parametrize(
    "group", ["ROLLUP(1, visits.clinic)", "GROUPING SETS (clinic, (clinic))", "clinic, CUBE(clinic)"]
)
def test_a_grouping_set_twice_is_refused(group: str) -> None:
    with pytest.raises(BadQuestion, match="same grouping set"):
        read(f"SELECT clinic, COUNT(*) FROM visits GROUP BY {group}")


def test_grouping_is_of_keys_and_only_after_the_groups() -> None:
    plan = read("SELECT year AS y, GROUPING(clinic, year), COUNT(*) FROM visits GROUP BY CUBE(clinic, year) "
                "HAVING GROUPING_ID(CLINIC) = 0 ORDER BY GROUPING(y)")  # fmt: skip
    both = Call("grouping", (CLINIC, Column("y")))
    assert plan.outcome.columns[1] == ("grouping_clinic_year", both)
    assert plan.outcome.having == Call("eq", (Call("grouping", (CLINIC,)), Literal(Fraction(0))))
    assert plan.outcome.order == (Order(Call("grouping", (Column("y"),))),)
    of_expression = read("SELECT GROUPING(cost + 1) AS g, COUNT(*) FROM visits GROUP BY ROLLUP(cost + 1)")
    assert of_expression.outcome.columns[0] == ("g", Call("grouping", (Column(of_expression.keys[0].name),)))


@pytest.mark.parametrize("argument", ["cost", "COUNT(*)", "1", "clinic || 'x'", "n", "clinic, cost"])
def test_grouping_of_what_is_no_key_is_refused(argument: str) -> None:
    with pytest.raises(BadQuestion, match="each argument of GROUPING must be a key"):
        read(f"SELECT clinic, COUNT(*) AS n FROM visits GROUP BY ROLLUP(clinic) ORDER BY GROUPING({argument})")


def test_a_cube_of_many_keys_is_refused() -> None:
    with pytest.raises(BadQuestion, match="64 grouping sets"):
        read("SELECT COUNT(*) FROM visits GROUP BY CUBE(patient_id, clinic, cost, year, day, note, paid)")


# --- FROM -------------------------------------------------------------------------------------------------------------


def source(text: str) -> Any:
    return read(f"SELECT COUNT(*) FROM {text}").source


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


def test_filters_in_a_row_are_one() -> None:
    assert source("(SELECT * FROM visits WHERE paid AND paid) t WHERE cost > 1") == Filter(
        VISITS, call("and", "paid", "paid", call("gt", "cost", 1))
    )


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


def test_names_after_a_join() -> None:
    found = read(
        "SELECT a.cost, B.cost, COUNT(*) FROM visits a JOIN visits b USING (patient_id) GROUP BY a.cost, b.cost"
    )
    assert found.keys == (Key("cost", COST), Key("cost_2", Column("cost_2")))
    found = read("SELECT patient_id, COUNT(*) FROM visits a JOIN visits b USING (patient_id) GROUP BY patient_id")
    assert found.keys == (Key("patient_id", Column("patient_id")),)
    with pytest.raises(BadQuestion, match="cost is ambiguous"):
        read("SELECT SUM(cost) FROM visits a JOIN visits b USING (patient_id)")


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

V = "SELECT COUNT(*) FROM visits"
REFUSED: list[tuple[str, str, str]] = [
    # E3: subquery oracles
    ("E3", f"{V} WHERE (SELECT COUNT(*) FROM visits WHERE patient_id = 7) = 1", "a subquery inside an expression"),
    ("E3", f"{V} WHERE EXISTS (SELECT 1 FROM patients WHERE id = patient_id)", "a subquery inside an expression"),
    ("E3", f"{V} WHERE cost > ALL (SELECT age FROM patients)", "ANY or ALL"),
    ("E3", f"{V} WHERE cost = ANY (SELECT age FROM patients)", "ANY or ALL"),
    ("E3", f"{V} WHERE note LIKE ANY ('a', 'b')", "ANY or ALL"),
    ("E3", f"{V} WHERE patient_id IN (SELECT id FROM patients)", "IN (SELECT ...)"),
    ("E3", "SELECT COUNT(*), (SELECT COUNT(*) FROM visits) FROM visits", "a subquery inside an expression"),
    # E5: what one more row would shift
    ("E5", "SELECT SUM(cost) OVER (PARTITION BY clinic) FROM visits", "a window function"),
    ("E5", "SELECT ROW_NUMBER() OVER () FROM visits", "a window function"),
    ("E5", "SELECT RANK() FROM visits", "a window function"),
    ("E5", f"{V} QUALIFY COUNT(*) > 1", "QUALIFY"),
    ("E5", f"{V} WINDOW w AS (ORDER BY cost)", "WINDOW"),
    ("E5", f"{V} TABLESAMPLE 10 PERCENT", "TABLESAMPLE"),
    ("E5", f"{V} TABLESAMPLE RESERVOIR(10)", "TABLESAMPLE"),
    ("E5", "SELECT DISTINCT ON (clinic) clinic, cost FROM visits", "DISTINCT ON"),
    ("E5", "SELECT COUNT(*) FROM (SELECT cost FROM visits LIMIT 1) t", "ORDER BY or LIMIT in a subquery"),
    ("E5", "SELECT COUNT(*) FROM (SELECT cost FROM visits ORDER BY cost) t", "ORDER BY or LIMIT in a subquery"),
    ("E5", "WITH t AS (SELECT cost FROM visits LIMIT 1) SELECT COUNT(*) FROM t", "ORDER BY or LIMIT in a subquery"),
    (
        "E5",
        "SELECT COUNT(*) FROM (SELECT cost FROM visits UNION ALL SELECT age FROM patients LIMIT 3) t",
        "ORDER BY or LIMIT in a subquery",
    ),
    # E2, E1: joins
    ("E2", "SELECT COUNT(*) FROM visits, patients", "CROSS JOIN or a comma in FROM"),
    ("E2", "SELECT COUNT(*) FROM visits CROSS JOIN patients", "CROSS JOIN"),
    ("E2", "SELECT COUNT(*) FROM visits JOIN patients", "CROSS JOIN or a comma in FROM"),
    ("E2", "SELECT COUNT(*) FROM visits JOIN patients ON TRUE", "a join without a pair of equal columns"),
    ("E2", "SELECT COUNT(*) FROM visits JOIN patients ON patient_id > id", "a join without a pair of equal columns"),
    ("E2", "SELECT COUNT(*) FROM visits JOIN patients ON patient_id = id OR TRUE", "a join without a pair"),
    ("E2", "SELECT COUNT(*) FROM visits JOIN patients ON patient_id = id + 0", "a join without a pair"),
    ("E1", "SELECT COUNT(*) FROM visits NATURAL JOIN patients", "NATURAL JOIN"),
    ("E1", "SELECT COUNT(*) FROM visits FULL JOIN patients ON patient_id = id", "FULL JOIN"),
    ("E1", "SELECT COUNT(*) FROM visits RIGHT JOIN patients ON patient_id = id", "RIGHT JOIN"),
    ("E1", "SELECT COUNT(*) FROM visits SEMI JOIN patients ON patient_id = id", "SEMI JOIN"),
    ("E1", "SELECT COUNT(*) FROM visits ANTI JOIN patients ON patient_id = id", "ANTI JOIN"),
    ("E1", "SELECT COUNT(*) FROM visits ASOF JOIN patients ON patient_id = id", "ASOF JOIN"),
    ("E1", "SELECT COUNT(*) FROM visits LEFT JOIN patients ON patient_id = id AND age > 3", "a LEFT JOIN on more"),
    ("E1", "SELECT COUNT(*) FROM visits, LATERAL (SELECT 1 FROM patients) t", "LATERAL"),
    ("E1", "SELECT COUNT(*) FROM (visits JOIN patients ON patient_id = id)", "parentheses around a table or a join"),
    # E8: set operations
    ("E8", "SELECT COUNT(*) FROM (SELECT cost FROM visits EXCEPT SELECT age FROM patients) t", "EXCEPT"),
    ("E8", "SELECT COUNT(*) FROM (SELECT cost FROM visits INTERSECT SELECT age FROM patients) t", "INTERSECT"),
    ("E8", "SELECT COUNT(*) FROM (SELECT cost FROM visits UNION SELECT age FROM patients) t", "UNION"),
    ("E8", f"{V} UNION ALL {V}", "UNION of whole questions"),
    ("E8", f"{V} EXCEPT {V}", "set operation"),
    # E10: metadata
    ("E10", "SUMMARIZE visits", "the statement SUMMARIZE"),
    ("E10", "DESCRIBE visits", "the statement DESCRIBE"),
    ("E10", "EXPLAIN ANALYZE SELECT COUNT(*) FROM visits", "the statement EXPLAIN"),
    ("E10", "PRAGMA storage_info('visits')", "the statement PRAGMA"),
    ("E10", "SHOW TABLES", "the statement SHOW"),
    ("E10", "SELECT COUNT(*) FROM duckdb_tables()", "a table function"),
    ("E10", "SELECT COUNT(*) FROM pragma_storage_info('visits')", "a table function"),
    ("E10", "SELECT COUNT(*) FROM information_schema.tables", "a table with a schema or a database before it"),
    ("E10", "SELECT MAX(stats(cost)) FROM visits", "the function STATS"),
    # E11: other statements, text that runs
    ("E11", f"{V}; {V}", "a second statement"),
    ("E11", f"{V}; DROP TABLE visits", "a second statement"),
    ("E11", "SELECT COUNT(*) FROM query('SELECT 1')", "a table function"),
    ("E11", "SELECT COUNT(*) FROM query_table('visits')", "a table function"),
    ("E11", "SELECT SUM(query('SELECT 1')) FROM visits", "a function that reads files or the system"),
    ("E11", "PREPARE q AS SELECT 1", "the statement PREPARE"),
    ("E11", "EXECUTE q", "the statement EXECUTE"),
    ("E11", "CREATE MACRO f(x) AS x", "the statement CREATE"),
    ("E11", f"{V} WHERE cost = ?", "a parameter"),
    ("E11", f"{V} WHERE cost = $1", "a parameter"),
    ("E11", f"{V} WHERE cost = :x", "a parameter"),
    ("E11", f"{V} WHERE cost = @x", "a parameter"),
    ("E11", "SELECT COUNT(*) FROM {{ table }}", "a struct or a template"),
    # E12, F1: files and variables
    ("E12", "SELECT COUNT(*) FROM 'secret.csv'", "a file in FROM"),
    ("F1", "SELECT COUNT(*) FROM read_csv('/etc/passwd')", "a table function"),
    ("F1", "SELECT SUM(read_text('/etc/passwd')) FROM visits", "a function that reads files or the system"),
    ("F1", "COPY visits TO 'x'", "the statement COPY"),
    ("F1", "ATTACH 'x'", "the statement ATTACH"),
    ("F1", "INSTALL httpfs", "the statement INSTALL"),
    ("F1", "LOAD httpfs", "the statement LOAD"),
    ("F1", "SET enable_external_access = true", "the statement SET"),
    # E14
    ("E14", "SELECT COUNT(DISTINCT clinic, year) FROM visits", "COUNT(DISTINCT ...) of several columns"),
    ("E14", "SELECT COUNT(DISTINCT *) FROM visits", "COUNT(DISTINCT *)"),
    ("E14", "SELECT SUM(DISTINCT cost) FROM visits", "SUM(DISTINCT ...)"),
    # B2: what fails on some rows only
    ("B2", "SELECT SUM(strptime(note, '%Y')) FROM visits", "the function STRPTIME"),
    ("B2", "SELECT SUM(factorial(cost)) FROM visits", "the function FACTORIAL"),
    ("B2", "SELECT SUM(chr(cost)) FROM visits", "the function CHR"),
    ("B2", "SELECT SUM(error(note)) FROM visits", "the function ERROR"),
    ("B2", "SELECT SUM(CAST(cost AS TINYINT)) FROM visits", "CAST AS TINYINT"),
    ("B4", "SELECT SUM(LENGTH(repeat('x', 1000000000))) FROM visits", "the function REPEAT"),
    ("B4", f"{V} WHERE regexp_extract(note, '(a+)+')", "a regular expression"),
    ("B4", f"{V} WHERE note SIMILAR TO 'a'", "a regular expression"),
    # F6
    ("F6", "WITH RECURSIVE t AS (SELECT 1 FROM visits) SELECT COUNT(*) FROM t", "a recursive CTE"),
    # the rest
    ("-", "SELECT * FROM visits", "SELECT *"),
    ("-", "SELECT visits.* FROM visits", "SELECT *"),
    ("-", "FROM visits", "SELECT *"),
    ("-", "SELECT clinic FROM visits", "a SELECT that returns rows"),
    ("-", "SELECT COUNT(*)", "a SELECT without FROM"),
    ("-", "SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits) t", "an aggregate over all units in a subquery"),
    ("-", "SELECT SUM(COUNT(*)) FROM visits", "an aggregate in an aggregate"),
    ("-", f"{V} WHERE COUNT(*) > 1", "an aggregate in WHERE"),
    ("-", "SELECT SUM(cost) FILTER (WHERE SUM(cost) > 1) FROM visits", "an aggregate in FILTER"),
    ("-", "SELECT DISTINCT clinic, COUNT(*) FROM visits GROUP BY clinic", "SELECT DISTINCT together with aggregates"),
    ("-", "SELECT clinic, COUNT(*) FROM visits GROUP BY clinic WITH ROLLUP", "WITH ROLLUP"),
    ("-", "SELECT COUNT(*) FROM (SELECT clinic FROM visits GROUP BY ROLLUP(clinic)) t", "ROLLUP, CUBE or GROUPING"),
    ("-", f"{V} WHERE GROUPING(clinic) = 1", "GROUPING in WHERE"),
    ("-", "SELECT SUM(GROUPING(clinic)) FROM visits GROUP BY clinic", "GROUPING in an aggregate"),
    ("-", "SELECT COUNT(*) FROM visits GROUP BY GROUPING(clinic)", "GROUPING in GROUP BY"),
    ("-", "SELECT COUNT(*) FROM (SELECT GROUPING(patient_id) FROM visits GROUP BY patient_id) t", "GROUPING in a subq"),
    ("-", "SELECT COUNT(*) FROM (SELECT year FROM visits GROUP BY patient_id, year HAVING GROUPING(year) = 0) t",
     "GROUPING in a subquery"),
    ("-", "SELECT COUNT(*) FROM (SELECT GROUPING(clinic) AS g FROM visits) t", "GROUPING in a subquery"),
    ("-", f"{V} LIMIT 3 OFFSET 2", "OFFSET"),
    ("-", f"{V} OFFSET 2", "OFFSET"),
    ("-", f"{V} LIMIT 10 PERCENT", "LIMIT with PERCENT"),
    ("-", f"{V} FETCH FIRST 3 ROWS ONLY", "FETCH FIRST"),
    ("-", f"{V} ORDER BY 1 NULLS FIRST", "NULLS FIRST"),
    ("-", f"{V} FOR UPDATE", "FOR UPDATE"),
    ("-", "SELECT COUNT(*) INTO t FROM visits", "SELECT INTO"),
    ("-", f"{V} PIVOT (SUM(cost) FOR year IN (1))", "PIVOT"),
    ("-", "SELECT COUNT(*) FROM (VALUES (1)) t(a)", "VALUES as a table"),
    ("-", "SELECT COUNT(*) FROM UNNEST(cost)", "UNNEST"),
    ("-", "SELECT SUM(random()) FROM visits", "a function of chance"),
    ("-", f"{V} WHERE day < now()", "the time of asking"),
    ("-", f"{V} WHERE day < CURRENT_DATE", "the time of asking"),
    ("-", f"{V} WHERE at < CURRENT_TIMESTAMP", "the time of asking"),
    ("-", "SELECT COUNT([1]) FROM visits", "a list or an index"),
    ("-", "SELECT COUNT(note[1]) FROM visits", "a list or an index"),
    ("-", "SELECT COUNT({'a': 1}) FROM visits", "a struct or a template"),
    ("-", "SELECT COUNT(note -> 'a') FROM visits", "an operator on JSON"),
    # parts of a node that nobody reads: the default is no
    ("-", "SELECT COUNT(*) FROM (SELECT * EXCLUDE (cost) FROM visits) t", "EXCEPT in STAR"),
    ("-", "SELECT COUNT(*) FROM (SELECT * REPLACE (1 AS cost) FROM visits) t", "REPLACE in STAR"),
    ("-", "SELECT COUNT(*) FROM (SELECT * RENAME (cost AS c) FROM visits) t", "RENAME in STAR"),
    ("-", "SELECT COUNT(* EXCLUDE (cost)) FROM visits", "EXCEPT in STAR"),
    ("-", "SELECT COUNT(*) FROM (SELECT cost FROM visits UNION ALL BY NAME SELECT cost FROM visits)", "BY NAME in"),
    ("-", "SELECT COUNT(*) FROM visits WITH ORDINALITY", "ORDINALITY in TABLE"),
    ("-", "SELECT COUNT(*) FROM ONLY visits", "ONLY in TABLE"),
    ("-", "SELECT COUNT(*) FROM visits FOR SYSTEM_TIME AS OF '2020-01-01'", "VERSION"),
    ("-", "SELECT clinic, COUNT(*) FROM visits GROUP BY clinic ORDER BY clinic WITH FILL", "WITH FILL"),
    ("-", "SELECT SUM(cost LIMIT 3) FROM visits", "LIMIT"),
    ("-", "SELECT COUNT(ROW(1, 2)) FROM visits", "the function ROW"),
    ("-", f"{V} WHERE note = E'a'", "a text with a prefix"),
    ("-", f"{V} WHERE note = $$a$$", "a text with a prefix"),
    ("-", f"{V} WHERE cost ^ 2 > 1", "the operators ^ and **"),
    ("-", f"{V} WHERE CAST(note AS VARCHAR(3)) = 'a'", "CAST AS VARCHAR(...)"),
    ("-", f"{V} WHERE CAST(note AS STRUCT(a INT)) = 'a'", "a cast to this type"),
    ("-", f"{V} WHERE CAST(note AS foo) = 'a'", "a cast to this type"),
    ("-", f"{V} WHERE CAST(cost AS DECIMAL(year, 2)) = 1", "a cast to this type"),
    ("-", f"{V} WHERE CAST(at AS TIMESTAMP WITH TIME ZONE) = at", "CAST AS TIMESTAMPTZ"),
    ("-", "WITH t AS (INSERT INTO visits VALUES (1)) SELECT COUNT(*) FROM t", "the statement INSERT"),
    ("-", "WITH t AS MATERIALIZED (COPY visits TO 'x') SELECT COUNT(*) FROM t", "the statement COPY"),
    ("-", f"{V} WHERE (cost, year) = (1, 2)", "a row of several values"),
    ("-", "SELECT nonsense(cost) FROM visits", "the function NONSENSE"),
    ("-", "SELECT main.sum(cost) FROM visits", "a field of a struct, or a function of a schema"),
    ("-", "SELECT SUM(a.b.cost) FROM visits", "a name of more than two parts"),
    ("-", f"{V} WHERE note COLLATE NOCASE = 'a'", "COLLATE"),
    ("-", f"{V} WHERE note LIKE 'a' ESCAPE '!'", "LIKE ... ESCAPE"),
    ("-", f"{V} WHERE cost IS DISTINCT FROM 1", "IS DISTINCT FROM"),
    ("-", f"{V} WHERE note IS DISTINCT FROM 'a'", "IS DISTINCT FROM"),
    ("-", f"{V} WHERE note IS NOT DISTINCT FROM 'a'", "IS DISTINCT FROM"),
    ("-", "SELECT DISTINCT FROM 'a.parquet'", "a file in FROM"),
    ("-", "SELECT NOT DISTINCT FROM 'a.parquet'", "a file in FROM"),
    ("-", f"{V} WHERE cost & 1 = 1", "an operator on bits"),
    ("-", f"{V} WHERE cost BETWEEN SYMMETRIC 2 AND 1", "BETWEEN SYMMETRIC"),
    ("-", f"{V} WHERE at AT TIME ZONE 'UTC' = at", "AT TIME ZONE"),
    ("-", f"{V} WHERE day + INTERVAL '1 hour' = day", "an interval"),
    ("-", f"{V} WHERE TRIM(BOTH 'x' FROM note) = 'a'", "TRIM of other characters"),
    ("-", "SELECT VAR_POP(cost) FROM visits", "a population variance"),
    ("-", "SELECT STRING_AGG(note, ',') FROM visits", "an aggregate that shows rows"),
    ("-", "SELECT ANY_VALUE(note) FROM visits", "an aggregate that shows rows"),
    ("-", "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY cost) FROM visits", "PERCENTILE_DISC"),
    ("-", "SELECT SUM(cost ORDER BY year) FROM visits", "ORDER BY inside an aggregate"),
    ("-", "SELECT SUM(cost IGNORE NULLS) FROM visits", "IGNORE NULLS"),
    ("-", "SELECT CAST_TEXT(clinic), COUNT(*) FROM visits GROUP BY clinic", "the function CAST_TEXT"),
    ("-", "SELECT CAST(clinic AS TEXT), COUNT(*) FROM visits GROUP BY clinic", "CAST_TEXT of a released value"),
    ("-", "INSERT INTO visits VALUES (1)", "the statement INSERT"),
    ("-", "DELETE FROM visits", "the statement DELETE"),
    ("-", "UPDATE visits SET cost = 1", "the statement UPDATE"),
    ("-", "VALUES (1)", "the statement VALUES"),
    ("-", "TABLE visits", "the statement TABLE"),
    ("-", f"({V}) LIMIT 3", "a clause after the closing parenthesis"),
    ("-", "SELECT COUNT(*) AS 'n' FROM visits", "a text as a name"),
]  # fmt: skip


@pytest.mark.parametrize(("attack", "text", "what"), REFUSED, ids=[f"{a}: {text}" for a, text, _ in REFUSED])
def test_refused_by_name(attack: str, text: str, what: str) -> None:
    with pytest.raises(BadQuestion) as caught:
        read(text)
    if what == "set operation":
        assert "one SELECT" in str(caught.value)
        return
    assert isinstance(caught.value, Unsupported), f"{attack}: {caught.value}"
    assert caught.value.what.startswith(what)
    assert caught.value.hint


WRONG: list[tuple[str, str]] = [
    ("", "no question"),
    (" ;; ", "no question"),
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
    ("SELECT COUNT(*) AS __unit FROM visits", "does not begin with __"),
    ("SELECT COUNT(*) FROM (SELECT cost AS __unit FROM visits) t", "does not begin with __"),
    ("WITH t(__unit) AS (SELECT cost FROM visits) SELECT COUNT(*) FROM t", "does not begin with __"),
    ('SELECT COUNT(*) AS "#" FROM visits', "does not begin with __ or #"),
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


@pytest.mark.parametrize("given", [None, 1, b"SELECT 1", ["SELECT 1"]])
def test_a_question_is_a_text(given: Any) -> None:
    with pytest.raises(BadQuestion, match="must be a text"):
        read(given)


# --- limits -----------------------------------------------------------------------------------------------------------


def nest(before: str, after: str, times: int) -> str:
    return f"{V} WHERE {before * times}cost{after * times} > 1"


NESTS = [("(", ")"), ("ABS(", ")"), ("CASE WHEN paid THEN ", " END"), ("COALESCE(1, ", ")"), ("CAST(", " AS INT)")]


@pytest.mark.parametrize(("before", "after"), NESTS)
def test_nesting_up_to_the_limit_is_read(before: str, after: str) -> None:
    deep = 32 if before == "(" else 31
    assert read(nest(before, after, deep)).measures
    for times in (33, 100, 10_000):
        with pytest.raises(BadQuestion, match=r"nested more than 32 deep|100,000 characters"):
            read(nest(before, after, times))


LONG = [
    ("- ", "", 5_000),
    ("NOT ", "", 5_000),
    ("", " + 1", 5_000),
    ("", " IS NULL", 5_000),
    ("", "::INT", 5_000),
    ("", " = 1", 5_000),
]


@pytest.mark.parametrize(("before", "after", "times"), LONG)
def test_long_chains_are_refused(before: str, after: str, times: int) -> None:
    with pytest.raises(BadQuestion, match="nested"):
        read(nest(before, after, times))
    if after != "::INT":
        assert read(nest(before, after, 50)).measures


def test_long_lists_are_read() -> None:
    many = " OR ".join(f"cost = {i}" for i in range(1_000))
    found = where(many)
    assert isinstance(found, Call)
    assert len(found.arguments) == 1_000
    listed = where(f"cost IN ({', '.join(str(i) for i in range(5_000))})")
    assert isinstance(listed, Call)
    assert len(listed.arguments) == 5_001


def test_a_plan_cannot_grow_beyond_its_text() -> None:  # F6
    steps = ["a0 AS (SELECT cost FROM visits)"]
    steps += [f"a{i} AS (SELECT cost FROM a{i - 1} UNION ALL SELECT cost FROM a{i - 1})" for i in range(1, 40)]
    with pytest.raises(BadQuestion, match=r"too large|nested more than"):
        read(f"WITH {', '.join(steps)} SELECT COUNT(*) FROM a39")
    steps = ["a0 AS (SELECT cost FROM visits)", *(f"a{i} AS (SELECT cost FROM a{i - 1})" for i in range(1, 60))]
    with pytest.raises(BadQuestion, match="nested more than 50 deep"):
        read(f"WITH {', '.join(steps)} SELECT COUNT(*) FROM a59")
    steps = [f"a{i} AS (SELECT x.cost AS cost FROM a{i - 1} x JOIN a{i - 1} y USING (cost))" for i in range(1, 30)]
    with pytest.raises(BadQuestion, match=r"too large|nested more than"):
        read(f"WITH a0 AS (SELECT cost FROM visits), {', '.join(steps)} SELECT COUNT(*) FROM a29")


def calls_during(work: Callable[[], object], most: int) -> int:
    """How many Python functions were called: a measure of time that no machine changes. Stops soon after ``most``."""
    count = 0

    def seen(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"
        if count > most:
            raise TimeoutError

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def refused_within(text: str, most: int) -> bool:
    def work() -> None:
        with pytest.raises(BadQuestion):
            read(text)

    return calls_during(work, most) <= most


BACKTRACKING = [
    "timestamp(", "date(", "decimal(", "int(", "varchar(", "time(", "enum(", "array(", "map(", "struct(", "nullable(",
    "vector(", "(date ", "interval (", "cast(1 as decimal(", "x::decimal(", "array<", "struct<a ", "map<", "trim(",
    "(select ", "((select 1) union all ", "any(", "exists(", "lambda x: (", "((x, y) -> ", "case (case ", "not (",
    "sum(distinct ", "grouping sets (", "extract(day from ", "substring(x from ", "row(", "x in (", "x between (",
]  # fmt: skip


@pytest.mark.parametrize("piece", BACKTRACKING)
def test_reading_takes_time_in_proportion_to_the_text(piece: str) -> None:  # F6
    """Without a limit on nodes, 31 times ``timestamp(`` would take sqlglot longer than a person lives."""
    for closing in (")", " ", ") from t", " as int)"):
        text = f"SELECT {piece * 31}1{closing * 31} FROM visits"
        assert refused_within(text, 200 * len(text) + 50_000)


def test_joins_without_a_condition_are_read_in_bounded_time() -> None:  # F6: sqlglot tries each of them many times
    for piece in (" JOIN visits", " LEFT JOIN visits", " JOIN (visits"):
        text = f"SELECT COUNT(*) FROM visits{piece * 100}"
        assert refused_within(text, 1_000 * len(text))


def test_a_name_in_quotes_is_not_read_as_a_text_of_its_own() -> None:  # F6: that reading would have no limit
    inner = "timestamp(" * 31 + "1" + ")" * 31
    assert refused_within(f'SELECT SUM(CAST(cost AS "{inner}")) FROM visits', 100_000)
    assert refused_within(f'SELECT SUM(cost::"{inner}") FROM visits', 100_000)
    assert refused_within(f'SELECT COUNT(*) FROM visits t(a "{inner}")', 100_000)
    assert refused_within(f'SELECT COUNT(*) FROM visits t(a VECTOR("{inner}", 3))', 100_000)
    assert refused_within(f'WITH t(a "{inner}") AS (SELECT cost FROM visits) SELECT COUNT(*) FROM t', 100_000)


def test_names_in_quotes_are_just_names() -> None:
    odd = ['a "b" c', "timestamp(timestamp(1))", "count", "SELECT 1; --", "é😀", "int", "a.b", "\n", "'", " "]
    for name in odd:
        quoted = '"' + name.replace('"', '""') + '"'
        found = question(f"SELECT SUM(t.{quoted}) AS {quoted} FROM {quoted} t", {name: [name]})
        assert found.source == Scan(name)
        assert found.measures == (Measure(name, Aggregate.SUM, (Column(name),)),)
        found = question(
            f"WITH {quoted}({quoted}) AS (SELECT cost FROM visits) SELECT SUM({quoted}) FROM {quoted}", TABLES
        )
        assert found.measures == (Measure(f"sum_{name}", Aggregate.SUM, (Column(name),)),)


def test_messages_do_not_repeat_constants() -> None:
    canary = "canary7421"
    for text in (
        f"{V} WHERE note = '{canary}' AND",
        f"{V} WHERE note ~ '{canary}'",
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
