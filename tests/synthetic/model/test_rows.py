"""Rows: the tables of the tree to within the rounding, zeros stay empty, every group is met."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.synthetic.model.graphical import calibrate
from discreet.synthetic.model.junction import junction_tree
from discreet.synthetic.model.rows import _interleaved, _rounded, draw_rows

SIZES = (3, 4, 5, 2)
CLIQUES = [(0, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("count", [1, 10, 1000, 20_000])
def test_tables_are_met_to_within_rounding(count: int) -> None:
    draw = np.random.default_rng(4)
    potentials: dict[tuple[int, ...], NDArray[Any]] = {c: draw.normal(size=[SIZES[k] for k in c]) for c in CLIQUES}
    base: dict[tuple[int, ...], NDArray[Any]] = {(0, 1): np.where(np.arange(12).reshape(3, 4) % 5 == 0, -np.inf, 0.0)}
    model = calibrate(junction_tree(SIZES, CLIQUES), potentials, base)
    rows = draw_rows(model, count, draw)
    assert rows.shape == (count, 4)
    for clique in CLIQUES:
        found = np.zeros([SIZES[c] for c in clique])
        np.add.at(found, tuple(rows[:, c] for c in clique), 1)
        expected = model.marginal(clique) * count
        assert np.abs(found - expected).max() <= 3  # one from each rounding on the way down
        assert (found[expected == 0] == 0).all()


def test_rounding_keeps_sums_and_is_unbiased() -> None:
    weights = np.random.default_rng(1).random((7, 5))
    many = np.array([0, 1, 2, 3, 10, 100, 7])
    offsets = (np.arange(1000) + 0.5) / 1000
    total = np.zeros((7, 5))
    for offset in offsets:
        counts = _rounded(weights, many, np.full(7, offset))
        assert (counts.sum(axis=1) == many).all()
        assert (counts >= 0).all()
        total += counts
    share = weights / weights.sum(axis=1, keepdims=True)
    assert np.abs(total / 1000 - share * many[:, None]).max() < 0.01


def test_values_are_spread_over_their_group() -> None:
    counts = np.array([[50, 50], [1, 0]])
    values = _interleaved(counts, np.random.default_rng(0))
    assert values[:100].sum() == 50
    assert abs(int(values[:50].sum()) - 25) <= 1
    assert values[100] == 0


def test_independent_columns_stay_independent() -> None:
    """Two columns that the model does not join: their table is nearer to the product than random pairing."""
    model = calibrate(junction_tree((10, 10), []), {(0,): np.zeros(10), (1,): np.zeros(10)})
    rows = draw_rows(model, 10_000, np.random.default_rng(2))
    table = np.zeros((10, 10))
    np.add.at(table, (rows[:, 0], rows[:, 1]), 1)
    assert np.abs(table - 100).max() <= 3
