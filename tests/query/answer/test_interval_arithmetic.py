"""Intervals of computed columns hold every value that the expression can have, also near a pole."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.query.answer.interval_arithmetic import _RULES, EVERYTHING, enclose
from discreet.query.answer.postprocess import evaluate
from discreet.query.plan.expressions import Call, Column, Expression, Literal

A, B, C = Column("a"), Column("b"), Column("c")
SIZES = st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e3, 1e150, 1e308])
NUMBERS = st.builds(lambda size, share: size * share, SIZES, st.floats(-1, 1))
INTERVALS = st.builds(lambda x, y: (min(x, y), max(x, y)), NUMBERS, NUMBERS)


def literal(x: int) -> Literal:
    return Literal(Fraction(x))


def expressions() -> st.SearchStrategy[Expression]:
    known: list[Expression] = [A, B, C, literal(0), literal(2), literal(-7), Literal(Fraction(10**300))]
    leaves = st.sampled_from(known)
    two = ["add", "sub", "mul", "div", "mod", "quotient", "least", "greatest", "coalesce", "nullif"]
    one = ["neg", "abs", "sign", "floor", "ceil", "trunc", "round"]

    def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        return st.one_of(
            st.builds(lambda f, x, y: Call(f, (x, y)), st.sampled_from(two), inner, inner),
            st.builds(lambda f, x: Call(f, (x,)), st.sampled_from(one), inner),
            st.builds(lambda x, n: Call("power", (x, literal(n))), inner, st.integers(0, 9)),
            st.builds(lambda x, n: Call("round", (x, literal(n))), inner, st.integers(-5, 5)),
            st.builds(lambda x, n: Call("clamp", (x, literal(-n), literal(n))), inner, st.integers(-1, 5)),
        )

    return st.recursive(leaves, larger, max_leaves=6)


@given(
    expression=expressions(),
    ends=st.tuples(INTERVALS, INTERVALS, INTERVALS),
    at=st.tuples(*[st.sampled_from([0.0, 1.0]) | st.floats(0, 1)] * 3),
)
def test_every_value_is_inside(expression: Expression, ends: Any, at: Any) -> None:
    within = dict(zip("abc", ends, strict=True))
    point = {name: min(max(low + share * (high - low), low), high) if math.isfinite(high - low) else low
             for (name, (low, high)), share in zip(within.items(), at, strict=True)}  # fmt: skip
    value, found = evaluate(expression, point), enclose(expression, within, point)
    if value is not None and found is not None:
        assert found[0] <= value <= found[1]


def test_every_rule_is_a_function_of_released_values() -> None:
    assert {"add", "div", "mul", "sub"} <= set(_RULES)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Call("div", (A, Call("sub", (B, C)))), EVERYTHING),
        (Call("div", (A, B)), (0.5, 2.0)),
        (Call("mul", (A, Call("div", (literal(1), Call("sub", (B, literal(3))))))), EVERYTHING),
        (Call("like", (A, B)), None),
        (Call("power", (Call("sub", (B, literal(3))), literal(2))), (0.0, 1.0)),
    ],
)
def test_a_pole_inside_the_divisor_says_nothing(expression: Expression, expected: Any) -> None:
    found = enclose(expression, {"a": (2, 4), "b": (2, 4), "c": (3, 5)}, {})
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-9))


def test_a_ratio_with_a_pole_does_not_miss() -> None:
    """``COUNT(*) / (SUM(a) - SUM(b))``: 40 releases, a false alarm has probability below 1e-7."""
    rows = pa.table({"who": range(400), "a": [i % 7 for i in range(400)], "b": [(i + 3) % 7 for i in range(400)]})
    both = {"a": dp.bounds(0, 6), "b": dp.bounds(0, 6)}
    session = dp.Session(t=dp.table(rows, unit="who", columns=both, max_rows=1), budget=dp.Pure(1000))
    query = session.sql("SELECT COUNT(*) / (SUM(a) - SUM(b)) AS r FROM t")
    exact = 400 / (sum(i % 7 for i in range(400)) - sum((i + 3) % 7 for i in range(400)))
    unbounded = 0
    for _ in range(40):
        low, high = query.release(epsilon="0.3").intervals("0.999999999")["r"][0] or (math.nan, math.nan)
        assert low <= exact <= high
        unbounded += math.isinf(low)
    assert unbounded > 30


@pytest.mark.parametrize("function", ["mul", "div"])
def test_what_floats_take_for_0_is_inside_all_the_same(function: str) -> None:
    """Products and quotients below all floats: their sign is known, and 0 alone is not the interval."""
    large = 1e-200 if function == "mul" else 1e200
    for sign in (1, -1):
        ends = {"a": (1e-200, 2e-200), "b": tuple(sorted((sign * large, sign * 2 * large)))}
        found = enclose(Call(function, (A, B)), ends, {"a": 1e-200, "b": sign * large})  # type: ignore[arg-type]
        assert found is not None
        a, b = Fraction(1e-200), Fraction(sign * large)
        assert found[0] <= (a * b if function == "mul" else a / b) <= found[1]
