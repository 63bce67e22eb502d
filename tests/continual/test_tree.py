"""The binary tree: levels, variances and the largest error, against what they are defined as."""

from fractions import Fraction
from itertools import pairwise, product

import pytest

from discreet.continual.strategies import Appearances
from discreet.continual.tree import Tree
from tests.helpers.continual_matrices import matrix


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 5, 8, 9, 100, 1024])
def test_every_value_is_in_one_block_of_each_level(horizon: int) -> None:
    tree = Tree(horizon)
    columns = matrix(tree, horizon).sum(axis=0)
    assert columns.max() == tree.levels == tree.moves(Appearances()).l1
    assert tree.rows_between(0, horizon) == len(matrix(tree, horizon))


def test_a_block_and_its_halves_are_joined_by_inverse_variances() -> None:
    """1/v = 1/own + 1/(two halves), where the own sum has variance 1."""
    found = Tree(1 << 10).variances
    for below, above in pairwise(found):
        assert 1 / above == 1 + 1 / (2 * below)
    assert found[-1] > Fraction(1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [16, 100])
def test_the_largest_weight_is_that_of_the_worst_step(levels: int) -> None:
    tree = Tree(levels)
    for horizon in range(1, levels + 1):
        assert tree.largest_weight(horizon) == max(tree.weight(t) for t in range(1, horizon + 1))


def test_appearances_far_apart_share_few_blocks() -> None:
    near, far = (Tree(8).moves(Appearances(steps=2, separation=s)).l2_squared for s in (1, 4))
    c = matrix(Tree(8), 8)
    worst = {
        apart: max(
            int(((c[:, i] + sign * c[:, j]) ** 2).sum())
            for i, j, sign in product(range(8), range(8), (-1, 1))
            if abs(i - j) >= apart
        )
        for apart in (1, 4)
    }
    assert worst[1] <= near
    assert worst[4] <= far < near
