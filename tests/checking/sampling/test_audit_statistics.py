"""Every statistic of the library, and whole queries, under the audit: not refuted as claimed, refuted as half of it.

False alarms: the audit's own confidence, 1 - 1e-8 each. Misses of the planted twin: the pairs are extreme and the claim
is a quarter of the truth.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory

m = dp.mechanisms
SAMPLES = 1500
ROWS = [5.0] * 3
FULL = [*ROWS, 10.0]


def value(mechanism: Any) -> Callable[[Any], Any]:
    return lambda rows: mechanism.release(rows).value


STATISTICS: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "count": (value(m.count(epsilon=2)), ROWS, FULL),
    "bounded sum": (value(m.bounded_sum(low=0, high=10, epsilon=2)), ROWS, FULL),
    "mean": (value(m.mean(low=0, high=10, epsilon=2)), [], [10.0]),
    "variance": (value(m.variance(low=0, high=10, epsilon=2)), [], [10.0]),
    "standard deviation": (value(m.standard_deviation(low=0, high=10, epsilon=2)), [], [10.0]),
    "covariance": (value(m.covariance(x=(0, 10), y=(0, 10), epsilon=2)), ([], []), ([10.0], [10.0])),
    "correlation": (value(m.correlation(x=(0, 10), y=(0, 10), epsilon=2)), ([], []), ([10.0], [10.0])),
    "histogram": (value(m.histogram(keys=["a", "b"], epsilon=2)), ["a"], ["a", "b"]),
    "point queries": (value(m.point_queries(keys=["a", "b"], epsilon=2)), ["a"], ["a", "b"]),
    "hierarchy": (value(m.hierarchy(keys=list(range(8)), branching=2, epsilon=2)), [1], [1, 7]),
    "cumulative": (value(m.cumulative(thresholds=[1, 2, 3, 4], epsilon=2)), [1], [1, 1]),
    "cdf": (value(m.cdf(thresholds=[1, 2, 3, 4], epsilon=2)), [1], [1, 1]),
    "attribute counts": (value(m.attribute_counts(d=3, epsilon=2)), [[1, 0, 1]], [[1, 0, 1], [1, 1, 1]]),
    "marginals": (value(m.marginals(columns=[2, 2], which=[[0], [1]], epsilon=2)), [(0, 0)], [(0, 0), (1, 1)]),
    "median": (value(m.median(candidates=[0, 5, 10], epsilon=2)), [0] * 2, [0] * 2 + [10]),
    "quantiles": (value(m.quantiles(["1/4", "3/4"], candidates=[0, 5, 10], epsilon=2)), [0] * 2, [0] * 2 + [10]),
    "maximum": (value(m.maximum(candidates=[0, 5, 10], epsilon=2)), [0] * 2, [0] * 2 + [10]),
}  # fmt: skip


@pytest.mark.parametrize("name", STATISTICS)
def test_a_statistic_is_not_refuted(name: str) -> None:
    mechanism, first, second = STATISTICS[name]
    report = dp.audit(mechanism, pair=(first, second), claim=dp.Pure(2), samples=SAMPLES)
    assert not report.refuted, report


@pytest.mark.parametrize("name", ["count", "bounded sum", "histogram", "hierarchy", "attribute counts", "cumulative"])
def test_the_same_statistic_is_refuted_at_a_tenth_of_its_price(name: str) -> None:
    mechanism, first, second = STATISTICS[name]
    assert dp.audit(mechanism, pair=(first, second), claim=dp.Pure("0.2"), samples=SAMPLES).refuted


def ask(text: str) -> Callable[[Any], Any]:
    """A whole query as a black box: from rows to the released numbers, on a fresh session each time."""

    def mechanism(rows: list[tuple[int, str, float]]) -> list[Any]:
        table = pa.table(
            {
                "u": pa.array([r[0] for r in rows], pa.int64()),
                "k": pa.array([r[1] for r in rows], pa.string()),
                "x": pa.array([r[2] for r in rows], pa.float64()),
            }
        )
        known = {"x": dp.bounds(0, 10), "k": dp.keys(["a", "b"])}
        session = dp.Session(t=dp.table(table, unit="u", columns=known, max_rows=2), budget=dp.Pure(6), engine=memory())
        answer = session.sql(text).release(epsilon=6)
        return [row[name] for row in answer for name in answer.columns if name != "k"]

    return mechanism


HEAVY = [(1, "a", 10.0)] * 30 + [(1, "b", float("nan"))] * 5
OTHERS = [(2, "a", 1.0), (3, "b", 2.0)]


@pytest.mark.parametrize(
    "text",
    ["SELECT COUNT(*) AS n, SUM(x) AS s FROM t", "SELECT k, COUNT(*) AS n FROM t GROUP BY k"],
)
def test_a_whole_query_is_not_refuted_and_its_twin_is(text: str) -> None:
    """One person with 35 rows, there or not: two rows' worth of noise hides them at epsilon 6, and not at a half."""
    mechanism = ask(text)
    pair = (OTHERS, OTHERS + HEAVY)
    assert not dp.audit(mechanism, pair=pair, claim=dp.Pure(6), samples=600).refuted
    assert dp.audit(mechanism, pair=pair, claim=dp.Pure("0.5"), samples=600).refuted
