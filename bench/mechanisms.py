"""Mechanisms beside OpenDP's and PyDP's: the same job, each through its best interface, in CPU time."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import opendp.prelude as op
from numpy.typing import NDArray

from bench.measure import Row, cpu_once, cpu_seconds, show
from discreet.mechanisms.additive.gaussian import gaussian
from discreet.mechanisms.additive.laplace import laplace
from discreet.mechanisms.base.sensitivity import L1, L2
from discreet.mechanisms.selection.permute_and_flip import permute_and_flip
from discreet.mechanisms.selection.randomized_response import randomized_response
from discreet.mechanisms.statistics.quantiles import median
from discreet.mechanisms.statistics.tree import hierarchy

MILLION = 1_000_000
PEER_REALS = 20_000
LEAVES = 65_536


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def on(release: Callable[[Any], object], data: Any) -> Callable[[], object]:
    """One call, to be timed."""
    return lambda: release(data)


def reals() -> list[Row]:
    """A vector of a million floats; OpenDP's time grows with the length, so a shorter one is scaled up."""
    rows = []
    values = np.random.default_rng(1).normal(size=MILLION)
    for name in ("laplace", "gaussian"):
        ours_made = (
            laplace(sensitivity=L1(1), epsilon=1, dimension=MILLION, real=True)
            if name == "laplace"
            else gaussian(sensitivity=L2(1), rho="1/2", dimension=MILLION, real=True)
        )
        ours = cpu_seconds(on(ours_made.release, values))
        space = (
            op.vector_domain(op.atom_domain(T="f64", nan=False)),
            (op.l1_distance if name == "laplace" else op.l2_distance)(T="f64"),
        )
        make = op.m.make_laplace if name == "laplace" else op.m.make_gaussian
        theirs_made = make(*space, scale=1.0)
        theirs = cpu_seconds(on(theirs_made, values[:PEER_REALS]), repeats=3) * MILLION / PEER_REALS
        task = f"{name} release of 1e6 floats"
        rows.append(Row(task, milliseconds(ours), "OpenDP (scaled up)", milliseconds(theirs), theirs / ours, 200))
    return rows


def medians() -> list[Row]:
    values = np.random.default_rng(1).normal(size=MILLION)
    rows = []
    for candidates in (101, 1001, 10_001):
        step = f"{8 / (candidates - 1):.4f}"
        ours = cpu_seconds(on(median(low=-4, high=4, step=step, epsilon=1).release, values))
        space = op.vector_domain(op.atom_domain(T="f64", nan=False)), op.symmetric_distance()
        release = op.m.make_private_quantile(
            *space, op.max_divergence(), candidates=np.linspace(-4, 4, candidates).tolist(), alpha=0.5, scale=2.0
        )
        theirs = cpu_seconds(on(release, values), repeats=3)
        task = f"median of 1e6 floats, {candidates} candidates"
        rows.append(Row(task, milliseconds(ours), "OpenDP", milliseconds(theirs), theirs / ours, 5))
    as_list = values.tolist()  # PyDP takes lists only
    pydp: Any = import_module("pydp.algorithms.laplacian")
    pydp = cpu_seconds(
        lambda: pydp.Median(epsilon=1.0, lower_bound=-4, upper_bound=4, dtype="float").quick_result(as_list), repeats=3
    )
    rows.append(
        Row("median of 1e6 floats, 10001 candidates", milliseconds(ours), "PyDP", milliseconds(pydp), pydp / ours, 1)
    )
    return rows


def bits() -> list[Row]:
    values = np.random.default_rng(1).integers(0, 2, MILLION)
    ours = cpu_seconds(on(randomized_response(epsilon=1).release, values))
    release = op.m.make_randomized_response_bitvec(
        op.bitvector_domain(max_weight=MILLION), op.discrete_distance(), f=0.5
    )
    packed = np.packbits(values.astype(np.uint8)).tobytes()
    theirs = cpu_seconds(on(release, packed), repeats=3)
    task = "randomized response of 1e6 bits"
    return [Row(task, milliseconds(ours), "OpenDP bit vector", milliseconds(theirs), theirs / ours, 20)]


def opendp_tree(counts: NDArray[np.int64], branching: int, height: int) -> float:
    """CPU seconds of OpenDP's tree, noise and consistency."""
    space = op.vector_domain(op.atom_domain(T="i64")), op.l1_distance(T="i64")
    noisy = op.t.make_b_ary_tree(*space, leaf_count=LEAVES, branching_factor=branching) >> op.m.then_laplace(
        scale=float(height)
    )
    fit = op.t.make_consistent_b_ary_tree(branching_factor=branching, TIA="i64", TOA="f64")
    return min(cpu_once(lambda: fit(np.array(noisy(counts)))) for _ in range(3))


def trees() -> list[Row]:
    """From counts of leaves to fitted leaves; ours starts from the records' cells, one for each count."""
    cells = np.arange(LEAVES)
    counts = np.ones(LEAVES, dtype=np.int64)
    rows = []
    for branching, height in ((2, 17), (16, 5)):
        m = hierarchy(keys=range(LEAVES), branching=branching, epsilon=1)
        assert len(m.tree.levels) == height
        ours = cpu_seconds(on(m.release, cells))
        theirs = opendp_tree(counts, branching, height)
        task = f"tree of 65,536 leaves, branching {branching}, noise and fit"
        rows.append(Row(task, milliseconds(ours), "OpenDP", milliseconds(theirs), theirs / ours, 20))
    return rows


def selection() -> list[Row]:
    scores = np.random.default_rng(1).integers(0, 1000, MILLION)
    ours = cpu_seconds(on(permute_and_flip(sensitivity=1, rate="1/10").release, scores))
    space = op.vector_domain(op.atom_domain(T="i64")), op.linf_distance(T="i64")
    release = op.m.make_noisy_max(*space, op.max_divergence(), scale=10.0)
    theirs = cpu_seconds(on(release, scores), repeats=3)
    return [
        Row("choice among 1e6 scores", milliseconds(ours), "OpenDP noisy max", milliseconds(theirs), theirs / ours, 10)
    ]


def main() -> None:
    op.enable_features("contrib")
    show("Mechanisms", [*reals(), *medians(), *bits(), *trees(), *selection()])


if __name__ == "__main__":
    main()
