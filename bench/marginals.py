"""Many marginals for one budget: the plan by interactions beside today's others, the closed form, and its coverage.

    python -m bench.marginals [--columns 100]

Errors are root mean squares over all cells at rho = 1/2, predicted and measured on one draw. The closed form is that of
continuous noise, (Σ √(Π(1 - 1/n) V))² / (2 rho); ``ratio`` is ours over it. ``covered``: the share of all cells within
their 95% bars, in 20 draws (one for the widest). ``independent``: the same noise on every marginal, no agreement.
``mbi``: its estimator on these same independent noisy marginals, where it is installed (here, or in the Python that
BENCH_MBI names) and the domain has at most 2^20 cells, over which it holds a table; its numbers are not unbiased, none
below 0, and have no bars. The rows are of a few kinds of people, with noise, so that columns hang together.

Then the same in SQL: ``session.plan`` of one COUNT query for each set of columns, beside the same plan with noise on
each table, as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations
from math import prod, sqrt
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import polars as pl

import discreet as dp
from discreet.session.price import Price
from discreet.synthetic.columns import whole
from discreet.synthetic.direct import answer, plans
from discreet.synthetic.domain import Domain
from discreet.synthetic.model.mbi_fit import mbi_fit
from discreet.synthetic.source import Rows
from discreet.synthetic.spending import Spending

ROOT = Path(__file__).resolve().parent.parent
MOST_BY_MBI = 1 << 20
RHO = Fraction(1, 2)
ADULT = (85, 9, 16, 7, 15, 6, 5, 2, 42, 2)
"""How many values ten columns of Adult have."""


def closed_form(sizes: Sequence[int], sets: Sequence[tuple[int, ...]]) -> float:
    """The least root mean square of any Gaussian mechanism for these marginals, computed by itself."""
    weights: dict[tuple[int, ...], float] = {}
    for cells in sets:
        for many in range(len(cells) + 1):
            for part in combinations(cells, many):
                kept = prod(1 - 1 / sizes[c] for c in part)
                spread = prod(sizes[c] for c in cells if c not in part)
                weights[part] = weights.get(part, 0.0) + kept * prod(sizes[c] for c in part) / spread
    total = sum(sqrt(prod(1 - 1 / sizes[c] for c in part) * v) for part, v in weights.items()) ** 2 / (2 * float(RHO))
    return sqrt(total / sum(prod(sizes[c] for c in cells) for cells in sets))


def people(sizes: Sequence[int], rows: int) -> np.ndarray[Any, Any]:
    """Rows of eight kinds, each with a likely value in every column."""
    draw = np.random.default_rng(1)
    likely = draw.integers(0, list(sizes), size=(8, len(sizes)))
    kinds = draw.choice(8, rows, p=np.arange(1, 9) / 36)
    other = draw.integers(0, list(sizes), size=(rows, len(sizes)))
    return np.where(draw.random((rows, len(sizes))) < 0.6, likely[kinds], other)


def by_mbi(sizes: Sequence[int], sets: Sequence[tuple[int, ...]], rows: int = 50_000) -> float:
    """The root mean square error of mbi's estimator on independent noisy marginals of the same budget."""
    domain = Domain({f"c{i}": whole(0, n - 1, nullable=False) for i, n in enumerate(sizes)})
    source, spending = Rows(domain, people(sizes, rows)), Spending.of(RHO)
    exact = source.marginals(sets)
    noisy = [
        spending.measure(c, counts, source.moves(c), RHO / len(sets), "") for c, counts in zip(sets, exact, strict=True)
    ]
    made = mbi_fit(sizes, noisy)
    off = [made.total * made.model.marginal(c) - counts for c, counts in zip(sets, exact, strict=True)]
    return sqrt(float((np.concatenate([table.ravel() for table in off]) ** 2).mean()))


def beside_mbi(sizes: Sequence[int], sets: Sequence[tuple[int, ...]]) -> float:
    """The same in a process of its own; NaN where mbi is not installed."""
    python = os.environ.get("BENCH_MBI") or (sys.executable if find_spec("mbi") else None)
    if python is None:
        return float("nan")
    done = subprocess.run(
        [python, "-m", "bench.marginals", "--mbi", json.dumps([list(sizes), [list(c) for c in sets]])],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.splitlines()[-1])


