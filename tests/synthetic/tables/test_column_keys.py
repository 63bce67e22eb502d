"""The code of a column as an expression: the same as encoding an Arrow column, value by value."""

from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.memory.row import evaluate
from discreet.errors import BadParameter
from discreet.query.functions.typed_values import TypedColumn
from discreet.query.plan.types import LARGEST, Boolean, Date, Kind, Number, Real, Text, Timestamp
from discreet.synthetic.columns import Column, bins, categories, days, whole
from discreet.synthetic.tables.column_keys import MOST_BINS, key_of

INTEGERS = Number(Fraction(1), -LARGEST, LARGEST)
DAYS = [date(2024, 1, 1) + timedelta(days=n) for n in (-400, -1, 0, 1, 29, 30, 31, 365, 9000)]
CASES: dict[str, tuple[Column, Kind, pa.DataType, list[Any]]] = {
    "whole": (whole(-2, 3), INTEGERS, pa.int64(), [-9, -2, 0, 3, 4, 1 << 61, None]),
    "bounded": (whole(0, 5), Number(Fraction(1), 0, 5), pa.int64(), [0, 3, 5, None]),
    "bins": (bins([0, 1, 7, 8, 100], integral=True), INTEGERS, pa.int64(), [-1, 0, 1, 6, 7, 8, 99, 100, 101, None]),
    "one bin": (bins([0, 10]), INTEGERS, pa.int64(), [-5, 3, 99, None]),
    "not NULL": (bins([0, 5, 10], nullable=False), INTEGERS, pa.int64(), [1, 7, None]),
    "text": (categories(["b", "a", "(NULL)"]), Text(), pa.string(), ["a", "b", "(NULL)", "(NULL1)", "", None]),
    "text, no NULL": (categories(["b", "a"], nullable=False), Text(), pa.string(), ["a", "b", "(NULL)", None]),
    "other": (categories(["b", "a"], other="b"), Text(), pa.string(), ["a", "b", "(NULL)", "z", None]),
    "listed": (categories([5, -1, 9]), INTEGERS, pa.int64(), [5, -1, 9, 10, 0, None]),
    "other number": (categories([5, 7], other=7, nullable=False), INTEGERS, pa.int64(), [5, 7, 8, None]),
    "truth": (categories([True, False]), Boolean(), pa.bool_(), [True, False, None]),
    "one truth": (categories([True], nullable=False), Boolean(), pa.bool_(), [True, False, None]),
    "dates": (categories([date(2024, 1, 1), date(2023, 12, 31)]), Date(), pa.date32(), [*DAYS, None]),
    "days": (days("2024-01-01", "2024-03-01"), Date(), pa.date32(), [*DAYS, None]),
    "stretches": (days("2024-01-01", "2024-12-30", step=30), Date(), pa.date32(), [*DAYS, None]),
    "times": (days("2024-01-01", "2024-01-31", step=7), Timestamp(), pa.timestamp("us"),
              [datetime(2023, 12, 31, 23, 59), datetime(2024, 1, 8), datetime(2024, 1, 7, 23, 59), None]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_expression_gives_the_code_of_each_value(case: str) -> None:
    column, kind, stored, values = CASES[case]
    key = key_of("x", TypedColumn(kind), column)
    allowed = list(key.allowed or ())
    assert len(allowed) == len(set(allowed)) == column.size
    assert None not in allowed
    right = column.encode(pa.array(values, stored)).tolist()
    assert [_code(evaluate(key.expression, {"x": value}), allowed) for value in values] == right


def _code(found: Any, allowed: list[Any]) -> int:
    return allowed.index(found) if found in allowed else -1


def test_numbers_on_a_grid_are_floored_and_binned_by_their_steps() -> None:
    cents = Number(Fraction(1, 100), 0, 10_000)
    floored, binned = (
        key_of("x", TypedColumn(cents), whole(0, 100)),
        key_of("x", TypedColumn(cents), bins(["0.005", 1, 2])),
    )
    assert [evaluate(floored.expression, {"x": cell}) for cell in (0, 99, 100, 10_000)] == [0, 0, 1, 100]
    assert [evaluate(binned.expression, {"x": cell}) for cell in (0, 1, 99, 100, 10_000, None)] == [0, 0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [
        (whole(0, 3), Text(), "number with public bounds"),
        (bins([0, 1]), Real(), "declare its bounds"),
        (bins(range(MOST_BINS + 2)), INTEGERS, "at most 1024 bins"),
        (whole(0, 3), Number(Fraction(4), 0, 9), "must have bins"),
        (days("2024-01-01", "2024-01-02"), INTEGERS, "dates or times"),
        (categories(["a"]), INTEGERS, "must hold the categories"),
        (categories([1]), Boolean(), "must hold the categories"),
    ],
)
def test_a_column_that_does_not_fit_is_refused(column: Column, kind: Kind, words: str) -> None:
    with pytest.raises(BadParameter, match=words):
        key_of("x", TypedColumn(kind), column)


def test_the_unit_is_no_column() -> None:
    with pytest.raises(BadParameter, match="names people"):
        key_of("id", TypedColumn(INTEGERS, is_unit=True), whole(0, 3))
