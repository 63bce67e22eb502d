"""Many questions of one table: synthetic rows on Adult, all marginals at once, the stream, MWEM's growth, prices.

Each run is a process of its own on one thread: CPU seconds and peak memory are its own. The table lies in the folder
that BENCH_DATA names (../shared/data beside the clone unless said); without it these rows are left out. The peer is
mbi's estimator in the same adaptive loop with AIM's own settings, where mbi is installed (here, or in the Python that
BENCH_MBI names).
"""

from __future__ import annotations

import itertools
import json
import math
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb as driver
import numpy as np

import discreet as dp
from bench.measure import Row, show
from bench.trips import PRODUCTS, REGIONS, trips
from discreet.checking import check
from discreet.engines.duckdb.engine import duckdb
from discreet.mechanisms.selection.exponential import Exponential
from discreet.privacy.accountants.conversions import largest_zcdp
from discreet.privacy.promises.measures import Approx
from discreet.session.session import Session
from discreet.synthetic import Domain, Rows, mwem, pmw, synthesize, whole, whole_domain
from discreet.synthetic.model.fit import Measured
from discreet.synthetic.model.junction import tree_cells
from discreet.synthetic.model.mbi_fit import mbi_fit
from discreet.synthetic.model.sampled import fit_sampled
from discreet.synthetic.spending import Spending, choice_for
from discreet.synthetic.tables.engine_source import EngineSource
from discreet.synthetic.tables.schema_domain import domain_of

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("BENCH_DATA", ROOT.parent / "shared" / "data"))
RUNS = 5
TRIPS = 10_000_000
DELTA = "1e-9"


def adult() -> tuple[Rows, np.ndarray[Any, Any], list[tuple[int, ...]]]:
    """The table, and the workload: 64 three-way marginals of at most 1e5 cells."""
    sizes = json.loads((DATA / "adult-domain.json").read_text())
    codes = np.loadtxt(DATA / "adult.csv", delimiter=",", skiprows=1, dtype=np.int16)
    domain = Domain({name: whole(0, size - 1, nullable=False) for name, size in sizes.items()})
    possible = [c for c in itertools.combinations(range(len(domain)), 3) if domain.size(c) <= 1e5]
    chosen = np.random.default_rng(20261115).choice(len(possible), 64, replace=False)
    return Rows(domain, codes), codes, [possible[i] for i in chosen]


def error(source: Rows, rows: np.ndarray[Any, Any], cliques: list[tuple[int, ...]]) -> float:
    """The mean L1 distance of normalised marginals."""
    made = Rows(source.domain, rows)
    each = zip(source.marginals(cliques), made.marginals(cliques), strict=True)
    return float(np.mean([np.abs(a / a.sum() - b / b.sum()).sum() for a, b in each]))


def one(kind: str, epsilon: int) -> dict[str, float]:
    """One run, on Adult or on the trips."""
    if kind.startswith("trips"):
        return trips_ours() if kind == "trips" else trips_floor()
    source, codes, cliques = adult()
    names = [[source.domain.columns[c] for c in clique] for clique in cliques]
    options: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "workload": names, "rows": len(codes)}
    started = time.process_time()
    if kind == "at once":
        rows = at_once(source, cliques[:32], epsilon, len(codes))
        cliques = cliques[:32]
    elif kind == "mbi":
        module = sys.modules["discreet.synthetic.synthesize"]
        module.QUICK = replace(module.QUICK, rounds=16)  # type: ignore[attr-defined]  # AIM's own
        rows = synthesize(source, quick=True, estimator=mbi_fit, **options).codes
    else:
        rows = synthesize(source, quick=kind == "quick", **options).codes
    cpu = time.process_time() - started
    peak = peak_megabytes()
    return {"error": error(source, rows, cliques), "cpu": cpu, "peak": peak}


