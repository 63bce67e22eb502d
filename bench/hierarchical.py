"""Tables over five levels that add up: error by table before and after they are made whole, mismatches, time, memory.

    python -m bench.hierarchical [--leaves 1000000] [--people 3000000] [--rows]

A made-up country: 1, 50, 2,500, 50,000 and ``leaves`` places of uneven sizes, people with a sex, an age of 20 classes
and one of 6 groups. ``before``: root mean square error of the least-squares solution, ``predicted`` without data;
``after``: of the whole numbers. ``independent``: every table measured by itself at an equal share of rho, computed.
``covered``: shares of cells within their 95% bars. rho = 1/2.
"""

from __future__ import annotations

import argparse
import resource
from itertools import pairwise
from time import perf_counter, process_time
from typing import Any

import numpy as np

from discreet.query.plan.key_sets import Hierarchy
from discreet.synthetic.columns import whole
from discreet.synthetic.domain import Domain
from discreet.synthetic.hierarchical.measure import Exact
from discreet.synthetic.hierarchical.plan import plan, publication
from discreet.synthetic.hierarchical.released import publish
from discreet.synthetic.source import Rows

LEVELS = ("nation", "state", "county", "tract", "block")
TABLES = [
    ("nation", "age", "sex", "race"), ("state", "age", "sex"), ("state", "race"), ("county", "age", "sex"),
    ("county", "race"), ("tract", "sex"), ("tract", "race"), ("block", "sex"),
]  # fmt: skip
CLASSES = {"sex": 2, "age": 20, "race": 6}


def country(leaves: int, draw: np.random.Generator) -> Hierarchy:
    """A tree whose places have unevenly many parts."""
    sizes = [1, 50, 2_500, 50_000, leaves]
    parents = []
    for above, below in pairwise(sizes):
        weight = draw.gamma(1, 1, above) + 0.1
        more = draw.choice(above, below - above, p=weight / weight.sum())
        parents.append(np.sort(np.concatenate([np.arange(above), more])).astype(np.int64))
    places = [np.arange(leaves)]
    for parent in reversed(parents):
        places.insert(0, parent[places[0]])
    rows = tuple(zip(*(place.tolist() for place in places), strict=True))
    return Hierarchy(LEVELS, rows, "geo", tuple(parents))


def run(leaves: int, people: int, *, rows: bool) -> None:
    """One publication, table by table."""
    draw = np.random.default_rng(1)
    geo = country(leaves, draw)
    weight = draw.gamma(0.7, 1, leaves)
    codes = {"block": draw.choice(leaves, people, p=weight / weight.sum())}
    shares: dict[str, Any] = {
        "sex": [0.5, 0.5],
        "age": np.linspace(2, 1, 20) / 30,
        "race": [0.6, 0.15, 0.12, 0.08, 0.04, 0.01],
    }
    codes |= {name: draw.choice(n, people, p=shares[name]) for name, n in CLASSES.items()}
    domain = Domain({name: whole(0, n - 1, nullable=False) for name, n in CLASSES.items()})
    wall, processor = perf_counter(), process_time()
    planned = plan(publication(TABLES, rows=rows), domain, geo)
    predicted = planned.errors(rho="0.5")
    source = Rows(planned.domain, np.stack([codes[name] for name in planned.domain.columns], axis=1))
    made = publish(source, planned, rho="0.5")
    wall, processor = perf_counter() - wall, process_time() - processor
    exact = Exact.of(planned, source.cells(tuple(range(len(planned.domain)))))
    print(
        f"{'table':28}{'cells':>10}{'independent':>13}{'predicted':>11}{'before':>8}{'after':>8}{'ratio':>7}{'covered':>15}"
    )
    for i, table in enumerate(planned.tables):
        truth, estimate, count = exact.table(table.level, table.columns), made.estimate(i), made.count(i)
        before, after = (float(np.sqrt(((x - truth) ** 2).mean())) for x in (estimate, count))
        bar = 1.96 * made.deviation(i).reshape(-1, *(1,) * len(table.columns))
        covered = (np.abs(estimate - truth) <= bar).mean()
        wholly = (np.abs(count - truth) <= bar + np.abs(count - estimate)).mean()
        print(
            f"{made.name(i):28}{count.size:>10,}{np.sqrt(len(TABLES)):>13.2f}{predicted[i]:>11.2f}{before:>8.2f}"
            f"{after:>8.2f}{after / before:>7.2f}{covered:>8.3f}{wholly:>7.3f}"
        )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"negative or mismatched cells: {made.mismatches()}", end="; ")
    print(f"{wall:.1f} s, {processor:.1f} s CPU, {memory:.2f} GB in all")
    if rows:
        began = perf_counter()
        print(f"{made.rows().num_rows:,} rows with every count in {perf_counter() - began:.1f} s")


def main() -> None:
    """A million leaves, unless told otherwise."""
    options = argparse.ArgumentParser()
    options.add_argument("--leaves", type=int, default=1_000_000)
    options.add_argument("--people", type=int, default=3_000_000)
    options.add_argument("--rows", action="store_true")
    given, _ = options.parse_known_args()
    run(given.leaves, given.people, rows=given.rows)


if __name__ == "__main__":
    main()
