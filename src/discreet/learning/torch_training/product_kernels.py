"""On a graphics card: gradients of rows, scaled, truncated to integers and summed in one pass; tokens made wider."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096
_COPIED = 1 << 12


@triton.jit
def _truncate(products, cells, out, squares, rows, stride, size, BLOCK: tl.constexpr):
    """Each program owns a part of the sum and goes through the rows; squares of what is truncated are added up."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    total = tl.load(out + at, mask=inside, other=0)
    for i in tl.range(rows, num_stages=3):
        cell = tl.load(cells + i)
        product = tl.load(products + tl.cast(i, tl.int64) * stride + at, mask=inside, other=0.0).to(tl.float32)
        scaled = tl.where(cell > 0, product * cell, 0.0)
        total += scaled.to(tl.int32)
        tl.atomic_add(squares + i, tl.sum(scaled * scaled).to(tl.float64) * 1.001953125)  # 1 + 2^-9
    tl.store(out + at, total, mask=inside)


def add_truncated(products: Tensor, cells: Tensor, into: Tensor, squares: Tensor) -> None:
    """Add trunc(cells_i products_i) over rows i, and upper bounds of the rows' squared lengths to ``squares``."""
    if not products[0].is_contiguous():
        products = products.contiguous()
    _truncate[(triton.cdiv(into.numel(), _BLOCK),)](
        products, cells, into, squares, len(products), products.stride(0), into.numel(), BLOCK=_BLOCK, num_warps=8
    )


@triton.jit
def _widen(given, out, width, wide, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(given + row * width + at, mask=at < width, other=0.0)
    tl.store(out + row * wide + at, values, mask=at < wide)


def widened(x: Tensor, wide: int) -> Tensor:
    """Rows of tokens with zeros behind each token, up to a width."""
    rows, tokens, width = x.shape
    out = x.new_empty(rows, tokens, wide)
    _widen[(rows * tokens, triton.cdiv(wide, _COPIED))](x.contiguous(), out, width, wide, BLOCK=_COPIED, num_warps=8)
    return out