def peak_megabytes() -> float:
    """The most memory that this process has held; ru_maxrss would begin with that of whoever started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def at_once(source: Rows, cliques: list[tuple[int, ...]], epsilon: int, count: int) -> np.ndarray[Any, Any]:
    """All marginals measured together; a fifth of the budget for one-way marginals."""
    rho = largest_zcdp(Approx(epsilon, DELTA)).rho
    spending = Spending.of(rho)
    ones: list[tuple[int, ...]] = [(c,) for c in range(len(source.domain))]
    found: list[Measured] = []
    for group, share in ((ones, Fraction(1, 5)), (cliques, Fraction(4, 5))):
        each = rho * share / len(group)
        exact = source.marginals(group)
        found += [spending.measure(c, h, source.moves(c), each, str(c)) for c, h in zip(group, exact, strict=True)]
    model, _ = fit_sampled(source.domain.sizes, found)
    return model.draw(count, np.random.default_rng())


def apart(kind: str, epsilon: int, python: str = sys.executable) -> dict[str, float]:
    """One run in its own process."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(
        [python, "-m", "bench.synthetic", kind, str(epsilon)],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def on_adult() -> list[Row]:
    """Error, time and memory at both budgets."""
    rows = []
    for kind, epsilon, runs, asked, best, seconds, megabytes in (
        ("full", 1, RUNS, 0.147, "AIM 0.147", 60, 512),
        ("quick", 1, RUNS, 0.170, "MST 0.187", 15, 150),
        ("full", 10, 2, 0.112, "Gaussian + simplex 0.112, no rows", None, None),
        ("at once", 1, 2, None, "junction tree 960 GB", None, 1024),
    ):
        found = [apart(kind, epsilon) for _ in range(runs)]
        name = f"Adult, ε = {epsilon}, {kind}"
        mean, cpu, peak = (float(np.mean([f[key] for f in found])) for key in ("error", "cpu", "peak"))
        said = f"{mean:.4f} ({min(f['error'] for f in found):.4f} to {max(f['error'] for f in found):.4f})"
        if asked is not None:
            rows.append(Row(f"{name}: error of rows", said, best, f"{asked}", asked / mean, 1.0))
        if seconds is not None:
            rows.append(Row(f"{name}: CPU", f"{cpu:.1f} s", "asked", f"{seconds} s", seconds / cpu, 1.0))
        if megabytes is not None:
            shown = f"{peak:.0f} MB, error {mean:.4f}, {cpu:.0f} s"
            rows.append(Row(f"{name}: memory", shown, "asked", f"{megabytes} MB", megabytes / peak, 1.0))
    python = os.environ.get("BENCH_MBI") or (sys.executable if find_spec("mbi") else None)
    return rows + beside_aim(python) if python else rows


def beside_aim(python: str) -> list[Row]:
    """AIM's loop and settings with mbi's estimator, as often as ours; a run takes six minutes."""
    theirs, ours = (
        [apart(kind, 1, at) for _ in range(RUNS)] for kind, at in (("mbi", python), ("full", sys.executable))
    )
    error_a, error_b = (float(np.mean([f["error"] for f in some])) for some in (ours, theirs))
    cpu_a, cpu_b = (float(np.mean([f["cpu"] for f in some])) for some in (ours, theirs))
    name = f"AIM by mbi, {RUNS} runs"
    return [
        Row("Adult, ε = 1: error beside AIM", f"{error_a:.4f}", name, f"{error_b:.4f}", error_b / error_a, 1),
        Row("Adult, ε = 1: CPU beside AIM", f"{cpu_a:.1f} s", name, f"{cpu_b:.0f} s", cpu_b / cpu_a, 6),
    ]


SETS_2_3 = [c for k in (2, 3) for c in itertools.combinations(range(5), k)]


def trips_domain() -> tuple[Session, Domain]:
    """The trips with public keys and bounds for all five columns."""
    columns = {"region": dp.keys(REGIONS), "product": dp.keys(PRODUCTS), "day": dp.bounds(0, 364),
               "amount": dp.bounds(0, 100), "rating": dp.bounds(1, 5)}  # fmt: skip
    given = dp.table(trips(TRIPS), unit="user_id", columns=columns, max_rows=10)
    session = Session(trips=given, budget=dp.ZCDP(10), engine=duckdb(threads=1))
    return session, domain_of("trips", session.schemas["trips"])


def trips_ours() -> dict[str, float]:
    """All 2- and 3-way marginals of at most 2^22 cells, bounded, exact, over the engine."""
    session, domain = trips_domain()
    cliques = [c for c in SETS_2_3 if domain.size(c) <= 1 << 22]
    started = time.process_time()
    found = EngineSource(session._backend.engine, session.schemas, "trips", domain).marginals(cliques)
    assert len({int(table.sum()) for table in found}) == 1
    return {"cpu": time.process_time() - started, "peak": peak_megabytes()}


def trips_floor() -> dict[str, float]:
    """The same group-bys in plain SQL, one statement each, without caps and without privacy."""
    _, domain = trips_domain()
    connection = driver.connect(config={"threads": 1})
    region, product = (f"TRY_CAST({name} AS ENUM({', '.join(map(repr, listed))}))"
                       for name, listed in (("region", REGIONS), ("product", PRODUCTS)))  # fmt: skip
    cut = "CASE WHEN amount >= 100 THEN 31 WHEN amount > 0 THEN floor(amount * 0.32) ELSE 0 END"
    base = (
        f"SELECT {region} AS k0, {product} AS k1, CAST(day * 32 // 365 AS TINYINT) AS k2, "
        f"CAST({cut} AS TINYINT) AS k3, CAST(rating AS TINYINT) AS k4 FROM read_parquet('{trips(TRIPS)}')"
    )
    started = time.process_time()
    for clique in (c for c in SETS_2_3 if domain.size(c) <= 1 << 22):
        names = ", ".join(f"k{i}" for i in clique)
        connection.sql(f"SELECT {names}, count(*) FROM ({base}) GROUP BY {names}").to_arrow_table()
    return {"cpu": time.process_time() - started, "peak": peak_megabytes()}


