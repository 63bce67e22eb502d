"""What typing promises, on random expressions and rows: exact meaning, true ranges, 64 bits, no error, true keys."""

import re
from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.memory import row as memory_row
from discreet.errors import BadQuestion, Unsupported
from discreet.query.functions import catalogue
from discreet.query.functions.typed_values import is_wide
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Column, Expression, Literal, walk
from discreet.query.plan.primitives import PRIMITIVES
from discreet.query.plan.types import LARGEST, Boolean, Date, Number, Text, Timestamp
from discreet.query.typing.infer import Typed, TypedColumn, typed
from discreet.query.typing.key_domains import known
from tests.helpers.surface import FIELDS, FUNCTIONS, KINDS, MEANING, SORTS, Row, expression, meaning, row

MANY = settings(max_examples=60, deadline=None)
SEEDS = st.integers(0, 1 << 64)
WIDEST = 1 << 63


def call(function: str, *arguments: Any) -> Call:
    return Call(function, tuple(a if isinstance(a, (Call, Column, Literal)) else Literal(a) for a in arguments))


def col(name: str) -> Column:
    return Column(name)


def value(x: Typed, values: Row) -> Any:
    """The value that a row has: for numbers as a Fraction."""
    found = evaluate(x.lowered, values)
    return found * x.kind.step if isinstance(x.kind, Number) and found is not None else found


def is_in_claim(x: Typed, found: Any) -> bool:
    if found is None:
        return x.nullable
    match x.kind:
        case Number(low=low, high=high):
            return type(found) is int and low <= found <= high
        case Date(low=low, high=high):
            return type(found) is date and low <= found <= high
        case Timestamp(low=low, high=high):
            return type(found) is datetime and low <= found <= high
        case Boolean():
            return type(found) is bool
        case Text():
            return type(found) is str
    return False


# --- properties -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", SORTS)
@given(SEEDS)
@MANY
def test_values_lie_in_the_claimed_range_and_nothing_leaves_64_bits(sort: type, seed: int) -> None:
    dice = Random(seed)
    for _ in range(20):
        _check_range(expression(dice, sort, dice.randint(1, 3)), row(dice))


def _check_range(asked: Expression, values: Row) -> None:
    try:
        x = typed(asked, FIELDS)
    except BadQuestion:
        return
    found = evaluate(x.lowered, values)
    assert is_in_claim(x, found)
    parts = list(walk(x.lowered))
    for part in parts if len(parts) <= 200 else Random(len(parts)).sample(parts, 200):
        assert not isinstance(part, Call) or part.function in PRIMITIVES
        inner = evaluate(part, values)
        assert memory_row.evaluate(part, values) == inner, "two evaluators that share no code"
        assert not isinstance(inner, int) or -WIDEST <= inner < WIDEST
    if x.keys is not None and found is not None:
        assert found in x.keys


@pytest.mark.parametrize("sort", [Number, Boolean])
@given(SEEDS)
@MANY
def test_every_function_of_numbers_means_what_it_says(sort: type, seed: int) -> None:
    dice = Random(seed)
    for _ in range(20):
        _check_meaning(expression(dice, sort, dice.randint(1, 3)), row(dice))


@pytest.mark.parametrize(
    "function",
    ["add", "sub", "mul", "div", "quotient", "mod", "least", "nullif", "coalesce", "eq", "lt", "le"],
)
def test_the_corners_of_every_pair_of_numbers(function: str) -> None:
    numbers = {name: kind for name, kind in KINDS.items() if isinstance(kind, Number)}
    for a, b in product(numbers, repeat=2):
        asked = call(function, col(a), call("sub", 0, col(b)) if a == b else col(b))
        corners = [sorted({k.low, min(1, k.high), max(0, k.low), k.high}) for k in (numbers[a], numbers[b])]
        for x, y in product(*corners):
            _check_range(asked, {a: x, b: y})
            _check_meaning(asked, {a: x, b: y})


