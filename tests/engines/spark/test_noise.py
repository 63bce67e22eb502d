"""Noise on the executors: the same groups as from this process, drawn once for each, by randomness of their own."""

from __future__ import annotations

import shutil
from collections import defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb.engine import duckdb
from discreet.engines.spark import noise as spark_noise
from discreet.engines.spark import staging
from discreet.engines.spark.noise import able, fingerprint, named_rows, with_noise
from discreet.errors import EngineFailed, Unsupported
from discreet.mechanisms.additive.laplace import Laplace
from discreet.query import key_selection
from discreet.query.key_selection import Threshold
from discreet.query.plan.work import Exact
from discreet.randomness import Recorder, SystemBits
from tests.helpers.gates import distance_from
from tests.helpers.truth import laplace_spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SURE = 10_000
"""An epsilon at which noise is 0, but for a chance below 1e-100."""


# --- what runs on an executor -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("shift", [0, 1 << 62, (1 << 63) - 50, 1 << 90])
def test_a_batch_gives_what_the_rule_gives(text: pa.DataType, shift: int) -> None:
    units = [shift + n for n in range(100)]
    fits = [n < 1 << 63 for n in units]
    batch = pa.record_batch(
        {
            "k0": pa.array([f"key {i}" for i in range(100)], type=text),
            "n0": pa.array(list(range(100)), type=pa.int64()),
            "t0": pa.nulls(100, type=text),
            "n1": pa.array([n if ok else None for n, ok in zip(units, fits, strict=True)], type=pa.int64()),
            "t1": pa.array([None if ok else str(n) for n, ok in zip(units, fits, strict=True)], type=text),
        }
    )
    recorder = Recorder(SystemBits())
    rule = Threshold(Laplace(scale=Fraction(9), moves=1), shift + 50, cell=1)
    found = named_rows(rule, batch, recorder)
    exact = np.array(units, dtype=np.int64 if all(fits) else object)
    at, noisy = rule(exact, recorder.replay())
    assert found.schema == batch.schema
    assert found.column("k0").to_pylist() == [f"key {i}" for i in at]
    assert found.column("n0").to_pylist() == at.tolist(), "other numbers stay exact"
    pairs = zip(found.column("n1").to_pylist(), found.column("t1").to_pylist(), strict=True)
    assert [int(long) if short is None else short for short, long in pairs] == noisy.tolist()
    assert 0 < len(at) < 100


