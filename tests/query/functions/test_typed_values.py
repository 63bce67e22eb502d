"""What typing knows of an expression: the unit is known by lineage."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import BadQuestion
from discreet.query.functions.typed_values import (
    TypedColumn,
    at,
    bound,
    integer_literal,
    is_wide,
    number,
    plain,
    text_literal,
    words,
)
from discreet.query.plan.expressions import Expression, Literal
from discreet.query.plan.types import LARGEST, Boolean, Number, Real, Text
from discreet.query.typing.infer import typed
from tests.helpers.typing_checks import call, col

UNIT = {"uid": TypedColumn(Number(Fraction(1), -LARGEST, LARGEST), is_unit=True, origin=("t", "uid"))}


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
    assert typed(col("uid"), UNIT).is_unit
    found = typed(asked, UNIT)
    assert not found.is_unit
    assert found.origin is None


def test_a_cast_of_the_unit_is_the_same_value_and_no_longer_the_unit() -> None:
    unit = at("who", UNIT["uid"])
    assert (unit.is_unit, unit.column) == (True, UNIT["uid"])
    assert not plain(unit).is_unit
    assert plain(unit).origin is None
    assert plain(unit).lowered == unit.lowered


def test_wide_numbers_are_those_without_bounds() -> None:
    assert is_wide(at("uid", UNIT["uid"]))
    assert not is_wide(at("x", TypedColumn(Number(Fraction(1), -LARGEST + 1, LARGEST - 1))))
    assert not is_wide(typed(Literal(Fraction(LARGEST)), {}))
    assert not is_wide(at("x", TypedColumn(Real())))


def test_refusals_name_the_column_without_bounds() -> None:
    cost, text = at("cost", TypedColumn(Real())), at("note", TypedColumn(Text()))
    assert bound(text, replace(cost, origin=("visits", "cost"))).fields == {"column": "cost", "expression": "cost"}
    assert str(bound(cost)) == "write CLAMP(cost, low, high)", "nobody can declare what was computed"
    with pytest.raises(BadQuestion, match="SUM needs a number with bounds"):
        number(cost, "SUM")
    with pytest.raises(BadQuestion, match="SUM needs a number, and this is text"):
        number(text, "SUM")
    assert words(at("x", TypedColumn(Boolean()))) == "true or false"


def test_constants_of_a_call() -> None:
    assert integer_literal(typed(Literal(Fraction(7)), {}), "the place", 1, 9) == 7
    assert text_literal(typed(Literal("month"), {}), "the unit") == "month"
    for wrong in (Literal(Fraction(10)), Literal(Fraction(1, 2)), Literal("7")):
        with pytest.raises(BadQuestion, match="a whole constant from 1 to 9"):
            integer_literal(typed(wrong, {}), "the place", 1, 9)
    with pytest.raises(BadQuestion, match="the unit must be a constant text"):
        text_literal(typed(Literal(True), {}), "the unit")