@pytest.mark.parametrize("function", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_numbers_that_never_meet_compare_as_they_lie(function: str) -> None:
    below = call("sub", col("share"), 7)
    for share, money in product((0, 1, 1 << 30), (-50, 0, 500_000)):
        _check_meaning(call(function, below, col("money")), {"share": share, "money": money})
        _check_meaning(call(function, col("money"), below), {"share": share, "money": money})


def test_most_random_expressions_are_understood() -> None:
    """Else the two tests above would test little."""
    dice = Random(1)
    understood: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for _ in range(3000):
        for part in walk(expression(dice, dice.choice(SORTS), 2)):
            if isinstance(part, Call):
                try:
                    typed(part, FIELDS, keyed=False)
                    understood[part.function] += 1
                except BadQuestion:
                    refused[part.function] += 1
    assert set(understood) == FUNCTIONS
    assert set(FUNCTIONS) <= set(catalogue.FUNCTIONS)
    assert set(catalogue.FUNCTIONS) <= FUNCTIONS
    assert sum(refused.values()) * 5 < sum(understood.values())


def _check_meaning(asked: Expression, values: Row) -> None:
    """Each call alone, on the values that its arguments have: exact, or as far off as the documentation says."""
    for part in walk(asked):
        if not isinstance(part, Call) or part.function not in MEANING:
            continue
        try:
            x = typed(part, FIELDS)
            arguments = [typed(a, FIELDS) for a in part.arguments]
        except BadQuestion:
            continue
        if all(isinstance(a.kind, Number) for a in arguments):
            inner = [value(a, values) for a in arguments]
            _compare(x, part.function, arguments, inner, value(x, values))


def _compare(x: Typed, function: str, arguments: list[Typed], values: list[Any], found: Any) -> None:
    exact = meaning(function, values)
    if exact is None or isinstance(exact, bool):
        assert found is exact
        return
    assert found is not None
    assert isinstance(x.kind, Number)
    kinds = [a.kind for a in arguments if isinstance(a.kind, Number)]
    if any(is_wide(a) for a in arguments):
        limit = LARGEST // 2**20 * min(k.step for k in [*kinds, x.kind])
        if max(abs(v) for v in [*values, exact] if v is not None) > limit:
            return  # saturated; the range was checked elsewhere
    step = x.kind.step
    match function:
        case "div" if not isinstance(arguments[1].lowered, Literal):
            assert found == int(exact / step) * step  # towards zero
            assert (
                step * LARGEST <= 2 * kinds[0].step / kinds[1].step * max(abs(kinds[0].low), abs(kinds[0].high), 1) * 2
            )
        case "mul" if not any(isinstance(a.lowered, Literal) for a in arguments):
            a, b = kinds
            if step == a.step * b.step:
                assert found == exact
            else:  # rounded to make room: at most one step of each rounded factor
                off_a, off_b = step / b.step, step / a.step
                assert abs(found - exact) <= abs(values[0]) * off_b + abs(values[1]) * off_a + off_a * off_b
                assert max(abs(x.kind.low), abs(x.kind.high)) >= 1 << 58, "rounded without need"
        case "add" | "sub" | "least" | "greatest":
            reach = max(abs(end) for k in kinds for end in k.ends)
            coarse = any(max(abs(k.low), abs(k.high)).bit_length() > 31 for k in kinds)
            assert abs(found - exact) <= (reach / (1 << 29) if coarse else 0)
        case _:
            assert found == exact, function


def test_typing_is_a_function_of_the_question() -> None:
    def once(asked: Expression) -> object:
        try:
            return typed(asked, FIELDS)
        except BadQuestion as error:
            return str(error)

    dice = Random(2)
    for _ in range(300):
        asked = expression(dice, dice.choice(SORTS), 3)
        assert once(asked) == once(asked)


# --- chosen numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "step", "low", "high"),
    [
        (call("add", col("age"), 1), 1, 1, 121),
        (call("mul", col("age"), 10**6), 10**6, 0, 120),
        (call("div", col("age"), 10), Fraction(1, 10), 0, 120),
        (call("mul", col("money"), -1), Fraction(1, 100), -500_000, 50),
        (call("add", col("money"), Fraction(1, 8)), Fraction(1, 200), -100 + 25, 1_000_025),
        (call("mul", col("age"), col("age")), 1, 0, 14_400),
        (call("mul", col("delta"), col("delta")), 1, 0, 1_000_000),
        (call("mul", col("age"), col("money")), Fraction(1, 100), -6_000, 60_000_000),
        (call("floor", call("div", col("age"), 10)), 1, 0, 12),
        (call("mod", col("delta"), 7), 1, -6, 6),
        (call("mod", col("wide"), 10), 1, -9, 9),
        (call("clamp", col("wide"), Fraction(1, 2), 20), 1, 1, 20),
        (call("width_bucket", col("wide"), 0, 100, 10), 1, 0, 11),
        (call("sub", col("wide"), 1), 1, -LARGEST, LARGEST),
        (call("round", col("money"), 1), Fraction(1, 10), -5, 50_000),
        (call("round", col("age"), 1), 1, 0, 120),
        (call("year", col("day")), 1, 2019, 2024),
        (call("days_between", col("day"), col("day")), 1, -1523, 1523),
        (call("sign", col("age")), 1, 0, 1),
        (call("case", col("flag"), 10, 20), 1, 10, 20),
        (call("case", col("flag"), col("age"), Fraction(-1, 2)), Fraction(1, 2), -1, 240),
        (call("least", col("age"), 18), 1, 0, 18),
        (
            call("div", call("clamp", col("age"), 1, 2), call("clamp", col("age"), 1, 4)),
            Fraction(1, 1 << 60),
            1 << 58,
            1 << 61,
        ),
    ],
)
def test_the_grid_of_a_result(asked: Expression, step: Fraction, low: int, high: int) -> None:
    assert typed(asked, FIELDS).kind == Number(Fraction(step), low, high)