def in_sql(name: str, sizes: Sequence[int], ways: int, rows: int = 50_000) -> None:
    """One line of SQL: a plan of COUNT queries, by what it predicts, and as it is off."""
    codes = people(sizes, rows)
    frame = pl.DataFrame({"id": range(rows), **{f"c{i}": codes[:, i] for i in range(len(sizes))}})
    columns = {f"c{i}": dp.keys(range(n)) for i, n in enumerate(sizes)}
    sets = [c for many in range(1, ways + 1) for c in combinations(range(len(sizes)), many)]
    texts = [", ".join(f"c{i}" for i in c) for c in sets]
    session = dp.Session(t=dp.table(frame, unit="id", max_rows=1, columns=columns), budget=dp.ZCDP(100))
    queries = [session.sql(f"SELECT {keys}, COUNT(*) AS n FROM t GROUP BY {keys}") for keys in texts]
    plan = session.plan(queries, rho=RHO)
    apart = session._backend.quote([query.prepared for query in queries], Price(rho=RHO))
    answers = plan.release()
    exact = [frame.group_by([f"c{i}" for i in c]).len() for c in sets]
    off, inside = list[float](), list[bool]()
    for released, counted, c in zip(answers, exact, sets, strict=True):
        keys = [f"c{i}" for i in c]
        beside = released.to_polars().join(counted, on=keys, how="left").fill_null(0)
        off += (beside["n"] - beside["len"].cast(pl.Int64)).to_list()
        inside += ((beside["n"] - beside["len"].cast(pl.Int64)).abs() <= beside["n_error"]).to_list()
    drawn = {place: next(iter(noised.values())) for place, noised in enumerate(plan.program.answer.quote.plan.sets)}
    before = sqrt(float(np.mean([float(next(iter(noised.values())).variance) for noised in apart.plan.sets])))
    ours = sqrt(float(np.mean([float(noised.variance) for noised in drawn.values()])))
    print(
        f"SQL, {name:23} {len(queries):4} queries: {type(plan.program.answer).__name__}, deviation of a number "
        f"{ours:7.3f}, noise on each table {before:7.3f} ({before / ours:.2f} x), measured "
        f"{sqrt(float(np.mean(np.square(off)))):7.3f}, covered {100 * np.mean(inside):.2f} %"
    )


def run(name: str, sizes: Sequence[int], ways: int, rows: int = 50_000, *, others: bool = True) -> None:
    """One line of the table."""
    domain = Domain({f"c{i}": whole(0, n - 1, nullable=False) for i, n in enumerate(sizes)})
    sets = [c for many in range(1, ways + 1) for c in combinations(range(len(sizes)), many)]
    asked = [tuple(f"c{i}" for i in c) for c in sets]
    source = Rows(domain, people(sizes, rows))
    best = closed_form(sizes, sets)
    known = {p.name: p.expected_error(rho=RHO) for p in plans(domain, asked)} if others else {}
    wall, processor = perf_counter(), process_time()
    made = answer(source, asked, rho=RHO, plan="residuals")
    wall, processor = perf_counter() - wall, process_time() - processor
    exact = np.concatenate([t.ravel() for t in source.marginals(sets)])
    off = np.concatenate(made.values) - exact
    draws = [made, *(answer(source, asked, rho=RHO, plan="residuals") for _ in range(19 if others else 0))]
    inside = [np.abs(np.concatenate(m.values) - exact) <= np.concatenate(m.error_of_each()) for m in draws]
    covered = float(np.mean(inside))
    predicted = sqrt(float((np.concatenate(made.deviations) ** 2).mean()))
    independent = sqrt(len(sets) / (2 * float(RHO)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    theirs = beside_mbi(sizes, sets) if domain.cells <= MOST_BY_MBI else float("nan")
    print(
        f"{name:28} closed form {best:8.4f}  ours {predicted:8.4f}  ratio {predicted / best:.6f}  measured "
        f"{sqrt(float((off**2).mean())):8.4f}  covered {100 * covered:.2f} %  earlier plan "
        f"{known.get('marginals', float('nan')):8.3f}  independent {independent:8.3f}  mbi {theirs:8.3f}  "
        f"{wall:6.1f} s wall {processor:6.1f} s processor  {peak:,.0f} MB"
    )


def main() -> None:
    """All workloads."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--columns", type=int, default=100)
    read.add_argument("--mbi", help="sizes and sets as JSON: the error of mbi alone")
    given = read.parse_args()
    if given.mbi:
        sizes, sets = json.loads(given.mbi)
        print(by_mbi(sizes, [tuple(c) for c in sets]))
        return
    run("8 x 3 values, <= 2-way", [3] * 8, 2)
    run("12 x 3 values, <= 3-way", [3] * 12, 3)
    run("12 x 3 values, <= 2-way", [3] * 12, 2)
    run("10 x 6 values, <= 3-way", [6] * 10, 3)
    run("ten columns of Adult, <= 2", ADULT, 2)
    in_sql("12 x 3 values, <= 3-way", [3] * 12, 3)
    in_sql("12 x 3 values, <= 2-way", [3] * 12, 2)
    in_sql("10 x 6 values, <= 2-way", [6] * 10, 2)
    in_sql("ten columns of Adult, <= 2", ADULT, 2)
    run(f"{given.columns} x 10 values, <= 2-way", [10] * given.columns, 2, others=False)


if __name__ == "__main__":
    main()
