"""One question, answered by one tool, in a process of its own: ``python -m bench.table_runs WHO QUESTION ROWS``.

Prints one line of JSON: seconds of each run (from the open library to the answer in hand, without imports; PipelineDP
also without making tuples of the rows), CPU seconds of the best, peak memory, and the answers. Everyone gets the same
total (ε = 1, δ = 1e-8) and the same caps: 10 groups per user and one row in each; 10 rows in Q1. What peers need beyond
their documentation is said where it is done.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from bench import floors
from bench.trips import DAYS, REGIONS, trips

EPSILON = 1
DELTA = "1e-8"
QUESTIONS = {
    "Q1": "SELECT COUNT(*) AS n FROM trips",
    "Q2": "SELECT region, COUNT(*) AS n, SUM(amount) AS s, AVG(amount) AS m FROM trips GROUP BY region",
    "Q3": "SELECT product, COUNT(*) AS n FROM trips GROUP BY product",
    "Q4": "SELECT day, COUNT(DISTINCT user_id) AS n FROM trips GROUP BY day",
    "Q5": "SELECT region, QUANTILE(amount, 0.25) AS a, MEDIAN(amount) AS b, QUANTILE(amount, 0.75) AS c "
    "FROM trips GROUP BY region",
}

Rows = Sequence[Sequence[Any]]
"""A key and the released numbers, in the order of the question."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one process found."""

    seconds: list[float]
    cpu: float
    peak_mb: float
    answers: list[Rows]
    """One for each run."""


def timed(work: Callable[[], Rows], repeats: int) -> Run:
    seconds, cpu, answers = [], [], []
    for _ in range(repeats):
        start, busy = time.perf_counter(), time.process_time()
        answers.append(work())
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return Run(seconds, min(cpu), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, answers)


# --- ours and the floor -----------------------------------------------------------------------------------------------


def session(path: Path, memory: str | None = None, threads: int | None = None) -> Any:
    """Ours, as a user writes it."""
    dp: Any = import_module("discreet")
    table = dp.table(
        path,
        unit="user_id",
        columns={
            "amount": dp.bounds(0, 100, nullable=False),  # as it is for the peers
            "region": dp.keys(REGIONS),
            "day": dp.keys(range(DAYS)),
            "product": dp.unknown_keys(),
        },
        max_rows=floors.ROWS,
        max_groups=floors.GROUPS,
        max_rows_per_group=1,
    )
    engine = dp.engines.duckdb(memory_limit=memory, threads=threads)
    return dp.Session(trips=table, budget=dp.Approx(EPSILON, DELTA), engine=engine)


def ours(question: str, path: Path, repeats: int, memory: str | None = None) -> Run:
    import_module("discreet").Session  # noqa: B018 - loads what is loaded at first use

    def work() -> Rows:
        answer = session(path, memory).sql(QUESTIONS[question]).release(epsilon=EPSILON).to_arrow()
        names = {"Q2": ["region", "n", "s", "m"], "Q3": ["product", "n"]}.get(question, [])
        return list(zip(*(answer.column(name).to_pylist() for name in names), strict=True))

    return timed(work, repeats)


def floor(question: str, path: Path, repeats: int, memory: str | None = None) -> Run:
    return timed(lambda: [[floors.run(floors.FLOORS[question], path, memory=memory).num_rows]], repeats)


def raw(question: str, path: Path, repeats: int) -> Run:
    return timed(lambda: [[floors.run(floors.RAW[question], path).num_rows]], repeats)


# --- OpenDP -----------------------------------------------------------------------------------------------------------


def opendp(
    question: str, path: Path, repeats: int, *, gaussian: bool = False, groups: int = floors.GROUPS, each: int = 1
) -> Run:
    """OpenDP's Polars interface.

    ``keep="first"``, since the default ``"sample"`` fails with "multiple fields with name"; margins for the length at
    twice the table's; keys by ``with_keys``. With an (ε, δ) loss it adds Laplace noise. ``gaussian`` is what an expert
    would do: the ρ that comes to the same total.
    """
    op: Any = import_module("opendp.prelude")
    pl: Any = import_module("polars")
    op.enable_features("contrib")
    key = {"Q1": None, "Q2": "region", "Q3": "product", "Q4": "day", "Q5": "region"}[question]
    longest = 2 * pl.scan_parquet(path).select(pl.len()).collect().item()
    length = op.polars.Margin(by=[], max_length=longest)
    by_key = [op.polars.Margin(by=[key], max_length=longest, max_groups=5000)] if key else []
    amount = pl.col("amount").fill_nan(0.0).fill_null(0.0)
    steps = [quarter / 4 for quarter in range(401)]
    aggregates = {
        "Q2": [op.len().alias("n"), amount.dp.sum((0.0, 100.0)).alias("s")],
        "Q5": [amount.dp.quantile(rank, steps).alias(str(rank)) for rank in (0.25, 0.5, 0.75)],
    }.get(question, [op.len().alias("n")])
    keys = {"Q4": pl.Series(range(DAYS), dtype=pl.Int32)}.get(question, REGIONS)

    def work() -> Rows:
        context = op.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=op.unit_of(contributions=1, identifier="user_id"),
            privacy_loss=_zcdp_loss(op, question) if gaussian else op.loss_of(epsilon=1.0, delta=1e-8),
            split_evenly_over=1,
            margins=[length, *by_key],
        )
        if key is None:
            query = context.query().truncate_per_group(floors.ROWS).select(*aggregates)
        else:
            cut = context.query().truncate_per_group(each, by=[key])
            cut = cut.truncate_num_groups(groups, by=[key], keep="first")
            query = cut.group_by(key).agg(*aggregates)
        if key and question != "Q3":
            query = query.with_keys(pl.LazyFrame({key: keys}))
        found = query.release().collect()
        if question == "Q2":
            return [(region, n, s, s / n if n else 0.0) for region, n, s in found.select(key, "n", "s").iter_rows()]
        return list(found.iter_rows())

    return timed(work, repeats)