@pytest.mark.parametrize(
    ("asked", "lowered"),
    [
        (call("le", col("age"), Fraction(1, 2)), call("le", col("age"), 0)),
        (call("lt", col("age"), Fraction(1, 2)), call("lt", col("age"), 1)),
        (call("gt", col("age"), Fraction(1, 2)), call("gt", col("age"), 0)),
        (call("ge", Fraction(1, 2), col("age")), call("le", col("age"), 0)),
        (call("eq", col("age"), Fraction(1, 2)), call("lt", col("age"), 0)),
        (call("ne", col("age"), Fraction(1, 2)), call("ge", col("age"), 0)),
        (call("eq", col("age"), 500), call("lt", col("age"), 0)),
        (call("le", col("age"), 10**18), call("le", col("age"), 121)),
        (call("in", col("age"), 3, Fraction(1, 2), 500, 3), call("in", col("age"), 3)),
        (call("in", col("age"), Fraction(1, 2)), call("lt", col("age"), 0)),
        (call("eq", col("money"), Fraction(1, 2)), call("eq", col("money"), 50)),
        (call("ge", col("day"), "2024-01-01"), call("ge", col("day"), date(2024, 1, 1))),
        (call("lt", col("moment"), "2024-01-01 10:00"), call("lt", col("moment"), datetime(2024, 1, 1, 10))),
        (call("add", 1, call("mul", 2, 3)), Literal(7)),
        (call("ilike", col("name"), "A%"), call("like", call("lower", col("name")), "a%")),
        (call("mul", col("age"), Fraction(1, 3)), col("age")),
    ],
)
def test_the_lowered_form(asked: Expression, lowered: Expression) -> None:
    assert typed(asked, FIELDS).lowered == lowered


# --- keys -----------------------------------------------------------------------------------------------------------

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
    assert weeks == tuple(sorted({evaluate(call("date_trunc", "week", d), {}) for d in known(FIELDS["day"]) or ()}))
    hours = typed(call("date_trunc", "hour", col("recent")), DECLARED).keys
    assert hours is not None
    assert len(hours) == 365 * 24


def test_keys_may_be_selected_only_where_the_owner_allowed_it_for_all_that_is_not_listed() -> None:
    assert typed(call("upper", col("product")), DECLARED).unknown
    assert typed(call("concat", col("product"), col("clinic")), DECLARED).unknown
    assert not typed(call("concat", col("product"), col("name")), DECLARED).unknown
    assert not typed(col("name"), DECLARED).unknown
    assert not typed(Literal("x"), DECLARED).unknown


@pytest.mark.parametrize(
    "asked",
    [
        call("add", col("uid"), 0),
        call("cast_integer", col("uid")),
        call("cast_decimal", col("uid")),
        call("coalesce", col("uid")),
        call("coalesce", col("uid"), 0),
        call("case", True, col("uid"), 0),
        call("mod", col("uid"), 10**9),
        call("cast_text", col("uid")),
        call("least", col("uid")),
        call("round", col("uid")),
        call("floor", col("uid")),
        call("mul", col("uid"), 1),
        call("nullif", col("uid"), -1),
        Literal(1),
    ],
)
def test_no_function_of_the_unit_is_the_unit(asked: Expression) -> None:
    assert typed(col("uid"), DECLARED).is_unit
    found = typed(asked, DECLARED)
    assert not found.is_unit
    assert found.origin is None


# --- refusals -------------------------------------------------------------------------------------------------------

DEEP: Expression = col("age")
for _ in range(101):
    DEEP = call("neg", DEEP)
SHARED: Expression = col("age")
for _ in range(60):
    SHARED = call("least", SHARED, SHARED)
NULLED: Expression = col("age")
for n in range(60):
    NULLED = call("nullif", NULLED, n)
