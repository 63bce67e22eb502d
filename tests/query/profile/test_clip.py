"""Bounds that were declared far too wide are narrowed by what a profile says, never widened, and it is said."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dp
from discreet.query.plan.evaluate import program
from discreet.query.plan.expressions import columns
from discreet.query.plan.types import Number

pytestmark = pytest.mark.usefixtures("fixed_noise")

MANY = 3000
TRUE = sum(1 + i % 60 for i in range(MANY)) / MANY


def _session(low: int, high: int, **options: Any) -> dp.Session:
    """Values from 1 to 60; a profile whose noise is nothing (a budget of thousands)."""
    rows = {"u": list(range(MANY)), "x": [float(1 + i % 60) for i in range(MANY)], "g": ["a", "b"] * (MANY // 2)}
    columns = {"x": dp.bounds(low, high), "g": dp.keys(["a", "b"])}
    session = dp.Session(
        t=dp.table(rows, unit="u", columns=columns, **{"max_rows": "auto", **options}), budget=dp.Pure(10**6)
    )
    session.profile("t", epsilon=10**4)
    return session


def _range(query: Any, place: int = 0) -> tuple[Any, Any]:
    """What values are clamped to in the statement."""
    kind = query.quote(1).questions[0].asked.measures[place].arguments[0].kind
    assert isinstance(kind, Number)
    return kind.low * kind.step, kind.high * kind.step


@pytest.mark.parametrize("aggregate", ["AVG(x)", "SUM(x)"])
def test_wide_bounds_are_narrowed_and_that_is_said(aggregate: str) -> None:
    """The noise of the wide bound, scale 10^6 for each of about 1,500 rows, would be beyond all values."""
    query = _session(0, 10**6).sql(f"SELECT g, {aggregate} AS m FROM t GROUP BY g")
    assert _range(query) == (0, 64)
    assert "x is clipped to 0 to 64 (within 0 to 1,000,000)" in str(query.preview(1))
    answer = query.release(1)
    assert "x is clipped to 0 to 64" in str(answer)
    assert "x is clipped to 0 to 64" in str(answer.explain())
    assert "bounds of x cut nothing; " in str(answer)
    true = TRUE if aggregate.startswith("AVG") else TRUE * MANY / 2
    # in each group scale <= 64 on sums of 45,000: 60 scales are 4,000, a chance of e^-60
    assert all(abs(value - true) < 0.15 * true for value in answer["m"])


def test_an_end_below_zero_is_narrowed_too() -> None:
    assert _range(_session(-(10**6), 10**6).sql("SELECT AVG(x) AS m FROM t")) == (0, 64)


def test_chosen_bounds_never_reach_beyond_declared_ones() -> None:
    assert _range(_session(-1000, 50).sql("SELECT SUM(x) AS m FROM t")) == (0, 50)


@pytest.mark.parametrize("aggregate", ["AVG(x)", "SUM(x)"])
def test_what_is_read_lies_in_the_range_that_noise_is_made_for(aggregate: str) -> None:
    """Whatever is stored: the values of a person that a profile never saw, too."""
    query = _session(-(10**6), 10**6).sql(f"SELECT {aggregate} AS m FROM t")
    asked: Any = query.quote(1).questions[0].asked
    (argument,) = asked.measures[0].arguments
    assert (argument.kind.low, argument.kind.high) == (0, 64 / argument.kind.step)
    (column,) = columns(argument.lowered)
    for stored in (-(10**18), -1, 0, 63, 65, 10**6, 10**18):
        read = program(argument.lowered)({column: stored})
        assert argument.kind.low <= read <= argument.kind.high, stored


def test_what_fits_and_what_others_decided_stays() -> None:
    assert _range(_session(0, 70).sql("SELECT AVG(x) AS m FROM t")) == (0, 70)
    assert _range(_session(0, 32).sql("SELECT AVG(x) AS m FROM t")) == (0, 32)
    query = _session(0, 10**6, max_rows=1).sql("SELECT AVG(x) AS m FROM t")
    assert _range(query) == (0, 10**6)
    assert "clipped" not in str(query.release(1))


def test_a_small_price_clips_more_than_a_large_one() -> None:
    """At 1/20,000 the noise of one step of the bound beside 3,000 rows outweighs what a half of it cuts."""
    query = _session(0, 10**6).sql("SELECT SUM(x) AS m FROM t")
    kinds: list[Any] = [query.quote(p).questions[0].asked.measures[0].arguments[0].kind for p in ("1/20000", 1)]
    assert kinds[0].high < kinds[1].high
