"""Keys that nobody listed, batch by batch: the same answers as in one piece, and never a group twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb.engine import DuckDB, duckdb
from discreet.errors import EngineFailed
from discreet.query.plan.schema import Schema, Stored
from discreet.query.plan.work import AnyWork, Exact

SURE = 10_000
"""An epsilon at which noise is 0, but for a chance below 1e-100."""
ROWS = pa.table(
    {
        "user": [i // 2 for i in range(3000)],
        "key": [f"k{i % 23}" if i < 2300 else f"rare {i}" for i in range(3000)],
        "amount": [i % 9 for i in range(3000)],
    }
)
QUESTION = (
    "SELECT key, COUNT(*) AS n, SUM(amount) AS s, MEDIAN(amount) AS m, COUNT(DISTINCT user) AS u FROM t GROUP BY key"
)


@dataclass
class Batched:
    """DuckDB with ``batches``; ``fault`` spoils what they hold."""

    size: int
    fault: str = ""
    inner: DuckDB = field(default_factory=duckdb)
    name: str = "batched"
    ran: int = 0

    def columns(self, source: object) -> dict[str, Stored]:
        return self.inner.columns(source)

    def run(self, works: Sequence[AnyWork], schemas: Mapping[str, Schema]) -> tuple[Exact, ...]:
        self.ran += 1
        return self.inner.run(works, schemas)

    def batches(self, work: AnyWork, schemas: Mapping[str, Schema]) -> Iterator[Exact]:
        (whole,) = self.inner.run([work], schemas)
        for start in range(0, len(whole.keys), self.size):
            part = slice(start, start + self.size)
            yield Exact(whole.keys[part], tuple(numbers[part] for numbers in whole.numbers))
        match self.fault:
            case "twice":
                yield whole
            case "dies":
                raise EngineFailed
            case "floats":
                yield Exact(whole.keys, tuple(numbers.astype(np.float64) for numbers in whole.numbers))


def session(engine: Any) -> dp.Session:
    columns = {"key": dp.unknown_keys(), "amount": dp.bounds(0, 8)}
    table = dp.table(ROWS, unit="user", columns=columns, max_rows=2)
    return dp.Session(t=table, budget=dp.Approx(SURE, "1e-12"), engine=engine)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_batches_change_nothing(size: int) -> None:
    batched = Batched(size)
    right = session(duckdb()).sql(QUESTION).release(epsilon=SURE)
    found = session(batched).sql(QUESTION).release(epsilon=SURE)
    assert not batched.ran
    assert len(right) == 23
    for column in right.columns:
        assert found[column] == (right[column] if column == "key" else pytest.approx(right[column], abs=0.6)), column


def test_listed_keys_come_in_one_piece() -> None:
    batched = Batched(3)
    assert session(batched).sql("SELECT COUNT(*) AS n FROM t").release(epsilon=SURE)["n"] == [3000]
    assert batched.ran == 1


def test_no_groups_at_all() -> None:
    asked = session(Batched(3)).sql(
        "SELECT key, COUNT(*) AS n, SUM(amount) AS s FROM t WHERE amount > 100 GROUP BY key"
    )
    assert len(asked.release(epsilon=SURE)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["twice", "dies", "floats"])
def test_a_fault_is_charged_once_and_answers_nothing(fault: str) -> None:
    s = session(Batched(50, fault))
    with pytest.raises(EngineFailed):
        s.sql(QUESTION).release(epsilon=SURE // 2)  # enough for keys to be named
    assert s.remaining == dp.Approx(SURE // 2, s.remaining.delta)  # type: ignore[union-attr]


@pytest.mark.slow
def test_every_group_has_noise_of_its_own() -> None:
    rows = pa.table({"user": list(range(20_000)), "key": [i % 20 for i in range(20_000)]})
    table = dp.table(rows, unit="user", columns={"key": dp.unknown_keys()})
    s = dp.Session(t=table, budget=dp.Approx(1, "1e-6"), engine=Batched(1))
    noise = [n - 1000 for n in s.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=1)["n"]]
    assert len(noise) == 20
    assert len({round(n, 9) for n in noise}) > 3  # drawn once for all they would be one
