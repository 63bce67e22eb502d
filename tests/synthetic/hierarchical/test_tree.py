"""Trees as arrays, against walking up and down node by node."""

import numpy as np

from discreet.synthetic.hierarchical.tree import Tree


def test_sums_and_ancestors() -> None:
    tree = Tree((np.array([0, 0, 0]), np.array([0, 1, 1, 2, 2, 2])))
    values = np.arange(12).reshape(6, 2)
    by_hand = [values[[i for i, p in enumerate(tree.parents[1]) if p == node]].sum(axis=0) for node in range(3)]
    assert np.array_equal(tree.sums(1, values), np.stack(by_hand))
    assert tree.above(2, 1).tolist() == [0, 1, 1, 2, 2, 2]
    assert tree.above(2, 0).tolist() == [0] * 6
    assert tree.sizes == (1, 3, 6)
