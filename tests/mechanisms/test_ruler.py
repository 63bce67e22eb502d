"""Places among public marks, against plain comparisons."""

from itertools import pairwise
from math import isnan
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.mechanisms.ruler import Ruler, ruler, ruler_between

NAN, INF = float("nan"), float("inf")
TINY = 5e-324
RULERS = {
    "even": ruler_between(-4, 4, "0.01"),
    "ints": ruler(range(100), "marks"),
    "one": ruler([3], "marks"),
    "none": Ruler(np.array([])),
    "neighbouring floats": ruler([1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)], "marks"),
    "far and near": ruler([0, TINY, 1e-300, 1, 1e300], "marks"),
    "widest": ruler([-1.7e308, 0, 1.7e308], "marks"),
    "logarithmic": ruler(np.logspace(-5, 5, 300), "marks"),
    "random": ruler(np.random.default_rng(1).normal(size=500), "marks"),
    "timestamps": ruler_between(2**53, 2**53 + 1000, 2),
    "subnormal": ruler([0, TINY, 2 * TINY, 3 * TINY], "marks"),
}


def plain(marks: list[float], x: float) -> int:
    return -1 if isnan(x) else 2 * sum(c < x for c in marks) + (x in marks)


@pytest.mark.parametrize("name", RULERS)
def test_places_are_those_of_plain_comparisons(name: str) -> None:
    r = RULERS[name]
    marks = r.marks.tolist()
    near = [f(c) for c in marks for f in (float, lambda c: np.nextafter(c, -INF), lambda c: np.nextafter(c, INF))]
    between = [a / 2 + b / 2 for a, b in pairwise(marks)]
    low, high = (max(marks[0], -1e300), min(marks[-1], 1e300)) if marks else (0, 1)
    spread = np.random.default_rng(2).uniform(low, high, 300).tolist()
    values = [*near, *between, *spread, NAN, INF, -INF, 0.0, -0.0, 1e308, -1e308]
    with np.errstate(over="ignore"):
        assert r.places(values).tolist() == [plain(marks, x) for x in values]
    counted = r.counts(values, clamp=False)
    assert counted.sum() == sum(not isnan(x) for x in values)
    assert len(counted) == 2 * len(marks) + 1
    assert counted.tolist() == np.bincount(r.places(values) + 1, minlength=2 * len(marks) + 2)[1:].tolist()


@pytest.mark.parametrize("name", ["even", "ints", "one", "random"])
def test_clamped_counts_are_counts_of_clamped_records(name: str) -> None:
    r = RULERS[name]
    values = np.random.default_rng(3).normal(0, 100, 500)
    moved = np.clip(values, r.marks[0], r.marks[-1])
    assert r.counts(values, clamp=True).tolist() == r.counts(moved, clamp=False).tolist()


def test_both_ways_are_used_and_the_table_is_honest() -> None:
    assert RULERS["even"]._start is not None
    assert RULERS["neighbouring floats"]._start is not None
    assert RULERS["logarithmic"]._start is None
    assert RULERS["widest"]._start is None


def test_a_table_that_holds_two_marks_in_a_stretch_is_seen() -> None:
    """The planted twin: the coarse table that ``_stretches`` refuses gives wrong places."""
    r = ruler([0, 0.001, 1], "marks")
    coarse = Ruler(r.marks)
    object.__setattr__(coarse, "_step", 4.0)
    object.__setattr__(coarse, "_start", np.array([0, 2, 2, 2, 2], dtype=np.int32))
    assert r.places([0.0005, 0.1]).tolist() == [2, 4]
    assert coarse.places([0.0005, 0.1]).tolist() != [2, 4]


def test_order_and_chunks_do_not_matter() -> None:
    values = np.random.default_rng(4).normal(size=100_001)
    values[7] = NAN
    r = RULERS["even"]
    once = r.counts(values, clamp=True)
    assert (once == r.counts(values[::-1], clamp=True)).all()
    assert once.sum() == 100_000


@pytest.mark.parametrize("wrong", [[], [NAN], [INF], "abc", 3, ["x"], [None], np.zeros((2, 2)), range(0)])
def test_bad_marks_are_refused(wrong: Any) -> None:
    with pytest.raises(BadParameter):
        ruler(wrong, "marks")


@pytest.mark.parametrize(("low", "high", "step"), [(1, 0, 1), (0, 1, 0), (0, 1, -1), (0, 1, NAN), (0, 1, "1e-9")])
def test_bad_bounds_are_refused(low: Any, high: Any, step: Any) -> None:
    with pytest.raises(BadParameter):
        ruler_between(low, high, step)


def test_bounds_are_marks_and_bad_data_is_refused() -> None:
    assert ruler_between(0, 1, "0.3").marks.tolist()[0] == 0
    assert ruler_between(0, 1, "0.3").marks.tolist()[-1] == 1
    assert ruler_between(2, 2, 1).marks.tolist() == [2.0]
    with pytest.raises(BadData):
        RULERS["one"].places("secret")
