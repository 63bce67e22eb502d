"""The two passes, and their variances, against a dense weighted least-squares solver on random trees."""

import numpy as np
import pytest

from discreet.synthetic.hierarchical.least_squares import solve
from discreet.synthetic.hierarchical.tree import Tree


def random_tree(seed: int) -> Tree:
    draw = np.random.default_rng(seed)
    parents, above = [], 1
    for _ in range(int(draw.integers(1, 4))):
        children = draw.integers(1, 4, above)
        parents.append(np.repeat(np.arange(above), children))
        above = int(children.sum())
    return Tree(tuple(parents))


@pytest.mark.parametrize("seed", range(12))
def test_against_a_dense_solver(seed: int) -> None:
    tree, draw = random_tree(seed), np.random.default_rng(100 + seed)
    depth = len(tree.sizes) - 1
    variances = draw.uniform(0.2, 5.0, depth + 1).tolist()
    noisy = [draw.normal(size=(n, 2)) * 3 + 10 for n in tree.sizes]
    missing = int(draw.integers(0, depth)) if seed % 2 else -1
    if missing >= 0:
        variances[missing] = np.inf
    members = [(np.arange(n)[:, None] == tree.above(depth, level)).astype(float) for level, n in enumerate(tree.sizes)]
    kept = [level for level in range(depth + 1) if level != missing]
    design = np.vstack([members[level] / np.sqrt(variances[level]) for level in kept])
    seen = np.vstack([noisy[level] / np.sqrt(variances[level]) for level in kept])
    leaves = np.linalg.lstsq(design, seen, rcond=None)[0]
    covariance = np.linalg.inv(design.T @ design)
    found = solve(tree, [None if level == missing else noisy[level] for level in range(depth + 1)], variances)
    for level in range(depth + 1):
        assert found.values[level] == pytest.approx(members[level] @ leaves, abs=1e-8)
        assert found.variances[level] == pytest.approx(np.diag(members[level] @ covariance @ members[level].T))


def test_an_unweighted_solution_is_not_the_same() -> None:
    """The comparison above would see it if the weights were left out."""
    tree = Tree((np.array([0, 0]),))
    noisy = [np.array([[10.0]]), np.array([[3.0], [4.0]])]
    assert solve(tree, noisy, [1.0, 4.0]).values[0][0, 0] != pytest.approx(
        solve(tree, noisy, [1.0, 1.0]).values[0][0, 0]
    )