def on_trips() -> list[Row]:
    """1e7 rows: what bounding, exactness and many sets in one pass cost beside plain group-bys."""
    ours, floor = ([apart(kind, 0) for _ in range(3)] for kind in ("trips", "trips floor"))
    cpu, least = (float(np.median([f["cpu"] for f in some])) for some in (ours, floor))
    peak = max(f["peak"] for f in ours)
    return [
        Row(
            "1e7 trips, all 2- and 3-way: CPU", f"{cpu:.1f} s", "plain group-bys", f"{least:.1f} s", least / cpu, 1 / 3
        ),
        Row("1e7 trips, all 2- and 3-way: memory", f"{peak:.0f} MB", "asked", "1024 MB", 1024 / peak, 1),
    ]


def stream() -> list[Row]:
    """Online multiplicative weights on 2^24 cells: an easy and a hard question."""
    draw = np.random.default_rng(1)
    domain = Domain({f"c{i}": whole(0, 1, nullable=False) for i in range(24)})
    lean = draw.random((100_000, 1))
    opened = pmw(Rows(domain, (draw.random((100_000, 24)) < lean).astype(np.int64)), epsilon=1, delta=DELTA, hard=50)
    easy: list[float] = []
    hard: list[float] = []
    for _ in range(150):
        columns = draw.choice(24, 3, replace=False)
        started = time.process_time()
        said = opened.ask(" AND ".join(f"c{c} = {draw.integers(2)}" for c in columns)).story[0]
        (hard if "measurement" in said else easy).append(time.process_time() - started)
    return [
        Row(f"PMW, 2^24 cells, {name}", f"{1e3 * middle:.1f} ms", "asked", f"{asked} ms", asked / 1e3 / middle, 1)
        for name, middle, asked in (("easy", float(np.median(easy)), 25), ("hard", float(np.median(hard)), 250))
    ]


def growth() -> list[Row]:
    """The worst error of k arbitrary questions: from 64 to 4,096 independent noise grows 10.6-fold."""
    draw = np.random.default_rng(2)
    domain = Domain({f"c{i}": whole(0, 1, nullable=False) for i in range(7)})
    source = Rows(domain, (draw.random((2000, 7)) < np.linspace(0.1, 0.6, 7)).astype(np.int64))
    truth = source.marginals([tuple(range(7))])[0].ravel()

    def worst(k: int) -> float:
        tables = draw.random((k, 128)) < 0.5
        found = mwem(source, [whole_domain(domain, t) for t in tables], rho="1/50", rounds=12)
        return float(np.abs(found.answers - tables @ truth).max())

    few, many = (float(np.mean([worst(k) for _ in range(3)])) for k in (64, 4096))
    alone = math.sqrt(64) * math.sqrt(math.log(4096) / math.log(64))
    return [Row("MWEM: error from 64 to 4,096 questions", f"x {many / few:.2f}", "independent", f"x {alone:.1f}",
                alone / (many / few), 4.0)]  # fmt: skip


