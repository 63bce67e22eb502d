"""Casts: what does not fit is NULL, and casts between kinds that do not meet are refused."""

import re
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from discreet.errors import BadQuestion
from discreet.query.functions.catalogue import FUNCTIONS as CATALOGUE
from discreet.query.functions.typed_values import is_wide
from discreet.query.plan.evaluate import evaluate, program
from discreet.query.plan.expressions import Expression
from discreet.query.plan.types import Number
from discreet.query.typing.infer import typed
from tests.helpers.surface import FIELDS
from tests.helpers.typing_checks import call, col


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        (call("cast_integer", call("mul", col("huge"), 10**6)), "CLAMP"),
        (call("cast_date", col("age")), "CAST"),
        (call("cast_integer", col("day")), "CAST"),
        (call("cast_text", col("money")), "CAST"),
        (call("cast_text", col("moment")), "CAST"),
        (call("cast_boolean", col("name")), "CAST"),
        (call("cast_decimal", col("name")), "CAST"),
        (call("cast_timestamp", col("name")), "CAST"),
    ],
)
def test_refused_by_typing(asked: Expression, word: str) -> None:
    with pytest.raises(BadQuestion, match=re.escape(word)) as caught:
        typed(asked, FIELDS)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("cast_integer", "7", 7), ("cast_integer", "-007", -7), ("cast_integer", "+7", 7),
        ("cast_integer", "7.5", None),
        ("cast_integer", " 7", None), ("cast_integer", "9" * 19, None), ("cast_integer", "٧", None),
        ("cast_date", "2024-02-29", date(2024, 2, 29)), ("cast_date", "2023-02-29", None), ("cast_date", "x", None),
    ],
)  # fmt: skip
def test_a_text_that_does_not_fit_is_null(name: str, text: str, expected: Any) -> None:
    found = typed(call(name, col("name")), FIELDS)
    assert found.nullable
    assert evaluate(found.lowered, {"name": text}) == expected


def test_numbers_are_rounded_halves_away_from_zero() -> None:
    found = typed(call("cast_integer", col("money")), FIELDS)
    assert found.kind == Number(Fraction(1), -1, 5000)
    assert [evaluate(found.lowered, {"money": m}) for m in (-50, -49, 49, 50, 149, None)] == [-1, 0, 0, 1, 1, None]
    tenths = typed(call("cast_decimal", col("money"), 1), FIELDS)
    assert tenths.kind == Number(Fraction(1, 10), -5, 50_000)


def test_truth_and_days() -> None:
    assert evaluate(typed(call("cast_integer", col("flag")), FIELDS).lowered, {"flag": True}) == 1
    assert evaluate(typed(call("cast_text", col("flag")), FIELDS).lowered, {"flag": True}) == "true"
    midnight = typed(call("cast_timestamp", col("day")), FIELDS)
    assert evaluate(midnight.lowered, {"day": date(2024, 1, 2)}) == datetime(2024, 1, 2)


SHAPE = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{0,17})?")


def quantized(text: str, digits: int, after: int) -> Fraction | None:
    """An independent reading, by Python's decimal numbers."""
    if SHAPE.fullmatch(text) is None:
        return None
    with localcontext(Context(prec=60, rounding=ROUND_HALF_UP)):
        found = Decimal(text).quantize(Decimal(1).scaleb(-after))
    return Fraction(found) if abs(found) < 10 ** (digits - after) else None


@pytest.mark.parametrize(("digits", "after"), [(3, 1), (4, 2), (2, 0), (17, 17), (17, 2)])
def test_text_with_a_point_is_read_as_a_decimal_is(digits: int, after: int) -> None:
    """Every text of up to four of these letters, and some long ones."""
    found = typed(call("cast_decimal", col("name"), after, digits), FIELDS)
    assert isinstance(found.kind, Number)
    assert found.nullable
    assert is_wide(found)  # nobody declared bounds, so an aggregate of it asks for a CLAMP
    run = program(found.lowered)
    meaning = CATALOGUE["cast_decimal"].meaning
    assert meaning is not None
    short = ("".join(some) for n in range(5) for some in product("059.+- ", repeat=n))
    long = [
        "9" * 18,
        "9" * 19,
        "-" + "9" * 18 + "." + "9" * 17,
        "0." + "4" * 18,
        "1" * 15 + ".995",
        "٣.٥",
        "1e3",
        "1,5",
    ]
    for text in (*short, *long):
        expected = quantized(text, digits, after)
        cells = run({"name": text})
        assert (None if cells is None else cells * found.kind.step) == expected, text
        assert meaning(text, after, digits) == expected, text


def test_text_as_a_number_needs_its_digits() -> None:
    for given in ((), (2,), (2, 18)):
        with pytest.raises(BadQuestion, match="DECIMAL"):
            typed(call("cast_decimal", col("name"), *given), FIELDS)
