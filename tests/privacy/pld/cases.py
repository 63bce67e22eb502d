"""Pairs with independent curves, grids to put them on, and workloads whose products are known exactly."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from discreet.exact import exp_down, exp_up
from discreet.privacy.pld.atoms import box, discrete_gaussian, discrete_laplace, response
from discreet.privacy.pld.certify import Effort, Workload
from discreet.privacy.pld.continuous import (
    BoundedRangePair,
    GaussianPair,
    LaplacePair,
    WideDiscreteGaussianPair,
    WideDiscreteLaplacePair,
)
from discreet.privacy.pld.law import Grid, Law
from discreet.privacy.pld.pair import Pair
from discreet.privacy.pld.subsampled import AddedPair, RemovedPair
from tests.helpers import hockey as ref
from tests.helpers.exact_pairs import ListedPair, Masses, both_ways, product

F = Fraction


def discrete_laplace_curve(scale: Fraction, shift: int) -> ref.Curve:
    a = (-1 / ref.ball(scale)).exp()
    norm = (1 - a) / (1 + a)
    inside = [(norm * a**z, norm * a ** (shift - z)) for z in range(1, shift)]
    end = 1 / (1 + a)
    return ref.listed([(end, end * a**shift), (end * a**shift, end), *inside])


def discrete_gaussian_curve(variance: Fraction, shift: int, wide: int) -> ref.Curve:
    v = ref.ball(variance)
    weight = {z: (-arb(z * z) / (2 * v)).exp() for z in range(-wide - shift, wide + shift + 1)}
    norm = sum(weight.values(), arb(0))
    return ref.listed([(weight[z] / norm, weight[z - shift] / norm) for z in range(-wide, wide + shift + 1)])


def laplace_pair(epsilon: Fraction) -> LaplacePair:
    return LaplacePair(epsilon, float(epsilon))


PAIRS: dict[str, tuple[Pair, ref.Curve]] = {
    "gaussian 1": (GaussianPair(1.0), ref.gaussian(1.0)),
    "gaussian 0.01": (GaussianPair(0.01), ref.gaussian(0.01)),
    "gaussian 60": (GaussianPair(60.0), ref.gaussian(60.0)),
    "laplace 1": (laplace_pair(F(1)), ref.laplace(F(1))),
    "laplace 1/30": (laplace_pair(F(1, 30)), ref.laplace(F(1, 30))),
    "laplace 2000": (laplace_pair(F(2000)), ref.laplace(F(2000))),
    "range 1": (BoundedRangePair(F(1), 1.0), ref.bounded_range(1)),
    "range 1/7": (BoundedRangePair(F(1, 7), 1 / 7), ref.bounded_range(F(1, 7))),
    "response": (response(F(1, 3), 2), ref.response(F(1, 3))),
    "response of 5": (response(F(1, 3), 5), ref.response(F(1, 3), 5)),
    "pure 1000": (box(F(1000), F(0)), ref.response(F(1000))),
    "box": (box(F(1, 2), F(1, 1000)), ref.response(F(1, 2), 2, F(1, 1000))),
    "discrete laplace": (discrete_laplace(F(2), 3), discrete_laplace_curve(F(2), 3)),
    "discrete gaussian": (discrete_gaussian(F(9, 4), 2), discrete_gaussian_curve(F(9, 4), 2, 60)),
    "wide discrete laplace": (
        WideDiscreteLaplacePair(F(40, 90), 40 / 90, 90.0, 40.0),
        discrete_laplace_curve(F(90), 40),
    ),
    "wide discrete gaussian": (WideDiscreteGaussianPair(90.0, 100.0), discrete_gaussian_curve(F(8100), 100, 900)),
    "sampled gaussian, removed": (
        RemovedPair(GaussianPair(1.25), F(1, 100)),
        ref.removed(ref.gaussian(1.25), F(1, 100)),
    ),
    "sampled gaussian, added": (AddedPair(GaussianPair(1.25), F(1, 100)), ref.added(ref.gaussian(1.25), F(1, 100))),
    "narrow sampled gaussian, removed": (
        RemovedPair(GaussianPair(8.0), F(1, 10)),
        ref.removed(ref.gaussian(8.0), F(1, 10)),
    ),
    "narrow sampled gaussian, added": (AddedPair(GaussianPair(8.0), F(1, 10)), ref.added(ref.gaussian(8.0), F(1, 10))),
    "sampled laplace, removed": (RemovedPair(laplace_pair(F(2)), F(3, 4)), ref.removed(ref.laplace(F(2)), F(3, 4))),
    "sampled laplace, added": (AddedPair(laplace_pair(F(2)), F(3, 4)), ref.added(ref.laplace(F(2)), F(3, 4))),
    "sampled box, removed": (
        RemovedPair(box(F(1), F(1, 100)), F(1, 5)),
        ref.removed(ref.response(F(1), 2, F(1, 100)), F(1, 5)),
    ),
    "sampled box, added": (
        AddedPair(box(F(1), F(1, 100)), F(1, 5)),
        ref.added(ref.response(F(1), 2, F(1, 100)), F(1, 5)),
    ),
}


def grid_for(pair: Pair, cells: int, shift: float = 0.0, tail: float = 1e-9) -> Grid:
    low, high = pair.reach(tail)
    step = max(high - low, 1e-3) / cells
    return Grid.cover(step, pair.anchor + shift * step, low, high)


def places(grid: Grid) -> list[arb]:
    """t = e^x on and between the grid points, and outside the grid."""
    ends = np.array([grid.losses[0] - 3 * grid.step, grid.losses[-1] + 3 * grid.step])
    inside = grid.losses[:: max(1, grid.count // 12)]
    parts = [inside, inside + 0.31 * grid.step, inside + 0.5 * grid.step, inside + 0.93 * grid.step, ends]
    return [ref.ball(float(x)).exp() for x in np.concatenate(parts)]


def holds(pair: Pair, curve: ref.Curve, grid: Grid, up: Callable[..., Law], down: Callable[..., Law]) -> bool:
    above, below = up(pair, grid), down(pair, grid)
    high, low = ref.curve_of(above, above.slip), ref.curve_of(below, -below.slip)
    return all(not high(t) < curve(t) and not low(t) > curve(t) for t in places(grid))


GRID_PAIR = "gaussian 1"


def one_step(law: Law, by: int) -> Law:
    return replace(law, grid=replace(law.grid, first=law.grid.first + by))


def exact_product(work: list[tuple[list[tuple[int, int]], int]]) -> Masses:
    return product([(ListedPair(w).exact, n) for w, n in work])


def workload_of(work: list[tuple[list[tuple[int, int]], int]], *, grid: bool = True) -> Workload:
    """With or without the short cut that lists all losses; a coarse aim, since truth must not depend on it."""
    made = Workload([(ListedPair(w), n) for w, n in work], Effort(absolute=0.05, relative=0.05, delta=0.2, misses=0.1))
    if grid:
        for direction in made.directions:
            direction.list, direction.loose = None, direction.work
    return made


def delta_is_enclosed(workload: Workload, truth: Masses, epsilon: Fraction) -> bool:
    low, high = workload.delta(epsilon)
    return F(low) <= both_ways(truth, exp_down(epsilon)) and F(high) >= both_ways(truth, exp_up(epsilon))
