"""Junction trees: every clique has a home, columns are connected, sizes are known before."""

from itertools import combinations

import numpy as np
import pytest

from discreet.synthetic.model.junction import Tree, junction_tree, tree_cells

SIZES = (2, 3, 4, 2, 5, 3)


def running_intersection(tree: Tree) -> bool:
    """Whether the cliques that hold a column are connected: all but one of them share it with their parent."""
    return all(
        sum(c in clique and c not in sep for clique, sep in zip(tree.cliques, tree.separators, strict=True)) == 1
        for c in range(len(tree.sizes))
    )


@pytest.mark.parametrize("seed", range(30))
def test_any_cliques(seed: int) -> None:
    draw = np.random.default_rng(seed)
    pool = [c for k in (1, 2, 3) for c in combinations(range(6), k)]
    cliques = [pool[i] for i in draw.choice(len(pool), size=draw.integers(0, 8), replace=False)]
    tree = junction_tree(SIZES, cliques)
    assert all(tree.home(c) is not None for c in cliques)
    assert all(tree.home([c]) is not None for c in range(6))
    assert running_intersection(tree)
    assert all(p < i for i, p in enumerate(tree.parents))
    assert tree.cells == tree_cells(SIZES, cliques)


def test_a_broken_tree_is_seen() -> None:
    assert not running_intersection(Tree((2, 2, 2), ((0, 1), (1, 2), (0, 2)), (-1, 0, 1)))


def test_what_the_tree_was_not_built_for() -> None:
    tree = junction_tree((2, 2, 2), [(0, 1)])
    assert tree.home((1, 2)) is None
    with pytest.raises(LookupError):
        tree.at((1, 2))
