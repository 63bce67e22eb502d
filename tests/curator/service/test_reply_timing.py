"""Replies leave on a grid of time. No test sleeps: clocks are moved by hand."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.service.reply_timing import Grid
from tests.helpers.curator.town import Ticking


@given(st.floats(0, 1e6), st.floats(0, 50), st.floats(0.01, 10))
def test_a_reply_leaves_on_a_line_of_the_grid_and_on_the_next_one(began: float, took: float, quantum: float) -> None:
    wait = Grid(quantum).wait(began, began + took)
    lines = (took + wait) / quantum
    assert abs(lines - round(lines)) < 1e-6
    assert round(lines) >= 1
    assert -1e-9 <= wait <= quantum + 1e-9


@given(st.floats(0, 1e6), st.floats(0, 50), st.floats(0.01, 10))
def test_an_answer_is_stored_in_the_middle_between_two_lines(began: float, took: float, quantum: float) -> None:
    clock = Ticking()
    clock.now = began + took

    def sleep(seconds: float) -> None:
        clock.now += seconds

    Grid(quantum).hold(began, clock, sleep)
    lines = (clock.now - began) / quantum
    assert abs(lines % 1 - 0.5) < 1e-3 / quantum
    assert took - 1e-6 <= clock.now - began <= took + quantum + 1e-6


def test_the_wait_ends_on_the_line_even_if_sleep_comes_back_early() -> None:
    clock = Ticking()
    clock.now = 10.07

    async def sleep(seconds: float) -> None:
        clock.now += min(seconds, 0.05) + 1e-4

    asyncio.run(Grid(0.25).keep(10.0, clock, sleep))
    assert 10.25 <= clock.now < 10.31