def _zcdp_loss(op: Any, question: str) -> Any:
    """The ρ that comes to (1, 1e-8); where keys are unknown, half of δ is for them."""
    conversions: Any = import_module("discreet.privacy.accountants.conversions")
    measures: Any = import_module("discreet.privacy.promises.measures")
    delta = "5e-9" if question == "Q3" else "1e-8"
    rho = float(conversions.largest_zcdp(measures.Approx(EPSILON, delta)).rho)
    return op.loss_of(rho=rho, delta=5e-9 if question == "Q3" else None)


# --- PipelineDP -------------------------------------------------------------------------------------------------------


def pipeline_dp(
    question: str, path: Path, repeats: int, *, gaussian: bool = False, groups: int = floors.GROUPS, each: int = 1
) -> Run:
    """PipelineDP on its local backend; rows are Python tuples, made before the clock starts."""
    pipe: Any = import_module("pipeline_dp")
    table: Any = import_module("pyarrow.parquet").read_table(
        path, columns=["user_id", "region", "product", "day", "amount"]
    )
    tuples = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    column = {"Q2": 1, "Q3": 2, "Q4": 3, "Q5": 1}.get(question)
    metrics = {
        "Q2": [pipe.Metrics.COUNT, pipe.Metrics.SUM, pipe.Metrics.MEAN],
        "Q4": [pipe.Metrics.PRIVACY_ID_COUNT],
        "Q5": [pipe.Metrics.PERCENTILE(rank) for rank in (25, 50, 75)],
    }.get(question, [pipe.Metrics.COUNT])
    public = {"Q1": [0], "Q3": None, "Q4": list(range(DAYS))}.get(question, REGIONS)

    def work() -> Rows:
        budget = pipe.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-8)
        engine = pipe.DPEngine(budget, pipe.LocalBackend())
        params = pipe.AggregateParams(
            metrics=metrics,
            noise_kind=pipe.NoiseKind.GAUSSIAN if gaussian else pipe.NoiseKind.LAPLACE,
            max_partitions_contributed=1 if question == "Q1" else groups,
            max_contributions_per_partition=floors.ROWS if question == "Q1" else each,
            **({"min_value": 0, "max_value": 100} if question in {"Q2", "Q5"} else {}),
        )
        extract = pipe.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: 0 if column is None else row[column],
            value_extractor=lambda row: row[4],
        )
        found = engine.aggregate(tuples, params, extract, public_partitions=public)
        budget.compute_budgets()
        if question == "Q2":
            return [(key, value.count, value.sum, value.mean) for key, value in found]
        return [(key, *value) for key, value in found]

    return timed(work, repeats)


# --- Tumult -----------------------------------------------------------------------------------------------------------


def tumult(question: str, path: Path, repeats: int, groups: int | str = floors.GROUPS, each: int | str = 1) -> Run:
    """Tumult Analytics on a Spark of its own: Q2, a third of the total for each of the three numbers."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers need Tumult too
    tm: Any = import_module("tmlt.analytics")
    spark: Any = import_module("pyspark.sql").SparkSession.builder.master("local[2]")
    spark = spark.config("spark.sql.shuffle.partitions", 4).config("spark.sql.warehouse.dir", mkdtemp())
    rows = spark.getOrCreate().read.parquet(str(path)).select("user_id", "region", "amount")
    if question != "Q2":
        raise SystemExit(f"{question} is not asked of Tumult here")

    def work() -> Rows:
        session = tm.Session.from_dataframe(
            privacy_budget=tm.ApproxDPBudget(EPSILON, float(DELTA)),
            source_id="trips",
            dataframe=rows,
            protected_change=tm.AddRowsWithID("user_id"),
        )
        cut = tm.QueryBuilder("trips").enforce(tm.MaxGroupsPerID("region", int(groups)))
        cut = cut.enforce(tm.MaxRowsPerGroupPerID("region", int(each)))
        asked = cut.groupby(tm.KeySet.from_dict({"region": REGIONS}))
        found: dict[str, list[float]] = {}
        for query in (
            asked.count(name="v"),
            asked.sum("amount", 0, 100, name="v"),
            asked.average("amount", 0, 100, "v"),
        ):
            answer = session.evaluate(query, tm.ApproxDPBudget(EPSILON / 3, float(DELTA) / 3))
            for row in answer.collect():
                found.setdefault(row["region"], []).append(float(row["v"]))
        return [(region, *values) for region, values in found.items()]

    return timed(work, repeats)


TOOLS: dict[str, Callable[..., Run]] = {
    "tumult": tumult,
    "ours": ours,
    "floor": floor,
    "raw": raw,
    "opendp": opendp,
    "opendp-gaussian": lambda *given: opendp(*given, gaussian=True),
    "pipelinedp": pipeline_dp,
    "pipelinedp-gaussian": lambda *given: pipeline_dp(*given, gaussian=True),
}


def main() -> None:
    warnings.simplefilter("ignore")
    who, question, rows, repeats, *memory = sys.argv[1:]
    found = TOOLS[who](question, trips(int(float(rows))), int(repeats), *memory)
    print(json.dumps(asdict(found), default=float))


if __name__ == "__main__":
    main()