def balance() -> list[Row]:
    """Rounds chosen by themselves: worst errors as shares of n beside independent noise and the formula, (1, 1e-6).

    The theorem's error falls like 1/√n and grows like √log k (docs/lectures/arbitrary-questions.md): a bound, which is
    kept while there is more to learn than rounds. Where all kinds or all questions were measured, noise alone is left.
    """
    draw = np.random.default_rng(3)
    rho = largest_zcdp(Approx(1, "1e-6")).rho

    def worst(columns: int, people: int, k: int, runs: int) -> float:
        domain, errors = Domain({f"c{i}": whole(0, 1, nullable=False) for i in range(columns)}), []
        for _ in range(runs):
            table = (draw.random((people, columns)) < np.linspace(0.1, 0.6, columns)).astype(np.int64)
            source = Rows(domain, table)
            truth = source.marginals([tuple(range(columns))])[0].ravel()
            subsets = draw.random((k, domain.cells)) < 0.5
            answers = mwem(source, [whole_domain(domain, subset) for subset in subsets], rho=rho).answers
            errors.append(float(np.abs(answers - subsets @ truth).max()) / people)
        return float(np.mean(errors))

    rows, errors = [], {}
    for columns, people in ((7, 2_000), (7, 16_000), (7, 128_000), (10, 2_000), (10, 8_000), (10, 32_000)):
        error = errors[columns, people] = worst(columns, people, 1024, 3)
        alone = math.sqrt(1024 / (2 * float(rho)) * 2 * math.log(1024)) / people
        bound = math.sqrt(math.sqrt(columns * math.log(2) * math.log(1e6)) * math.log(1024) / people)
        task = f"MWEM: 1,024 questions, {2**columns:,} kinds, {people:,} rows"
        rows.append(Row(task, f"{error:.4f}", "independent", f"{alone:.4f}", alone / error, 1.0))
        rows.append(Row(task, f"{error:.4f}", "formula", f"{bound:.4f}", bound / error, 1.0))
    for columns, few, many in ((10, 2_000, 8_000), (10, 8_000, 32_000), (7, 16_000, 128_000)):
        slope = math.log(errors[columns, few] / errors[columns, many]) / math.log(many / few)
        task = f"MWEM: error falls like n^-x from {few:,} to {many:,} rows, {2**columns:,} kinds, x ="
        rows.append(Row(task, f"{slope:.2f}", "theorem", "0.50", slope / 0.5, 0.9))
    for few, many in ((256, 4096), (64, 4096)):
        grows = worst(7, 2_000, many, 9) / worst(7, 2_000, few, 9)
        theory = math.sqrt(math.log(many) / math.log(few))
        task = f"MWEM: 2,000 rows, error from {few} to {many:,} questions"
        alone = math.sqrt(many / few) * theory
        rows.append(Row(task, f"x {grows:.2f}", "theorem", f"x {theory:.2f}", theory / grows, 0.8))
        rows.append(Row(task, f"x {grows:.2f}", "independent", f"x {alone:.1f}", alone / grows, 2.0))
    return rows


def prices() -> list[Row]:
    """A choice by scores that move both ways: ours passes the check, the price of a monotone one is refuted."""
    ours = choice_for(Fraction(1, 8), 1)
    twin = Exponential(sensitivity=ours.sensitivity, rate=2 * ours.rate)
    pairs = [([0, 0], [1, -1]), ([3, 2], [2, 3])]
    right, wrong = check(ours, pairs=pairs).ok, check(twin, pairs=pairs, claim=ours.event).ok
    return [
        Row("selection priced right", f"passes: {right}", "rate doubled", f"passes: {wrong}", float(right > wrong), 1)
    ]


SKEWED: dict[str, tuple[Any, int]] = {
    "uniform": (lambda draw, n: draw.uniform(0, 1000, n), 1000),
    "lognormal": (lambda draw, n: np.minimum(draw.lognormal(3.2, 1, n), 10_000), 10_000),
    "Pareto 1.5": (lambda draw, n: np.minimum((draw.pareto(1.5, n) + 1) * 10, 100_000), 100_000),
    "four fifths zeros": (
        lambda draw, n: np.where(draw.random(n) < 0.8, 0, np.minimum(draw.lognormal(4, 1, n), 5000)), 5000
    ),
    "whole, geometric": (lambda draw, n: np.minimum(draw.geometric(1 / 200, n), 5000), 5000),
}  # fmt: skip


def skewed(count: int = 20_000) -> list[Row]:
    """The mean of one column of which only bounds are declared, at (1, 1e-9): the median error of the runs."""
    rows = []
    for kind, (make, high) in SKEWED.items():
        values = make(np.random.default_rng(5), count)
        table = {"x": values, "y": values > np.median(values)}
        domain = {"x": dp.bounds(0, high), "y": [False, True]}
        made = (synthesize(table, domain=domain, epsilon=1, delta=DELTA).to_pandas()["x"] for _ in range(RUNS))
        error = float(np.median([abs(np.nanmean(one) / values.mean() - 1) for one in made]))
        task = f"mean of {kind}, {count:,} rows"
        rows.append(Row(task, f"{error:.1%}", "asked", "10 %", 0.1 / max(error, 1e-9), 1.0))
    return rows


def main() -> None:
    """All figures."""
    rows = [*prices(), *skewed(), *growth(), *balance(), *stream(), *on_trips()]
    if (DATA / "adult.csv").exists():
        source, _, cliques = adult()
        print(f"a junction tree of 32 marginals: {8 * tree_cells(source.domain.sizes, cliques[:32]) / 1e9:,.0f} GB")
        rows += on_adult()
    else:
        print("Adult is not there: set BENCH_DATA to its folder")
    show("Many questions", rows)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(one(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
