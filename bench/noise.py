"""Exact noise beside OpenDP's exact noise and numpy's floats."""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import numpy as np
import opendp.prelude as op

import discreet as dp
from bench.measure import Row, cpu_once, cpu_seconds, peak_bytes, show

SCALES = (1, 10, 1e3, 1e6, 1e12)
MILLION = 1_000_000
PEER_DRAWS = 20_000


def opendp_vector(kind: str, scale: float) -> float:
    """OpenDP's draws per CPU second on a vector of integers."""
    op.enable_features("contrib")
    space = (
        op.vector_domain(op.atom_domain(T="i64")),
        (op.l1_distance if kind == "laplace" else op.l2_distance)(T="i64"),
    )
    make = op.m.make_laplace if kind == "laplace" else op.m.make_gaussian
    release = make(*space, scale=scale)
    zeros = np.zeros(PEER_DRAWS, dtype=np.int64)
    return PEER_DRAWS / cpu_seconds(lambda: release(zeros), repeats=3)


def opendp_scalar(kind: str, scale: float) -> float:
    """CPU seconds of one scalar release by OpenDP."""
    space = op.atom_domain(T="i64"), op.absolute_distance(T="i64")
    release = (op.m.make_laplace if kind == "laplace" else op.m.make_gaussian)(*space, scale=scale)
    return cpu_seconds(lambda: release(0))


def vectors(kind: str) -> list[Row]:
    draw = dp.noise.discrete_laplace if kind == "laplace" else dp.noise.discrete_gaussian
    rng = np.random.default_rng()
    theirs = rng.laplace if kind == "laplace" else rng.normal
    rows = []
    for scale in SCALES:
        ours = MILLION / cpu_seconds(lambda scale=scale: draw(scale, size=MILLION))  # type: ignore[misc]
        peer = opendp_vector(kind, scale)
        floats = MILLION / cpu_seconds(lambda scale=scale: theirs(0, scale, size=MILLION))  # type: ignore[misc]
        name = f"1e6 discrete {kind}, scale {scale:g}"
        rate = f"{ours / 1e6:.0f} M/s"
        rows.append(
            Row(name, rate, "OpenDP vector", f"{peer / 1e6:.3f} M/s", ours / peer, 500 if kind == "laplace" else 1000)
        )
        least = 1.0 if kind == "laplace" or scale <= 10 else 0.8
        rows.append(Row(name, rate, f"numpy {kind} (floats)", f"{floats / 1e6:.0f} M/s", ours / floats, least))
    return rows


def scalars(kind: str) -> list[Row]:
    draw = dp.noise.discrete_laplace if kind == "laplace" else dp.noise.discrete_gaussian
    rows = []
    for scale in SCALES:
        draw(scale, size=1000)  # the table is there from now on
        cached = cpu_seconds(lambda scale=scale: draw(scale))  # type: ignore[misc]
        fresh = (Fraction(scale) * (1 + Fraction(i, 1 << 20)) for i in count(1))
        new = cpu_seconds(lambda fresh=fresh: draw(next(fresh)))  # type: ignore[misc]
        peer = opendp_scalar(kind, scale)
        for what, ours, target in (("cached", cached, 8), ("new parameter", new, 3)):
            name = f"one {kind} draw, scale {scale:g}, {what}"
            rows.append(Row(name, f"{ours * 1e6:.1f} us", "OpenDP scalar", f"{peer * 1e6:.0f} us", peer / ours, target))
    return rows


def selection() -> list[Row]:
    scores = np.random.default_rng(1).integers(0, 1000, MILLION)
    ours = cpu_seconds(lambda: dp.noise.permute_and_flip(scores, rate="1/10"), repeats=3)
    space = op.vector_domain(op.atom_domain(T="i64")), op.linf_distance(T="i64")
    release = op.m.make_noisy_max(*space, op.max_divergence(), scale=10.0)
    theirs = min(cpu_once(lambda: release(scores)) for _ in range(3))
    name = "permute-and-flip over 1e6 candidates"
    return [Row(name, f"{ours * 1e3:.0f} ms", "OpenDP noisy max", f"{theirs * 1e3:.0f} ms", theirs / ours, 10)]


def memory() -> list[Row]:
    rows = []
    for scale in SCALES:
        dp.noise.discrete_laplace(scale, size=1000)
        peak = peak_bytes(lambda scale=scale: dp.noise.discrete_laplace(scale, size=10 * MILLION))  # type: ignore[misc]
        above = (peak - 80 * MILLION) / 1e6
        name = f"memory above the output, 1e7 Laplace draws, scale {scale:g}"
        rows.append(Row(name, f"{above:.1f} MB", "allowed", "20 MB", 20 / max(above, 0.1), 1))
    return rows


def main() -> None:
    op.enable_features("contrib")
    show(
        "Noise",
        [*vectors("laplace"), *vectors("gaussian"), *scalars("laplace"), *scalars("gaussian"), *selection(), *memory()],
    )


if __name__ == "__main__":
    main()
