"""Weighted rows: any marginals at once, the junction tree of which nobody could write down."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.synthetic.model.fit import Measured
from discreet.synthetic.model.junction import tree_cells
from discreet.synthetic.model.sampled import cells_of, fit_sampled, fitting

SIZES = (6,) * 10


def data() -> NDArray[Any]:
    draw = np.random.default_rng(0)
    kind = draw.integers(0, 3, (20_000, 1))
    return ((draw.integers(0, 3, (20_000, 10)) + 2 * kind) % 6).astype(np.int32)


def measured(rows: NDArray[Any], cliques: Sequence[tuple[int, ...]]) -> list[Measured]:
    found = []
    for clique in cliques:
        counts = np.bincount(cells_of(rows, SIZES, clique), minlength=6 ** len(clique))
        found.append(Measured(clique, counts.reshape((6,) * len(clique)), 25.0))
    return found


@pytest.mark.slow
def test_all_three_way_marginals_at_once() -> None:
    rows, cliques = data(), list(combinations(range(10), 3))
    given = measured(rows, cliques)
    assert tree_cells(SIZES, cliques) == 6**10  # the whole domain
    model, total = fit_sampled(SIZES, given, atoms=20_000, cells=20_000, steps=30)
    assert np.isclose(model.weights.sum(), 1)
    off = [np.abs(model.marginal(m.clique) - m.noisy / 20_000).sum() for m in given]
    alone = [np.abs(1 / 216 - m.noisy / 20_000).sum() for m in given]
    assert np.mean(off) < 0.25 * np.mean(alone)
    assert abs(total - 20_000) < 1
    drawn = model.draw(5000, np.random.default_rng(1))
    assert drawn.shape == (5000, 10)
    share = np.bincount(cells_of(drawn, SIZES, (0, 1)), minlength=36) / 5000
    assert np.abs(share - model.marginal((0, 1)).ravel()).max() < 0.01


def test_what_fits_is_small_enough_and_the_rest_comes_in_pairs() -> None:
    given = measured(data(), [(0,), (0, 1, 2), (2, 3, 4), (0, 3, 5)])
    kept = fitting(SIZES, given, 500)
    assert tree_cells(SIZES, [m.clique for m in kept]) <= 500
    pairs = [m for m in kept if len(m.clique) == 2]
    assert pairs
    assert all(m.variance == 25.0 * 6 and m.noisy.sum() == 20_000 for m in pairs)
