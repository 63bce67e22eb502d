"""Many marginals for one budget: the plan by interactions beside today's others, the closed form, and its coverage.

    python -m bench.marginals [--columns 100]

Errors are root mean squares over all cells at rho = 1/2, predicted and measured on one draw. The closed form is that of
continuous noise, (Σ √(Π(1 - 1/n) V))² / (2 rho); ``ratio`` is ours over it. ``covered``: the share of all cells within
their 95% bars, in 20 draws (one for the widest). ``independent``: the same noise on every marginal, no agreement.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import prod, sqrt
from time import perf_counter, process_time

import numpy as np

from discreet.synthetic.columns import whole
from discreet.synthetic.direct import answer, plans
from discreet.synthetic.domain import Domain
from discreet.synthetic.source import Rows

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


def run(name: str, sizes: Sequence[int], ways: int, rows: int = 50_000, *, others: bool = True) -> None:
    """One line of the table."""
    domain = Domain({f"c{i}": whole(0, n - 1, nullable=False) for i, n in enumerate(sizes)})
    sets = [c for many in range(1, ways + 1) for c in combinations(range(len(sizes)), many)]
    asked = [tuple(f"c{i}" for i in c) for c in sets]
    codes = np.random.default_rng(1).integers(0, list(sizes), size=(rows, len(sizes)))
    source = Rows(domain, codes)
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
    print(
        f"{name:28} closed form {best:8.4f}  ours {predicted:8.4f}  ratio {predicted / best:.6f}  measured "
        f"{sqrt(float((off**2).mean())):8.4f}  covered {100 * covered:.2f} %  earlier plan "
        f"{known.get('marginals', float('nan')):8.3f}  independent {independent:8.3f}  {wall:6.1f} s wall "
        f"{processor:6.1f} s processor  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB"
    )


def main() -> None:
    """All workloads."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--columns", type=int, default=100)
    given = read.parse_args()
    run("12 x 3 values, <= 3-way", [3] * 12, 3)
    run("12 x 3 values, <= 2-way", [3] * 12, 2)
    run("10 x 6 values, <= 3-way", [6] * 10, 3)
    run("ten columns of Adult, <= 2", ADULT, 2)
    run(f"{given.columns} x 10 values, <= 2-way", [10] * given.columns, 2, others=False)


if __name__ == "__main__":
    main()
