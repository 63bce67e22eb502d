"""The clipped gradient of a linear layer on tokens, Σ_t g_t a_tᵀ, as integers: one row of the batch at a time.

A row's gradient is computed in floats from that row alone, scaled, truncated to integers and added: on a graphics card
in the registers of one kernel, so that nothing of the size of a row's gradient is stored; elsewhere a few rows at once.

Promise: what is added for a row are integers whose squared length is at most the bound that is returned for it.
Believes: a row's product does not depend on the rows beside it. Proof: integers.md.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

import torch
from torch import Tensor

_ALIGNED = 8  # entries: tokens that start elsewhere are multiplied slowly on graphics cards
_AT_ONCE = 1 << 22  # entries of gradients that are written out together
_UP = 1 + 2.0**-9  # covers the rounding of at most 2^14 positive terms that are added in single precision


def add_products(g: Tensor, a: Tensor, cells: Tensor, into: Tensor) -> Tensor:
    """Add trunc(cells_i Σ_t g_it a_itᵀ) over rows i; returns an upper bound of each row's squared length.

    ``g`` and ``a`` may be wider than ``into``, with zeros there.

    >>> into = torch.zeros(1, 1, dtype=torch.int64)
    >>> one = torch.ones(2, 3, 1)
    >>> float(add_products(one, one, torch.tensor([2.4, 0.0]), into)[0]) >= 49, int(into)
    (True, 7)
    """
    fused = kernels() if a.device.type == "cuda" else None
    if fused is not None and into.is_contiguous():
        squares: Tensor = fused.add_products(g, a, cells, into)
        return squares * _UP
    size = max(1, _AT_ONCE // into.numel())
    found = [_written_out(*piece, into) for piece in zip(g.split(size), a.split(size), cells.split(size), strict=True)]
    return torch.cat(found)


def aligned(x: Tensor) -> Tensor:
    """The same tokens with zeros behind them, up to a width that graphics cards multiply quickly."""
    rest = -x.shape[2] % _ALIGNED
    return torch.nn.functional.pad(x, (0, rest)) if rest and x.device.type != "cpu" else x.contiguous()


def _written_out(g: Tensor, a: Tensor, cells: Tensor, into: Tensor) -> Tensor:
    scaled = torch.bmm(g.transpose(1, 2), a)[:, : into.shape[0], : into.shape[1]].float() * cells[:, None, None]
    into.add_(scaled.to(torch.int32).sum(0, dtype=torch.int64))
    return scaled.flatten(1).double().square().sum(1) * (1 + 2.0**-20)


@cache
def kernels() -> ModuleType | None:
    """The kernels for graphics cards, where their compiler is installed; it comes with torch on Linux."""
    try:
        from discreet.learning.torch_training import product_kernels
    except ImportError:
        return None
    return product_kernels
