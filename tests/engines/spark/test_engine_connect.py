"""Sessions of Spark Connect: the same numbers. In a process of its own, since one process has one kind of session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.extent import extent
from tests.helpers.spark import ROOT, connect_address, environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
import os
import sys
from itertools import islice
import pyarrow as pa
from pyspark.sql import SparkSession
import discreet as dp
from tests.contracts.engines import forms
from tests.contracts.engines.lab import Lab, agree
from tests.helpers.extent import extent
from tests.helpers.tables import crowd

builder = SparkSession.builder.remote(sys.argv[1])
for setting in ("shuffle.partitions=4", "session.timeZone=Asia/Kolkata"):
    builder = builder.config(*("spark.sql." + setting).split("="))
session = builder.getOrCreate()
assert "connect" in type(session).__module__
engine = dp.engines.spark(session)
works = [
    work
    for make, name in (
        (forms.unknown, "integers"), (forms.split, "moments"), (forms.known, "text"), (forms.picked, "text with NULL"),
        (forms.distinct, "days"),
    )[: extent(1, 5)]
    for work in islice(make(name), 4, 5)
]
agree(Lab(engine), works, {"t": crowd(40)})

rows = pa.table({"user": list(range(60)), "place": ["a" if i < 40 else f"rare {i}" for i in range(60)]})
table = dp.table(rows, unit="user", max_rows=10, columns={"place": dp.unknown_keys()})
s = dp.Session(t=table, budget=dp.Approx(1000, "1e-9"), engine=engine)
question = "SELECT place, COUNT(*) AS n FROM t GROUP BY place"
answer = s.sql(question).release(epsilon=1000)
assert answer.rows == [{"place": "a", "n": 40}], answer.rows
assert engine._able is False, "without a folder this process draws"
engine = dp.engines.spark(session, staging=os.getcwd() + "/staging")
s = dp.Session(t=table, budget=dp.Approx(1000, "1e-9"), engine=engine)
answer = s.sql("SELECT place, COUNT(*) AS n, COUNT(DISTINCT user) AS u FROM t GROUP BY place").release(epsilon=1000)
assert answer.rows == [{"place": "a", "n": 40, "u": 40}], answer.rows
assert engine._able is True, "with one, the executors do"
assert not os.listdir("staging")
assert session.conf.get("spark.sql.session.timeZone") == "Asia/Kolkata", "it came back"

# the owner's own frame means what it means in the owner's session: there a day begins at 18:30 UTC, a cast that fails
# is NULL, and a cast of a moment to a number is no error at all
session.conf.set("spark.sql.ansi.enabled", "false")
columns = {"day": dp.keys(["2023-12-31", "2024-01-01"]), "seven": dp.bounds(0, 9)}
for odd in (0, 1):
    frame = session.range(60).selectExpr(
        "id AS user",
        "CAST(to_date(timestamp_seconds(1704065400 + id)) AS STRING) AS day",
        f"CAST(IF(id < {odd}, 'x', '7') AS INT) AS seven",
        "CAST(CAST(1 AS BOOLEAN) AS TIMESTAMP) AS moment",
    )
    table = dp.table(frame, unit="user", columns=columns)
    s = dp.Session(t=table, budget=dp.Pure(10**4), engine=dp.engines.spark(session))
    answer = s.sql("SELECT day, COUNT(*) AS n, COUNT(seven) AS m FROM t GROUP BY day").release(epsilon=1000)
    assert (answer["n"], answer["m"]) == ([0, 60], [0, 60 - odd]), answer.rows
assert session.conf.get("spark.sql.ansi.enabled") == "false", "it came back"
session.stop()
print("AGREED", len(works))
"""


@pytest.mark.slow
def test_spark_connect_gives_the_numbers_of_the_oracle(spark: SparkSession, tmp_path: Path) -> None:
    """The owner's days were moved, and one cast that failed made a paid question fail: tried without such a row too."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, connect_address(spark)],
        cwd=tmp_path,
        env={**os.environ, **environment(tmp_path), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert f"AGREED {extent(1, 5)}" in done.stdout, done.stderr
    assert "SQL config" not in done.stderr, "settings that are right already are not set"
