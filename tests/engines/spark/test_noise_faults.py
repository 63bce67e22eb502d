"""Noise on the executors of a cluster that loses a worker, starts copies of slow tasks, or has another discreet."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.extent import only_in_audit
from tests.helpers.processes import until
from tests.helpers.spark import Cluster

PROGRAM = """
import json, logging, os, pathlib, sys, time
from dataclasses import dataclass
from pyspark import TaskContext
from pyspark.sql import SparkSession
import discreet as dp

logging.basicConfig(level=logging.INFO)
folder, setup = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
builder = SparkSession.builder
for name, value in setup.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()

@dataclass(frozen=True)
class Watched:
    # the rule of the engine: each attempt writes down what it drew, then waits until it may go on
    rule: object

    @property
    def cell(self):
        return self.rule.cell

    def __call__(self, units, bits):
        at, noisy = self.rule(units, bits)
        me = TaskContext.get()
        name = f"{me.partitionId()}-{me.taskAttemptId()}-{time.time_ns()}"
        (folder / f"unfinished-{name}").write_text(json.dumps(noisy.tolist()))
        os.rename(folder / f"unfinished-{name}", folder / f"drawn-{name}")
        while not (folder / "go").exists() and not (folder / f"go-{me.partitionId()}").exists():
            time.sleep(0.02)
        return at, noisy

class Held:
    def __init__(self, held):
        self.held, self.of, self.close = held, held.of, held.close
    def named(self, rule):
        return self.held.named(Watched(rule))

class Engine:
    def __init__(self, engine):
        self.engine = engine
    def __getattr__(self, name):
        return getattr(self.engine, name)
    def staged(self, work, schemas):
        held = self.engine.staged(work, schemas)
        print("STAGED", json.dumps(held is not None and work.weights.scale), flush=True)
        return held and Held(held)

(folder / "staging").mkdir(exist_ok=True)
rows = session.range(0, 420000, 1, 4).selectExpr(
    "id AS user", "CASE WHEN id < 400000 THEN concat('k', id % 200) ELSE concat('rare', id) END AS key")
session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")  # so that several tasks draw
session.conf.set("spark.sql.files.maxPartitionBytes", "100000")
session.conf.set("spark.sql.files.openCostInBytes", "0")

def ask(wanted, step):
    engine = Engine(dp.engines.spark(session, staging=str(folder / "staging"), noise_on_executors=wanted))
    table = dp.table(rows, unit="user", columns={"key": dp.unknown_keys()}, max_groups=1, max_rows=1)
    s = dp.Session(t=table, budget=dp.Approx(2, "1e-6"), engine=engine)
    try:
        answer = s.sql("SELECT key, COUNT(DISTINCT user) AS n FROM t GROUP BY key").release(epsilon='0.1')
        said = [answer["key"], answer["n"]]
    except dp.errors.DiscreetError as error:
        said = type(error).__name__
    left = [str(path) for path in (folder / "staging").iterdir()]
    print("SAID", json.dumps([step, said, float(s.remaining_by_account[0].epsilon), left]), flush=True)

for wanted in json.loads(sys.argv[3]):
    ask(wanted, str(wanted))
os._exit(0)
"""


def said_by(text: str, word: str) -> list[Any]:
    return [json.loads(line.partition(" ")[2]) for line in text.splitlines() if line.startswith(f"{word} ")]


def drawn_in(folder: Path) -> dict[str, dict[str, list[int]]]:
    """For each task, what each of its attempts drew."""
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(folder.glob("drawn-*")):
        _, task, attempt, _ = path.name.split("-")
        found[task][attempt] += json.loads(path.read_text())
    return found


def answered(scale: int, *draws: list[int]) -> tuple[int, ...]:
    """What an answer with these draws says: whole numbers of units."""
    return tuple(sorted(round(n / scale) for some in draws for n in some))


@pytest.mark.slow
def test_a_spark_worker_is_lost_while_noise_is_drawn(spark_cluster: Cluster, tmp_path: Path) -> None:
    """What lost attempts drew is in no answer; each task's draws are there whole, and once.

    The noise is some 14 units wide, and 10 groups or more are in each half of a task: that draws which are not the same
    look the same has a chance below 1e-9.
    """
    driver = spark_cluster.driver(PROGRAM, str(tmp_path), "{}", "[null]")
    until(lambda: len(drawn_in(tmp_path)) >= 2, process=driver.process, log=driver.log)
    (tmp_path / f"go-{min(drawn_in(tmp_path))}").touch()  # a worker has one core: a third task draws once one is done
    until(lambda: len(drawn_in(tmp_path)) >= 3, process=driver.process, log=driver.log)
    written = list(tmp_path.glob("staging/*/chosen/**/part-*"))
    assert written, "what is done was committed"
    assert not list(tmp_path.glob("staging/*/chosen/part-*")), "but cannot be seen before all is"
    spark_cluster.workers[0].kill()
    (tmp_path / "go").touch()
    text = driver.finish()
    (scale,) = said_by(text, "STAGED")
    ((_, said, left, files),) = said_by(text, "SAID")
    assert left == 1.9, "charged once"
    assert not files, "nothing stays behind"
    assert said != "EngineFailed", text
    keys, numbers = said
    assert len(set(keys)) == len(keys)
    assert set(keys) == {f"k{i}" for i in range(200)}, "2000 units each: far above the threshold"
    tasks = [list(attempts.values()) for attempts in drawn_in(tmp_path).values()]
    assert len(tasks) >= 3
    again = [draws for draws in tasks if len(draws) > 1]
    assert again, "a task that had drawn was lost, and drew again"
    right = {answered(scale, *chosen) for chosen in product(*tasks)}
    assert tuple(sorted(numbers)) in right, "for each task the draws of one attempt"
    one, other = again[0][:2]
    rest = [draws[0] for draws in tasks if draws is not again[0]]
    assert answered(scale, one, other, *rest) not in right, "the draws of both would be seen"
    half = min(len(one), len(other)) // 2
    assert answered(scale, one[:half], other[half:], *rest) not in right, "and so would a mixture"


@only_in_audit  # two more clusters' worth of time; the rule itself is in test_noise.py
def test_spark_executors_that_must_not_draw(spark_cluster: Cluster, tmp_path: Path) -> None:
    """Who wins a race may depend on what was drawn, so a copy of a slow task must not draw; nor another discreet."""
    other = tmp_path / "other" / "discreet"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    (tmp_path / "go").touch()
    for name, value, why in (
        ("spark.speculation", "true", "spark.speculation is set"),
        ("spark.executorEnv.PYTHONPATH", str(other.parent), "do not have the same discreet"),
    ):
        text = spark_cluster.driver(PROGRAM, str(tmp_path), json.dumps({name: value}), "[null, true]").finish()
        assert said_by(text, "STAGED") == [False], "this process draws"
        (_, (keys, _), left, files), (_, refused, whole, _) = said_by(text, "SAID")
        assert set(keys) == {f"k{i}" for i in range(200)}
        assert (left, files) == (1.9, [])
        assert (refused, whole) == ("Unsupported", 2), "refused before the payment"
        assert not list(tmp_path.glob("drawn-*"))
        assert why in text
