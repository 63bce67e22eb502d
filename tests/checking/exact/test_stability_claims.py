"""Claims of stability: what two outputs may differ in, what refutes a claim, and how a claim is named."""

from typing import Any

import numpy as np
import pytest

from discreet import stable
from discreet.checking.exact.small_data import space_for
from discreet.checking.exact.stability_claims import (
    Failed,
    check_stability,
    check_stability_pairs,
    compare,
    name_of,
    outcome,
)
from discreet.mechanisms.additive.laplace import laplace
from discreet.stable.core.domains import Rows
from discreet.stable.core.metrics import ADD_REMOVE, NORMS, NUMBER, Moves
from tests.checking.planted import Map, by

ONE = Moves(l1=1, l2_squared=1, linf=1)


@pytest.mark.parametrize(
    ("first", "second", "metric", "claimed", "shown"),
    [
        (3, 4, NUMBER, 1, None),
        (3, 5, NUMBER, 1, "2 apart"),
        ([1, 2], [1, 3], NORMS, ONE, None),
        ([1, 2], [2, 3], NORMS, ONE, "2 in L1, √2 in L2, 1 in Linf"),
        ([1, 2], [1], NORMS, ONE, "no distance"),
        ({"a": 1}, {"b": 1}, ADD_REMOVE, 1, "shapes keys ['a'] and keys ['b']"),
        (np.zeros(2), np.zeros(3), NORMS, ONE, "shapes (2,) and (3,)"),
        (1, [1], NUMBER, 1, "shapes one value and vector"),
        ("x", "x", NUMBER, 1, None),
        ("x", "y", NUMBER, 1, "no distance"),
        (Failed(ValueError()), Failed(ValueError("other")), NUMBER, 1, None),
        (Failed(ValueError()), Failed(TypeError()), NUMBER, 1, "raised ValueError; raised TypeError"),
        (Failed(ValueError()), 3, NUMBER, 1, "raised ValueError; gave 3"),
    ],
)
def test_two_outputs(first: Any, second: Any, metric: Any, claimed: Any, shown: str | None) -> None:
    found = compare(first, second, metric, claimed)
    assert found is None if shown is None else shown in str(found)


def test_what_came_out_or_how_it_failed() -> None:
    def leaves(_: Any) -> Any:
        raise SystemExit

    assert outcome(len, [1, 2]) == 2
    assert outcome(leaves, 1) == Failed(SystemExit())
    assert len({Failed(ValueError("a")), Failed(ValueError("b")), Failed(TypeError())}) == 2

    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcome(interrupted, 1)


def test_a_claim_on_small_data() -> None:
    space = space_for(Rows(), ADD_REMOVE, values=[0, 1])
    fine = check_stability(stable.count(), space, rows=2, most_pairs=100, searches=0)
    assert fine.ok
    assert fine.subject == "counted rows"
    bad = check_stability(Map(lambda rows: 2 * len(rows), by(1)), space, rows=2, most_pairs=100, searches=0)
    assert bad.counterexample is not None
    assert sorted([len(bad.counterexample.first), len(bad.counterexample.second)]) == [0, 1]
    assert bad.counterexample.claimed == "outputs at most 1 apart"


def test_a_failure_on_one_of_two_neighbours_is_refuted() -> None:
    space = space_for(Rows(), ADD_REMOVE, values=[0, 1])
    report = check_stability(
        Map(lambda rows: sum(1 // row for row in rows), by(1)), space, rows=1, most_pairs=100, searches=0
    )
    assert "raised ZeroDivisionError" in str(report)


def test_given_pairs_are_measured_by_the_maps_own_metric() -> None:
    total = stable.sum(bounds=(0, 5))
    assert check_stability_pairs(total, [([1], [1, 9]), ([], [9, 9, 9])]).tried == 2
    assert check_stability_pairs(total, [([1], [1, 9]), ([], [9, 9, 9])]).ok
    report = check_stability_pairs(Map(sum, by(1)), [([1], [1, 1]), ([1], [1, 9]), ([], [])])
    assert not report.ok
    assert report.tried == 2


def test_names() -> None:
    assert name_of(stable.clip(0, 1) >> stable.count()) == "clamped to [0, 1] → counted rows"
    assert name_of(laplace(sensitivity=1, epsilon=1)) == "Laplace: discrete Laplace noise of scale 1"
    assert name_of(len) == "len"
    assert name_of(5) == "int"
