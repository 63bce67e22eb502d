"""Columns with operators, and aggregates: what they say, and their limits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.errors import BadQuestion
from discreet.query.front import verbs as dp
from discreet.query.plan.expressions import Literal
from discreet.query.resolve.unresolved import Apply, Name
from tests.helpers.repeated import repeated

col = dp.col


def test_an_expression_is_not_true_or_false() -> None:
    with pytest.raises(BadQuestion, match="not true or false"):
        _ = col("cost") > 1 and col("cost") < 3
    with pytest.raises(BadQuestion, match="not true or false"):
        _ = 1 < col("cost") < 3
    with pytest.raises(BadQuestion, match="not true or false"):
        _ = not col("paid")
    with pytest.raises(BadQuestion, match="not true or false"):
        _ = col("cost") in [col("cost"), 1]


def test_expressions_show_what_they_say() -> None:
    assert repr((col("a") + 1) * 2 > dp.sum("x")) == "Expr(((a + 1) * 2) > sum(x))"
    assert repr(dp.count()) == "Expr(count(*))"
    assert repr(col("a").is_in(["x", None])) == "Expr(in(a, 'x', NULL))"


@pytest.mark.parametrize(
    "step", [lambda e: e + e, lambda e: e & e, lambda e: e.between(e, e), lambda e: dp.case((e, e)), lambda e: -e]
)
def test_an_expression_cannot_grow_without_limit(step: Callable[[dp.Expr], dp.Expr]) -> None:
    with pytest.raises(BadQuestion, match="too large"):
        repeated(col("x"), step, 1_000)


def test_a_list_has_a_limit() -> None:
    with pytest.raises(BadQuestion, match="too large"):
        col("x").is_in(range(20_000))


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: col(""), "named by a text"),
    (lambda: col(3), "named by a text"),  # type: ignore[arg-type]
    (lambda: col("x").cast("blob"), "a cast is to one of"),
    (lambda: col("x").part("millennium"), "the part MILLENNIUM"),
    (dp.case, "at least one pair"),
    (lambda: dp.quantile("cost", "1.5"), "from 0 to 1"),
    (lambda: dp.quantile("cost", "many"), "from 0 to 1"),
    (lambda: dp.quantile("cost", "1/0"), "from 0 to 1"),
    (dp.grouping, "at least one key"),
]


@pytest.mark.parametrize(("act", "message"), WRONG)
def test_wrong_expressions_say_what_is_wrong(act: Callable[[], object], message: str) -> None:
    with pytest.raises(BadQuestion, match=message):
        act()


def test_a_text_beside_an_operator_is_a_text_and_elsewhere_sql() -> None:
    assert (col("clinic") == "year = 2025").said == Apply("eq", (Name("clinic"), Literal("year = 2025")))
    assert dp.expr("year = 2025").said == Apply("eq", (Name("year"), Literal(Fraction(2025))))
    assert dp.expr("cost").said == col("cost").said == Name("cost")


def test_aggregates_of_verbs_are_those_of_sql() -> None:
    pairs = [
        (dp.count(), "COUNT(*)"), (dp.count("x"), "COUNT(x)"), (dp.count_distinct("x"), "COUNT(DISTINCT x)"),
        (dp.sum("x", where="y > 1"), "SUM(x) FILTER (WHERE y > 1)"), (dp.mean("x"), "AVG(x)"),
        (dp.variance("x"), "VARIANCE(x)"), (dp.stddev("x"), "STDDEV(x)"), (dp.median("x"), "MEDIAN(x)"),
        (dp.covariance("x", "y"), "COVAR_SAMP(x, y)"), (dp.correlation("x", "y"), "CORR(x, y)"),
        (dp.quantile("x", "0.9"), "QUANTILE(x, 0.9)"), (dp.min("x"), "MIN(x)"), (dp.max("x"), "MAX(x)"),
    ]  # fmt: skip
    for made, text in pairs:
        assert made.said == dp.expr(text).said, text


def test_between_has_both_of_its_ends() -> None:
    shown = repr(col("a").between(1, 3))
    assert ">= 1" in shown
    assert "<= 3" in shown
