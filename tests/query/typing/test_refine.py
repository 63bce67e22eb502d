"""What a condition is said to prove holds for every value that passes it, and for simple conditions no more remains."""

from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from discreet.query.functions.typed_values import TypedColumn
from discreet.query.plan.evaluate import evaluate
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.plan.types import Date, Kind, Number, Text, Timestamp
from discreet.query.typing.infer import predicate
from discreet.query.typing.refine import listings, narrowed

X = Column("x")
COMPARING = ("eq", "ne", "lt", "le", "gt", "ge")


def call(function: str, *arguments: Any) -> Call:
    return Call(function, tuple(a if isinstance(a, (Call, Column, Literal)) else Literal(a) for a in arguments))


def check(field: TypedColumn, values: list[Any], condition: Expression, *, tight: bool) -> None:
    lowered = predicate(condition, {"x": field}, "WHERE").lowered
    passed = [v for v in values if evaluate(lowered, {"x": v}) is True]
    found = narrowed({"x": field}, lowered)["x"]
    assert found.nullable == (None in passed)
    real = [v for v in passed if v is not None]
    if isinstance(found.kind, (Number, Date, Timestamp)) and real:
        ends = found.kind.low, found.kind.high
        assert ends[0] <= min(real)
        assert max(real) <= ends[1]
        assert not tight or ends == (min(real), max(real))
    if found.keys is not None:
        assert set(real) <= set(found.keys)
        assert not tight or set(real) == set(found.keys) - {None}


NUMBER = TypedColumn(Number(Fraction(1), -3, 6))
VALUES = [None, *range(-3, 7)]


@pytest.mark.slow
@pytest.mark.parametrize("keys", [None, (*range(-3, 7), None)])
def test_numbers(keys: tuple[Any, ...] | None) -> None:
    field = TypedColumn(NUMBER.kind, True, keys)
    simple = [call(op, X, v) for op, v in product(COMPARING, (-4, -3, 0, Fraction(1, 2), 5, 6, 7))]
    simple += [call("in", X, 2), call("in", X, 4, -1), call("eq", 3, X), call("gt", 3, X)]
    for one in simple:
        check(field, VALUES, one, tight=one.function != "ne")
    for a, b in product(simple, repeat=2):
        check(field, VALUES, call("and", a, b), tight=False)
        check(field, VALUES, call("or", a, b), tight=False)
    for one in simple:
        check(field, VALUES, call("not", one), tight=False)
        check(field, VALUES, call("or", one, call("is_null", X)), tight=False)
        check(field, VALUES, call("coalesce", one, True), tight=False)
    check(field, VALUES, call("is_null", X), tight=False)
    check(field, VALUES, call("not", call("is_null", X)), tight=True)


def test_dates_and_times() -> None:
    days = [date(2023, 12, 30) + timedelta(days=n) for n in range(40)]
    kind: Kind = Date(days[0], days[-1])
    for op, v in product(
        COMPARING, (date(2023, 12, 30), "2024-01-01", date(2024, 1, 15), days[-1], date.max, date.min)
    ):
        check(TypedColumn(kind), [None, *days], call(op, X, v), tight=op != "ne")
    for op, year in product(COMPARING, (2022, 2023, 2024, 2025)):
        check(TypedColumn(kind), [None, *days], call(op, call("year", X), year), tight=op != "ne")
    check(TypedColumn(kind), [None, *days], call("in", call("year", X), 2024, 2030), tight=True)
    times = [datetime(2023, 12, 31, 23, 59, 59, 999998) + timedelta(microseconds=n) for n in range(4)]
    moment: Kind = Timestamp(times[0], times[-1])
    for op, when in product(
        COMPARING, (*times, "2024-01-01", "2024-01-01 00:00:00.000001", datetime.max, datetime.min)
    ):
        check(TypedColumn(moment), [None, *times], call(op, X, when), tight=op != "ne")
    for op, year in product(COMPARING, (2023, 2024)):
        check(TypedColumn(moment), [None, *times], call(op, call("year", X), year), tight=op != "ne")
    for op, day in product(COMPARING, ("2023-12-31", "2024-01-01", "2024-01-02")):
        check(TypedColumn(moment), [None, *times], call(op, call("cast_date", X), day), tight=op != "ne")


@pytest.mark.parametrize("keys", [None, ("a", "b", "c"), ("a", None)])
def test_text(keys: tuple[Any, ...] | None) -> None:
    values = ["a", "b", "c", None] if keys is None else [*keys, None]
    for condition in (
        call("eq", X, "a"),
        call("in", X, "b", "z", "a"),
        call("or", call("eq", X, "a"), call("in", X, "c", "b")),
        call("like", X, "a%"),
        call("ne", X, "a"),
        call("lt", X, "b"),
        call("is_null", X),
        call("eq", call("coalesce", X, "a"), "a"),
    ):
        check(TypedColumn(Text(), True, keys), values, condition, tight=False)
    found = narrowed({"x": TypedColumn(Text(), True, keys)}, call("or", call("eq", X, "b"), call("eq", X, "z")))["x"]
    assert found.keys == (("b", "z") if keys is None else tuple(k for k in keys if k == "b"))


def test_what_several_columns_say_together_is_not_used() -> None:
    fields = {"x": NUMBER, "y": NUMBER}
    assert narrowed(fields, call("lt", X, Column("y"))) == fields
    assert narrowed(fields, call("or", call("lt", X, 3), call("eq", Column("y"), 1))) == fields


def test_expressions_that_are_listed() -> None:
    year = call("year", X)
    condition = call("and", call("in", year, 2023, 2024), call("or", call("eq", year, 2024), call("eq", year, 2025)))
    assert listings(condition) == {year: (2024,)}
    assert listings(call("or", call("eq", year, 2024), call("eq", X, 1))) == {}
