"""The clipped gradient of a linear layer on tokens, Σ_t g_t a_tᵀ, as integers: one row of the batch at a time.

A row's gradient is computed in floats from that row alone, scaled, truncated to integers and added: a few rows at once,
so that memory does not grow with the batch.

Promise: what is added for a row are integers whose squared length is at most the bound that is returned for it.
Believes: a row's product does not depend on the rows beside it. Proof: integers.md.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from discreet.learning.torch_training.integers import times

_ALIGNED = 8  # entries: tokens that start elsewhere are multiplied slowly on graphics cards
_AT_ONCE = 1 << 22  # entries of gradients that are written out together
_AT_ONCE_THERE = 1 << 27  # the same on graphics cards


def add_products(g: Tensor, a: Tensor, cells: Tensor, into: Tensor, squares: Tensor | None = None) -> None:
    """Add trunc(cells_i Σ_t g_it a_itᵀ) over rows i, and upper bounds of the rows' squared lengths to ``squares``.

    ``g`` and ``a`` may be wider than ``into``, with zeros there.

    >>> into, squares = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(2, dtype=torch.float64)
    >>> one = torch.ones(2, 3, 1)
    >>> add_products(one, one, torch.tensor([2.4, 0.0]), into, squares)
    >>> int(into), bool(squares[0] >= 49)
    (7, True)
    """
    size = max(1, (_AT_ONCE if a.device.type == "cpu" else _AT_ONCE_THERE) // into.numel())
    bounds = torch.zeros(len(cells), dtype=torch.float64, device=a.device) if squares is None else squares
    for start in range(0, len(cells), size):
        some = slice(start, start + size)
        _add(g[some], a[some], cells[some], into, bounds[some])


def _add(g: Tensor, a: Tensor, cells: Tensor, into: Tensor, squares: Tensor) -> None:
    products = torch.bmm(g.transpose(1, 2), a)[:, : into.shape[0], : into.shape[1]]
    fused = kernels_for(a)
    if fused is not None and into.is_contiguous():
        fused.add_truncated(products, cells, into, squares)
        return
    scaled = times(products.float(), cells[:, None, None])
    into.add_(scaled.to(torch.int32).sum(0, dtype=torch.int64))
    squares.add_(scaled.flatten(1).double().square().sum(1), alpha=1 + 2.0**-20)


def aligned(x: Tensor) -> Tensor:
    """The same tokens with zeros behind them, up to a width that graphics cards multiply quickly."""
    rest = -x.shape[2] % _ALIGNED
    if not rest or x.device.type == "cpu":
        return x.contiguous()
    fused = kernels_for(x)
    if fused is None:
        return torch.nn.functional.pad(x, (0, rest))
    wide: Tensor = fused.widened(x, x.shape[2] + rest)
    return wide


def kernels_for(x: Tensor) -> ModuleType | None:
    """The kernels for graphics cards if the tensor is on one."""
    return kernels() if x.device.type == "cuda" else None


@cache
def kernels() -> ModuleType | None:
    """The kernels for graphics cards, where their compiler is installed; it comes with torch on Linux."""
    try:
        from discreet.learning.torch_training import product_kernels
    except ImportError:
        return None
    return product_kernels
