"""What happens to released values: exact where it can be, NULL where it must be, and never an error."""

from __future__ import annotations

import math
import sys
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.query.answer.postprocess import apply, evaluate, program
from discreet.query.front.sql.expressions import expression
from discreet.query.functions.catalogue import FUNCTIONS, OF_RELEASED
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.nodes import Order, Outcome
from discreet.query.resolve.resolve import Scope, Source, rowwise

NAMES = ["a", "b", "c", "f", "s", "t", "d", "m", "p", "q"]
SCOPE = Scope((Source(None, {name: name for name in NAMES}),))
ROW: dict[str, Any] = {
    "a": 7, "b": -2, "c": 0, "f": 2.5, "s": "North", "t": None, "d": date(2024, 2, 29),
    "m": datetime(2024, 2, 29, 13, 5), "p": True, "q": False,
}  # fmt: skip


def read(text: str) -> Expression:
    return rowwise(expression(text).said, SCOPE, "a test")


VALUES: list[tuple[str, Any]] = [
    ("a + b", 5), ("a - b", 9), ("a * b", -14), ("-a", -7), ("a / 2", 3.5), ("a / 7", 1), ("a / c", None),
    ("a // b", -3), ("a // c", None), ("a % b", 1), ("-a % 2", -1), ("a % c", None), ("a + f", 9.5), ("f / c", None),
    ("t + 1", None), ("a + s", None), ("p + 1", None), ("POWER(b, 3)", -8), ("POWER(b, 99)", -(2.0**99)),
    ("POWER(b, 0.5)", None), ("ABS(b)", 2),
    ("SIGN(b)", -1), ("SIGN(c)", 0), ("ROUND(f)", 3.0), ("ROUND(-f)", -3.0), ("ROUND(a / 2)", 4),
    ("ROUND(2.345, 2)", 2.35), ("ROUND(1234, -2)", 1200), ("ROUND(a, 99)", 7), ("FLOOR(-f)", -3.0),
    ("CEIL(f)", 3.0), ("FLOOR(b / 3)", -1), ("TRUNC(b / 3)", 0), ("GREATEST(a, b, f)", 7), ("LEAST(a, b)", -2),
    ("GREATEST(a, t)", None), ("GREATEST(a)", 7), ("CLAMP(a, 0, 5)", 5), ("CLAMP(a, 5, 0)", None),
    ("WIDTH_BUCKET(a, 0, 10, 5)", 4), ("WIDTH_BUCKET(b, 0, 10, 5)", 0), ("WIDTH_BUCKET(10, 0, 10, 5)", 6),
    ("WIDTH_BUCKET(a, 1, 1, 5)", None), ("a = 7", True), ("a = 7.0", True), ("a <> f", True), ("b <= -2", True),
    ("f < 2.6", True), ("a > t", None), ("a = s", None), ("p = 1", None), ("p = TRUE", True), ("p < q", None),
    ("s = 'North'", True), ("s < 'South'", True), ("d = DATE '2024-02-29'", True), ("d >= '2024-01-01'", True),
    ("d = 'never'", None), ("m > d", True), ("m = '2024-02-29 13:05:00'", True), ("m < 'noon'", None),
    ("a IN (1, 7)", True), ("a IN (1, NULL)", None), ("a NOT IN (1, 2)", True), ("t IN (1)", None),
    ("t IS NULL", True), ("a IS NULL", False), ("p AND t", None), ("q AND t", False), ("p OR t", True),
    ("q OR t", None), ("NOT t", None), ("NOT p", False), ("NOT a", None), ("a AND p", None),
    ("CASE WHEN t THEN 1 WHEN p THEN 2 ELSE 3 END", 2), ("CASE WHEN q THEN 1 END", None), ("COALESCE(t, a)", 7),
    ("COALESCE(t, t)", None), ("NULLIF(a, 7)", None), ("NULLIF(a, t)", 7), ("NULLIF(t, 1)", None),
    ("LOWER(s)", "north"), ("UPPER(s)", "NORTH"), ("LENGTH(s)", 5), ("LENGTH(a)", None), ("TRIM('  x ')", "x"),
    ("s || '!'", "North!"), ("s || t", None), ("s || a", "North7"), ("LEFT(s, 2)", "No"), ("SUBSTRING(s, 2, 2)", "or"),
    ("SUBSTRING(s, 0, 2)", "N"), ("s LIKE 'N%h'", True), ("s LIKE 'n%'", False), ("s ILIKE 'n%'", True),
    ("STARTS_WITH(s, 'No')", True), ("ENDS_WITH(s, 'No')", False), ("CONTAINS(s, 'ort')", True), ("a LIKE 'x'", None),
    ("EXTRACT(year FROM d)", 2024), ("EXTRACT(quarter FROM m)", 1), ("EXTRACT(isodow FROM d)", 4),
    ("EXTRACT(doy FROM d)", 60), ("EXTRACT(hour FROM m)", 13), ("EXTRACT(hour FROM d)", None),
    ("EXTRACT(day FROM a)", None), ("DATE_TRUNC('month', d)", date(2024, 2, 1)),
    ("DATE_TRUNC('hour', m)", datetime(2024, 2, 29, 13)), ("DATE_TRUNC('hour', d)", None),
    ("DATE_TRUNC('eon', d)", None), ("DATE_TRUNC('month', a)", None), ("d - DATE '2024-01-31'", 29), ("m - d", 47_100),
    ("DATE_DIFF('day', DATE '2023-12-31', d)", 60), ("DATE_DIFF('week', d, DATE '2024-03-04')", 1),
    ("DATE_DIFF('month', d, DATE '2023-12-31')", -2), ("DATE_DIFF('quarter', DATE '2023-12-31', m)", 1),
    ("DATE_DIFF('year', m, DATE '2020-12-31')", -4), ("DATE_DIFF('hour', d, m)", 13),
    ("DATE_DIFF('minute', m, d)", -785), ("DATE_DIFF('second', m, m)", 0),
    ("DATE_DIFF('eon', d, d)", None), ("DATE_DIFF('day', a, d)", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_values(text: str, expected: Any) -> None:
    found = evaluate(read(text), ROW)
    assert found == expected
    assert type(found) is type(expected)


def test_exact_arithmetic_stays_exact() -> None:
    third = Call("div", (Literal(Fraction(1)), Literal(Fraction(3))))
    assert program(third)({}) == Fraction(1, 3)
    assert evaluate(Call("mul", (third, Literal(Fraction(3)))), {}) == 1
    assert evaluate(Call("add", (Column("n"), Literal(Fraction(1)))), {"n": 2**80}) == 2**80 + 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_what_is_no_number_is_null(value: float) -> None:
    assert evaluate(read("a + 1"), {"a": value}) is None
    assert evaluate(read("a IS NULL"), {"a": value}) is True
    assert evaluate(read("COALESCE(a, 5)"), {"a": value}) == 5
    assert evaluate(read("a > 1"), {"a": value}) is None


def test_what_is_too_large_for_a_float_is_the_largest_one() -> None:
    assert evaluate(read("f * f"), {"f": 1e300}) == LARGEST
    assert evaluate(read("-f * f"), {"f": 1e300}) == -LARGEST
    assert evaluate(read("a + f"), {"a": 10**400, "f": 0.5}) == LARGEST
    assert evaluate(read("a / 3"), {"a": 10**400}) == LARGEST
    assert evaluate(read("EXP(a)"), {"a": 10**400}) == LARGEST
    assert evaluate(read("POWER(a, 0.5)"), {"a": 10**400}) == pytest.approx(1e200)


def test_no_number_is_lost_on_the_way() -> None:
    """Floats would be infinite, or 0, between."""
    assert evaluate(read("f * f / f"), {"f": 1e300}) == pytest.approx(1e300)
    assert evaluate(read("1 / (f * f) * f"), {"f": 1e-300}) == pytest.approx(1e300)
    assert evaluate(read("1 / EXP(-f)"), {"f": 1e4}) == LARGEST
    assert evaluate(read("SQRT(f * f)"), {"f": 1e300}) == pytest.approx(1e300)
    assert evaluate(read("LN(f * f)"), {"f": 1e-300}) == pytest.approx(2 * math.log(1e-300))
    assert evaluate(read("POWER(1 / (f * f), 0.5)"), {"f": 1e300}) == pytest.approx(1e-300)
    assert evaluate(read("ADD_MONTHS(d, a)"), {"d": date(2024, 2, 29), "a": 10**9}) == date.max


def test_numbers_of_numpy_are_numbers() -> None:
    row = {"a": np.int64(7), "f": np.float32(0.5), "p": np.bool_(True)}
    assert evaluate(read("a + f"), row) == 7.5
    assert evaluate(read("COALESCE(p, FALSE)"), row) is True


LARGEST = sys.float_info.max

# --- rows -------------------------------------------------------------------------------------------------------------

ROWS = [{"k": k, "n": n} for k, n in [("a", 3), ("b", None), ("c", 5), ("d", 3), ("e", math.nan)]]
PLAIN = (("k", Column("k")),)


def keys(outcome: Outcome) -> str:
    return "".join(row["k"] for row in apply(outcome, ROWS))


def test_order_by_puts_nulls_last_and_keeps_equal_rows_in_order() -> None:
    assert keys(Outcome(PLAIN)) == "abcde"
    assert keys(Outcome(PLAIN, order=(Order(Column("n")),))) == "adcbe"
    assert keys(Outcome(PLAIN, order=(Order(Column("n"), descending=True),))) == "cadbe"
    both = (Order(Column("n"), descending=True), Order(Column("k"), descending=True))
    assert keys(Outcome(PLAIN, order=both)) == "cdaeb"


def test_having_keeps_what_is_true() -> None:
    above = Call("gt", (Column("n"), Literal(Fraction(3))))
    assert keys(Outcome(PLAIN, having=above)) == "c"
    assert keys(Outcome(PLAIN, having=Call("not", (above,)))) == "ad"
    assert keys(Outcome(PLAIN, having=Literal(None))) == ""


@pytest.mark.parametrize(("limit", "expected"), [(0, ""), (2, "ab"), (99, "abcde"), (None, "abcde")])
def test_limit(limit: int | None, expected: str) -> None:
    assert keys(Outcome(PLAIN, limit=limit)) == expected


def test_having_comes_before_order_by_and_limit() -> None:
    low = Call("le", (Column("n"), Literal(Fraction(3))))
    assert keys(Outcome(PLAIN, having=low, order=(Order(Column("k"), descending=True),), limit=1)) == "d"


def test_columns_are_computed_and_rows_are_new() -> None:
    twice = Call("mul", (Column("n"), Literal(Fraction(2))))
    found = apply(Outcome((("twice", twice), ("k", Column("k")))), ROWS[:2])
    assert found == [{"twice": 6, "k": "a"}, {"twice": None, "k": "b"}]
    assert list(found[0]) == ["twice", "k"]
    assert ROWS[0] == {"k": "a", "n": 3}


def test_values_of_all_kinds_can_be_ordered() -> None:
    values = ["b", None, 2, True, date(2024, 1, 1), 1.5, datetime(2024, 1, 1), "a", Fraction(1, 3), False,
              datetime(2024, 1, 1, tzinfo=UTC), (1, 2)]  # fmt: skip
    found = apply(Outcome((("x", Column("x")),), order=(Order(Column("x")),)), [{"x": value} for value in values])
    assert [row["x"] for row in found][:7] == [float(Fraction(1, 3)), 1.5, 2, "a", "b", False, True]
    assert [row["x"] for row in found][-2:] == [None, (1, 2)]


# --- against DuckDB ---------------------------------------------------------------------------------------------------

TABLE = [
    {"a": a, "b": b, "p": p, "q": q, "s": s, "d": d}
    for a in (-3, 0, 2, None)
    for b in (-2, 0, 5)
    for p in (True, None)
    for q in (True, False)
    for s in ("x", "Yes", None)
    for d in (date(2024, 2, 29), date(1999, 12, 31))
]
NUMBERS = st.recursive(
    st.sampled_from(["a", "b", "0", "1", "7", "NULL::BIGINT"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" + ", " - ", " * ", " // ", " % "]), inner).map("".join),
        inner.map("-({})".format),
        inner.map("({})".format),
        inner.map("ABS({})".format),
        inner.map("SIGN({})::BIGINT".format),
        st.tuples(inner, inner).map(lambda t: f"COALESCE({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"NULLIF({t[0]}, {t[1]})"),
        st.sampled_from(["year", "month", "day", "quarter", "doy", "isodow", "dow"]).map("EXTRACT({} FROM d)".format),
        st.just("LENGTH(s)"),
    ),
    max_leaves=5,
)
TRUTHS = st.recursive(
    st.one_of(
        st.sampled_from(["p", "q", "TRUE", "FALSE", "s LIKE '%e%'", "s ILIKE 'y_s'", "STARTS_WITH(s, 'x')", "s = 'x'"]),
        st.tuples(NUMBERS, st.sampled_from([" = ", " <> ", " < ", " <= ", " > ", " >= "]), NUMBERS).map("".join),
        st.tuples(NUMBERS, NUMBERS, NUMBERS).map(lambda t: f"{t[0]} BETWEEN {t[1]} AND {t[2]}"),
        st.tuples(NUMBERS, NUMBERS).map(lambda t: f"{t[0]} NOT IN ({t[1]}, 1)"),
        NUMBERS.map("{} IS NOT NULL".format),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" AND ", " OR "]), inner).map("".join),
        inner.map("NOT {}".format),
        inner.map("({})".format),
        inner.map("({}) IS NOT TRUE".format),
        st.tuples(inner, inner, inner).map(lambda t: f"CASE WHEN {t[0]} THEN {t[1]} ELSE {t[2]} END"),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect(config={"error_on_division_by_zero": False})
    found.execute("CREATE TABLE t (i INT, a BIGINT, b BIGINT, p BOOLEAN, q BOOLEAN, s TEXT, d DATE)")
    found.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", [[i, *row.values()] for i, row in enumerate(TABLE)])
    return found


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(text=st.one_of(NUMBERS, TRUTHS))
def test_we_read_and_compute_as_duckdb_does(database: duckdb.DuckDBPyConnection, text: str) -> None:
    """Precedence, three-valued logic, division of whole numbers: the text through both, on the same rows."""
    theirs = [value for (value,) in database.execute(f"SELECT ({text}) FROM t ORDER BY i").fetchall()]
    tree = _uncast(read(text))
    run = program(tree)
    assert [run(row) for row in TABLE] == theirs


