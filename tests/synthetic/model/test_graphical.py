"""Graphical models against the whole distribution written out."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.synthetic.model.graphical import calibrate, uniform
from discreet.synthetic.model.junction import junction_tree

SIZES = (2, 3, 4, 2, 3)
CLIQUES = [[(0, 1), (1, 2), (2, 3), (3, 4)], [(0, 1, 2), (2, 3)], [(0,), (4,)], [(0, 1), (1, 2), (0, 2), (3,)]]


def written_out(potentials: dict[tuple[int, ...], NDArray[np.float64]]) -> tuple[NDArray[np.float64], float]:
    log = np.zeros(SIZES)
    for clique, table in potentials.items():
        log = log + table.reshape([SIZES[c] if c in clique else 1 for c in range(len(SIZES))])
    return np.exp(log) / np.exp(log).sum(), float(np.log(np.exp(log).sum()))


@pytest.mark.parametrize("cliques", CLIQUES)
@pytest.mark.parametrize("zeros", [False, True])
def test_marginals_and_normaliser(cliques: list[tuple[int, ...]], zeros: bool) -> None:
    draw = np.random.default_rng(1)
    potentials = {c: draw.normal(size=[SIZES[k] for k in c]) for c in cliques}
    base = {}
    if zeros:
        base = {cliques[0]: np.where(draw.random([SIZES[k] for k in cliques[0]]) < 0.4, -np.inf, 0.0)}
        base[cliques[0]].flat[0] = 0.0
    whole = {c: potentials[c] + base.get(c, 0.0) for c in cliques}
    p, log_z = written_out(whole)
    model = calibrate(junction_tree(SIZES, cliques), potentials, base)
    assert np.isclose(model.log_normaliser, log_z)
    for k in range(1, 5):
        for asked in combinations(range(5), k):
            want = p.sum(axis=tuple(c for c in range(5) if c not in asked))
            assert np.allclose(model.marginal(asked), want)
    assert np.allclose(model.marginal((3, 0)), p.sum(axis=(1, 2, 4)).T)


def test_uniform() -> None:
    assert np.allclose(uniform(SIZES).marginal((1, 4)), 1 / 9)
