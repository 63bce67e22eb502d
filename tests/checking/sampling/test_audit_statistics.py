"""Every mechanism of the library, and whole queries, under the audit: not refuted, unless there is too little noise.

False alarms: the audit's own confidence, 1 - 1e-8 each. The planted twin of each is made with a hundredth of the noise:
its answers on the two neighbours hardly ever agree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.memory.engine import memory
from discreet.privacy.promises.measures import Measure

pytestmark = pytest.mark.slow

m = dp.mechanisms
SAMPLES = 600
SOME = 300


CLAIM = dp.Pure(1)


@dataclass(frozen=True)
class Audited:
    """A mechanism as a function of its ε, and two neighbours on which its answers differ if there is little noise."""

    make: Callable[[int], Any]
    first: Any
    second: Any
    claim: Measure = CLAIM

    def at(self, epsilon: int) -> Callable[[Any], Any]:
        mechanism = self.make(epsilon)
        return lambda data: mechanism.release(data).value


ZEROS, TEN = [0.0] * 2, [0.0] * 2 + [10.0]
EDGES = [0, 5, 10]
LETTERS = (["a"], ["a", "b"])
SCORES = ([0, 1, -1], [1, 0, -1])
BOX: Any = {"x": (0, 10), "y": (0, 10)}
BY_DELTA = dp.Approx(1, "1e-2")
AUDITED = {
    "laplace": Audited(lambda e: m.laplace(sensitivity=1, epsilon=e), 0, 1),
    "gaussian": Audited(lambda e: m.gaussian(sensitivity=1, epsilon=e, delta="1e-2"), 0, 1, BY_DELTA),
    "exponential": Audited(lambda e: m.exponential(sensitivity=1, epsilon=e), *SCORES),
    "permute and flip": Audited(lambda e: m.permute_and_flip(sensitivity=1, epsilon=e), *SCORES),
    "noisy max": Audited(lambda e: m.noisy_max(sensitivity=1, epsilon=e), *SCORES),
    "top k": Audited(lambda e: m.top_k(k=2, sensitivity=1, epsilon=e), *SCORES),
    "peel": Audited(lambda e: m.peel(m.permute_and_flip(sensitivity=1, epsilon=Fraction(e, 2)), k=2), *SCORES),
    "above threshold": Audited(lambda e: m.above_threshold(threshold=1, epsilon=e), [0, 0], [1, 1]),
    "threshold keys": Audited(lambda e: m.threshold_keys(epsilon=e, delta="1e-2"), {"a": 1}, {"a": 2}, BY_DELTA),
    "optimal keys": Audited(lambda e: m.optimal_keys(epsilon=e, delta="1e-2"), {"a": 1}, {"a": 2}, BY_DELTA),
    "propose test release": Audited(
        lambda e: m.propose_test_release(sensitivity=1, epsilon=e, delta="1e-2"), (0, 9), (1, 8), BY_DELTA
    ),
    "randomized response": Audited(lambda e: m.randomized_response(epsilon=e), 0, 1),
    "count": Audited(lambda e: m.count(epsilon=e), ZEROS, TEN),
    "bounded sum": Audited(lambda e: m.bounded_sum(low=0, high=10, epsilon=e), ZEROS, TEN),
    "mean": Audited(lambda e: m.mean(low=0, high=10, epsilon=e), ZEROS, TEN),
    "variance": Audited(lambda e: m.variance(low=0, high=10, epsilon=e), ZEROS, TEN),
    "standard deviation": Audited(lambda e: m.standard_deviation(low=0, high=10, epsilon=e), ZEROS, TEN),
    "covariance": Audited(lambda e: m.covariance(**BOX, epsilon=e), (ZEROS, ZEROS), (TEN, TEN)),
    "correlation": Audited(lambda e: m.correlation(**BOX, epsilon=e), ([0, 10], [0, 10]), ([0, 10, 10], [0, 10, 0])),
    "histogram": Audited(lambda e: m.histogram(keys=["a", "b"], epsilon=e), *LETTERS),
    "point queries": Audited(lambda e: m.point_queries(keys=["a", "b"], epsilon=e), *LETTERS),
    "hierarchy": Audited(lambda e: m.hierarchy(keys=["a", "b", "c"], branching=2, epsilon=e), *LETTERS),
    "cumulative": Audited(lambda e: m.cumulative(thresholds=[1, 2, 3], epsilon=e), [1], [1, 1]),
    "cdf": Audited(lambda e: m.cdf(thresholds=[1, 2, 3], epsilon=e), [1], [1, 3]),
    "attribute counts": Audited(lambda e: m.attribute_counts(d=3, epsilon=e), [[1, 0, 1]], [[1, 0, 1], [1, 1, 1]]),
    "attribute means": Audited(lambda e: m.attribute_means(d=3, epsilon=e), [[0, 0, 0]], [[0, 0, 0], [1, 1, 1]]),
    "marginals": Audited(
        lambda e: m.marginals(columns=[2, 2], which=[[0], [1]], epsilon=e), [(0, 0)], [(0, 0), (1, 1)]
    ),
    "median": Audited(lambda e: m.median(candidates=EDGES, epsilon=e), [0, 10], [0, 10, 10]),
    "quantile": Audited(lambda e: m.quantile("1/4", candidates=EDGES, epsilon=e), [10, 10], [0, 10, 10]),
    "quantiles": Audited(lambda e: m.quantiles(["1/4", "3/4"], candidates=EDGES, epsilon=e), [10, 10], [0, 10, 10]),
    "quantile interval": Audited(lambda e: m.quantile_interval("1/2", candidates=EDGES, epsilon=e), [0], [0, 10]),
    "interquartile range": Audited(lambda e: m.interquartile_range(candidates=EDGES, epsilon=e), [0], [0, 10]),
    "maximum": Audited(lambda e: m.maximum(candidates=EDGES, epsilon=e), [0] * 4, [0] * 4 + [10]),
    "minimum": Audited(lambda e: m.minimum(candidates=EDGES, epsilon=e), [10] * 4, [10] * 4 + [0]),
}


@pytest.mark.parametrize("name", AUDITED)
def test_a_mechanism_is_not_refuted_and_one_with_a_hundredth_of_the_noise_is(name: str) -> None:
    it = AUDITED[name]
    report = dp.audit(it.at(1), pair=(it.first, it.second), claim=it.claim, samples=SAMPLES)
    assert not report.refuted, report
    planted = dp.audit(it.at(100), pair=(it.first, it.second), claim=it.claim, samples=SAMPLES)
    assert planted.refuted, planted


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
    """One person with 35 rows, there or not: two rows' worth of noise hides them at epsilon 6, and not at a tenth."""
    mechanism = ask(text)
    pair = (OTHERS, OTHERS + HEAVY)
    assert not dp.audit(mechanism, pair=pair, claim=dp.Pure(6), samples=SOME).refuted
    assert dp.audit(mechanism, pair=pair, claim=dp.Pure("0.1"), samples=SOME).refuted
