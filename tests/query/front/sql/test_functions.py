"""Functions and aggregates of SQL, by name."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.query.functions.catalogue import BY_SQL_NAME
from discreet.query.plan.expressions import Column, Literal
from discreet.query.plan.nodes import (
    Aggregate,
    Measure,
)
from tests.helpers.sql_questions import CLINIC, COST, call, read, where

AGGREGATES: list[tuple[str, Measure]] = [
    ("COUNT(*)", Measure("count", Aggregate.COUNT)),
    ("COUNT(1)", Measure("count", Aggregate.COUNT)),
    ("COUNT()", Measure("count", Aggregate.COUNT)),
    ("COUNT(cost)", Measure("count_cost", Aggregate.COUNT, (COST,))),
    ("COUNT(DISTINCT clinic)", Measure("count_distinct_clinic", Aggregate.COUNT_DISTINCT, (CLINIC,))),
    ("sum(ALL cost)", Measure("sum_cost", Aggregate.SUM, (COST,))),
    ('"SUM"(cost)', Measure("sum_cost", Aggregate.SUM, (COST,))),
    ("AVG(cost)", Measure("avg_cost", Aggregate.AVG, (COST,))),
    ("MEAN(cost)", Measure("avg_cost", Aggregate.AVG, (COST,))),
    ("VARIANCE(cost)", Measure("variance_cost", Aggregate.VARIANCE, (COST,))),
    ("VAR_SAMP(cost)", Measure("variance_cost", Aggregate.VARIANCE, (COST,))),
    ("STDDEV(cost)", Measure("stddev_cost", Aggregate.STDDEV, (COST,))),
    ("STDDEV_SAMP(cost)", Measure("stddev_cost", Aggregate.STDDEV, (COST,))),
    ("COVAR_SAMP(cost, year)", Measure("covariance_cost_year", Aggregate.COVARIANCE, (COST, Column("year")))),
    ("CORR(cost, year)", Measure("correlation_cost_year", Aggregate.CORRELATION, (COST, Column("year")))),
    ("MIN(cost)", Measure("min_cost", Aggregate.MIN, (COST,))),
    ("MAX(cost)", Measure("max_cost", Aggregate.MAX, (COST,))),
    ("MEDIAN(cost)", Measure("median_cost", Aggregate.QUANTILE, (COST,), level=Fraction(1, 2))),
    ("QUANTILE(cost, 0.9)", Measure("p90_cost", Aggregate.QUANTILE, (COST,), level=Fraction(9, 10))),
    ("QUANTILE_CONT(cost, .999)", Measure("p99_9_cost", Aggregate.QUANTILE, (COST,), level=Fraction(999, 1000))),
    (
        "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost)",
        Measure("p25_cost", Aggregate.QUANTILE, (COST,), level=Fraction(1, 4)),
    ),
    (
        "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost DESC)",
        Measure("p75_cost", Aggregate.QUANTILE, (COST,), level=Fraction(3, 4)),
    ),
    ("SUM(cost) FILTER (WHERE paid)", Measure("sum_cost", Aggregate.SUM, (COST,), Column("paid"))),
    (
        "MEDIAN(cost) FILTER (WHERE year > 2024)",
        Measure("median_cost", Aggregate.QUANTILE, (COST,), call("gt", "year", 2024), Fraction(1, 2)),
    ),
]


@pytest.mark.parametrize(("text", "expected"), AGGREGATES, ids=[text for text, _ in AGGREGATES])
def test_aggregates(text: str, expected: Measure) -> None:
    found = read(f"SELECT {text} FROM visits")
    assert found.measures == (expected,)
    assert found.outcome.columns == ((expected.name, Column(expected.name)),)


@pytest.mark.parametrize("name", sorted(BY_SQL_NAME))
def test_every_function_can_be_called_by_its_name(name: str) -> None:
    found = BY_SQL_NAME[name]
    columns = ["cost"] * found.arguments[0]
    first = [Literal("cost")] if found.unit_first else columns[:1]
    assert where(f"{name}({', '.join(columns)}) = 1") == call("eq", call(found.name, *first, *columns[1:]), 1)
