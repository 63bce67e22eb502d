"""Released rivals against the same tools: claims that ``dp.check`` and ``dp.audit`` refute, with the version.

    .venv-bench/bin/python -m bench.rivals

Each line names the report in which the fault was described, if there is one. Nothing here is part of the product.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import product
from typing import Any

import numpy as np

from discreet.checking.exact.check import check
from discreet.checking.sampling.audit import audit
from discreet.privacy.promises.measures import Approx, Pure


@dataclass(frozen=True)
class Rival:
    """A claim of a released library, and the run that refutes it."""

    library: str
    fault: str
    described: str
    run: Callable[[], Any]


@dataclass(frozen=True)
class Theirs:
    """Another library's transformation as a stable map."""

    f: Callable[[Any], Any]
    stability: Callable[[Any], Any]
    input_metric: Any
    output_metric: Any

    def __call__(self, data: Any) -> Any:
        return self.f(list(data))


class L1Length:
    """The sum of absolute differences."""

    def between(self, first: Any, second: Any) -> int:
        return sum(abs(a - b) for a, b in zip(first, second, strict=True))

    def __str__(self) -> str:
        return "the L1 length of the difference"


class L2Length:
    """The root of the sum of squared differences."""

    def between(self, first: Any, second: Any) -> Any:
        length = math.dist(first, second)
        return int(length) if length.is_integer() else length

    def __str__(self) -> str:
        return "the L2 length of the difference"


class InsertDelete:
    """How many insertions and deletions turn one list into the other."""

    def between(self, first: Any, second: Any) -> int:
        common = np.zeros((len(first) + 1, len(second) + 1), dtype=int)
        for i, a in enumerate(first, 1):
            for j, b in enumerate(second, 1):
                common[i, j] = common[i - 1, j - 1] + 1 if a == b else max(common[i - 1, j], common[i, j - 1])
        return int(len(first) + len(second) - 2 * common[-1, -1])


class Places:
    """How many places differ."""

    def between(self, first: Any, second: Any) -> int:
        return sum(a != b for a, b in zip(first, second, strict=True))

    def __str__(self) -> str:
        return "the number of places that differ"


def vectors(values: Any, size: int) -> Iterator[tuple[Any, Any]]:
    """All pairs of small vectors that differ."""
    every = list(product(values, repeat=size))
    return ((a, b) for a in every for b in every if a != b)


# --- opendp -----------------------------------------------------------------------------------------------------------


def opendp() -> Any:
    library = import_module("opendp.prelude")
    library.enable_features("contrib", "honest-but-curious")
    return library


def tree_wraps() -> Any:
    o = opendp()
    tree = o.t.make_b_ary_tree(
        o.vector_domain(o.atom_domain(T=int), size=2), o.l1_distance(T=int), leaf_count=2, branching_factor=2
    )
    pairs = ((a, b) for a, b in vectors([0, 1, 2**31 - 1], 2) if L1Length().between(a, b) == 1)
    return check(Theirs(tree, tree.map, L1Length(), L1Length()), pairs=pairs)


def tree_l2() -> Any:
    o = opendp()
    tree = o.t.make_b_ary_tree(
        o.vector_domain(o.atom_domain(T=int), size=4), o.l2_distance(T=int), leaf_count=4, branching_factor=4
    )
    pairs = ((a, b) for a, b in vectors([0, 1], 4) if isinstance(L2Length().between(a, b), int))
    return check(Theirs(tree, tree.map, L2Length(), L2Length()), pairs=pairs)


def ordered_cast() -> Any:
    o = opendp()
    cast = o.t.make_metric_bounded(o.vector_domain(o.atom_domain(T=int), size=3), o.insert_delete_distance())
    return check(Theirs(cast, cast.map, InsertDelete(), Places()), pairs=vectors([0, 1, 2, 3], 3))


def threshold_delta() -> Any:
    o = opendp()
    release = o.t.make_count_by(
        o.vector_domain(o.atom_domain(T=str)), o.symmetric_distance()
    ) >> o.m.then_laplace_threshold(scale=1.0, threshold=5)
    epsilon, delta = release.map(1)
    return audit(release, pair=(["a"], []), claim=Approx(epsilon, delta), samples=60_000)


def length_leaks() -> Any:
    o = opendp()
    response = o.m.make_randomized_response_bitvec(o.bitvector_domain(max_weight=1), o.discrete_distance(), f=0.5)
    return audit(
        lambda data: response(data).hex(), pair=(b"\x01", b"\x01\x00"), claim=Pure(response.map(1)), samples=4000
    )


def squared_deviations() -> Any:
    o = opendp()
    low, size = 2.0**50, 1024
    total = o.t.make_sum_of_squared_deviations(
        o.vector_domain(o.atom_domain(bounds=(low, low + 1)), size=size), o.symmetric_distance()
    )

    def pairs() -> Iterator[tuple[list[float], list[float]]]:
        """So many rows higher up by a step of the floats there; then one more."""
        for step, count in product((0.25, 0.5, 0.75, 1.0), range(0, size, 3)):
            rows = [low + step] * count + [low] * (size - count)
            yield rows, [*rows[:-1], low + 0.25]

    return check(
        Theirs(total, lambda _: total.map(2), Places(), L1Distance()),
        pairs=pairs(),
    )


class L1Distance:
    """The distance of two floats."""

    def between(self, first: float, second: float) -> float:
        return abs(first - second)

    def __str__(self) -> str:
        return "the absolute difference"


# --- diffprivlib ------------------------------------------------------------------------------------------------------


def float_laplace() -> Any:
    noise = import_module("diffprivlib.mechanisms").Laplace(epsilon=1, sensitivity=1)
    return audit(noise.randomise, pair=(0.0, 1.0), claim=Pure(1))


def regression() -> Any:
    models = import_module("diffprivlib.models")

    def slope(table: Any) -> float:
        x, y = table
        model = models.LinearRegression(epsilon=1, bounds_X=(0, 100), bounds_y=(0, 1), fit_intercept=False)
        return float(model.fit(x, y).coef_[0])

    x, y = np.ones((10_000, 1)), np.ones(10_000)
    changed = np.concatenate([x[1:], [[100.0]]]), np.concatenate([y[1:], [0.0]])
    # one row is changed: one step or two, by what is meant; so twice its epsilon is allowed
    return audit(slope, pair=((x, y), changed), claim=Pure(2), samples=1000)


RIVALS = [
    Rival("opendp", "b-ary tree: sums wrap around", "opendp#2925", tree_wraps),
    Rival("opendp", "b-ary tree: L2 stability", "opendp#2924", tree_l2),
    Rival("opendp", "insert-delete distance cast to Hamming distance", "opendp#2926", ordered_cast),
    Rival("opendp", "Laplace threshold: delta leaves out the threshold itself", "opendp#2922", threshold_delta),
    Rival("opendp", "randomised response on bits: the length leaks", "opendp#2930", length_leaks),
    Rival("opendp", "sum of squared deviations: float rounding", "opendp#2923", squared_deviations),
    Rival("diffprivlib", "Laplace: float noise on a float", "diffprivlib#19, #94", float_laplace),
    Rival("diffprivlib", "linear regression: lower bound used twice", "diffprivlib#105", regression),
]


def main() -> None:
    warnings.simplefilter("ignore")
    refuted = 0
    for rival in RIVALS:
        report = rival.run()
        refuted += not report.ok
        print(f"{rival.library} {version(rival.library)}: {rival.fault} ({rival.described})")
        print("  " + str(report).replace("\n", "\n  "))
    print(f"{refuted} of {len(RIVALS)} claims refuted")


if __name__ == "__main__":
    main()
