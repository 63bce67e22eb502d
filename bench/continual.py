"""Answers over time: CPU and memory of a million steps, and errors beside the constant of the square-root factor."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import discreet as dp
from bench.floors import ROWS, l1_weight
from bench.measure import Row, cpu_once, peak_bytes, show
from bench.trips import REGIONS
from discreet.continual.binned import Binned
from discreet.continual.counter import Counter, counter
from discreet.continual.strategies import Appearances, Strategy
from discreet.continual.toeplitz import Toeplitz
from discreet.continual.tree import Tree
from discreet.privacy.promises.measures import ZCDP, Pure

MILLION = 1_000_000
DAY = "2026-11-15"
SECONDS = 5.0
MEGABYTES = 50.0
PUSH = 20e-6


def constant(steps: int) -> float:
    """Σ c_k²: both the largest column and the largest row of the square-root factor, squared."""
    k = np.arange(1, steps)
    c = np.concatenate([[1.0], np.cumprod(1 - 1 / (2 * k))])
    return float((c**2).sum())


def error(strategy: Strategy, steps: int) -> float:
    """The standard deviation of the worst step at rho = 1/2."""
    return math.sqrt(float(strategy.moves(Appearances()).l2_squared * strategy.largest_weight(steps)))


def million(method: str, budget: Pure | ZCDP, values: NDArray[np.int64]) -> object:
    """A new counter, its price included, and all steps."""
    return counter(horizon=MILLION, budget=budget, method=method).push_many(values)


def speed() -> list[Row]:
    rows = []
    values = np.ones(MILLION, dtype=np.int64)
    for method, budget in (("tree", ZCDP("1/2")), ("tree", Pure(1)), ("binned", ZCDP("1/2"))):
        seconds = cpu_once(partial(million, method, budget, values))
        size = peak_bytes(partial(counter(horizon=MILLION, budget=budget, method=method).push_many, values)) / 1e6
        task = f"1e6 steps, {method}, {budget}"
        rows.append(Row(f"{task}: CPU", f"{seconds:.2f} s", "limit", f"{SECONDS:g} s", SECONDS / seconds, 1))
        rows.append(Row(f"{task}: peak memory", f"{size:.0f} MB", "limit", f"{MEGABYTES:g} MB", MEGABYTES / size, 1))
    return rows


def by_single_steps() -> list[Row]:
    """One push at a time; the peer looks at the bar of each answer, which was once computed with it."""
    rows = []
    for horizon, budget in ((100_000, ZCDP("1/2")), (365, ZCDP("1/2")), (100_000, Pure(1)), (None, ZCDP("1/2"))):
        made = counter(horizon=horizon, budget=budget)
        steps = 300 if horizon == 365 else 20_000
        for _ in range(64):
            made.push(1)
        alone = cpu_once(partial(pushed, made, steps)) / steps
        looked = cpu_once(partial(pushed, counter(horizon=horizon, budget=budget), 200, True)) / 200
        task = f"one push, T = {horizon}, {type(made.plan.strategy).__name__}, {budget}"
        words = f"{looked * 1e6:.0f} µs", looked / alone
        rows.append(Row(task, f"{alone * 1e6:.1f} µs", "limit", f"{PUSH * 1e6:g} µs", PUSH / alone, 1))
        rows.append(Row(task, f"{alone * 1e6:.1f} µs", "with its bar", *words, 0))
    return rows


def pushed(made: Counter, steps: int, look: bool = False) -> None:
    for _ in range(steps):
        answer = made.push(1)
        if look:
            assert answer.accuracy is not None
            _ = answer.accuracy.expected_error


def errors() -> list[Row]:
    best, root, tree = constant(4096), error(Toeplitz(4096), 4096), error(Tree(4096), 4096)
    bins, limit = error(Binned(MILLION), MILLION), constant(MILLION)
    return [
        Row("largest error, T = 4096, square root", f"{root:.4f}", "tree", f"{tree:.3f}", tree / root, 1),
        Row("the same", f"{root:.4f}", "constant of the factor", f"{best:.4f}", best / root, 1 / 1.01),
        Row(
            "largest error, T = 1e6, binned",
            f"{bins:.4f}",
            "constant of the factor",
            f"{limit:.4f}",
            limit / bins,
            1 / 1.03,
        ),
    ]


def new_day(folder: Path) -> Path:
    """A million rows of one day: 200,000 users in 50 regions."""
    rng = np.random.default_rng(1)
    regions = np.array(REGIONS)[rng.integers(0, len(REGIONS), MILLION)]
    table = pa.table(
        {
            "user_id": rng.integers(0, 200_000, MILLION),
            "region": regions,
            "amount": rng.integers(0, 101, MILLION),
            "day": pa.array(np.full(MILLION, DAY, dtype="datetime64[D]")),
        }
    )
    pq.write_table(table, folder / "trips.parquet")
    return folder / "trips.parquet"


def floor_of_a_day(path: Path) -> object:
    """That day's bounded sums in plain DuckDB, as in ``floors.py``: at most 10 rows of each user, weighted.

    Joining weights to rows is quicker here than making pairs of user and region first.
    """
    sql = f"""
    WITH today AS MATERIALIZED (
        SELECT user_id, TRY_CAST(region AS ENUM ({", ".join(map(repr, REGIONS))})) AS key, CAST(amount AS BIGINT) AS x
        FROM '{path}' WHERE day = DATE '{DAY}'
    ),
    weights AS (SELECT user_id, {l1_weight("count(*)", ROWS)} AS w FROM today GROUP BY user_id)
    SELECT key, sum(w) AS n, sum(w * x) AS total FROM today JOIN weights USING (user_id) GROUP BY key
    """
    with duckdb.connect() as connection:
        return connection.execute(sql).fetchall()


def dashboard(path: Path, days: int | None) -> Callable[[], object]:
    """One day of a dashboard, priced and prepared before: reading, noise and keeping."""
    columns = {"amount": dp.bounds(0, 100), "region": dp.keys(list(REGIONS))}
    table = dp.table(str(path), unit="user_id", max_rows=ROWS, columns=columns)
    session = dp.Session(trips=table, budget=dp.Approx(10**6, "1e-6"), progress=False)
    sql = "SELECT region, COUNT(*) AS n, SUM(amount) AS total FROM trips GROUP BY region"

    def day() -> object:
        return session.continual(sql, by="day", horizon=365, days=days, epsilon=1).advance(DAY).today.rows

    return day


def days() -> list[Row]:
    """A dashboard's day beside the floor, best of five in turns, wall time."""
    rows = []
    with TemporaryDirectory() as folder:
        path = new_day(Path(folder))
        for words, most, target in (("every day counts", None, 1 / 1.5), ("30 days of each person count", 30, 0.0)):
            ours, least = dashboard(path, most), partial(floor_of_a_day, path)
            turns = [(wall(ours), wall(least)) for _ in range(6)][1:]
            mine, theirs = (min(side) for side in zip(*turns, strict=True))
            task = f"a dashboard's day over 1e6 new rows, {words}"
            rows.append(Row(task, f"{mine:.3f} s", "floor", f"{theirs:.3f} s", theirs / mine, target))
    return rows


def wall(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    show("Answers over time", [*speed(), *by_single_steps(), *errors(), *days()])


if __name__ == "__main__":
    main()
