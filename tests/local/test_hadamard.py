"""Hadamard response: the fast transform against the matrix, and reports that exist."""

import numpy as np
import pytest
from scipy.linalg import hadamard as matrix

from discreet.local.hadamard import hadamard, parity, transform
from discreet.local.oracle import pack


@pytest.mark.parametrize("order", [1, 2, 8, 64])
def test_the_fast_transform_is_the_matrix(order: int) -> None:
    values = np.random.default_rng(order).integers(-1000, 1000, order).astype(np.float64)
    assert transform(values).tolist() == (matrix(order) @ values).tolist()


def test_entries_are_parities() -> None:
    rows, columns = np.meshgrid(np.arange(16), np.arange(16), indexing="ij")
    assert (1 - 2 * parity(rows & columns)).tolist() == matrix(16).tolist()


@pytest.mark.parametrize(("k", "order"), [(2, 2), (3, 4), (4, 4), (5, 8), (129, 256)])
def test_rows_are_the_next_power_of_two(k: int, order: int) -> None:
    oracle = hadamard(k=k, epsilon=1)
    assert oracle.order == order
    last = pack(np.array([2 * order - 1]), oracle.width)
    assert oracle.valid(last).all()
    if 2 * order < 256**oracle.width:
        assert not oracle.valid(pack(np.array([2 * order]), oracle.width)).any()


def test_supports_are_counted_as_one_by_one() -> None:
    oracle = hadamard(k=5, epsilon=1)
    reports = oracle.simulate([0, 1, 2, 3, 4] * 20)
    alone = [oracle.supports(line[None, :]) for line in reports]
    assert oracle.supports(reports).tolist() == np.sum(alone, axis=0).tolist()
    assert set(np.concatenate(alone).tolist()) == {0, 1}
