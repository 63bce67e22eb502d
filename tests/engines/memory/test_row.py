"""The primitives on one row, against answers by hand and against query/plan/evaluate.py."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.memory import source as memory_source
from discreet.engines.memory.row import evaluate
from discreet.query.plan import evaluate as other
from discreet.query.plan.expressions import Column, Expression
from discreet.query.plan.primitives import PRIMITIVES
from tests.contracts.engines import random_works
from tests.contracts.engines.lab import f
from tests.contracts.engines.probes import PROBES
from tests.helpers.tables import wide

NAN, INF = float("nan"), float("inf")


DAY, NIGHT = date(2024, 2, 29), datetime(2024, 2, 29, 23, 59, 59, 999999)


EXAMPLES: list[tuple[str, tuple[Any, ...], Any]] = [
    ("read_integer", (7, 0, 5), 5), ("read_integer", (-7, 0, 5), 0), ("read_integer", (None, 0, 5), None),
    ("read_decimal", (Decimal("1.25"), 2, 0, 1000), 125), ("read_decimal", (Decimal("-1.25"), 2, 0, 1000), 0),
    ("read_coarse", (2**64 - 1, 0, 1, 0, 2**62), (2**64 - 1) // 10), ("read_coarse", (-19, 0, 1, -9, 9), -1),
    ("read_coarse", (Decimal("1.25"), 2, -1, -99, 99), 13), ("read_coarse", (Decimal("-1.25"), 2, -1, -99, 99), -13),
    ("read_coarse", (Decimal("19.5"), 1, 1, -99, 99), 2), ("read_coarse", (Decimal("-19.4"), 1, 1, -99, 99), -1),
    ("read_real", (NAN, 0, -9, 9), None), ("read_real", (INF, 0, -9, 9), 9), ("read_real", (-INF, 0, -9, 9), -9),
    ("read_real", (0.5, 0, -9, 9), 1), ("read_real", (-0.5, 0, -9, 9), 0), ("read_real", (-1.5, 0, -9, 9), -1),
    ("read_real", (0.49999999999999994, 0, -9, 9), 0), ("read_real", (-0.0, 0, -9, 9), 0), ("read_real", (3.0, 1, -9,
    9), 2),
    ("read_real", (0.3, -2, -9, 9), 1), ("read_real", (1e308, -1074, -9, 9), 9),
    ("read_whole", (-0.0,), 0), ("read_whole", (1.0 - 2**53,), 1 - 2**53), ("read_whole", (2.0**53,), None),
    ("read_whole", (0.5,), None), ("read_whole", (NAN,), None), ("read_whole", (-INF,), None),
    ("read_text", ("a ",), "a "), ("read_boolean", (False,), False), ("read_date", (DAY,), DAY),
    ("read_timestamp", (NIGHT,), NIGHT), ("read_float", (0.1,), 0.1),
    ("add", (2, 3), 5), ("add", (2, None), None), ("sub", (2, 3), -1), ("mul", (-2, 3), -6), ("neg", (4,), -4),
    ("abs", (-4,), 4), ("sign", (-4,), -1), ("sign", (0,), 0), ("least", (2, 1, 3), 1), ("least", (2, None), None),
    ("greatest", (2, 1, 3), 3), ("greatest", (None, 9), None),
    ("div", (7, 2), 3), ("div", (-7, 2), -3), ("div", (7, -2), -3), ("div", (-7, -2), 3), ("div", (7, 0), None),
    ("mod", (7, 2), 1), ("mod", (-7, 2), -1), ("mod", (7, -2), 1), ("mod", (-7, -2), -1), ("mod", (7, 0), None),
    ("round_div", (5, 2), 3), ("round_div", (-5, 2), -3), ("round_div", (4, 3), 1), ("floor_div", (-1, 10), -1),
    ("ceil_div", (1, 10), 1), ("ceil_div", (-1, 10), 0),
    ("eq", ("a", "A"), False), ("eq", ("\u00e9", "e\u0301"), False), ("eq", (None, None), None), ("ne", (1, 2), True),
    ("lt", ("Z", "a"), True), ("lt", ("\uffff", "\U00010000"), True), ("le", (DAY, DAY), True), ("gt", (True, False),
    True),
    ("ge", ("a", "a "), False), ("in", ("a", "b", "a"), True), ("in", (None, "a"), None), ("in", (3, 1, 2), False),
    ("is_null", (None,), True), ("is_null", (0,), False),
    ("and", (None, False), False), ("and", (None, True), None), ("and", (True, True), True), ("or", (None, True), True),
    ("or", (None, False), None), ("not", (None,), None), ("not", (False,), True),
    ("case", (None, 1, True, 2, 3), 2), ("case", (False, 1, 3), 3), ("case", (True, None, 3), None),
    ("coalesce", (None, None, 3, 4), 3), ("coalesce", (None,), None),
    ("like", ("abc", "a%"), True), ("like", ("abc", "a_"), False), ("like", ("a%", "a\\%"), False), ("like", ("a\\b",
    "a\\%"), True),
    ("like", ("a\nb", "a_b"), True), ("like", ("ab", "AB"), False), ("like", ("", "%"), True), ("like", ("", "_"),
    False),
    ("like", ("👍", "_"), True), ("like", ("a.b", "a.b"), True), ("like", ("axb", "a.b"), False),
    ("lower", ("ÀB\u0130",), "Àb\u0130"), ("upper", ("àb\u00df",), "àB\u00df"), ("trim", (" \ta ",), "\ta"),
    ("ltrim", ("  a ",), "a "), ("rtrim", (" a\u00a0 ",), " a\u00a0"), ("length", ("e\u0301👍",), 3),
    ("substring", ("abc", 2, 1), "b"), ("substring", ("abc", 4, 9), ""), ("substring", ("👍abc", 2, 0), ""),
    ("add_seconds", (datetime(2024, 1, 1), -1), datetime(2023, 12, 31, 23, 59, 59)),
    ("add_seconds", (datetime.max, 1), datetime.max), ("add_seconds", (datetime(1, 1, 1), -1), datetime.min),
    ("root", (48,), 6), ("root", (49,), 7), ("curve", (5, 0, 7, 0, 0, 1, 1, 2, 9, 8, 1, 3, 2), 11),
    ("split_part", ("a-b", "-", 2), "b"), ("split_part", ("a-b", "-", 3), ""), ("split_part", (None, "-", 1), None),
    ("concat", ("a", "b"), "ab"), ("concat", ("a", None), None), ("starts_with", ("ab", ""), True),
    ("right", ("abc", 2), "bc"), ("right", ("a", 0), ""), ("right", ("a", 9), "a"), ("right", (None, 1), None),
    ("regexp_extract", ("a12", "([0-9]{1,})"), "12"), ("regexp_extract", ("a", "([0-9])"), ""),
    ("regexp_replace", ("a1b2", "([0-9])", "<\\1\\\\>", True), "a<1\\>b<2\\>"),
    ("regexp_replace", ("a1b2", "[0-9]", "", False), "ab2"),
    ("replace", ("aaa", "aa", "b"), "ba"), ("replace", ("ab", "a", "aa"), "aab"), ("replace", (None, "a", ""), None),
    ("ends_with", ("ab", "b"), True), ("contains", ("a%b", "%"), True),
    ("text_to_integer", ("+07",), 7), ("text_to_integer", (" 7",), None), ("text_to_integer", ("7\n",), None),
    ("text_to_integer", ("\uff17",), None), ("text_to_integer", ("9" * 18,), 10**18 - 1), ("text_to_integer",
    ("1" * 19,), None),
    ("integer_to_text", (-7,), "-7"), ("date_to_text", (date(1, 2, 3),), "0001-02-03"), ("boolean_to_integer",
    (True,), 1),
    ("text_to_date", ("2024-02-29",), DAY), ("text_to_date", ("2023-02-29",), None), ("text_to_date", ("0000-01-01",),
    None),
    ("text_to_date", ("2024-2-29",), None), ("text_to_date", ("2024-02-29\n",), None),
    ("text_to_decimal", ("-1.5",), Decimal("-1.5")), ("text_to_decimal", ("1.",), Decimal(1)),
    ("text_to_decimal", ("2E3",), Decimal(2000)), ("text_to_decimal", ("1.5e-20",), Decimal("2e-20")),
    ("text_to_decimal", ("-1.5e-20",), Decimal("-2e-20")), ("text_to_decimal", ("9e-99",), Decimal(0)),
    ("text_to_decimal", ("9.99999999999999999e17",), Decimal(999999999999999999)),
    ("text_to_decimal", ("9e18",), None), ("text_to_decimal", ("9" * 19,), None), ("text_to_decimal", ("nan",), None),
    ("text_to_decimal", ("1_0",), None), ("text_to_decimal", ("1,5",), None), ("text_to_decimal", ("0x1",), None),
    ("text_to_decimal", (".5",), None), ("text_to_decimal", ("\uff17",), None), ("text_to_decimal", ("",), None),
    ("text_to_timestamp", ("2024-02-29",), datetime(2024, 2, 29)),
    ("text_to_timestamp", ("2024-02-29T23:59",), datetime(2024, 2, 29, 23, 59)),
    ("text_to_timestamp", ("2024-02-29 23:59:58.5",), datetime(2024, 2, 29, 23, 59, 58, 500_000)),
    ("text_to_timestamp", ("2024-02-30",), None), ("text_to_timestamp", ("2024-02-29 24:00",), None),
    ("text_to_timestamp", ("2024-02-29 23:59:60",), None), ("text_to_timestamp", ("2024-02-29 23:59Z",), None),
    ("text_to_timestamp", ("2024-02-29 ",), None), ("text_to_timestamp", ("infinity",), None),
    ("timestamp_to_date", (NIGHT,), DAY), ("date_to_timestamp", (DAY,), datetime(2024, 2, 29)),
    ("year", (DAY,), 2024), ("quarter", (date(2024, 3, 31),), 1), ("quarter", (date(2024, 4, 1),), 2), ("month",
    (NIGHT,), 2),
    ("day", (DAY,), 29), ("day_of_week", (date(2024, 3, 3),), 7), ("day_of_week", (date(2024, 3, 4),), 1),
    ("day_of_year", (date(2024, 12, 31),), 366), ("hour", (NIGHT,), 23), ("minute", (NIGHT,), 59), ("second",
    (NIGHT,), 59),
    ("date_trunc", ("year", DAY), date(2024, 1, 1)), ("date_trunc", ("quarter", date(2024, 6, 30)), date(2024, 4, 1)),
    ("date_trunc", ("month", DAY), date(2024, 2, 1)), ("date_trunc", ("week", DAY), date(2024, 2, 26)),
    ("date_trunc", ("day", DAY), DAY), ("date_trunc", ("week", date(1, 1, 3)), date.min),
    ("date_trunc", ("day", NIGHT), datetime(2024, 2, 29)), ("date_trunc", ("hour", NIGHT), datetime(2024, 2, 29, 23)),
    ("date_trunc", ("minute", NIGHT), datetime(2024, 2, 29, 23, 59)),
    ("days_between", (DAY, date(2024, 3, 1)), 1), ("days_between", (date(2024, 3, 1), DAY), -1),
    ("add_days", (DAY, 1), date(2024, 3, 1)), ("add_days", (DAY, 10**9), date.max), ("add_days", (DAY, -(10**9)),
    date.min),
    ("seconds_between", (datetime(2024, 1, 1), NIGHT), 5183999), ("seconds_between", (NIGHT, datetime(2024, 1, 1)),
    -5183999),
    ("seconds_between", (NIGHT, datetime(2024, 3, 1)), 0),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("meaning", [evaluate, other.evaluate], ids=["oracle", "typing"])
@pytest.mark.parametrize(("function", "arguments", "right"), EXAMPLES)
def test_by_hand(meaning: Any, function: str, arguments: tuple[Any, ...], right: Any) -> None:
    row = {f"c{n}": value for n, value in enumerate(arguments)}
    got = meaning(f(function, *(Column(name) for name in row)), row)
    assert (type(got), got) == (type(right), right)


def test_every_primitive_has_an_example() -> None:
    assert {function for function, _, _ in EXAMPLES} == PRIMITIVES


@pytest.mark.slow
@pytest.mark.parametrize("primitive", sorted(PRIMITIVES))
def test_both_readings_agree_on_odd_values(primitive: str) -> None:
    for row in memory_source.rows(wide()):
        for expression in PROBES[primitive]:
            assert evaluate(expression, row) == other.evaluate(expression, row), expression


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    kinds = [random_works.texts, random_works.days, random_works.moments, random_works.truths]
    if draw(st.booleans()):
        return random_works.integers(draw, 3).expression
    return kinds[draw(st.integers(0, 3))](draw, 3)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(expression=expressions(), table=random_works.tables(most=4))
def test_both_readings_agree_on_random_expressions(expression: Expression, table: pa.Table) -> None:
    for row in memory_source.rows(table):
        got, right = evaluate(expression, row), other.evaluate(expression, row)
        assert (type(got), got) == (type(right), right)
