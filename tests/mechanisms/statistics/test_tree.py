"""Trees of counts: sensitivity by brute force, least squares against linear algebra, error bars that cover."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import BadParameter
from discreet.mechanisms.statistics.tree import Tree, best_tree, hierarchy
from discreet.privacy.accountants.basic import price_basic
from discreet.privacy.accountants.zcdp import price_zcdp
from discreet.privacy.promises.measures import ZCDP, Pure
from discreet.privacy.promises.neighbours import Neighbours
from tests.helpers.databases import RELATIONS, databases, largest_move, too_few

SHAPES = [(m, b) for b in (2, 3, 4) for m in (1, 2, 3, 4, 5, 7, 8, 9, 10)]
ADD, CHANGE = RELATIONS


def matrix(tree: Tree) -> Any:
    """One row for each node: which leaves it counts."""
    eye = np.eye(tree.leaves, dtype=np.int64)
    return np.array([tree.nodes(row) for row in eye]).T


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("leaves", "branching"), SHAPES)
def test_nodes_move_as_claimed_and_no_less(leaves: int, branching: int, relation: Neighbours) -> None:
    m = hierarchy(keys=range(leaves), branching=branching, epsilon=1, neighbours=relation)
    claimed = Tree(leaves, branching).moves(relation)
    domain = [*range(leaves), "elsewhere"]
    assert largest_move(m.read, domain, relation, most=2) == (claimed.l1, claimed.l2_squared)
    assert m.noise.moves == claimed.l1  # type: ignore[union-attr]
    assert price_basic(m.event).epsilon == 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("leaves", "branching"), SHAPES)
def test_nodes_without_a_root_move_as_claimed_and_no_less(leaves: int, branching: int, relation: Neighbours) -> None:
    """By enumeration; with one leaf the only node is kept, and two records are never apart."""
    tree = Tree(leaves, branching, rooted=False)
    claimed = tree.moves(relation)

    def nodes(rows: Any) -> Any:
        return tree.nodes(np.bincount([r for r in rows if r is not None], minlength=leaves).astype(np.int64))

    assert largest_move(nodes, [*range(leaves), None], relation, most=2) == (claimed.l1, claimed.l2_squared)
    assert tree.size == Tree(leaves, branching).size - (leaves > 1)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_check_refutes_wrong_tree_sensitivities(relation: Neighbours) -> None:
    """opendp#2924 claims the wrong L2 length; and a change is not an addition."""
    tree = Tree(4, 2)
    m = hierarchy(keys=range(4), branching=2, epsilon=1, neighbours=relation)
    l1, l2_squared = largest_move(m.read, [*range(4), None], relation, most=2)
    assert l1 > len(tree.levels) - 1  # "the root is free"
    assert l2_squared > 1  # "disjoint counts"
    if relation is CHANGE:
        wrong = tree.moves(ADD)
        assert (l1, l2_squared) > (wrong.l1, wrong.l2_squared)


@pytest.mark.parametrize("branching", [2, 3, 4])
def test_groups_move_no_further_than_their_size_allows(branching: int) -> None:
    """opendp#2924: counts at L2 distance 2 moved a tree of 4 leaves further than claimed. Here we count units."""
    tree = Tree(4, branching)
    height = len(tree.levels)
    for group in databases(range(4), 4):
        moved = tree.nodes(np.bincount(np.array(group, dtype=np.int64), minlength=4))
        assert int((moved**2).sum()) <= len(group) ** 2 * height
        assert int(moved.sum()) == len(group) * height
    spread = tree.nodes(np.ones(4, dtype=np.int64))  # L2 distance 2 of counts, but four units
    assert int((spread**2).sum()) > 2**2 * height


@pytest.mark.parametrize(("leaves", "branching"), SHAPES)
def test_the_fit_is_the_least_squares_fit(leaves: int, branching: int) -> None:
    tree = Tree(leaves, branching)
    design = matrix(tree)
    noisy = np.random.default_rng(leaves).normal(0, 10, tree.size)
    expected = np.linalg.lstsq(design.astype(float), noisy, rcond=None)[0]
    assert np.allclose(tree.consistent(noisy), expected)
    exact = tree.nodes(np.arange(leaves))
    assert np.allclose(tree.consistent(exact), np.arange(leaves))


@pytest.mark.slow
@pytest.mark.parametrize(("leaves", "branching"), [*SHAPES, (64, 2), (50, 3), (100, 7), (65, 4)])
def test_weights_and_variances_are_those_of_linear_algebra(leaves: int, branching: int) -> None:
    tree = Tree(leaves, branching)
    inverse = np.linalg.pinv(matrix(tree).astype(float))  # leaf x node
    prefixes = np.cumsum(inverse, axis=0)
    assert float(tree.leaf_weight()) == pytest.approx((inverse**2).sum(axis=1).max(), rel=1e-8)
    assert float(tree.prefix_weight()) == pytest.approx((prefixes**2).sum(axis=1).max(), rel=1e-8)
    assert float(tree.prefix_weight()) >= (prefixes**2).sum(axis=1).max()
    assert abs(prefixes).max() <= 1 + 1e-9
    for chosen in np.random.default_rng(1).integers(0, 2, size=(50, leaves)):
        assert abs(chosen @ inverse).max() <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "1/2"}])
def test_error_bars_cover_for_all_leaves_and_prefixes_at_once(cost: dict[str, Any]) -> None:
    m = hierarchy(keys=range(20), branching=3, **cost)
    data = [3] * 50 + [19] * 7
    truth = np.bincount(data, minlength=20)
    leaf, prefix = m.accuracy.error_at("0.8"), m.prefix_accuracy.error_at("0.8")
    errors = [m.release(data).value - truth for _ in range(300)]
    assert not too_few(sum(abs(e).max() <= leaf for e in errors), 300, 0.8)
    assert not too_few(sum(abs(np.cumsum(e)).max() <= prefix for e in errors), 300, 0.8)
    assert too_few(sum(abs(e).max() <= leaf / 4 for e in errors), 300, 0.8)
    spread = np.sqrt(np.mean([e[-1] ** 2 for e in errors]))
    assert np.mean([abs(e).mean() for e in errors]) <= 1.1 * m.accuracy.expected_error < 4.4 * spread


def test_prices_and_choices() -> None:
    for relation in RELATIONS:
        for leaves in (1, 2, 100):
            assert price_zcdp(hierarchy(keys=range(leaves), rho="1/2", neighbours=relation).event).rho == Fraction(1, 2)
    assert best_tree(1, Pure(1), ADD).levels == (1,)
    assert best_tree(4096, Pure(1), ADD).branching > 4
    assert best_tree(4096, ZCDP(1), ADD).branching < 8  # Gaussian noise grows with the root of the height
    assert hierarchy(bins=[0, 1, 2], epsilon=1).release([0.5, 9]).value.shape == (2,)
    story = hierarchy(keys=range(4), epsilon=1).release([]).explain()
    assert "least squares" in story
    assert "epsilon 1" in story


@pytest.mark.parametrize("wrong", [{"branching": 1}, {"branching": 2.5}, {"keys": []}, {"epsilon": 0}])
def test_bad_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadParameter):
        hierarchy(**{"keys": range(4), "epsilon": 1, **wrong})