LONGER: Expression = col("name")
for _ in range(9):
    LONGER = call("concat", LONGER, LONGER)


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (call("nosuch", col("age")), "nosuch"),
        (call("regexp_replace", col("name"), "a"), "regexp_replace"),
        (call("error", "x"), "error"),
        (call("least"), "argument"),
        (call("abs", col("age"), col("age")), "abs takes 1"),
        (col("agge"), "did you mean age"),
        (call("add", col("age"), col("name")), "text"),
        (call("eq", col("age"), "7"), "cannot be compared"),
        (call("eq", col("age"), None), "IS NULL"),
        (call("in", col("age"), 1, None), "NULL"),
        (call("in", col("age"), col("delta")), "constants"),
        (call("lt", col("flag"), True), "order"),
        (call("div", col("age"), 0), "0"),
        (call("div", col("age"), call("sub", 1, 1)), "0"),
        (call("mul", col("wide"), col("age")), "CLAMP"),
        (call("div", col("wide"), col("age")), "CLAMP"),
        (call("div", col("age"), col("wide")), "CLAMP"),
        (call("add", col("wide"), col("real")), "CLAMP"),
        (call("cast_integer", call("mul", col("huge"), 10**6)), "CLAMP"),
        (call("ceil", call("mul", col("huge"), Fraction(10**6 + 1, 2))), "CLAMP"),
        (call("clamp", col("age"), 3, 1), "low not above high"),
        (call("clamp", col("age"), col("delta"), 1), "constant"),
        (call("clamp", col("age"), Fraction(1, 3), Fraction(1, 2)), "between"),
        (call("round", col("age"), col("delta")), "whole constant"),
        (call("substring", col("name"), 0, 1), "from 1"),
        (call("like", col("name"), col("code")), "constant text"),
        (call("like", col("name"), "%" * 9), "8 percent"),
        (call("contains", col("name"), col("code")), "constant text"),
        (call("cast_date", col("age")), "CAST"),
        (call("cast_integer", col("day")), "CAST"),
        (call("cast_text", col("money")), "CAST"),
        (call("cast_text", col("moment")), "CAST"),
        (call("cast_boolean", col("name")), "CAST"),
        (call("cast_decimal", col("name")), "CAST"),
        (call("cast_timestamp", col("name")), "CAST"),
        (call("date_trunc", "century", col("day")), "unit"),
        (call("date_trunc", "hour", col("day")), "time"),
        (call("date_trunc", col("name"), col("day")), "constant text"),
        (call("date_diff", "eon", col("day"), col("day")), "unit"),
        (call("hour", col("day")), "time"),
        (call("add_days", col("day"), col("age")), "constant"),
        (call("ge", col("day"), "yesterday"), "2024-12-31"),
        (call("ge", col("moment"), "2024-01-01T00:00:00+02:00"), "2024-12-31"),
        (call("case", col("age"), 1, 2), "true or false"),
        (call("case", col("flag"), 1, "x"), "mix"),
        (call("case", col("flag"), None, None), "NULL"),
        (call("case", col("flag"), 1, col("flag"), 2), "CASE"),
        (call("and", col("flag"), col("age")), "true or false"),
        (call("width_bucket", col("age"), 3, 3, 2), "low below high"),
        (call("width_bucket", col("age"), 0, 3, 10**6), "buckets"),
        (call("power", col("age"), 9), "exponent"),
        (Literal(2**62 + 1), "2^62"),
        (Literal(Fraction(1, 2**63)), "2^62"),
        (Literal("x" * 10_001), "10,000"),
        (Literal("a\x00"), "zero"),
        (Literal("\ud800"), "half"),
        (Literal(1.5), "float"),  # type: ignore[arg-type]
        (DEEP, "100 deep"),
        (SHARED, "parts"),
        (NULLED, "too large"),
        (LONGER, "CONCAT"),
        (call("in", col("age"), *range(10_001)), "parts"),
    ],
)
def test_refused_by_name(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, FIELDS)
    assert len(str(caught.value)) < 400


def test_an_unknown_function_is_unsupported_with_a_hint() -> None:
    with pytest.raises(Unsupported, match="did you mean upper"):
        typed(call("uper", col("name")), FIELDS)


def test_a_million_steps_of_a_fine_number_are_refused_not_overflowed() -> None:
    fine: Expression = col("age")
    for _ in range(5):
        fine = call("mul", fine, Fraction(1, 2**62 - 57))
    with pytest.raises(BadQuestion, match="ROUND"):
        typed(fine, FIELDS)
