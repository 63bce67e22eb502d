"""The primitives on plain values: corners by hand, and by the oracle that shares no code."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from discreet.engines.memory.row import evaluate as oracle
from discreet.query.plan.evaluate import add_days, date_trunc, evaluate, program, text_to_moment
from discreet.query.plan.expressions import Call, Column, Literal

LEAP, LAST = date(2024, 2, 29), date(9999, 12, 31)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("read_integer", (7, 0, 5), 5), ("read_integer", (-7, 0, 5), 0),
        ("read_decimal", (Decimal("1.25"), 2, 0, 1000), 125),
        ("read_coarse", (2**64 - 1, 0, 1, 0, 2**62), (2**64 - 1) // 10), ("read_coarse", (-19, 0, 1, -9, 9), -1),
        ("read_coarse", (Decimal("-1.25"), 2, -1, -99, 99), -13), ("read_coarse", (Decimal("19.5"), 1, 1, 0, 9), 2),
        ("read_real", (float("nan"), 0, 0, 9), None), ("read_real", (float("inf"), 0, 0, 9), 9),
        ("read_real", (-float("inf"), 0, 0, 9), 0), ("read_real", (2.5, 0, 0, 9), 3),
        ("read_real", (-0.0, -1, 0, 9), 0),
        ("read_real", (-2.5, 0, -9, 9), -2), ("read_real", (1e308, -30, 0, 9), 9),
        ("read_whole", (-0.0,), 0), ("read_whole", (1.0 - 2**53,), 1 - 2**53), ("read_whole", (2.0**53,), None),
        ("read_whole", (-0.5,), None), ("read_whole", (float("nan"),), None), ("read_whole", (float("inf"),), None),
        ("div", (-7, 2), -3), ("div", (7, 0), None), ("mod", (-7, 2), -1), ("mod", (7, 0), None),
        ("round_div", (-5, 2), -3), ("floor_div", (-5, 2), -3), ("sign", (-3,), -1),
        ("like", ("abc", "a%c"), True), ("like", ("a%c", "a\\%c"), False), ("like", ("日本", "_本"), True),
        ("lower", ("ÀB",), "Àb"), ("trim", (" a\t",), "a\t"), ("length", ("😀",), 1),
        ("substring", ("abc", 2, 9), "bc"),
        ("right", ("abc", 2), "bc"), ("right", ("a", 0), ""), ("right", ("a", 9), "a"),
        ("replace", ("aaa", "aa", "b"), "ba"), ("replace", ("ab", "a", "aa"), "aab"),
        ("split_part", ("a,b", ",", 3), ""), ("text_to_integer", ("+007",), 7), ("text_to_integer", ("٧",), None),
        ("text_to_integer", ("9" * 19,), None),
        ("text_to_date", ("2023-02-29",), None), ("text_to_date", ("0000-01-01",), None),
        ("day_of_week", (LEAP,), 4), ("quarter", (LEAP,), 1), ("day_of_year", (LEAP,), 60),
        ("date_trunc", ("week", LEAP), date(2024, 2, 26)), ("add_days", (LAST, 9), LAST),
        ("add_days", (date.min, -1), date.min),
        ("days_between", (LEAP, date(2024, 3, 1)), 1), ("date_to_timestamp", (LEAP,), datetime(2024, 2, 29)),
        ("seconds_between", (datetime(2024, 1, 1, 0, 0, 1, 500_000), datetime(2024, 1, 1)), -1),
        ("and", (None, False), False), ("and", (None, True), None), ("or", (None, True), True),
        ("case", (None, 1, True, 2, 3), 2), ("coalesce", (None, 5), 5),
    ],
)  # fmt: skip
def test_corners(name: str, values: tuple[Any, ...], expected: Any) -> None:
    asked = Call(name, tuple(Literal(v) for v in values))
    for run in (evaluate, oracle):
        found = run(asked, {})
        assert found == expected
        assert type(found) is type(expected)


def test_patterns_take_time_in_proportion_to_the_text() -> None:
    """Seven wildcards over 2,000 letters: the square of the length at most, not its seventh power."""
    asked = Call("like", (Literal("a" * 2000 + "b"), Literal("%a%a%a%a%a%a%a%c")))
    assert evaluate(asked, {}) is False


def test_a_program_is_made_once_and_reads_its_row() -> None:
    run = program(Call("add", (Column("x"), Call("mul", (Column("x"), Literal(2))))))
    assert [run({"x": x}) for x in (0, 1, -5, None)] == [0, 3, -15, None]


def test_times_as_they_are_written() -> None:
    assert text_to_moment("2024-02-29 12:30") == datetime(2024, 2, 29, 12, 30)
    assert text_to_moment("2024-02-29T12:30:00.5") == datetime(2024, 2, 29, 12, 30, 0, 500_000)
    assert text_to_moment("2024-02-29") == LEAP
    assert [text_to_moment(x) for x in ("2024-02-30 12:00", "2024-02-29 12", "2024-02-29 12:30:00+02:00")] == [None] * 3


def test_beginnings_lie_at_or_before_and_are_their_own() -> None:
    for unit in ("year", "quarter", "month", "week", "day"):
        for n in range(0, 800, 13):
            day = add_days(LEAP, n)
            start = date_trunc(unit, day)
            assert start <= day
            assert date_trunc(unit, start) == start
            assert start == day or date_trunc(unit, add_days(start, -1)) != start
