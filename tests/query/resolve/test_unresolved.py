"""Constants and expressions before their names are looked up."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadQuestion
from discreet.query.front import verbs as dp
from discreet.query.plan.expressions import Literal
from discreet.query.plan.nodes import Aggregate
from discreet.query.resolve.unresolved import Apply, Name, Total, apply, count, guess, has_total, literal

col = dp.col


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, Fraction(1)),
        (True, True),
        (0.1, Fraction(1, 10)),
        (1e22, Fraction(10**22)),
        (Decimal("0.10"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.1), Fraction(1, 10)),
        ("a", "a"),
        (None, None),
        (date(2024, 1, 1), date(2024, 1, 1)),
        (datetime(2024, 1, 1), datetime(2024, 1, 1)),
    ],
)
def test_constants_are_exact(value: Any, expected: Any) -> None:
    assert dp.lit(value).said == Literal(expected)
    assert type(expected) is type(dp.lit(value).said.value)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        Decimal("nan"),
        [],
        {},
        b"a",
        object(),
        1j,
        "a\0",
        "\ud800",
        10**200,
        Fraction(1, 10**200),
    ],
)
def test_other_constants_are_refused(value: Any) -> None:
    with pytest.raises(BadQuestion):
        dp.lit(value)


def test_many_conditions_are_one_level() -> None:
    made = col("x") == 0
    for i in range(1, 500):
        made = made | (col("x") == i)
    assert isinstance(made.said, Apply)
    assert len(made.said.arguments) == 500


def test_a_list_of_conditions_is_flat_and_a_text_is_checked() -> None:
    flat = apply("and", apply("and", Name("a"), Name("b")), Name("c"))
    assert flat == Apply("and", (Name("a"), Name("b"), Name("c")))
    with pytest.raises(BadQuestion, match="NUL"):
        literal("a\0b")


def test_an_aggregate_is_found_at_any_depth() -> None:
    assert has_total(apply("add", Name("x"), apply("neg", count())))
    assert not has_total(apply("add", Name("x"), literal(1)))


def test_names_of_outputs_are_guessed_from_what_they_say() -> None:
    def spell(name: Name) -> str:
        return name.column.lower()

    assert guess(count(), spell) == "count"
    assert guess(Total(Aggregate.QUANTILE, (Name("Cost"),), level=Fraction(999, 1000)), spell) == "p99_9_cost"
    assert guess(Total(Aggregate.QUANTILE, (Name("Cost"),), level=Fraction(1, 2)), spell) == "median_cost"
    assert guess(literal(1), spell) == "value"
