"""The floors are sound: one user moves the answer by no more than is said. The table is the same each time."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.floors import FLOORS, GROUPS, MOST_KEYS, ONE, ROWS, run
from bench.trips import DAYS, PRODUCTS, REGIONS, chunks

CROWD = 40


def crowd() -> pa.Table:
    """Users with 1, 2, 4, ... rows; the last has more products than are looked at."""
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(CROWD), [1 << (i % 10) for i in range(CROWD)])
    size = len(user)
    return pa.table(
        {
            "user_id": user,
            "region": np.array(REGIONS)[rng.integers(0, 50, size)],
            "product": np.array(PRODUCTS)[rng.integers(0, 5000, size)],
            "day": rng.integers(0, DAYS, size),
            "amount": rng.choice([0.0, -1.0, 1e300, 50.0, 99.99, float("inf"), float("nan"), 0.07], size),
        }
    )


def answer(question: str, table: pa.Table, path: Path) -> dict[tuple[object, ...], int]:
    """The weight of each cell of the answer; of Q2, the counts."""
    pq.write_table(table, path)
    found = run(FLOORS[question], path)
    keys = [found.column(name).to_pylist() for name in found.column_names if name in {"key", "bin"}]
    cells = zip(*keys, strict=True) if keys else [()]
    return dict(zip(cells, map(int, found.column("n").to_pylist()), strict=True))


def l1(parts: list[int]) -> bool:
    return sum(map(abs, parts)) <= ONE * ROWS


def l2(parts: list[int]) -> bool:
    return sum(part * part for part in parts) <= ONE * ONE * GROUPS


@pytest.mark.slow
@pytest.mark.parametrize(("question", "short"), [("Q1", l1), ("Q2", l2), ("Q3", l2), ("Q4", l2), ("Q5", l2)])
def test_one_user_moves_the_answer_by_no_more_than_is_said(
    question: str, short: Callable[[list[int]], bool], tmp_path: Path
) -> None:
    everyone = crowd()
    whole = answer(question, everyone, tmp_path / "all.parquet")
    users = np.asarray(everyone.column("user_id"))
    longest = 0
    for user in range(CROWD - 10, CROWD):  # one of each number of rows
        rest = answer(question, everyone.filter(users != user), tmp_path / "rest.parquet")
        parts = [whole.get(cell, 0) - rest.get(cell, 0) for cell in whole.keys() | rest.keys()]
        assert short(parts)
        longest = max(longest, isqrt(sum(part * part for part in parts)))
    assert longest**2 >= 0.99 * ONE * ONE * (ROWS**2 if question == "Q1" else GROUPS)  # and by no less, for some user


def test_the_crowd_reaches_the_limit_of_keys() -> None:
    table = crowd()
    last = [product for user, product in zip(*table.select(["user_id", "product"]), strict=True) if user.as_py() == 39]
    assert len({product.as_py() for product in last}) > MOST_KEYS


def test_the_table_is_the_same_each_time_and_as_long_as_asked() -> None:
    first, second = (pa.concat_tables(chunks(20_000)) for _ in range(2))
    assert first.equals(second)
    assert first.num_rows == 20_000
