"""Functions of numbers: dates beside numbers, exact meaning of released values, corners that are NULL."""

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BadQuestion
from discreet.query.functions.catalogue import FUNCTIONS
from discreet.query.plan.expressions import Expression
from discreet.query.plan.types import Date, Text
from discreet.query.typing.infer import typed
from tests.helpers.surface import FIELDS
from tests.helpers.typing_checks import call, col

DAY = date(2024, 2, 29)


def meaning(name: str, *values: Any) -> Any:
    found = FUNCTIONS[name].meaning
    assert found is not None
    return found(*values)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("div", (1, 3), Fraction(1, 3)), ("div", (1, 0), None), ("div", (1.0, 4), 0.25),
        ("quotient", (-7, 2), -3), ("quotient", (7, 0), None),
        ("mod", (-7, 2), -1), ("mod", (Fraction(7, 2), 2), Fraction(3, 2)), ("mod", (7, 0), None),
        ("round", (Fraction(5, 2),), 3), ("round", (Fraction(-5, 2),), -3), ("round", (1234, -2), 1200),
        ("round", (1, 31), 1), ("round", (1.26, 1), 1.3), ("power", (4, Fraction(1, 2)), 2.0),
        ("floor", (-0.5,), -1.0), ("ceil", (Fraction(1, 2),), 1),
        ("width_bucket", (10, 0, 10, 5), 6), ("width_bucket", (-1, 0, 10, 5), 0), ("width_bucket", (1, 5, 5, 5), None),
        ("least", (3, 2.5, Fraction(7, 2)), 2.5), ("greatest", ("b", "a"), "b"), ("least", (1, "a"), None),
        ("least", (DAY, "2024-02-28"), date(2024, 2, 28)), ("greatest", (True, False), None),
        ("sub", (DAY, date(2024, 2, 1)), 28), ("sub", (datetime(2024, 3, 1, 1), DAY), 90_000),
        ("sub", (datetime(2024, 1, 1), 1), None), ("add", (1, "a"), None),
    ],
)  # fmt: skip
def test_on_released_values(name: str, values: tuple[Any, ...], expected: Any) -> None:
    found = meaning(name, *values)
    assert found == expected
    assert (found is None) == (expected is None)


def test_a_date_and_a_number_of_days_is_a_date() -> None:
    for asked in (call("add", col("day"), 7), call("add", 7, col("day"))):
        assert typed(asked, FIELDS).kind == Date(date(2020, 1, 6), date(2024, 3, 8))
    assert typed(call("sub", col("day"), 7), FIELDS).kind == Date(date(2019, 12, 23), date(2024, 2, 23))


def test_the_least_of_dates_lies_below_each_of_them() -> None:
    capped = typed(call("least", col("day"), call("add_days", col("day"), -10)), FIELDS).kind
    assert capped == Date(date(2019, 12, 20), date(2024, 2, 20))
    assert isinstance(typed(call("greatest", col("name"), "m"), FIELDS).kind, Text)


@pytest.mark.parametrize(
    "asked", [call("least", col("name"), 3), call("greatest", col("day"), col("flag")), call("add", col("day"), "x")]
)
def test_what_does_not_fit_is_refused(asked: Expression) -> None:
    with pytest.raises(BadQuestion):
        typed(asked, FIELDS)
