"""Intervals of computed columns hold every value that the expression can have, also near a pole."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.query.answer.interval_arithmetic import _RULES, EVERYTHING, enclose
from discreet.query.answer.postprocess import evaluate
from discreet.query.estimate import two_sided_sums
from discreet.query.estimate.estimators import Mean, Quantile, Recipe
from discreet.query.estimate.moments import Moment
from discreet.query.estimate.searched_quantile import SearchedQuantile
from discreet.query.front.sql.expressions import expression as parsed
from discreet.query.plan.expressions import Call, Column, Expression, Literal
from discreet.query.resolve.resolve import Scope, Source, rowwise

A, B, C = Column("a"), Column("b"), Column("c")
SIZES = st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e3, 1e150, 1e308])
NUMBERS = st.builds(lambda size, share: size * share, SIZES, st.floats(-1, 1))
INTERVALS = st.builds(lambda x, y: (min(x, y), max(x, y)), NUMBERS, NUMBERS)


SCOPE = Scope((Source(None, {name: name for name in "abn"}),))


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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("sql", "nullable", "expected"),
    [
        ("COALESCE(a, 0)", (), (2.0, 4.0)),
        ("COALESCE(a, 0)", "a", (0.0, 4.0)),
        ("COALESCE(a, b, 9)", "a", (2.0, 8.0)),
        ("COALESCE(NULL, a, 9)", (), (2.0, 4.0)),
        ("COALESCE(a + 1, 0)", (), (3.0, 5.0)),
        ("COALESCE(a + 1, 0)", "a", (0.0, 5.0)),
        ("COALESCE(a / b, 0)", (), (0.25, 0.8)),
        ("COALESCE(a / b, 0)", "b", (0.0, 0.8)),
        ("COALESCE(a / (b - 6), 0)", (), EVERYTHING),
        ("COALESCE(NULLIF(a, 3), 9)", (), (2.0, 9.0)),
        ("COALESCE(NULLIF(a, 5), 9)", (), (2.0, 4.0)),
        ("COALESCE(SQRT(a), 0)", (), (0.0, 2.0)),
        ("COALESCE(COALESCE(a, 5), 0)", "a", (2.0, 5.0)),
        ("COALESCE(NULL, NULL)", (), None),
        ("COALESCE(n, 7)", (), (7.0, 7.0)),
    ],
)
def test_what_stands_after_a_number_that_is_never_null_is_not_in_the_interval(
    sql: str, nullable: Any, expected: Any
) -> None:
    """Fails where the interval of COALESCE(SUM(x), 0) reaches from the sum to 0."""
    expression = rowwise(parsed(sql).said, SCOPE, "a test")
    found = enclose(expression, {"a": (2.0, 4.0), "b": (5.0, 8.0)}, {"n": None}, set(nullable))
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-9))


def _table(groups: tuple[str, ...]) -> Any:
    rows = pa.table(
        {"who": range(900), "x": [30 + i % 41 for i in range(900)], "g": ["abc"[i % 3] for i in range(900)]}
    )
    columns = {"x": dp.bounds(20, 90), "g": dp.keys(list(groups))}
    return dp.Session(t=dp.table(rows, unit="who", columns=columns, max_rows=1), budget=dp.Pure(1000))


@pytest.mark.slow
@pytest.mark.parametrize("over", ["{}", "SELECT g, COALESCE(bare, 0) AS filled, bare FROM ({}) AS inside"])
@pytest.mark.parametrize("aggregate", ["SUM(x)", "AVG(x)", "MEDIAN(x)", "COUNT(DISTINCT x)", "STDDEV(x)"])
def test_coalesce_of_an_aggregate_has_its_bar(aggregate: str, over: str) -> None:
    """Of groups that surely have rows; Looker writes every sum so."""
    below = f"SELECT g, COALESCE({aggregate}, 0) AS filled, {aggregate} AS bare FROM t GROUP BY g"
    ends = _table(("a", "b")).sql(over.format(below)).release(epsilon=5).intervals()
    assert ends["filled"] == [pytest.approx(one, rel=1e-9) for one in ends["bare"]]


@pytest.mark.slow
def test_coalesce_of_an_empty_group_holds_what_is_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact value there is -7, which no average can be: 20 releases, a false alarm has probability below 1e-7."""
    query = _table(("a", "nobody")).sql(
        "SELECT g, COALESCE(AVG(x), -7) AS m, COALESCE(MEDIAN(x), -7) AS q, COALESCE(MIN(x), -7) AS l, "
        "COALESCE(STDDEV(x), -7) AS d FROM t GROUP BY g"
    )
    for _ in range(20):
        answer = query.release(epsilon=2)
        for _, empty in answer.intervals("0.999999999").values():
            assert empty is not None
            assert empty[0] <= -7
    monkeypatch.setattr(Recipe, "may_be_null", lambda self, noisy, ends, miss: np.zeros(len(ends[0]), dtype=bool))
    for kind in (Mean, Quantile, SearchedQuantile, Moment, two_sided_sums.Mean):
        monkeypatch.setattr(kind, "may_be_null", Recipe.may_be_null)
    planted = query.release(epsilon=2).intervals("0.999999999")
    assert all(ends[1] is not None and ends[1][0] > -7 for ends in planted.values())


@pytest.mark.slow
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
