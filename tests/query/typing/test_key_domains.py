"""Keys that follow from public metadata."""

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Expression, Literal
from discreet.query.plan.types import LARGEST, Number, Text
from discreet.query.typing.infer import TypedColumn, typed
from discreet.query.typing.key_domains import implied_keys
from tests.helpers.surface import FIELDS
from tests.helpers.typing_checks import call, col

DECLARED = {
    **FIELDS,
    "clinic": TypedColumn(Text(), True, ("North", "South")),
    "with_null": TypedColumn(Text(), True, ("7", "x", None)),
    "product": TypedColumn(Text(), True, None, True),
    "uid": TypedColumn(Number(Fraction(1), -LARGEST, LARGEST), is_unit=True, origin=("t", "uid")),
}


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        (col("clinic"), ("North", "South")),
        (col("flag"), (False, True)),
        (call("gt", col("age"), 18), (False, True)),
        (call("upper", col("clinic")), ("NORTH", "SOUTH")),
        (call("left", col("clinic"), 0), ("",)),
        (call("coalesce", col("clinic"), "none"), ("North", "South", "none")),
        (call("case", call("eq", col("clinic"), "North"), "n", None), ("n", None)),
        (call("case", call("gt", col("wide"), 3), "many", "few"), ("many", "few")),
        (call("case", call("gt", col("wide"), 3), "many", None), ("many", None)),
        (call("case", call("gt", col("wide"), 3), col("clinic"), "other"), ("North", "South", "other")),
        (call("cast_integer", col("with_null")), (7, None)),
        (
            call("concat", col("clinic"), " ", call("left", call("cast_text", col("flag")), 1)),
            ("North f", "North t", "South f", "South t"),
        ),
        (
            call("concat", call("coalesce", col("clinic"), "-"), col("with_null")),
            ("North7", "Northx", None, "South7", "Southx", "-7", "-x"),
        ),
        (call("concat", col("clinic"), col("product")), None),
        (call("concat", col("clinic"), col("name")), None),
        (call("mul", call("floor", call("div", col("age"), 50)), 50), (0, 1, 2)),
        (call("width_bucket", col("wide"), 0, 30, 3), (0, 1, 2, 3, 4)),
        (call("month", col("moment")), tuple(range(1, 13))),
        (call("year", col("day")), (2019, 2020, 2021, 2022, 2023, 2024)),
        (call("year", col("any_day")), None),
        (call("year", col("moment")), None),
        (call("quarter", col("any_day")), (1, 2, 3, 4)),
        (call("date_trunc", "year", col("day")), tuple(date(y, 1, 1) for y in range(2019, 2025))),
        (call("date_trunc", "quarter", col("recent")), tuple(datetime(2023, m, 1) for m in (1, 4, 7, 10))),
        (call("date_trunc", "month", col("moment")), None),
        (call("date_trunc", "year", col("moment")), None),
        (call("strftime", col("recent"), "%Y-%m"), tuple(f"2023-{m:02}" for m in range(1, 13))),
        (
            call("cast_date", call("date_trunc", "quarter", col("recent"))),
            tuple(date(2023, m, 1) for m in (1, 4, 7, 10)),
        ),
        (call("strftime", col("recent"), "%Y %H"), None),  # its hours as well: no single part says it all
        (call("strftime", col("moment"), "%Y"), None),
        (call("coalesce", col("flag"), False), (False, True)),
        (col("wide"), None),
        (col("name"), None),
        (col("product"), None),
        (call("mod", col("uid"), 3), (-2, -1, 0, 1, 2)),
        (Literal("x"), ("x",)),
    ],
)
def test_keys_that_follow_from_public_metadata(asked: Expression, keys: tuple[Any, ...] | None) -> None:
    assert typed(asked, DECLARED).keys == keys


def test_a_week_begins_on_monday_and_a_month_on_its_first() -> None:
    weeks = typed(call("date_trunc", "week", col("day")), DECLARED).keys
    assert weeks is not None
    assert all(isinstance(w, date) and w.weekday() == 0 for w in weeks)
    assert weeks == tuple(
        sorted({evaluate(call("date_trunc", "week", d), {}) for d in implied_keys(FIELDS["day"]) or ()})
    )
    hours = typed(call("date_trunc", "hour", col("recent")), DECLARED).keys
    assert hours is not None
    assert len(hours) == 365 * 24


def test_keys_may_be_selected_only_where_the_owner_allowed_it_for_all_that_is_not_listed() -> None:
    assert typed(call("upper", col("product")), DECLARED).unknown
    assert typed(call("concat", col("product"), col("clinic")), DECLARED).unknown
    assert typed(call("case", call("gt", col("wide"), 3), col("product"), "few"), DECLARED).unknown
    assert typed(call("concat", col("product"), call("cast_text", call("month", col("any_day")))), DECLARED).unknown
    assert not typed(call("concat", col("product"), col("name")), DECLARED).unknown
    assert not typed(call("case", call("gt", col("wide"), 3), col("product"), col("name")), DECLARED).unknown
    assert not typed(call("concat", col("product"), call("cast_text", call("year", col("any_day")))), DECLARED).unknown
    assert not typed(call("case", call("gt", col("wide"), 3), col("name"), "few"), DECLARED).unknown
    assert not typed(col("name"), DECLARED).unknown
    assert not typed(Literal("x"), DECLARED).unknown