def drawn_on(spark: SparkSession, rule: Any, groups: int, tasks: int, batch: int) -> dict[tuple[int, int], list[int]]:
    """The noisy numbers of groups of 0 units: for each batch of each task. All get a name."""
    frame = spark.range(0, groups, 1, tasks).selectExpr("id AS k0", "0L AS n0", "CAST(NULL AS STRING) AS t0")
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
    try:
        rows = with_noise(frame, rule).collect()
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before or "10000")
    assert [row[0] for row in rows] == list(range(groups))
    found = defaultdict(list)
    for key, number, _ in rows:
        task, place = divmod(key, groups // tasks)
        found[task, place // batch].append(number)
    return found


def shared(batches: dict[tuple[int, int], list[int]]) -> int:
    """How many pairs of batches had the same noise. Of 50 draws at a scale of 1000, two batches agree by chance with a
    probability below 1000^-50: for all pairs together far below 1e-6."""
    return sum(one == other for one, other in combinations(batches.values(), 2))


@pytest.mark.slow
def test_no_two_batches_share_randomness(spark: SparkSession) -> None:
    rule = Threshold(Laplace(scale=Fraction(1000), moves=1), -(1 << 40))
    for _ in range(2):  # the workers of the second round are those of the first
        found = drawn_on(spark, rule, 1600, 8, 50)
        assert len(found) == 32
        assert not shared(found)


@pytest.mark.slow
def test_a_fixed_seed_would_be_seen(spark: SparkSession) -> None:
    @dataclass(frozen=True)
    class Seeded:
        """The same draws in every batch, as from a seed that travels with the rule."""

        seed: int
        cell: int = 0

        def __call__(self, units: Any, bits: Any) -> Any:
            noise = np.random.default_rng(self.seed).geometric(0.001, len(units))
            return np.arange(len(units)), units + noise

    assert shared(drawn_on(spark, Seeded(7), 1600, 8, 50)) == 32 * 31 // 2


@pytest.mark.slow
@pytest.mark.parametrize("planted", [False, True])
def test_the_law_of_the_noise_on_executors(spark: SparkSession, planted: bool) -> None:
    """False alarms: 1e-9."""
    rule = Threshold(Laplace(scale=Fraction(22 if planted else 20), moves=1), -(1 << 40))
    draws = [n for batch in drawn_on(spark, rule, 40_000, 4, 1000).values() for n in batch]
    assert (distance_from(np.array(draws), laplace_spread(Fraction(20))) > 1) == planted


# --- whole questions --------------------------------------------------------------------------------------------------

KINDS: dict[str, list[Any]] = {
    "text": ["a", "b|c", "", "ä\u0323", None],
    "integer": [0, -(1 << 62), (1 << 62), 7, None],
    "day": [date(1, 1, 1), date(1500, 2, 3), date(9999, 12, 31), date(2024, 2, 29), None],
}


def rows_of(values: list[Any]) -> pa.Table:
    """100 users for each value, and 300 values that one user has each."""
    some = [v for v in values if v is not None]
    rare: list[Any] = []
    if isinstance(some[0], str):
        rare = [f"rare {i}" for i in range(300)]
    elif type(some[0]) is int:
        rare = list(range(1000, 1300))
    else:
        rare = [some[-1] - timedelta(days=i + 1) for i in range(300)]
    keys = [value for value in values for _ in range(100)] + rare
    return pa.table({"user": list(range(len(keys))), "key": keys, "amount": [i % 9 for i in range(len(keys))]})


QUESTION = (
    "SELECT key, COUNT(*) AS n, SUM(amount) AS s, MEDIAN(amount) AS m, COUNT(DISTINCT user) AS u FROM t GROUP BY key"
)


def asked(engine: Any, rows: Any, question: str = QUESTION) -> Any:
    columns = {"key": dp.unknown_keys(), "amount": dp.bounds(0, 8)}
    s = dp.Session(t=dp.table(rows, unit="user", columns=columns), budget=dp.Approx(SURE, "1e-12"), engine=engine)
    return s.sql(question).release(epsilon=SURE)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "legacy"), [*((kind, False) for kind in KINDS), ("day", True)])
def test_spark_executors_name_the_same_groups(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, legacy: bool
) -> None:
    came: list[int] = []

    def only_named(exact: Exact, names: Any) -> Exact:
        came.append(len(exact.keys))
        assert all(key[:1] in names for key in exact.keys), "no other group comes here"
        return exact

    odd = {"spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY", "spark.sql.session.timeZone": "Asia/Kolkata"}
    rows = rows_of(KINDS[kind])
    engine = dp.engines.spark(spark, staging=str(tmp_path), noise_on_executors=True)
    before = {name: spark.conf.get(name) for name in odd}
    try:
        for name in odd if legacy else ():
            spark.conf.set(name, odd[name])
        with monkeypatch.context() as patch:
            patch.setattr(key_selection, "_named", only_named)
            found = asked(engine, rows)
    finally:
        for name, old in before.items():
            spark.conf.set(name, old or "")
    right = asked(duckdb(), rows)
    assert found["key"] == right["key"]
    assert len(found) == len(KINDS[kind])
    for column in ("n", "s", "m", "u"):
        assert found[column] == pytest.approx(right[column], abs=0.6), column
    assert not list(tmp_path.iterdir()), "nothing stays behind"
    assert sum(came) >= len(found), "and theirs do"


@pytest.mark.slow
def test_spark_executors_and_no_groups_at_all(spark: SparkSession, tmp_path: Path) -> None:
    engine = dp.engines.spark(spark, staging=str(tmp_path), noise_on_executors=True)
    nobody = "SELECT key, COUNT(*) AS n FROM t WHERE amount > 100 GROUP BY key"
    assert len(asked(engine, rows_of(KINDS["text"]), nobody)) == 0
    rare = rows_of(KINDS["text"]).slice(500)
    assert len(asked(engine, rare, "SELECT key, COUNT(*) AS n FROM t GROUP BY key")) == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_sums_beyond_64_bits_stay_exact_on_spark_executors(spark: SparkSession) -> None:
    big = 1 << 60
    rows = pa.table({"user": list(range(90)), "key": ["a"] * 50 + ["b"] * 40, "x": [big - 1 - i for i in range(90)]})
    found = []
    for engine in (dp.engines.spark(spark, noise_on_executors=True), duckdb()):
        columns = {"key": dp.unknown_keys(), "x": dp.bounds(0, big)}
        budget = dp.Approx("1e9", "1e-12")
        s = dp.Session(t=dp.table(rows, unit="user", columns=columns), budget=budget, engine=engine)
        answer = s.sql("SELECT key, SUM(x) AS s FROM t GROUP BY key").release(epsilon="1e9")
        assert answer["key"] == ["a", "b"]
        found.append(answer["s"])
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0][0] > 1 << 64


