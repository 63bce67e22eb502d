"""Gradients of linear layers on tokens: integers of each row, exact sums, bounds that hold."""

import pytest
import torch

from discreet.learning.torch_training import token_products
from discreet.learning.torch_training.token_products import add_products, aligned

GENERATOR = torch.Generator().manual_seed(2)


def test_truncated_products_and_their_bounds() -> None:
    """Row by row in 64-bit arithmetic; pieces of one row each and of all rows give the same."""
    g, a = (torch.randn(5, 7, n, generator=GENERATOR) for n in (4, 3))
    cells = torch.tensor([1e3, 0.0, 5e5, 1.0, 20.0])
    into = torch.zeros(4, 3, dtype=torch.int64)
    bounds = torch.zeros(5, dtype=torch.float64)
    add_products(g, a, cells, into, bounds)
    rows = [((g[i].T @ a[i]) * cells[i]).trunc().long() for i in range(5)]
    assert (into - sum(rows)).abs().max() <= 1  # another order of additions in a row may move a cell
    assert all(float(bound) >= int(row.square().sum()) for bound, row in zip(bounds, rows, strict=True))
    assert float(bounds[1]) == 0


def test_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    g, a = (torch.randint(-9, 9, (5, 7, n), generator=GENERATOR).float() for n in (4, 3))
    one, other = (torch.ones(4, 3, dtype=torch.int32) for _ in range(2))
    first, second = (torch.zeros(5, dtype=torch.float64) for _ in range(2))
    add_products(g, a, torch.full((5,), 0.5), one, first)
    monkeypatch.setattr(token_products, "_AT_ONCE", 12)
    add_products(g, a, torch.full((5,), 0.5), other, second)
    assert torch.equal(one, other)
    assert torch.equal(first, second)


def test_zeros_behind_the_tokens_change_nothing() -> None:
    g, a = torch.ones(2, 3, 8), torch.ones(2, 3, 4)
    g[:, :, 5:] = 0
    into = torch.zeros(5, 4, dtype=torch.int64)
    add_products(g, a, torch.ones(2), into)
    assert torch.equal(into, torch.full((5, 4), 6))
    assert aligned(a[:, :, :3]).is_contiguous()
    assert aligned(torch.ones(2, 3, 5, device="meta")).shape == (2, 3, 8)
