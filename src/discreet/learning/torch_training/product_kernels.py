"""Gradients of rows, scaled, truncated to integers and summed in one pass over them, on a graphics card."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096


@triton.jit
def _truncate(products, cells, out, squares, rows, stride, size, BLOCK: tl.constexpr):
    """Each program owns a part of the sum and goes through the rows; squares of what is truncated are added up."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    total = tl.load(out + at, mask=inside, other=0)
    for i in range(rows):
        cell = tl.load(cells + i)
        product = tl.load(products + at, mask=inside, other=0.0).to(tl.float32)
        scaled = tl.where(cell > 0, product * cell, 0.0)
        total += scaled.to(tl.int32)
        tl.atomic_add(squares + i, tl.sum(scaled * scaled).to(tl.float64) * 1.001953125)  # 1 + 2^-9
        products += stride
    tl.store(out + at, total, mask=inside)


def add_truncated(products: Tensor, cells: Tensor, into: Tensor, squares: Tensor) -> None:
    """Add trunc(cells_i products_i) over rows i, and upper bounds of the rows' squared lengths to ``squares``."""
    if not products[0].is_contiguous():
        products = products.contiguous()
    _truncate[(triton.cdiv(into.numel(), _BLOCK),)](
        products, cells, into, squares, len(products), products.stride(0), into.numel(), BLOCK=_BLOCK, num_warps=8
    )
