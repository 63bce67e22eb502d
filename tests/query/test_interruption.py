"""interruption.py: planning ends where it is told to, and nothing is spent."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.interruption import check_interrupted, interruptible


class Enough(Exception):
    pass


def stop() -> None:
    raise Enough


def test_a_plan_is_stopped_before_anything_is_spent() -> None:
    table = dp.table(pa.table({"id": [1, 2], "x": [1, 2]}), unit="id", max_rows=1, columns={"x": dp.bounds(0, 9)})
    session = dp.Session({"t": table}, budget=dp.Pure(1))
    queries = ["SELECT COUNT(*) FROM t", "SELECT SUM(x) FROM t"]
    with interruptible(stop), pytest.raises(Enough):
        session.plan(queries, epsilon="0.5")
    assert str(session.remaining) == str(dp.Pure(1))
    assert session.plan(queries, epsilon="0.5").summary.questions


def test_the_inner_check_counts_and_the_outer_one_comes_back() -> None:
    seen: list[str] = []
    with interruptible(lambda: seen.append("outer")):
        with interruptible(lambda: seen.append("inner")):
            check_interrupted()
        check_interrupted()
    check_interrupted()
    assert seen == ["inner", "outer"]
