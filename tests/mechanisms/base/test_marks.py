"""Places among public marks, against plain comparisons."""

from itertools import pairwise
from math import isnan
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadData, BadParameter
from discreet.mechanisms.base.marks import Ruler, ruler, ruler_between

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


@pytest.mark.slow
@pytest.mark.parametrize("times", [0, 1, 20])
@pytest.mark.parametrize("name", RULERS)
def test_places_are_those_of_plain_comparisons(name: str, times: int) -> None:
    """Few records, and so many that stretches are used."""
    r = RULERS[name]
    marks = r.marks.tolist()
    near = [f(c) for c in marks for f in (float, lambda c: np.nextafter(c, -INF), lambda c: np.nextafter(c, INF))]
    between = [a / 2 + b / 2 for a, b in pairwise(marks)]
    low, high = (max(marks[0], -1e300), min(marks[-1], 1e300)) if marks else (0, 1)
    spread = np.random.default_rng(2).uniform(low, high, 300).tolist()
    values = [*near, *between, *spread, NAN, INF, -INF, 0.0, -0.0, 1e308, -1e308]
    values = values[: len(values) // times] if times else values * (2000 // len(values) + 1)
    assert r.places(values).tolist() == [plain(marks, x) for x in values]
    counted = r.counts(values, clamp=False)
    assert counted.sum() == sum(not isnan(x) for x in values)
    assert len(counted) == 2 * len(marks) + 1
    assert counted.tolist() == np.bincount(r.places(values) + 1, minlength=2 * len(marks) + 2)[1:].tolist()


@pytest.mark.parametrize("name", ["even", "ints", "one", "random"])
def test_clamped_counts_are_counts_of_clamped_records(name: str) -> None:
    r = RULERS[name]
    values = np.random.default_rng(3).normal(0, 100, 5000)
    moved = np.clip(values, r.marks[0], r.marks[-1])
    assert r.counts(values, clamp=True).tolist() == r.counts(moved, clamp=False).tolist()


def test_both_ways_are_used() -> None:
    assert (RULERS["even"]._place >= 0).mean() > 0.9
    assert RULERS["widest"]._step == 0
    assert RULERS["logarithmic"]._step > 0


def test_a_stretch_that_hides_its_mark_is_seen() -> None:
    """The planted twin: a table that takes a marked stretch for an empty one gives wrong places."""
    wrong = Ruler(np.array([0.0, 0.5, 1.0]))
    assert wrong.places([0.4999, 0.5, 0.5001] * 1000).tolist() == [2, 3, 4] * 1000
    object.__setattr__(wrong, "_place", np.where(wrong._place < 0, 2, wrong._place))
    assert wrong.places([0.4999, 0.5, 0.5001] * 1000).tolist() != [2, 3, 4] * 1000


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
    for step in (0.1, 0.3, 0.7, 0.008, "1/3", 0.0007):
        widths = np.diff(ruler_between(0, 7, step).marks)
        assert widths[:-1].min() > 0.99 * widths.max()
        assert widths.min() > widths.max() / 2000
    with pytest.raises(BadData):
        RULERS["one"].places("secret")