def _uncast(tree: Expression) -> Expression:
    """Without casts, which are not for released values; here they only tell DuckDB the type."""
    if not isinstance(tree, Call):
        return tree
    inside = tuple(_uncast(a) for a in tree.arguments)
    return inside[0] if tree.function == "cast_integer" else Call(tree.function, inside)


# --- never an error ---------------------------------------------------------------------------------------------------

RELEASED = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(10**400), 10**400), st.floats(), st.fractions(), st.text(),
    st.dates(), st.datetimes(), st.datetimes(timezones=st.just(UTC)),
    st.sampled_from([np.float64("nan"), np.int64(3), np.float32(0.1), np.bool_(False), np.str_("x")]),
)  # fmt: skip
LITERALS = st.one_of(
    st.none(), st.booleans(), st.fractions(), st.integers(-99, 99).map(Fraction), st.text(max_size=5), st.dates(),
    st.sampled_from(["year", "hour", "%a_", ""]),
)  # fmt: skip


def calls(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    def call(name: str) -> st.SearchStrategy[Expression]:
        return st.tuples(*[inner] * (FUNCTIONS[name].arguments[1] or 3)).map(lambda parts: Call(name, parts))

    return st.sampled_from(sorted(OF_RELEASED - {"grouping"})).flatmap(call)


TREES = st.recursive(st.one_of(st.sampled_from([Column("x"), Column("y")]), LITERALS.map(Literal)), calls, max_leaves=8)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(tree=TREES, x=RELEASED, y=RELEASED)
def test_no_released_value_makes_an_error(tree: Expression, x: Any, y: Any) -> None:
    found = evaluate(tree, {"x": x, "y": y})
    if isinstance(tree, Call):
        assert found is None or isinstance(found, bool | int | float | str | date | np.generic)
    if isinstance(found, float) and isinstance(tree, Call) and tree.function not in ("case", "coalesce", "nullif"):
        assert math.isfinite(found)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(trees=st.lists(TREES, max_size=3), having=st.none() | TREES, values=st.lists(st.tuples(RELEASED, RELEASED)))
def test_no_outcome_makes_an_error(trees: list[Expression], having: Expression | None, values: list[Any]) -> None:
    outcome = Outcome((("x", Column("x")),), having, tuple(Order(tree, descending=True) for tree in trees), 5)
    rows = apply(outcome, [{"x": x, "y": y} for x, y in values])
    assert len(rows) <= 5
