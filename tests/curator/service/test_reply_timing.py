"""Replies leave on a grid of time. No test sleeps: clocks are moved by hand."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.service.reply_timing import Grid, Steps
from tests.helpers.curator.town import Ticking

STEPS: tuple[Steps, ...] = ("geometric", "double", "even")
RATIO: dict[Steps, int] = {"geometric": 4, "double": 2}
TIMES = (st.floats(0, 1e6), st.floats(0, 50), st.floats(0.01, 10))


@pytest.mark.slow
@given(*TIMES, st.sampled_from(STEPS))
def test_a_reply_leaves_on_a_line_of_the_grid(began: float, took: float, quantum: float, steps: Steps) -> None:
    wait = Grid(quantum, steps).wait(began, began + took)
    quanta = (took + wait) / quantum
    assert abs(quanta - round(quanta)) < 1e-6 * max(1, quanta)
    assert round(quanta) >= 1
    assert steps == "even" or round(quanta) in {RATIO[steps] ** k for k in range(20)}
    assert -1e-9 <= wait <= (quantum if steps == "even" else max(quantum, (RATIO[steps] - 1) * took)) + 1e-6


@pytest.mark.slow
@given(*TIMES, st.sampled_from(STEPS))
def test_an_answer_is_stored_half_a_quantum_before_a_line(
    began: float, took: float, quantum: float, steps: Steps
) -> None:
    clock = Ticking()
    clock.now = began + took

    def sleep(seconds: float) -> None:
        clock.now += seconds

    grid = Grid(quantum, steps)
    grid.hold(began, clock, sleep)
    passed = clock.now - began
    assert abs(grid.line(passed + quantum / 4) - quantum / 2 - passed) < 1e-6 * max(1, quantum)
    assert took - 1e-6 <= passed


@given(st.floats(0.3, 50), st.floats(1, 3.9))
def test_the_default_grid_shows_one_bit_of_a_time_at_most(took: float, slower: float) -> None:
    """A person who makes a question take up to four times as long moves its reply by one line at most."""
    without, with_them = Grid(0.25).line(took), Grid(0.25).line(took * slower)
    assert with_them in (without, 4 * without)


def test_on_an_even_grid_a_heavy_person_is_seen_for_certain() -> None:
    """Half of all rows are theirs: the question takes twice as long."""
    seen = [(Grid(0.25, steps).line(1.1), Grid(0.25, steps).line(2.2)) for steps in STEPS]
    assert seen == [(4.0, 4.0), (2.0, 4.0), (1.25, 2.25)]


def test_how_often_a_person_is_seen() -> None:
    """As documented: log4(r), over times spread evenly on a scale of ratios."""
    times = [0.25 * 4 ** (i / 1000) for i in range(1, 4000)]
    for steps, ratio in RATIO.items():
        grid = Grid(0.25, steps)
        for slower in (1.1, 1.9, 2.0, 3.0):
            moved = sum(grid.line(t) != grid.line(t * slower) for t in times) / len(times)
            assert abs(moved - min(1, math.log(slower, ratio))) < 0.01
        for slower, words in ((1.1, "10% longer"), (2.0, "twice as long")):
            assert words in grid.words
            assert f" {100 * math.log(slower, ratio):.0f}%" in grid.words


def test_words_of_an_even_grid() -> None:
    """A person who adds a tenth of a quantum moves one reply in ten."""
    grid = Grid(0.5, "even")
    times = [i / 1000 for i in range(1, 5000)]
    moved = sum(grid.line(t) != grid.line(t + 0.05) for t in times) / len(times)
    assert abs(moved - 0.1) < 0.01
    assert "0.05 s longer, with probability 10%" in grid.words
    assert "after 0.5, 1, 1.5, 2, ... s" in grid.words


def test_the_wait_ends_on_the_line_even_if_sleep_comes_back_early() -> None:
    clock = Ticking()
    clock.now = 10.07

    async def sleep(seconds: float) -> None:
        clock.now += min(seconds, 0.05) + 1e-4

    asyncio.run(Grid(0.25).keep(10.0, clock, sleep))
    assert 10.25 <= clock.now < 10.31
