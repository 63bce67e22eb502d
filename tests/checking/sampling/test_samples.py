"""Runs on two inputs: as many as were wanted on each side, continued where they stopped, stored line by line."""

from typing import Any

import pytest

from discreet.checking.sampling.observed import Raised
from discreet.checking.sampling.samples import _CHUNK, Samples, _jobs, chunk, draw


def double(data: int) -> int:
    if data > 100:
        raise ValueError
    return 2 * data


def test_both_sides_are_run_as_often() -> None:
    samples = draw(double, (1, 5), 1300)
    assert samples.first == [2] * 1300
    assert samples.second == [10] * 1300


def test_a_run_is_continued() -> None:
    calls: list[Any] = []

    def noted(data: int) -> int:
        calls.append(data)
        return 2 * data

    before = Samples([2] * 700, [10] * 3)
    samples = draw(noted, (1, 5), 800, samples=before)
    assert samples is before
    assert (len(samples.first), len(samples.second)) == (800, 800)
    assert (calls.count(1), calls.count(5)) == (100, 797)
    assert draw(double, (1, 5), 500, samples=before) is before  # enough already: nothing is run or cut
    assert len(before.first) == 800


def test_the_two_sides_take_turns() -> None:
    jobs = list(_jobs(Samples(), 2 * _CHUNK + 1))
    assert jobs == [(0, _CHUNK), (1, _CHUNK), (0, _CHUNK), (1, _CHUNK), (0, 1), (1, 1)]
    assert list(_jobs(Samples([1] * 5, []), 5)) == [(1, 5)]


def test_failures_are_outcomes() -> None:
    assert chunk(double, 101, 2) == [Raised("ValueError")] * 2


@pytest.mark.parametrize("samples", [Samples(), Samples([1, 0.1, None], [(1, "a"), Raised("E"), {"k": -0.0}])])
def test_what_was_stored_is_read_back(samples: Samples) -> None:
    lines = list(samples.to_lines())
    assert len(lines) == len(samples.first) + len(samples.second)
    assert all("\n" not in line for line in lines)
    assert Samples.from_lines(lines) == samples