# --- whether executors can --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_session_on_this_machine_draws_here_unless_set(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "with_noise", None)
    monkeypatch.setattr(spark_noise, "_question", None)  # nobody is even asked
    for wanted in (None, False):
        assert len(asked(dp.engines.spark(spark, noise_on_executors=wanted), rows_of(KINDS["text"]))) == 5


@pytest.mark.slow
def test_another_discreet_on_spark_is_refused_before_the_payment(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_noise, "fingerprint", lambda: "that of another")
    columns = {"key": dp.unknown_keys()}
    table = dp.table(rows_of(KINDS["text"]), unit="user", columns=columns)
    budget = dp.Approx(SURE, "1e-12")
    s = dp.Session(t=table, budget=budget, engine=dp.engines.spark(spark, noise_on_executors=True))
    for _ in range(2):
        with pytest.raises(Unsupported, match="the same discreet"):
            s.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=SURE)
    assert s.remaining == budget
    rule = Threshold(Laplace(scale=Fraction(1), moves=1), 5)
    with pytest.raises(Exception, match="another discreet"):  # the task refuses too, before it draws
        with_noise(spark.range(9).selectExpr("id AS k0", "9L AS n0", "'' AS t0"), rule).collect()


@pytest.mark.parametrize(
    ("name", "value"), [("spark.speculation", "TRUE"), ("spark.hadoop.outputCommitCoordination.enabled", "false")]
)
def test_settings_under_which_spark_executors_must_not_draw(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Who wins a race may depend on what was drawn, so a copy of a slow task must not draw."""
    get = spark.conf.get
    monkeypatch.setattr(type(spark.conf), "get", lambda _, key, *default: value if key == name else get(key, *default))
    assert not able(spark, lambda job: pytest.fail("decided by the settings alone"))


@pytest.mark.slow
def test_the_same_discreet_on_spark_is_found(spark: SparkSession) -> None:
    assert able(spark, lambda job: job())
    assert len(fingerprint()) == 64


@pytest.mark.slow
def test_a_failure_of_the_noise_on_spark_is_not_asked_again(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = dp.engines.spark(spark, staging=str(tmp_path), noise_on_executors=True)
    table = dp.table(rows_of(KINDS["text"]), unit="user", columns={"key": dp.unknown_keys()})
    s = dp.Session(t=table, budget=dp.Approx(SURE, "1e-12"), engine=engine)
    engine.check((), {})
    monkeypatch.setattr(engine, "_able", True)
    monkeypatch.setattr(spark_noise, "fingerprint", lambda: "that of another")  # so that all tasks fail
    with pytest.raises(EngineFailed) as caught:
        s.sql("SELECT key, COUNT(*) AS n FROM t GROUP BY key").release(epsilon=SURE // 2)
    assert caught.value.again is None
    assert s.remaining == dp.Approx(SURE // 2, s.remaining.delta)  # type: ignore[union-attr]
    assert not list(tmp_path.iterdir()), "nothing stays behind"


@pytest.mark.slow
def test_files_that_cannot_be_removed_cost_spark_no_answer(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read = staging._Folder.read

    def then_in_the_way(folder: Any, *asked: Any) -> Any:
        yield from read(folder, *asked)
        shutil.rmtree(folder.path)
        Path(folder.path).write_text("not a folder any more")

    monkeypatch.setattr(staging._Folder, "read", then_in_the_way)
    engine = dp.engines.spark(spark, staging=str(tmp_path), noise_on_executors=True)
    rows = rows_of(KINDS["text"])
    assert len(asked(engine, rows, "SELECT key, COUNT(DISTINCT user) AS u FROM t GROUP BY key")) == 5
    assert "could not be removed" in caplog.text
