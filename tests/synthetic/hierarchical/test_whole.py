"""Whole numbers: whole, not negative, adding up, near, deterministic; the real step against a general solver."""

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from discreet.synthetic.hierarchical.cliques import by_level
from discreet.synthetic.hierarchical.tree import Tree
from discreet.synthetic.hierarchical.whole import Apportionment, agreeing_masks, apportion, make_whole, nearest

search: Any = optimize.minimize
TREE = Tree((np.array([0, 0, 0]), np.array([0, 0, 1, 2, 2, 2])))


def problem(seed: int) -> tuple[Tree, Any, Any, Any, Any]:
    draw = np.random.default_rng(seed)
    tree = Tree((np.repeat(0, 5),))
    upper = draw.integers(0, 6, (5, 3))
    total = np.array([[int(draw.integers(0, upper[:, c].sum() + 1)) for c in range(3)]])
    return tree, draw.normal(1, 4, (5, 3)), np.zeros_like(upper), upper, total


@pytest.mark.parametrize("seed", range(15))
def test_the_nearest_real_numbers_against_a_general_solver(seed: int) -> None:
    tree, target, lower, upper, total = problem(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 3, 5)
    found = nearest(Apportionment(tree, 1, target, lower, upper, total, weight))
    for c in range(3):
        if not upper[:, c].any():
            continue
        best = search(
            lambda y, c=c: float((((y - target[:, c]) ** 2) / weight).sum()),
            upper[:, c] * total[0, c] / upper[:, c].sum(),
            bounds=[(0, u) for u in upper[:, c]],
            constraints={"type": "eq", "fun": lambda y, c=c: y.sum() - total[0, c]},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert found[:, c] == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize("seed", range(40))
def test_each_whole_number_is_within_one_of_its_real_one(seed: int) -> None:
    tree, target, lower, upper, total = problem(seed)
    real = nearest(Apportionment(tree, 1, target, lower, upper, total, None))
    whole = apportion(Apportionment(tree, 1, target, lower, upper, total, None))
    assert np.array_equal(tree.sums(0, whole), total)
    assert ((whole >= lower) & (whole <= upper)).all()
    assert (np.abs(whole - real) < 1 + 1e-6).all()
    assert np.array_equal(whole, apportion(Apportionment(tree, 1, target.copy(), lower, upper, total)))


def estimates(seed: int, sizes: tuple[int, ...], spread: float) -> Any:
    draw = np.random.default_rng(seed)
    whole = [draw.normal(2, spread, (n, *sizes)) for n in TREE.sizes]

    def table(level: int, columns: tuple[int, ...]) -> Any:
        return whole[level].sum(axis=tuple(1 + c for c in range(len(sizes)) if c not in columns))

    return table


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_all_tables_add_up(seed: int, rows: bool) -> None:
    sizes = (2, 3, 5)
    asked: list[list[tuple[int, ...]]] = [[(0, 1), (1, 2)], [(0, 1), (2,)], [(0,), (1,)]]
    table = estimates(seed, sizes, 4.0)
    free = by_level(asked, rows=False)
    found = make_whole(TREE, sizes, free, table)
    if rows:
        free = by_level(asked, rows=True)
        found = make_whole(TREE, sizes, free, table, near=found)
    for level, sets in enumerate(free):
        for one in sets:
            columns = tuple(sorted(one))
            numbers = found.levels[level][columns]
            assert numbers.dtype == np.int64
            assert numbers.min() >= 0
            if level:
                assert np.array_equal(TREE.sums(level - 1, numbers), found.marginal(level - 1, columns))
            for other in sets:
                shared = tuple(sorted(one & other))
                both = [found.levels[level][tuple(sorted(s))] for s in (one, other)]
                sums = [
                    t.sum(axis=tuple(1 + i for i, c in enumerate(sorted(s)) if c not in shared))
                    for t, s in zip(both, (one, other), strict=True)
                ]
                assert np.array_equal(*sums)


def test_without_noise_nothing_changes() -> None:
    draw = np.random.default_rng(0)
    leaves = draw.integers(0, 4, (6, 2, 3)).astype(float)
    levels = [TREE.sums(0, TREE.sums(1, leaves)), TREE.sums(1, leaves), leaves]

    def table(level: int, columns: tuple[int, ...]) -> Any:
        return levels[level].sum(axis=tuple(1 + c for c in range(2) if c not in columns))

    found = make_whole(TREE, (2, 3), [[frozenset({0, 1})]] * 3, table)
    for level in range(3):
        assert np.array_equal(found.marginal(level, (0, 1)), levels[level])


def test_structural_zeros_stay_zero_everywhere() -> None:
    possible: dict[tuple[int, ...], Any] = {
        (0, 1): np.array([[True, True, False], [False, True, True]]),
        (1, 2): np.eye(3, 5, dtype=bool) | (np.arange(5) > 2),
    }
    sets = by_level([[(0, 1), (1, 2)], [(0, 1)], [(1,)]], rows=False)
    for seed in range(8):
        found = make_whole(TREE, (2, 3, 5), sets, estimates(seed, (2, 3, 5), 2.0), possible=possible)
        assert found.marginal(0, ()).sum() > 0
        assert not found.marginal(0, (1, 2))[:, ~possible[1, 2]].any()
        for level in (0, 1):
            assert not found.marginal(level, (0, 1))[:, ~possible[0, 1]].any()


def test_masks_are_made_to_agree() -> None:
    masks = agreeing_masks(
        (2, 2, 2),
        [frozenset({0, 1}), frozenset({1, 2})],
        {(0, 1): np.array([[True, False], [True, False]]), (1, 2): np.array([[True, False], [True, True]])},
    )
    assert masks[1, 2].tolist() == [[True, False], [False, False]]
